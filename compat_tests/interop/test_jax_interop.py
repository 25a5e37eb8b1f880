"""JAX both ways: tensors and modules inside JAX's transformations, JAX and Flax code inside jaxtorch programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch import interop

F = torch.nn.functional


def near(actual: Any, expected: Any, tolerance: float = 2e-6) -> None:
    actual, expected = (np.asarray(x.detach() if isinstance(x, torch.Tensor) else x) for x in (actual, expected))
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


def randn(*shape: int, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*shape)


# -- arrays


def test_arrays_are_not_copied():
    array = jnp.arange(6.0).reshape(2, 3)
    tensor = torch.from_jax(array)
    assert interop.to_jax(tensor) is array and tensor.jax() is array
    assert tensor.dtype is torch.float32 and tuple(tensor.shape) == (2, 3)
    made = tensor * 2
    assert made.jax() is made.jax()


@pytest.mark.parametrize(
    "hand_out",
    [
        torch.Tensor.jax,
        torch.Tensor.numpy,
        np.asarray,
        jnp.asarray,
        torch.Tensor.tolist,
        np.from_dlpack,
        jnp.from_dlpack,
    ],
)
def test_errors_in_the_data_come_before_the_data(hand_out: Callable[[Any], Any]):
    with pytest.raises(IndexError, match="out of range"):  # in immediate mode, from the lookup itself
        hand_out(F.embedding(torch.tensor([1, 7]), torch.ones(3, 2)) + 1)


def test_an_array_never_changes():
    array = jnp.arange(4.0)
    tensor = torch.from_jax(array)
    view = tensor[1:]
    tensor.add_(1)
    view.zero_()
    assert array.tolist() == [0, 1, 2, 3] and tensor.tolist() == [1, 0, 0, 0]
    seen = tensor.jax()
    tensor.mul_(5)
    assert seen.tolist() == [1, 0, 0, 0] and tensor.tolist() == [5, 0, 0, 0]


def test_types_survive():
    for dtype in (torch.int64, torch.float64, torch.bfloat16, torch.bool, torch.complex64, torch.uint8):
        tensor = torch.ones(3, dtype=dtype)
        array = tensor.jax()
        assert array.dtype == dtype.np if hasattr(dtype, "np") else True
        assert torch.from_jax(array).dtype is dtype
        assert jax.jit(lambda t: t)(tensor).dtype is dtype


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"must be jax.Array, not list"):
        interop.from_jax([1.0])
    with pytest.raises(TypeError, match="must be Tensor"):
        interop.to_jax(jnp.ones(2))
    with pytest.raises(TypeError, match="key_data"):
        interop.from_jax(jax.random.key(0))


def test_numpy_memory_is_copied():
    array = np.ones(3, np.float32)
    tensor = interop.from_jax(array)
    array[:] = 7
    assert tensor.tolist() == [1, 1, 1]


def test_the_optimizer_never_overwrites_what_the_user_holds():
    """Steps run compiled and donate their inputs from the third on."""
    given = jnp.ones((64, 64))
    weight = torch.nn.Parameter(torch.from_jax(given))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    held: list[Any] = []
    for step in range(6):
        optimizer.zero_grad()
        (weight * weight).sum().backward()
        optimizer.step()
        if step % 2:
            array = weight.jax()
            held.append((array, np.array(array), np.asarray(array)))
    assert not given.is_deleted() and bool((given == 1).all())
    for array, copy, window in held:
        assert not array.is_deleted()
        np.testing.assert_array_equal(array, copy)
        np.testing.assert_array_equal(window, copy)
    assert len({float(copy[0, 0]) for _, copy, _ in held}) == 3


# -- jnp functions and operators


def test_jnp_functions_take_tensors():
    x = randn(3, 4)
    near(jnp.sin(x), x.sin())
    near(jnp.concatenate([x, x]), torch.cat([x, x]))
    near(jax.jit(lambda t: jnp.tanh(t) @ t.T.jax() + (t * 2).sum().jax())(x), x.tanh() @ x.T + (x * 2).sum())
    assert isinstance(jnp.ones(4) + x, jax.Array) and isinstance(x + jnp.ones(4), jax.Array)


def test_a_history_is_not_lost_in_silence():
    x = torch.ones(3, requires_grad=True)
    for use in (lambda: jnp.asarray(x), lambda: jnp.ones(3) + x, lambda: x @ jnp.ones(3)):
        with pytest.raises(RuntimeError, match="jax_function"):
            use()
        with torch.no_grad():
            assert isinstance(use(), jax.Array)


def test_jax_grad_wants_an_array():
    with pytest.raises(ValueError, match=r"loss\.jax\(\)"):
        jax.grad(lambda t: t.sum())(torch.ones(3))


# -- jax functions as operations


def test_jax_function_is_differentiable():
    calls: list[int] = []

    def attend(q: Any, k: Any, scale: float) -> dict[str, Any]:
        calls.append(1)
        scores = jnp.einsum("id,jd->ij", q, k) * scale
        return {"out": jax.nn.softmax(scores) @ k, "best": jnp.argmax(scores, 1)}

    function = interop.jax_function(attend)
    q, k = randn(3, 4).requires_grad_(), randn(5, 4, seed=1).requires_grad_()
    found = function(q, k, 0.5)
    found["out"].pow(2).sum().backward()
    gradients = jax.grad(lambda a, b: (attend(a, b, 0.5)["out"] ** 2).sum(), (0, 1))(q.jax(), k.jax())
    near(q.grad, gradients[0])
    near(k.grad, gradients[1])
    assert found["best"].dtype is torch.int32, "the user's function runs under the user's own settings"
    n = len(calls)
    function(q, k, 0.5)
    assert len(calls) == n, "traced once for the same types"
    assert not torch.equal(function(q, k, 2.0)["out"], found["out"])
    with pytest.raises(TypeError, match="hashable"):
        function(q, k, {1, 2})


def test_jax_function_tells_numbers_apart():
    function = interop.jax_function(lambda x, k: x * (10 if k is True else k))
    x = torch.ones(2)
    assert [function(x, k).tolist() for k in (1, True, 1.0)] == [[1, 1], [10, 10], [1, 1]]


def test_custom_vjp_functions():
    @jax.custom_vjp
    def straight(x: Any) -> Any:
        return jnp.round(x)

    straight.defvjp(lambda x: (jnp.round(x), x), lambda x, g: (g * x,))
    x = randn(4).requires_grad_()
    interop.jax_function(straight)(x).sum().backward()
    near(x.grad, x)
    near(jax.grad(lambda t: torch.from_jax(straight(t.jax())).sum().jax())(x.detach()), x)


# -- tensors in transformations: every function gives what it gives outside

LABELS = [0, 1, 2]


def _assigned(t: Any) -> Any:
    out = torch.zeros(3, 4)
    out[1] = t[0] * 2
    out[:, 0] += t[:, 1]
    return out


def _chain(t: Any) -> Any:
    t = t * 1
    t[0] += 1
    t.add_(1)
    row = t[1]
    row.mul_(3)
    row[1:3].sub_(t[0, :2])
    t.view(-1)[2:4].zero_()
    t.t()[2].copy_(torch.ones(3))
    t[t > 3] = 0.5
    return t * row


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda t: (t * 2 + 1) / 3 - t**2,
    "float64": lambda t: (t.double().sin() * torch.arange(4)).exp(),
    "products": lambda t: t.double() @ torch.arange(8.0, dtype=torch.float64).view(4, 2),
    "argmax": lambda t: t.argmax(1).float() + t.sum(1),
    "max": lambda t: t.max(1).values,
    "sort": lambda t: t.sort(1).values * torch.arange(4),
    "topk": lambda t: t.topk(2).values,
    "order": lambda t: t[t[:, 0].argsort()] * torch.arange(12.0).view(3, 4),
    "gather": lambda t: t.gather(1, torch.tensor(LABELS).view(3, 1)),
    "index": lambda t: t[torch.tensor(LABELS)] ** 2,
    "scatter": lambda t: torch.zeros(3, 4).scatter_add(1, torch.tensor(LABELS).view(3, 1), t) ** 2,
    "cross entropy": lambda t: F.cross_entropy(t, torch.tensor(LABELS)),
    "smoothed": lambda t: F.cross_entropy(t, torch.tensor(LABELS), label_smoothing=0.1, ignore_index=1),
    "embedding": lambda t: F.embedding(torch.tensor(LABELS), t) ** 2,
    "layer norm": lambda t: F.layer_norm(t, (4,)) ** 3,
    "batch norm": lambda t: F.batch_norm(t, torch.zeros(4), torch.ones(4)) ** 2,
    "attention": lambda t: F.scaled_dot_product_attention(t[None], t[None], t[None]),
    "convolution": lambda t: F.conv1d(t[None], torch.arange(12.0).view(2, 3, 2)),
    "pooling": lambda t: F.max_pool1d(t[None], 2) ** 2,
    "masked": lambda t: torch.where(t > 0, t, t * 2).cumsum(1),
    "spread": lambda t: t.var(0) + t.std(0),
    "joined": lambda t: torch.cat([t, t.flip(0)], 1).unfold(1, 3, 2),
    "written": _chain,
    "assigned": _assigned,
}


def _scalar(function: Any) -> Any:
    """A function whose every result counts differently."""

    def loss(t: Any) -> Any:
        out = function(t)
        weights = torch.linspace(0.5, 1.5, out.numel(), dtype=out.dtype).view(out.shape)
        return (out * weights).sum()

    return loss


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_transformations(name: str):
    function, loss = FUNCTIONS[name], _scalar(FUNCTIONS[name])
    x = randn(3, 4)
    before = x.tolist()
    expected = function(x.clone())
    leaf = x.clone().requires_grad_()
    loss(leaf).backward()
    near(jax.jit(function)(x), expected, 1e-5)
    near(jax.vmap(function)(torch.stack([x, x * 2]))[0], expected, 1e-5)
    for transform in (lambda f: jax.grad(f), lambda f: jax.jit(jax.grad(f)), lambda f: jax.grad(jax.jit(f))):
        near(transform(lambda t: loss(t).jax())(x), leaf.grad, 1e-5)
    along = jax.jvp(lambda t: loss(t).jax(), (x,), (torch.ones(3, 4),))[1]
    near(along, leaf.grad.sum().to(loss(x).dtype), 1e-4)
    assert x.tolist() == before


def test_arguments_written_inside_stay_as_they_were():
    x = torch.zeros(3)
    assert jax.jit(lambda t: t.add_(1))(x).tolist() == [1, 1, 1]
    assert x.tolist() == [0, 0, 0]


def test_gradients_are_cut_where_pytorch_cuts_them():
    x = randn(4)
    near(jax.grad(lambda t: (t * t.detach()).sum().jax())(x), x)
    near(jax.jit(jax.grad(lambda t: (t * t.data).sum().jax()))(x), x)

    def half(t: Any) -> Any:
        with torch.no_grad():
            scale = t * 3
        return (t * scale).sum().jax()

    near(jax.jit(jax.grad(half))(x), x * 3)
    with torch.no_grad():
        near(jax.grad(lambda t: (t**2).sum().jax())(x), x * 2)


def test_backward_works_inside_jit():
    model, x = network(), randn(5, 4)

    def gradients(model: Any, x: Any) -> Any:
        model(x).pow(2).mean().backward()
        return {name: p.grad for name, p in model.named_parameters()}

    found = jax.jit(gradients)(model, x)
    assert all(p.grad is None for p in model.parameters())
    for name, expected in gradients(model, x).items():
        near(found[name], expected, 1e-5)


def test_autograd_functions_keep_their_backward():
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, bound: float) -> Any:
            ctx.save_for_backward(x)
            ctx.bound, ctx.scale = bound, x.abs().max()
            return x.clamp(-bound, bound)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * ctx.bound * ctx.scale, None

    def loss(t: Any) -> Any:
        return Clip.apply(t, 0.5).sum()

    leaf = randn(5).requires_grad_()
    loss(leaf).backward()
    near(jax.grad(lambda t: loss(t).jax())(leaf.detach()), leaf.grad)
    near(jax.jit(jax.grad(lambda t: loss(t).jax()))(leaf.detach()), leaf.grad)


def test_nested_grad():
    cube = jax.grad(lambda t: (t**3).sum().jax())
    near(jax.grad(lambda t: cube(t).sum().jax())(randn(3)), randn(3) * 6, 1e-5)


def test_checkpoint_and_scan():
    model, x, weights = network(), randn(5, 4), randn(3, 3, 4, seed=2)

    def deep(model: Any, x: Any) -> Any:
        return jax.lax.scan(lambda h, w: ((model(h) @ w).tanh(), None), x, weights)[0]

    expected = x
    for w in weights:
        expected = (model(expected) @ w).tanh()
    near(deep(model, x), expected, 1e-5)
    near(jax.jit(deep)(model, x), expected, 1e-5)
    slow = jax.grad(lambda m: deep(m, x).sum().jax(), allow_int=True)(model)
    fast = jax.jit(jax.grad(lambda m: jax.checkpoint(deep)(m, x).sum().jax(), allow_int=True))(model)
    expected.sum().backward()
    for name, p in model.named_parameters():
        near(slow.get_parameter(name), p.grad, 1e-5)
        near(fast.get_parameter(name), p.grad, 1e-5)


# -- modules as pytrees


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


class Everything(torch.nn.Module):
    """Buffers of all kinds, BatchNorm and dropout, a plain tensor, tied weights, and settings in containers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("places", torch.tensor([2, 0, 1, 3]))
        self.register_buffer("nothing", None)
        self.plain = torch.full((4,), 1.5)
        self.settings = {"scale": [2.0, 3.0]}
        self.again = self.norm

    def forward(self, words: Any) -> Any:
        h = self.drop(self.again(self.embed(words)[:, self.places])) * self.plain
        return self.head(h) * sum(self.settings["scale"])


