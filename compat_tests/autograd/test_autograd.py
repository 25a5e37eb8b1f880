"""Autograd as a program sees it: grad_fn, accumulation, errors, hooks, modes, depth, memory."""

from __future__ import annotations

import collections
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from parity import attempt, grad_fn_name, parity_test

Op = Callable[[Any, Any, Any], Any]

# What the last node is called; x is (2, 3), y is (3,).
NAMES: dict[str, Op] = {
    "add": lambda torch, x, y: x + y,
    "radd": lambda torch, x, y: 2 + x,
    "sub": lambda torch, x, y: x - y,
    "rsub": lambda torch, x, y: 2 - x,
    "mul": lambda torch, x, y: x * y,
    "div": lambda torch, x, y: x / y,
    "rdiv": lambda torch, x, y: 1 / x,
    "neg": lambda torch, x, y: -x,
    "pow": lambda torch, x, y: x**2,
    "pow_tensor": lambda torch, x, y: x.abs() ** y,
    "rpow": lambda torch, x, y: 2**x,
    "matmul": lambda torch, x, y: x @ y,
    "mm": lambda torch, x, y: x @ x.t(),
    "bmm": lambda torch, x, y: x[None] @ x.t()[None],
    "linear": lambda torch, x, y: torch.nn.functional.linear(x, x),
    "linear_bias": lambda torch, x, y: torch.nn.functional.linear(x, x, x[:, 0]),
    "sum": lambda torch, x, y: x.sum(),
    "sum_dim": lambda torch, x, y: x.sum(1),
    "mean": lambda torch, x, y: x.mean(),
    "mean_dim": lambda torch, x, y: x.mean(0),
    "max": lambda torch, x, y: x.max(),
    "max_dim": lambda torch, x, y: x.max(1).values,
    "exp": lambda torch, x, y: x.exp(),
    "log": lambda torch, x, y: x.log(),
    "sqrt": lambda torch, x, y: x.sqrt(),
    "relu": lambda torch, x, y: x.relu(),
    "sigmoid": lambda torch, x, y: x.sigmoid(),
    "tanh": lambda torch, x, y: x.tanh(),
    "gelu": lambda torch, x, y: torch.nn.functional.gelu(x),
    "softmax": lambda torch, x, y: x.softmax(1),
    "log_softmax": lambda torch, x, y: x.log_softmax(1),
    "cross_entropy": lambda torch, x, y: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])),
    "mse_loss": lambda torch, x, y: torch.nn.functional.mse_loss(x, torch.zeros(2, 3)),
    "dropout": lambda torch, x, y: torch.nn.functional.dropout(x, 0.5),
    "layer_norm": lambda torch, x, y: torch.nn.functional.layer_norm(x, (3,)),
    "embedding": lambda torch, x, y: torch.nn.functional.embedding(torch.tensor([0]), x),
    "clone": lambda torch, x, y: x.clone(),
    "view": lambda torch, x, y: x.view(-1),
    "reshape": lambda torch, x, y: x.t().reshape(-1),
    "t": lambda torch, x, y: x.t(),
    "transpose": lambda torch, x, y: x.transpose(0, 1),
    "permute": lambda torch, x, y: x.permute(1, 0),
    "select": lambda torch, x, y: x[0],
    "slice": lambda torch, x, y: x[1:],
    "index": lambda torch, x, y: x[torch.tensor([0])],
    "squeeze": lambda torch, x, y: x[:, :1].squeeze(1),
    "unsqueeze": lambda torch, x, y: x.unsqueeze(0),
    "expand": lambda torch, x, y: y.expand(2, 3),
    "cat": lambda torch, x, y: torch.cat([x, x]),
    "stack": lambda torch, x, y: torch.stack([x, x]),
    "unbind": lambda torch, x, y: x.unbind()[0],
    "split": lambda torch, x, y: x.split(1)[0],
    "where": lambda torch, x, y: torch.where(x > 0, x, y),
    "clamp": lambda torch, x, y: x.clamp(0, 1),
    "cast": lambda torch, x, y: x.double(),
    "set": lambda torch, x, y: _assigned(x.clone(), 0, y),
    "set_index": lambda torch, x, y: _assigned(x.clone(), torch.tensor([0]), y),
    "add_": lambda torch, x, y: x.clone().add_(y),
    "mul_view": lambda torch, x, y: _assigned(x.clone(), (slice(None), 0), x[:, 1]),
    "gather": lambda torch, x, y: x.gather(1, torch.tensor([[0], [1]])),
    "norm": lambda torch, x, y: x.norm(),
    "cumsum": lambda torch, x, y: x.cumsum(0),
    "var": lambda torch, x, y: x.var(),
    "masked_fill": lambda torch, x, y: x.masked_fill(x > 0, 1.0),
    "contiguous": lambda torch, x, y: x.t().contiguous(),
    "outer": lambda torch, x, y: torch.outer(y, y),
    "einsum": lambda torch, x, y: torch.einsum("ij,j->i", x, y),
    "leaf": lambda torch, x, y: x,
    "detach": lambda torch, x, y: x.detach(),
}


