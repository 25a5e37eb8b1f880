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