def everything() -> Any:
    torch.manual_seed(0)
    return Everything()


WORDS = [0, 3, 6, 3, 2]


def test_a_module_in_jit_grad_and_vmap():
    model, words = everything().eval(), torch.tensor(WORDS)
    expected = model(words)
    near(jax.jit(lambda m, w: m(w))(model, words), expected, 1e-5)
    near(jax.vmap(lambda m, w: m(w), (None, 0))(model, words.view(5, 1))[:, 0], expected, 1e-5)
    found = jax.jit(jax.grad(lambda m, w: m(w).pow(2).sum().jax(), allow_int=True))(model, words)
    expected.pow(2).sum().backward()
    assert found.head.weight is found.embed.weight, "tied weights stay tied, and their gradients are summed"
    near(found.embed.weight, model.embed.weight.grad, 1e-4)
    near(found.norm.weight, model.norm.weight.grad, 1e-4)


def test_a_module_comes_back_whole():
    model = everything()
    found = jax.jit(lambda m: m)(model)
    assert type(found) is Everything and found is not model and found.nothing is None
    assert found.head.weight is found.embed.weight and found.again is found.norm
    assert isinstance(found.embed.weight, torch.nn.Parameter) and found.embed.weight.requires_grad
    assert not found.plain.requires_grad and found.settings == model.settings
    assert found.settings["scale"] is not model.settings["scale"]
    assert str(found) == str(model) and list(found.state_dict()) == list(model.state_dict())
    found(torch.tensor(WORDS)).sum().backward()
    assert found.embed.weight.grad is not None and model.embed.weight.grad is None


