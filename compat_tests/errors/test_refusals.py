"""Arguments that PyTorch refuses, and numbers that it takes or refuses by their size: the same errors, the same values."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test

NO_TENSOR = {
    "detach": lambda torch, x: torch.detach(None),
    "meshgrid": lambda torch, x: torch.meshgrid(x, None, indexing="ij"),
    "meshgrid of a list": lambda torch, x: torch.meshgrid([None], indexing="ij"),
    "inner": lambda torch, x: torch.inner(x, None),
    "inner, first": lambda torch, x: torch.inner(None, x),
    "bincount": lambda torch, x: torch.bincount(None),
    "bincount, weights": lambda torch, x: torch.bincount(torch.tensor([1]), 3.0),
    "can_cast": lambda torch, x: torch.can_cast(None, torch.float32),
    "can_cast, second": lambda torch, x: torch.can_cast(torch.float32, x),
}


@pytest.mark.parametrize("name", NO_TENSOR)
@parity_test
def test_what_is_no_tensor(torch: Any, name: str) -> Any:
    try:
        return NO_TENSOR[name](torch, torch.ones(3))
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("lead", [(2, 2), (1, 2), (2, 1), (2,), ()])
@parity_test
def test_a_mask_may_not_enlarge_the_scores(torch: Any, lead: Any) -> Any:
    torch.manual_seed(0)
    q, k = torch.randn(*lead, 3, 4), torch.randn(*lead, 5, 4)
    attention = torch.nn.functional.scaled_dot_product_attention
    sizes = [(3, 5), (1, 5), (3, 1), (5,), (2, 3, 5), (2, 1, 3, 5), (1, 2, 3, 5), (1, 1, 1, 1), (1, 2, 2, 3, 5), (3, 4)]
    return [attempt(lambda s=s: attention(q, k, k, torch.zeros(s))) for s in sizes]


@pytest.mark.parametrize("dropout", [float("nan"), -0.5, -float("inf"), 1.5])
@parity_test
def test_a_dropout_that_is_no_probability_of_attention(torch: Any, dropout: float) -> Any:
    attention, nested = torch.nn.functional.scaled_dot_product_attention, torch.ones(1, 1, 2, 2)
    found = [attempt(lambda x=x: attention(x, x, x, dropout_p=dropout)) for x in (nested, nested[0], nested.double())]
    return [*found, attempt(lambda: attention(nested, nested, nested, torch.zeros(2, 2), dropout_p=dropout))]


ODD: dict[str, Any] = {
    "copy of a module, by place": lambda torch, x: torch.nn.Linear(1, 1).to("cpu", torch.float64, False, False),
    "no copy of a module": lambda torch, x: torch.nn.Linear(1, 1).to("cpu", copy=False),
    "where's places with out": lambda torch, x: torch.where(x > 0, out=x),
    "_make_subclass of a number": lambda torch, x: torch.Tensor._make_subclass(torch.nn.Parameter, 3),
    "hooks that cannot be called": lambda torch, x: torch.autograd.graph.saved_tensors_hooks(3, len).__enter__(),
    "repeat by a float": lambda torch, x: x.repeat((2.0,)),
    "permute by a float": lambda torch, x: x.permute((0.0,)),
    "flip by a float": lambda torch, x: x.flip((0.0,)),
}


@pytest.mark.parametrize("name", ODD)
@parity_test
def test_what_is_refused_by_its_kind(torch: Any, name: str) -> Any:
    return attempt(lambda: ODD[name](torch, torch.ones(3))).kind


@pytest.mark.parametrize("cleared", ["before", "after", "not"])
@parity_test
def test_saved_tensors_that_were_forgotten(torch: Any, cleared: str) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        if cleared == "before":
            context.clear()
        a = x.clone()
        y = a.sin()
        a.zero_()
        if cleared == "after":
            context.clear()
        try:
            y.sum().backward()
        except AssertionError as error:
            return str(error)
    return x.grad


FILLS = {
    "item": lambda torch, t, n: t.__setitem__(0, n) or t,
    "slice": lambda torch, t, n: t.__setitem__(slice(-1, None), n) or t,
    "mask": lambda torch, t, n: t.__setitem__(t == 0, n) or t,
    "index": lambda torch, t, n: t.__setitem__([0], n) or t,
    "fill_": lambda torch, t, n: t.fill_(n),
    "masked_fill": lambda torch, t, n: t.masked_fill(t == 0, n),
    "index_fill": lambda torch, t, n: t.index_fill(0, torch.tensor([0]), n),
    "scatter": lambda torch, t, n: t.scatter(0, torch.tensor([0]), n),
    "full": lambda torch, t, n: torch.full(t.shape, n, dtype=t.dtype),
    "full_like": lambda torch, t, n: torch.full_like(t, n),
    "new_full": lambda torch, t, n: t.new_full(t.shape, n),
    "fill_diagonal_": lambda torch, t, n: t.view(1, -1).fill_diagonal_(n),
}


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "uint8", "int8"])
@pytest.mark.parametrize("name", FILLS)
@parity_test
def test_numbers_at_the_limits_of_a_type(torch: Any, name: str, dtype: str, size: int) -> Any:
    numbers = (1e5, -1e9, 1e39, 2**40, -0.5, -1.5, 255.5, 127.5, -1, 256, float("-inf"))
    return [
        attempt(lambda n=n: FILLS[name](torch, torch.zeros(size, dtype=getattr(torch, dtype)), n), match="overflow")
        for n in numbers
    ]


TEXTS = """F.conv2d(torch.ones(1, 1, 4, 3), torch.ones(2, 2))
    F.conv2d(torch.ones(1, 4, 3, 3), torch.ones(4, 1, 2, 2), groups=8); F.max_pool1d(torch.ones(2, 0), 2)
    F.max_pool3d(torch.ones(1, 2, 2, 0), 1, padding=-1); F.avg_pool1d(torch.ones(1, 2), 5, padding=-1)
    F.avg_pool3d(torch.ones(1, 2, 2, 2), 5, padding=-1); F.max_pool2d(torch.ones(0, 1, 49), 2, padding=4)
    F.max_pool2d(torch.ones(0, 2, 2), 2); F.adaptive_avg_pool1d(torch.ones(1, 2, 2), (1, 2))
    F.adaptive_max_pool1d(torch.ones(1, 2, 2), ()); F.adaptive_max_pool2d(torch.ones(1, 2, 2, 2), ())
    F.adaptive_avg_pool2d(torch.ones(1, 2, 2, 2), ()); F.multi_margin_loss(torch.ones(5, 0), torch.zeros(5).long())
    F.multi_margin_loss(torch.ones(5, 3), torch.zeros(5))
    F.multilabel_margin_loss(torch.ones(5, 3, 2), torch.zeros(5, 3, 2).long())
    F.multilabel_margin_loss(torch.ones(5, 3), torch.zeros(5, 3))
    torch.multinomial(torch.tensor([1.0, -1.0]), 2, True)
    torch.multinomial(torch.tensor([1.0, float('nan')]), 2, True)
    torch.multinomial(torch.tensor([1.0, -1.0]), 1, True)"""


@pytest.mark.parametrize("call", [c.strip() for c in TEXTS.replace("\n", ";").split(";")])
@parity_test
def test_texts(torch: Any, call: str) -> Any:
    error = attempt(lambda: eval(call, {"torch": torch, "F": torch.nn.functional}))
    return error.kind, error.message


BAGS = {
    "too large": ([1, 9], [0]),
    "negative": ([1, -2], [0]),
    "offset beyond the end": ([1, 2], [0, 5]),
    "last offset beyond the end": ([1, 2], [0, 5]),
    "first offset": ([1, 2], [1]),
    "matrix": ([[1, 9]], None),
}


@pytest.mark.parametrize("case", BAGS)
@pytest.mark.parametrize("mode, sparse", [("sum", False), ("mean", True), ("max", False)])
@parity_test
def test_bags_that_are_refused_where_they_are_used(torch: Any, case: str, mode: str, sparse: bool) -> Any:
    """Their indices are on the host: the error comes from the call, where programs catch it."""
    index, offsets = BAGS[case]
    last = case.startswith("last")
    layer = torch.nn.EmbeddingBag(7, 3, mode=mode, sparse=sparse, include_last_offset=last)
    try:
        layer(torch.tensor(index), None if offsets is None else torch.tensor(offsets))
    except RuntimeError as error:
        return str(error).split("\n")[0]
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@parity_test
def test_refused_bags_by_type(torch: Any, dtype: str) -> Any:
    weight = torch.ones(7, 3, dtype=getattr(torch, dtype))

    def text(*args: Any, **options: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            torch.nn.functional.embedding_bag(torch.tensor([0, 7]), weight, *args, **options)
        return str(caught.value).split("\n")[0]

    return text(torch.tensor([0])), text(torch.tensor([0]), mode="sum"), text(torch.tensor([0.0]))


KINDS = """x.sum(0, keepdim=1); x.sum(0, keepdim=None); x.softmax(True); x.softmax(0.0); x.cumsum(0, dtype=None); x.topk(2.0)
    x.topk(1, largest=1); x.sort(descending=0); x.argmax(0, 1); x.var(0, keepdim=torch.tensor(True)); x.triu(0.0)
    torch.unique(x, return_inverse=1); torch.unique_consecutive(x, return_counts=1); x.chunk(2.0); x.split(True)
    F.dropout2d(x, training=1); F.rrelu(x, training=1); F.interpolate(x[None], size=4, mode='linear', align_corners=1)
    x.index_put((torch.tensor([0]),), x[:1], accumulate=1); torch.rand_like(x, requires_grad=1); F.lp_pool1d(x, 'a', 1)
    torch.hann_window(4, requires_grad=1); torch.empty_strided((2,), (1,), requires_grad=1); torch.Size([1.5])
    torch.Size(['a']); torch.Size([True]); torch.set_grad_enabled(1); torch.promote_types(1, 2); torch.block_diag(1)
    x.repeat_interleave(2.0); torch.combinations(x[0], with_replacement=1); x.amax([0, 1]); x.sum([0, 1], True)
    F.leaky_relu(x, 'a'); F.leaky_relu(x, None); F.leaky_relu(x, 1j); F.leaky_relu(x, True); F.elu(x, 1e40); F.celu(x, 1e40)
    F.leaky_relu(x.half(), 1e5); F.leaky_relu(x.half(), 1e40); F.softplus(x, 1e40); F.softplus(x, 1, 1e40)
    F.softshrink(x.half(), 1e5); F.softshrink(x, float('inf')); F.hardshrink(x.half(), 1e5); F.threshold(x.half(), 1, 1e5)
    F.threshold(x.half(), 1e40, 1.0); torch.lerp(x, x, 1e40); torch.lerp(x.half(), x.half(), 1e5)
    torch.lerp(x, x, torch.tensor(0.5, dtype=float)); torch.lerp(x, x, torch.tensor([0.5], dtype=float))
    x.half().addcmul(x.half(), x.half(), value=1e40); torch.nan_to_num(x, torch.tensor(2.0)); torch.nan_to_num(x, 1j)
    x.half().repeat(2, 2).fill_diagonal_(1e5); x.fill_(2**70); x * 2**64; x * 2**63; x.long() * 0x9E3779B97F4A7C15
    x.long() == 2**63; x.masked_fill(x > 0, 2**70); x.clone().__setitem__(0, 2**63); x.long().clamp(max=2**63)"""


@pytest.mark.parametrize("call", [c.strip() for c in KINDS.replace("\n", ";").split(";")])
@parity_test
def test_kinds_of_arguments(torch: Any, call: str) -> Any:
    """A flag is a bool and nothing else, a whole number is no flag; after a call that is right, too."""
    x = torch.arange(6.0).view(2, 3)
    x.sum(0, keepdim=True), x.softmax(1), x.topk(1, largest=True), x.argmax(0, True), x.topk(2)
    found = attempt(lambda: eval(call, {"torch": torch, "F": torch.nn.functional, "x": x}))
    return getattr(found, "kind", found)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint8", "int64"])
@parity_test
def test_fills_by_a_tensor(torch: Any, dtype: str) -> Any:
    """Whether a 0-d tensor's number fits is seen when the result is read, at the latest."""

    def fill(how: str, number: Any) -> Any:
        t = torch.zeros(2, dtype=getattr(torch, dtype))
        value = torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None)
        if how == "set":
            t[t == 0] = value
        else:
            t = t.masked_fill(t == 0, value) if how == "mask" else t.index_fill(0, torch.tensor([0]), value)
        return t.tolist()

    numbers = (1e5, -1e40, 300, -3, -300, 2**40, float("inf"), 2.5, 1 + 2j, True)
    found = [attempt(lambda h=h, n=n: fill(h, n)) for h in ("mask", "index", "set") for n in numbers]
    return [getattr(f, "kind", f) for f in found]