# PyTorch puts these together from other operations, whose nodes it shows; jaxtorch records one operation.
# For layer_norm it also counts the weight and the bias that were not given.
COMPOSED = {"bmm", "einsum", "linear", "linear_bias", "cross_entropy", "layer_norm", "reshape"}


def _assigned(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("name", NAMES)
@parity_test
def test_graph(torch: Any, name: str) -> Any:
    """Node names, one level of next_functions with the output numbers, and that `name()` and repr agree."""
    x = torch.tensor([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], requires_grad=True)
    y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = NAMES[name](torch, x, y)
    if out.grad_fn is None:
        return out, out.is_leaf
    node = out.grad_fn
    if name in COMPOSED:
        reached = [n is not None for n, _ in node.next_functions]
        return out.detach(), True in reached, node.name() == repr(node).split(" ")[0][1:].rsplit(".", 1)[-1]
    nexts = [(None if n is None else n.name(), number) for n, number in node.next_functions]
    return out, node.name(), nexts, out.output_nr, repr(node).split(" ")[0].rsplit(".", 1)[-1]


@parity_test
def test_walking_back_from_a_loss(torch: Any) -> Any:
    """As the beginners' tutorial does: the first edge of a linear layer leads to its bias."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    step, seen = torch.nn.functional.mse_loss(net(torch.ones(2, 3)), torch.ones(2, 2)).grad_fn, []
    while step is not None:
        seen.append((type(step).__name__, len(step.next_functions)))
        step = step.next_functions[0][0] if step.next_functions else None
    names = [None if n is None else type(n).__name__ for n, _ in net(torch.ones(2, 3)).grad_fn.next_functions]
    product = torch.addmm(
        torch.ones(2), torch.ones(2, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    ).grad_fn
    return seen, names[:2], [n is not None for n, _ in product.next_functions]


@parity_test
def test_accumulate_node(torch: Any) -> Any:
    x = leaf(torch)
    node = (x * 2).grad_fn.next_functions[0][0]
    again = (x + 1).grad_fn.next_functions[0][0]
    return node.name(), node.variable is x, node is again, node.next_functions


@parity_test
def test_accumulation(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    (x * y).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    seen = [x.grad.clone(), x.grad is first, y.grad, x.grad.requires_grad, x.grad._version]
    x.grad = None
    (x + x * x).sum().backward()
    return seen, x.grad, first


@parity_test
def test_accumulation_after_data_has_another_type_or_shape(torch: Any) -> Any:
    def accumulate(before: Any, after: Any) -> Any:
        x = before.requires_grad_()
        (x * 2).sum().backward()
        grad, x.data = x.grad, after
        (x * 2).sum().backward()
        return x.grad is grad, x.grad.dtype, x.grad

    return [
        accumulate(torch.ones(3), torch.ones(3, dtype=torch.float64)),
        accumulate(torch.ones(3, dtype=torch.float16), torch.ones(3)),
        accumulate(torch.ones(2, 3), torch.ones(3)),
        attempt(lambda: accumulate(torch.ones(1), torch.ones(5))),
        attempt(lambda: accumulate(torch.ones(3), torch.ones(2, 3))),
        attempt(lambda: accumulate(torch.ones(3), torch.ones(5))),
    ]


@parity_test
def test_assigning_grad(torch: Any) -> Any:
    x = leaf(torch)
    x.grad = torch.ones(3, dtype=torch.float64)
    x.sum().backward()
    return [
        x.grad,
        attempt(lambda: setattr(x, "grad", torch.ones(2, dtype=torch.float64))),
        attempt(lambda: setattr(x, "grad", torch.ones(3))),
        attempt(lambda: setattr(x, "grad", 1.0)),
        attempt(lambda: setattr(x, "grad", x)),
    ]


@parity_test
def test_backward_errors(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    z = x * y
    loss = z.exp().sum()
    seen = [attempt(lambda: z.backward(), match="grad can be implicitly created only for scalar")]
    loss.backward()
    seen += [
        attempt(lambda: loss.backward(), match="backward through the graph a second time"),
        attempt(lambda: torch.ones(1).sum().backward(), match="does not require grad"),
        attempt(lambda: x.backward(torch.ones(2)), match="Mismatch in shape"),
        attempt(lambda: torch.autograd.grad(loss, x), match="second time"),
        attempt(lambda: torch.autograd.grad((x * 2).sum(), y), match="not have been used in the graph"),
        attempt(lambda: torch.autograd.grad((x * 2).sum(), torch.ones(2))),
        attempt(lambda: torch.autograd.grad(torch.ones(2).sum(), x)),
        attempt(lambda: torch.autograd.grad([x.sum(), y.sum()], [x, y], [None])),
        attempt(lambda: (x > 0).sum().backward()),
    ]
    return seen, x.grad, y.grad


@parity_test
def test_retain_graph(torch: Any) -> Any:
    x = leaf(torch)
    loss = x.exp().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    linear = (x + 1).sum()  # nothing saved: may be walked again
    linear.backward()
    return x.grad, attempt(lambda: linear.backward()), attempt(lambda: loss.backward()), x.grad


@parity_test
def test_backward_inputs_and_gradient(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    z = x * y
    z.backward(torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64), retain_graph=True, inputs=[x])
    seen = [x.grad.clone(), y.grad]
    torch.autograd.backward([z, z.sum()], [torch.ones(3, dtype=torch.float64), None])
    return seen, x.grad, y.grad


@parity_test
def test_third_order(torch: Any) -> Any:
    x = leaf(torch, 0.3, -1.2, 2.0)
    seen, value = [], (x**4 + x.sin() * x.exp()).sum()
    for _ in range(3):
        (gradient,) = torch.autograd.grad(value, x, create_graph=True)
        seen.append([gradient.detach(), gradient.requires_grad])
        value = gradient.sum()
    (last,) = torch.autograd.grad(value, x)
    return seen, last


@parity_test
def test_gradient_penalty(torch: Any) -> Any:
    x, w = (
        leaf(torch),
        torch.tensor([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]], dtype=torch.float64, requires_grad=True),
    )
    (gradient,) = torch.autograd.grad((w @ x).tanh().sum(), x, create_graph=True)
    (gradient.norm() - 1).pow(2).backward()
    return w.grad, x.grad


@parity_test
def test_backward_with_create_graph(torch: Any) -> Any:
    x = leaf(torch)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    seen = [first.detach().clone(), first.requires_grad]
    x.grad = None
    first.sum().backward()
    return seen, x.grad


@parity_test
def test_grad_options(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    z = (x * 2).sum()
    return [
        torch.autograd.grad(z, [x, y], allow_unused=True, retain_graph=True),
        torch.autograd.grad(z, [x, y], materialize_grads=True, retain_graph=True),
        torch.autograd.grad([x * 2, y * y], [x, y], [torch.ones(3).double(), torch.ones(3).double() * 2]),
        torch.autograd.grad(x.sum(), x)[0].clone(memory_format=torch.contiguous_format),
        attempt(lambda: torch.autograd.grad(z, [x, y], allow_unused=False, materialize_grads=True)),
        x.grad,
    ]


@parity_test
def test_tensor_hooks(torch: Any) -> Any:
    """Order of hooks on a leaf, on an inner tensor, a replaced gradient, removal."""
    log: list[Any] = []
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    first = y.register_hook(lambda g: log.append(("y1", g.tolist())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: log.append(("y3", g.tolist())))
    x.register_hook(lambda g: log.append(("x", g.tolist())))
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda t: log.append(("post", t.grad.tolist())))
    y.sum().backward(retain_graph=True)
    first.remove()
    y.sum().backward()
    return (
        log, x.grad, y.grad,
        attempt(lambda: torch.ones(2).register_hook(print)),
        attempt(lambda: y.register_post_accumulate_grad_hook(print)),
        *(_after(torch, result) for result in (None, (1,), torch.ones(2), False)),
    )  # fmt: skip


def _after(torch: Any, result: Any) -> Any:
    """What backward says of a hook that returns this after accumulation, and the gradient."""
    x = leaf(torch)
    before = x._post_accumulate_grad_hooks
    x.register_post_accumulate_grad_hook(lambda t: result)
    return before, len(x._post_accumulate_grad_hooks), attempt(lambda: (x * 2).sum().backward()), x.grad


@parity_test
def test_hook_errors_and_shapes(torch: Any) -> Any:
    def run(hook: Callable[[Any], Any]) -> Any:
        x = leaf(torch)
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()
        return x.grad

    return [
        attempt(lambda: run(lambda g: torch.ones(2, dtype=torch.float64))),
        attempt(lambda: run(lambda g: "text")),
        attempt(lambda: run(lambda g: 1 / 0)),
        run(lambda g: None),
        run(lambda g: g.clone().zero_()),
    ]


@parity_test
def test_hooks_see_the_sum(torch: Any) -> Any:
    """A hook on a tensor used twice runs once, on the sum; on the version it was put on after in-place."""
    log: list[Any] = []
    x = leaf(torch)
    y = x * 1
    y.register_hook(lambda g: log.append(["before", g.tolist()]))
    y.mul_(5)
    y.register_hook(lambda g: log.append(["after", g.tolist()]))
    (y + y * y).sum().backward()
    return log, x.grad


@parity_test
def test_node_hooks(torch: Any) -> Any:
    log: list[Any] = []
    x = leaf(torch)
    y = x.exp()
    y.grad_fn.register_hook(
        lambda gin, gout: log.append(["post", [g.tolist() for g in gin], [g.tolist() for g in gout]])
    )
    y.grad_fn.register_prehook(lambda gout: (gout[0] * 2,))
    y.sum().backward()
    return log, x.grad


@parity_test
def test_retain_grad(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    z = y.exp()
    y.retain_grad()
    x.retain_grad()
    z.sum().backward()
    return (
        y.grad,
        y.retains_grad,
        x.retains_grad,
        z.retains_grad,
        attempt(lambda: torch.ones(1).retain_grad()),
    )


@parity_test
def test_grad_modes(torch: Any) -> Any:
    x = leaf(torch)
    seen: list[Any] = [torch.is_grad_enabled()]
    with torch.no_grad():
        seen += [torch.is_grad_enabled(), (x * 2).requires_grad, (x * 2).is_leaf]
        with torch.enable_grad():
            seen += [(x * 2).requires_grad]
        seen += [torch.is_grad_enabled()]
    with torch.set_grad_enabled(False):
        seen += [(x * 2).requires_grad, torch.ones(1, requires_grad=True).requires_grad]
    torch.set_grad_enabled(False)
    seen += [torch.is_grad_enabled()]
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        y = x * 2
        seen += [
            y.requires_grad,
            y.is_inference(),
            torch.is_inference_mode_enabled(),
            torch.is_grad_enabled(),
        ]
    seen += [attempt(lambda: y.requires_grad_()), attempt(lambda: (x * y).sum()), (y + 1).is_inference()]

    @torch.no_grad()
    def decorated(t: Any) -> Any:
        return t * 2

    @torch.no_grad()
    def generator(t: Any) -> Any:
        yield t * 2
        yield torch.is_grad_enabled()

    steps = generator(x)
    seen += [decorated(x).requires_grad, next(steps).requires_grad, torch.is_grad_enabled(), next(steps)]
    with attempt_block(seen), torch.no_grad():
        raise KeyError("inside")
    return seen, torch.is_grad_enabled()


class attempt_block:
    """A with block whose exception is noted and swallowed."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.seen.append(kind.__name__ if kind else None)
        return True


@parity_test
def test_data_and_detach(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    seen = [x.data.requires_grad, y.detach().requires_grad, x.detach().is_leaf, grad_fn_name(y)]
    x.data.mul_(10)
    x.detach().add_(1)
    seen += [x._version, x.clone(), y.detach_() is y, y.requires_grad, y.is_leaf]
    w = (x * x)[:2]
    seen += [attempt(lambda: w.detach_()), attempt(lambda: x.requires_grad_(False).requires_grad)]
    z = leaf(torch) * 2
    seen += [attempt(lambda: z.requires_grad_(False)), attempt(lambda: setattr(z, "requires_grad", False))]
    return seen


SAVED: dict[str, Callable[[Any, Any], Any]] = {
    "exp_result": lambda torch, y: y.exp().mul_(2),
    "exp_input": lambda torch, y: (y.exp(), y.mul_(2))[0],
    "sin_input": lambda torch, y: (y.sin(), y.mul_(2))[0],
    "mul_other": lambda torch, y: (y * (y + 1), y.add_(1))[0],
    "mul_scalar": lambda torch, y: (y * 2, y.add_(1))[0],
    "add": lambda torch, y: (y + y, y.add_(1))[0],
    "pow": lambda torch, y: (y**2, y.zero_())[0],
    "sigmoid_result": lambda torch, y: y.sigmoid().add_(1),
    "tanh_result_view": lambda torch, y: _write_view(y.tanh()),
    "relu_result": lambda torch, y: y.relu().add_(1),
    "sum": lambda torch, y: (y.sum(), y.add_(1))[0],
    "view_written": lambda torch, y: (y.exp(), y.view(-1)[:1].fill_(0), y.sin())[2],
    "view_saved": lambda torch, y: (y[:2].sin(), y.add_(1))[0],
    "sibling_saved": lambda torch, y: (y[:1].sin(), y[1:].mul_(2))[0],
    "data_escapes": lambda torch, y: (y.sin(), y.data.mul_(2))[0],
    "detach_is_seen": lambda torch, y: (y.sin(), y.detach().mul_(2))[0],
    "matmul": lambda torch, y: (y @ y, y.add_(1))[0],
    "where": lambda torch, y: (torch.where(y > 1, y, -y), y.add_(1))[0],
    "sqrt_result": lambda torch, y: y.sqrt().mul_(2),
    "max": lambda torch, y: (y.max(), y.zero_())[0],
    "softmax_result": lambda torch, y: y.softmax(0).mul_(2),
    "no_grad_write": lambda torch, y: (y.sin(), _no_grad_add(torch, y))[0],
    "division": lambda torch, y: (1 / y, y.add_(1))[0],
}


def _write_view(t: Any) -> Any:
    t[0] = 5
    return t


def _no_grad_add(torch: Any, t: Any) -> Any:
    with torch.no_grad():
        t.add_(1)


@pytest.mark.parametrize("name", SAVED)
@parity_test
def test_saved_and_overwritten(torch: Any, name: str) -> Any:
    """Writing to what backward needs raises at backward; writing to what it does not need is fine."""
    x = leaf(torch)
    y = x * 1
    out = SAVED[name](torch, y)
    result = attempt(lambda: out.sum().backward())
    return result, getattr(result, "message", "")[:60], x.grad, y._version


@parity_test
def test_leaf_in_place(torch: Any) -> Any:
    x = leaf(torch)
    text = "a leaf Variable that requires grad"
    seen = [attempt(lambda f=f: f(), match=text) for f in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.exp_())]
    seen += [attempt(lambda: x[0].fill_(1), match="view of a leaf"), attempt(lambda: x.__setitem__(0, 1.0))]
    with torch.no_grad():
        x.add_(1)
        x[0] = 7
    y = torch.ones(3, dtype=torch.float64)
    y[1:] = x[1:] * 2
    y.sum().backward()
    return seen, x, x._version, x.grad, y.requires_grad, y.is_leaf


@parity_test
def test_int_and_mixed_dtypes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * torch.tensor([2, 3])).sum().backward()
    z = torch.tensor([1 + 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    return (
        x.grad,
        z.grad,
        attempt(lambda: torch.tensor([1], requires_grad=True)),
        attempt(lambda: z.sum().backward()),
    )


# -- depth and memory ---


@parity_test
def test_deep_graph(torch: Any) -> Any:
    """Ten thousand operations deep: no recursion, forward, backward, or when the graph is dropped."""
    x = leaf(torch)
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    y.sum().backward()
    dropped = x * 1
    for _ in range(10_000):
        dropped = dropped + 1
    del dropped
    return x.grad, y.detach()


@parity_test
def test_memory_is_freed_with_the_last_handle(torch: Any) -> Any:
    """With the collector off: no cycle may keep a tensor, its gradient or its graph."""

    class Token:
        pass

    gc.disable()
    try:
        x = leaf(torch)
        y = (x * 2).exp()
        token = Token()
        alive = weakref.ref(token)
        y.register_hook(lambda g, token=token: None)
        del token
        handle = weakref.ref(y)
        loss = y.sum()
        loss.backward()
        seen = [handle() is y, alive() is not None]
        del y
        seen += [handle() is None, alive() is not None]
        del loss
        seen += [alive() is None]
        z = x * 3
        view = z[1:]
        kept = weakref.ref(z)
        del z
        seen += [kept() is None, view.sum().item()]
        return seen
    finally:
        gc.enable()


@parity_test
def test_inputs_in_a_dict(torch: Any) -> Any:
    x, z = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)

    def of(inputs: Any, **options: Any) -> Any:
        found = attempt(lambda: torch.autograd.grad((x * 2).sum(), inputs, **options))
        return found if isinstance(found, dict) else (type(found).__name__, found)

    cases = [{"a": x}, {"a": x, "b": z}, {}, {"a": 3}, collections.OrderedDict(a=x)]
    return [*map(of, cases), of({1: x, 2: z}, allow_unused=True), of({1: x, 2: z}, materialize_grads=True)]