def test_training_statistics_are_results():
    model, x = torch.nn.BatchNorm1d(4), randn(6, 4)
    found, out = jax.jit(lambda m, x: (m, m(x)))(model, x)
    assert model.num_batches_tracked.item() == 0 and model.running_mean.tolist() == [0] * 4
    near(out, model(x), 1e-5)
    assert found.num_batches_tracked.item() == 1
    near(found.running_var, model.running_var)


def test_leaves_have_names():
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(network())[0]]
    assert [p.rpartition("[")[0] for p in paths] == [".0.weight", ".0.bias", ".2.weight", ".2.bias"]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.eval(),
        lambda m: m.settings["scale"].append(4.0),
        lambda m: setattr(m.drop, "p", 0.0),
        lambda m: m.register_forward_hook(lambda m, i, o: o * 2),
        lambda m: m.plain.add_(1),
        lambda m: m.head.weight.requires_grad_(False),
    ],
)
def test_a_changed_module_is_traced_again(change: Callable[[Any], Any]):
    traces: list[int] = []

    def call(model: Any, words: Any, key: Any) -> Any:
        traces.append(1)
        with interop.random_key(key):
            return model(words), torch.tensor(model.head.weight.requires_grad)

    jitted, model, key = jax.jit(call), everything(), jax.random.key(0)
    words = torch.tensor(WORDS)
    first, _ = jitted(model, words, key)
    assert torch.equal(jitted(model, words, key)[0], first) and len(traces) == 1
    with torch.no_grad():
        change(model)
    found = jitted(model, words, key)
    expected = call(model, words, key)
    near(found[0], expected[0], 1e-4)
    assert found[1].item() == expected[1].item()


