"""PyTorch's databases of `autograd.Function`s and of custom operations, alone and under the transformations of `torch.func`.

The same definitions run on both sides (`database_kit.py`), most of them through NumPy: they get values, also beneath `vmap`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import op_db_kit
from database_kit import pairs
from parity import candidate, differences, outcome

DATABASES = ("autograd_function_db", "custom_op_db")
ENTRIES = {
    key: pair for name in DATABASES for key, pair in pairs(f"torch.testing._internal.{name}", name).items()
}  # fmt: skip


def tensors(x: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(x, tuple | list):
        return [t for item in x for t in tensors(item)]
    return [x] if hasattr(x, "requires_grad") else []


class Call:
    """An entry's function as one of its sample's differentiable tensors."""

    def __init__(self, torch: Any, op: Callable[..., Any], arguments: Any) -> None:
        self.torch, self.op = torch, op
        self.x, self.args, self.kwargs = arguments
        self.inputs = [t for t in tensors((self.x, self.args)) if t.is_floating_point()]
        """What it is differentiated by."""

    def replaced(self, x: Any, by: dict[int, Any]) -> Any:
        if isinstance(x, tuple | list):
            return type(x)(self.replaced(item, by) for item in x)
        return by.get(id(x), x)

    def all(self, *inputs: Any) -> Any:
        """All results."""
        by = {id(t): new for t, new in zip(self.inputs, inputs, strict=True)}
        return self.op(self.replaced(self.x, by), *self.replaced(self.args, by), **self.kwargs)

    def __call__(self, *inputs: Any) -> Any:
        """The results that can be differentiated, as a tuple."""
        return tuple(t for t in tensors(self.all(*inputs)) if t.is_floating_point())

    def leaves(self) -> list[Any]:
        return [t.detach().clone().requires_grad_() for t in self.inputs]

    def like(self, found: Any, low: float = 0.5) -> tuple[Any, ...]:
        """Cotangents or tangents for some tensors."""
        line = self.torch.linspace
        return tuple(line(low, 1.5, t.numel(), dtype=t.dtype).reshape(tuple(t.shape)) for t in found)

    def stacked(self, dim: int) -> list[Any]:
        return [self.torch.stack([t, t * 0.5, t + 1], dim=dim) for t in self.inputs]


def without_history(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [without_history(item) for item in x]
    return x.detach() if hasattr(x, "detach") else x


def forward(call: Call) -> Any:
    result = call.all(*call.inputs)
    return result, [t.requires_grad for t in tensors(result)]


def differentiable(call: Call) -> Any:
    """What the results say of themselves where the inputs require gradients."""
    found = tensors(call.all(*call.leaves()))
    return without_history(found), [(t.requires_grad, t.is_leaf, t.grad_fn is None) for t in found]


def gradient(call: Call) -> Any:
    leaves = call.leaves()
    found = [t for t in call(*leaves) if t.requires_grad]
    return call.torch.autograd.grad(found, leaves, call.like(found), allow_unused=True)


def second(call: Call) -> Any:
    leaves = call.leaves()
    found = [t for t in call(*leaves) if t.requires_grad]
    given = [g.requires_grad_() for g in call.like(found)]
    first = call.torch.autograd.grad(found, leaves, given, create_graph=True, allow_unused=True)
    kept = [g for g in first if g is not None and g.requires_grad]
    twice = call.torch.autograd.grad(kept, [*leaves, *given], call.like(kept, 0.2), allow_unused=True)
    return without_history(first), twice


def unused(call: Call) -> Any:
    """The gradients of each result alone."""
    leaves = call.leaves()
    count = len(call(*leaves))
    rows = []
    for i in range(count):
        leaves = call.leaves()
        one = call(*leaves)[i]
        if one.requires_grad:
            rows.append(call.torch.autograd.grad(one, leaves, call.like([one])[0], allow_unused=True))
    return rows


def vjp(call: Call) -> Any:
    found, back = call.torch.func.vjp(call, *call.inputs)
    return found, back(call.like(found))


def jvp(call: Call) -> Any:
    return call.torch.func.jvp(call, tuple(call.inputs), call.like(call.inputs))


def dual(call: Call) -> Any:
    ad = call.torch.autograd.forward_ad
    with ad.dual_level():
        made = [ad.make_dual(t, along) for t, along in zip(call.inputs, call.like(call.inputs), strict=True)]
        return [tuple(ad.unpack_dual(t)) for t in call(*made)]


def jacrev(call: Call) -> Any:
    return call.torch.func.jacrev(call, tuple(range(len(call.inputs))))(*call.inputs)


def jacfwd(call: Call) -> Any:
    return call.torch.func.jacfwd(call, tuple(range(len(call.inputs))))(*call.inputs)


def mapped(call: Call) -> Any:
    return call.torch.func.vmap(call.all)(*call.stacked(0))


def mapped_last(call: Call) -> Any:
    return call.torch.func.vmap(call.all, in_dims=-1)(*call.stacked(-1))


def mapped_in_part(call: Call) -> Any:
    inputs = [call.stacked(1 if call.inputs[0].dim() else 0)[0], *call.inputs[1:]]
    dims = (1 if call.inputs[0].dim() else 0, *[None] * (len(inputs) - 1))
    return call.torch.func.vmap(call.all, in_dims=dims)(*inputs)


def mapped_twice(call: Call) -> Any:
    inputs = [call.torch.stack([t, t + 2], 0) for t in call.stacked(0)]
    return call.torch.func.vmap(call.torch.func.vmap(call.all))(*inputs)


def mapped_vjp(call: Call) -> Any:
    def one(*inputs: Any) -> Any:
        found, back = call.torch.func.vjp(call, *inputs)
        return back(tuple(t * 0.5 + 1 for t in found))

    return call.torch.func.vmap(one)(*call.stacked(0))


def mapped_jvp(call: Call) -> Any:
    def one(*inputs: Any) -> Any:
        return call.torch.func.jvp(call, inputs, tuple(t * 0.5 for t in inputs))

    return call.torch.func.vmap(one)(*call.stacked(0))


def vjp_of_mapped(call: Call) -> Any:
    found, back = call.torch.func.vjp(call.torch.func.vmap(call), *call.stacked(0))
    return back(call.like(found))


def jvp_of_vjp(call: Call) -> Any:
    def one(*inputs: Any) -> Any:
        found, back = call.torch.func.vjp(call, *inputs)
        return back(tuple(t * 0.5 for t in found))

    return call.torch.func.jvp(one, tuple(call.inputs), call.like(call.inputs))


def vjp_of_jvp(call: Call) -> Any:
    def one(*inputs: Any) -> Any:
        return call.torch.func.jvp(call, inputs, call.like(call.inputs))

    found, back = call.torch.func.vjp(one, *call.inputs)
    return back(tuple(call.like(part) for part in found))


def vjp_of_vjp(call: Call) -> Any:
    def one(*inputs: Any) -> Any:
        found, back = call.torch.func.vjp(call, *inputs)
        return back(tuple(t * 0.5 for t in found))

    found, back = call.torch.func.vjp(one, *call.inputs)
    return back(call.like(found))


def backward_after_mapping(call: Call) -> Any:
    leaves = [t.requires_grad_() for t in call.stacked(0)]
    found = [t for t in tensors(call.torch.func.vmap(call)(*leaves)) if t.requires_grad]
    return call.torch.autograd.grad(found, leaves, call.like(found), allow_unused=True)


def batched_gradients(call: Call) -> Any:
    leaves = call.leaves()
    found = [t for t in call(*leaves) if t.requires_grad]
    given = [call.torch.stack([g, g * 2, g - 1]) for g in call.like(found)]
    return call.torch.autograd.grad(found, leaves, given, allow_unused=True, is_grads_batched=True)


CHECKS = [
    forward, differentiable, gradient, second, unused, vjp, jvp, dual, jacrev, jacfwd, mapped, mapped_last, mapped_in_part,
    mapped_twice, mapped_vjp, mapped_jvp, vjp_of_mapped, jvp_of_vjp, vjp_of_jvp, vjp_of_vjp, backward_after_mapping,
    batched_gradients,
]  # fmt: skip


def disagreements(key: str, check: Callable[[Call], Any], dtype: str) -> list[str]:
    """What differs on the samples of an entry."""
    theirs, ours = ENTRIES[key]
    lines = []
    for k, sample in enumerate(op_db_kit.samples(theirs, dtype, False)):
        arguments = sample.input, sample.args, sample.kwargs

        def body(torch: Any, arguments: Any = arguments) -> Any:
            own = torch is reference
            call = Call(torch, (theirs if own else ours).op, arguments if own else op_db_kit.converted(arguments))
            return without_history(check(call))

        found = differences(outcome(reference, body), outcome(candidate(), body), 2.0, strides=False)
        lines += [f"sample {k}: {line}" for line in found[:3]]
    return lines


OF_FUNCTIONS = {vjp, jvp, jacrev, jacfwd, mapped_jvp, vjp_of_mapped, jvp_of_vjp, vjp_of_jvp, vjp_of_vjp}
"""Not for custom operations: PyTorch refuses `torch.func`'s reverse mode of them, and its `jvp` gives zeros."""
BEYOND = {
    vjp,
    jvp,
    dual,
    jacrev,
    jacfwd,
    mapped_vjp,
    mapped_jvp,
    vjp_of_mapped,
    jvp_of_vjp,
    vjp_of_jvp,
    vjp_of_vjp,
    backward_after_mapping,
}
"""Not for a Function that writes to its input: `mark_dirty` raises NotImplementedError where JAX traces, and for dual tensors."""
CASES = [
    (key, check)
    for key in ENTRIES
    for check in CHECKS
    if not (check in OF_FUNCTIONS and key.endswith("CustomOp")) and not (check in BEYOND and "MarkDirty" in key)
]


@pytest.mark.parametrize("key, check", CASES, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_entry(key: str, check: Callable[[Call], Any]) -> None:
    assert not disagreements(key, check, "float64")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("key", ENTRIES)
def test_types(key: str, dtype: str) -> None:
    if (key, dtype) == ("NumpyNonzeroCustomOp", "bool"):
        pytest.skip("PyTorch cannot make its samples")
    assert not disagreements(key, forward, dtype)


def test_what_is_refused_says_so() -> None:
    """A custom operation has no rule for forward mode; PyTorch's answer is zeros. A Function that writes to its input."""
    ours = ENTRIES["NumpyMulCustomOp"][1].op
    x = candidate().ones(3)
    with pytest.raises(NotImplementedError, match="jvp"):
        candidate().func.jvp(lambda t: ours(t, t), (x,), (x,))
    with pytest.raises(NotImplementedError, match="mark_dirty"):
        candidate().func.vjp(ENTRIES["NumpyExpMarkDirtyAutogradFunction"][1].op, x)
