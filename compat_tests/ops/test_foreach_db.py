"""PyTorch's databases of `torch._foreach_*`: every sample of every family in all element types, out of place and in place, with
operands of other types, as views, and differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import op_db_kit
from parity import candidate, differences, outcome
from quick_reference import databases

ENTRIES = {
    entry.name: entry
    for kind in ("unary", "binary", "pointwise", "reduce", "other")
    for entry in getattr(databases(), f"foreach_{kind}_op_db")
}
DTYPES = (*op_db_kit.DTYPES, "uint8", "int8", "int16", "complex128")
HALF = ("float16", "bfloat16")


class Call:
    """A family and the arguments of one sample, on one side."""

    def __init__(self, torch: Any, entry: Any, sample: Any) -> None:
        def there(x: Any) -> Any:
            return op_db_kit.converted(x) if torch is candidate() else _copied(x)

        self.torch, self.name = torch, entry.name
        self.input, self.args, self.kwargs = there(sample.input), there(sample.args), there(sample.kwargs)

    @property
    def operands(self) -> list[Any]:
        """The lists of tensors among the arguments."""
        tensor = self.torch.Tensor
        return [a for a in (self.input, *self.args) if isinstance(a, list) and a and isinstance(a[0], tensor)]


def _copied(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(_copied(item) for item in x)
    return x.detach().clone() if isinstance(x, reference.Tensor) else x


def apart(call: Call) -> Any:
    """Out of place: the results, and the operands as they are afterwards."""
    return list(getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs)), call.input


def in_place(call: Call) -> Any:
    given = call.input
    found = getattr(call.torch, call.name + "_")(given, *call.args, **call.kwargs)
    return found is given, given, [t._version for t in given]


def in_place_on_views(call: Call) -> Any:
    """Each tensor a part of a larger one, which is written through it."""
    bases = [call.torch.stack([t, t], -1) for t in call.input]
    views = [b[..., 0] for b in bases]
    getattr(call.torch, call.name + "_")(views, *call.args, **call.kwargs)
    return bases


def with_another_type(call: Call) -> Any:
    """The last list of tensors in another element type."""
    last = call.operands[-1]
    other = call.torch.float64 if last[0].dtype is not call.torch.float64 else call.torch.int64
    for i, t in enumerate(last):
        last[i] = t.to(other)
    return list(getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs))


def in_place_with_another_type(call: Call) -> Any:
    last = call.operands[-1]
    other = call.torch.float64 if last[0].dtype is not call.torch.float64 else call.torch.int64
    for i, t in enumerate(last):
        last[i] = t.to(other)
    getattr(call.torch, call.name + "_")(call.input, *call.args, **call.kwargs)
    return call.input


def of_mixed_types(call: Call) -> Any:
    """Every second tensor of each list in double precision."""
    for given in call.operands:
        given[1::2] = [t.double() for t in given[1::2]]
    return list(getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs))


def of_unequal_lengths(call: Call) -> Any:
    call.operands[-1].pop()
    return list(getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs))


def without_tensors(call: Call) -> Any:
    for given in call.operands:
        given.clear()
    return list(getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs))


def gradient(call: Call) -> Any:
    leaves = [t for given in call.operands for t in given]
    for t in leaves:
        t.requires_grad_()
    made = [t for t in getattr(call.torch, call.name)(call.input, *call.args, **call.kwargs) if t.requires_grad]
    given = [call.torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(tuple(t.shape)) for t in made]
    return call.torch.autograd.grad(made, leaves, given, allow_unused=True)


def in_place_on_leaves(call: Call) -> Any:
    for t in call.input:
        t.requires_grad_()
    return getattr(call.torch, call.name + "_")(call.input, *call.args, **call.kwargs)


CHECKS: dict[Callable[[Call], Any], tuple[str, ...]] = {
    apart: DTYPES, in_place: DTYPES, in_place_on_views: ("float32",), with_another_type: ("float32", "int64", "bfloat16"),
    in_place_with_another_type: ("float32", "int64"), of_mixed_types: ("float32", "int32"), of_unequal_lengths: ("float32",),
    without_tensors: ("float32",), gradient: ("float64", "float32"), in_place_on_leaves: ("float32",),
}  # fmt: skip


def disagreements(name: str, check: Callable[[Call], Any], dtype: str) -> list[str]:
    """What differs on the samples of a family."""
    entry, lines = ENTRIES[name], []
    for k, sample in enumerate(op_db_kit.samples(entry, dtype, False)):
        if dtype in HALF and "alpha" in sample.kwargs:
            # PyTorch rounds the last few elements after `alpha * other` too: that is exact.
            sample.kwargs["alpha"] = 2.0

        def body(torch: Any, sample: Any = sample) -> Any:
            return check(Call(torch, entry, sample))

        found = differences(outcome(reference, body), outcome(candidate(), body), 2.0, strides=False)
        lines += [f"sample {k}: {line}" for line in found[:2]]
    return lines


def cases() -> list[Any]:
    """Families and the checks that they have a form for."""
    found = []
    for name in ENTRIES:
        for check, dtypes in CHECKS.items():
            needed = name + "_" * check.__name__.startswith("in_place")
            if hasattr(reference, needed):
                found += [pytest.param(name, check, d, id=f"{name[9:]}-{check.__name__}-{d}") for d in dtypes]
    return found


@pytest.mark.parametrize("name, check, dtype", cases())
def test_family(name: str, check: Callable[[Call], Any], dtype: str) -> None:
    assert not disagreements(name, check, dtype)