def test_tree_map_over_modules():
    model = network()
    gradients = jax.grad(lambda m: m(randn(5, 4)).pow(2).sum().jax())(model)
    stepped = jax.tree.map(lambda p, g: p - 0.1 * g, model, gradients)
    model(randn(5, 4)).pow(2).sum().backward()
    for new, p in zip(stepped.parameters(), model.parameters(), strict=True):
        near(new, p - 0.1 * p.grad, 1e-5)
    shapes = jax.tree.leaves(jax.tree.map(lambda a: a.shape, model), is_leaf=lambda x: isinstance(x, tuple))
    assert shapes == [(8, 4), (8,), (3, 8), (3,)]


def test_vmap_over_stacked_modules():
    models = [network() for _ in range(3)]
    for k, model in enumerate(models):
        model[0].weight.data.mul_(k + 1)
    params, _ = torch.func.stack_module_state(models)
    x = randn(5, 4)
    found = jax.jit(jax.vmap(lambda p, x: torch.func.functional_call(models[0], p, (x,)), (0, None)))(params, x)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
    other = jax.vmap(lambda m, x: m(x), (0, None))(stacked, x)
    for k, model in enumerate(models):
        near(found[k], model(x), 1e-5)
        near(other[k], model(x), 1e-5)


# -- random numbers