@parity_test
def test_triangles_of_expanded_tensors(torch: Any) -> Any:
    found = []
    for size, strides in [((3, 3), (0, 1)), ((3, 3), (1, 0)), ((2, 2, 2), (0, 2, 1)), ((3, 3), (1, 1))]:
        for diagonal in (0, 1, -1):
            t = torch.arange(1.0, 10).as_strided(size, strides)
            found += [t.clone().as_strided(size, strides).triu_(diagonal), t.triu_(diagonal), t.tril_(diagonal)]
    return found


NAN = """F.margin_ranking_loss(n, x, x); F.hinge_embedding_loss(n, -x); F.triplet_margin_loss(n, x, x)
    F.cosine_embedding_loss(n, x, -x[:, 0])"""


@pytest.mark.parametrize("call", [c.strip() for c in NAN.replace("\n", ";").split(";")])
@parity_test
def test_losses_of_nan(torch: Any, call: str) -> Any:
    x, n = torch.ones(2, 3), torch.tensor([[float("nan"), 1, 2], [0, 1, 2]], requires_grad=True)
    loss = eval(call, {"F": torch.nn.functional, "x": x, "n": n})
    loss.backward()
    return loss, n.grad


META = """m.nonzero(); m[m > 0]; m.masked_select(m > 0); m.unique(); m.unique_consecutive(); torch.bincount(m.long())
    torch.equal(m, m); torch.where(m > 0); m.item(); float(m[0]); m.tolist(); F.one_hot(m.long()); bool(m.any())
    m.long().repeat_interleave(m.long()); torch.allclose(m, m)"""