RANDOM: dict[str, Callable[[Any], Any]] = {
    "rand": lambda x: x + torch.rand(1000),
    "randn": lambda x: x + torch.randn(1000, dtype=torch.float64),
    "randint": lambda x: x + torch.randint(0, 9, (1000,)),
    "randperm": lambda x: x + torch.randperm(1000),
    "uniform_": lambda x: torch.empty_like(x).uniform_(2, 4),
    "exponential_": lambda x: torch.empty_like(x).exponential_(),
    "bernoulli": lambda x: torch.bernoulli(x * 0, 0.25),
    "dropout": lambda x: F.dropout(x + 1, 0.25),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_under_jit(name: str):
    draw, x = RANDOM[name], torch.zeros(1000)
    with pytest.raises(RuntimeError, match="random_key"):
        jax.jit(draw)(x)

    @jax.jit
    def keyed(key: Any, x: Any) -> Any:
        with interop.random_key(key):
            return draw(x), draw(x)

    first, second = keyed(jax.random.key(0), x)
    other = keyed(jax.random.key(1), x)[0]
    torch.manual_seed(0)
    expected = draw(x)
    assert first.dtype is expected.dtype and first.shape == expected.shape
    assert not torch.equal(first, second) and not torch.equal(first, other)
    assert torch.equal(first, keyed(jax.random.key(0), x)[0])
    spread = expected.double().std().item() / 1000**0.5
    assert abs(first.double().mean().item() - expected.double().mean().item()) < 6 * spread + 1e-9
    assert abs(first.double().std().item() / expected.double().std().item() - 1) < 0.2


def test_random_numbers_without_jit_are_drawn_at_each_call():
    grad = jax.grad(lambda t: (F.dropout(t) * t).sum().jax())
    torch.manual_seed(0)
    found = [grad(torch.ones(50)) for _ in range(2)]
    torch.manual_seed(0)
    for g in found:
        near(g, F.dropout(torch.ones(50)) * 2)


# -- the user's JAX


def step_by_step(model: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(randn(5, 4)).sum().backward()
        optimizer.step()


def test_the_users_jit_caches_are_left_alone():
    traces: list[int] = []

    @jax.jit
    def own(x: Any) -> Any:
        traces.append(1)
        return jnp.argsort(x * 2.0)

    assert own(jnp.arange(3.0)).dtype == jnp.int32
    step_by_step(network())
    torch.func.hessian(lambda x: (x**3).sum())(torch.ones(3, dtype=torch.float64))
    jax.jit(lambda t: t.double().argsort())(torch.ones(3))
    assert own(jnp.arange(3.0)).dtype == jnp.int32 and len(traces) == 1
    assert jnp.arange(3).dtype == jnp.int32 and jnp.asarray(0.5).dtype == jnp.float32
    assert not jax.config.jax_enable_x64


def test_second_derivatives_and_shapes_of_tensors():
    x = torch.arange(3.0)
    hessian = jax.hessian(lambda a: (a**3).sum().jax())(x)
    assert isinstance(hessian, torch.Tensor)
    assert hessian.tolist() == np.diag(6 * np.arange(3.0)).tolist()
    shape = jax.eval_shape(lambda a: torch.outer(a, a).double(), x)
    assert shape.shape == (3, 3)
    assert shape.dtype is torch.float64
    assert shape.device.type == "meta"
    weights = jax.tree.map(lambda a: torch.from_jax(a) * 2, torch.nn.Linear(3, 1))
    assert isinstance(weights.weight, torch.nn.Parameter)