@pytest.mark.parametrize("call", [c.strip() for c in META.replace("\n", ";").split(";")])
@parity_test
def test_what_asks_a_meta_tensor_for_its_content(torch: Any, call: str) -> Any:
    try:
        eval(call, {"torch": torch, "F": torch.nn.functional, "m": torch.ones(3, device="meta")})
    except RuntimeError:  # NotImplementedError is one
        return "refused"
    return "taken"


@pytest.mark.parametrize("name", ["bitwise_or_", "clamp_", "eq_", "pow_", "fmod_", "atan2_"])
@parity_test
def test_a_tensor_of_one_element_stays_on_its_device(torch: Any, name: str) -> Any:
    """Such a one fits beside tensors of any device, and is not moved to theirs by an operation in place."""
    x, other = (torch.tensor(3.0 if name == "atan2_" else 3, device=d) for d in ("cpu", "meta"))
    raised = attempt(lambda: getattr(x, name)(other))
    return raised.kind, raised.message[:40], x.device.type, x, (x * other).device.type


SIZES = [(10**12, 10**12), (2**62, 4), (10**6, 10**6, 10**6, 10**6)]


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", ["empty", "zeros", "rand", "meta"])
@parity_test
def test_sizes_beyond_any_memory(torch: Any, name: str, shape: Any) -> Any:
    made = attempt(lambda: torch.zeros(shape, device="meta") if name == "meta" else getattr(torch, name)(shape))
    wide = attempt(lambda: torch.ones(1).expand(10**10, 10**10))
    return made.kind, made.message, wide.kind


@parity_test
def test_a_cross_product_of_booleans_is_refused(torch: Any) -> Any:
    x = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(NotImplementedError) as error:
        torch.linalg.cross(x, x)
    return str(error.value)


@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argmin", "logsumexp"])
@parity_test
def test_booleans_have_no_identity(torch: Any, name: str) -> Any:
    x = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(NotImplementedError) as error:
        getattr(torch.masked, name)(x, 1, mask=x)
    return str(error.value), torch.masked.amax(x, 1), torch.masked.sum(x, 1, mask=x)


@pytest.mark.parametrize("name", ["var", "std"])
@parity_test
def test_booleans_have_no_variance(torch: Any, name: str) -> Any:
    x = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(RuntimeError) as error:
        getattr(torch.masked, name)(x, 1, dtype=torch.float32)
    return str(error.value)
