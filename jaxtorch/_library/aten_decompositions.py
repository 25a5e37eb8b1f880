"""What functions are made of that are no single ATen operation: for modes with a `__torch_dispatch__`.

Each rule has the parameters of its function and is written in functions that are shown to modes themselves, or in operations of
`torch.ops.aten`. What a rule does not know of is refused with `refused`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .._core.define.op import functions, registry
from .._core.dispatch import torch_dispatch
from .._core.dispatch.torch_dispatch import refused, rules
from .._core.tensor.strides import broadcast_shapes
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import resolve
from .._core.types.grad_mode import no_grad, state
from .._ops.types.constants import contiguous_format, strided
from .aten_overloads import as_given, show
from .operators import namespace

_END = 2**63 - 1


def aten(name: str) -> Any:
    """`torch.ops.aten.<packet>.<overload>` ('default' where none is given)."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(namespace("aten"), packet), overload or "default")


def made_of(*names: str) -> Callable[[Any], Any]:
    """The rule of these functions."""

    def define(fn: Any) -> Any:
        for name in names:
            rules[name] = fn
        return fn

    return define


def of_operation(*names: str, of: Any = None) -> Callable[[Any], Any]:
    """The rule of operations, which is given their arguments under their names, those left out with their defaults.

    of: the function whose arguments they are, where that is not the operation itself.
    """
    signature = inspect.signature(of or registry[names[0]].fn)

    def define(fn: Any) -> Any:
        def rule(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return fn(SimpleNamespace(**bound.arguments))

        rules.update(dict.fromkeys(names, rule))
        return rule

    return define


# -- arithmetic


def _number(x: Any) -> bool:
    return not isinstance(x, Tensor)


def _arithmetic(name: str) -> Callable[..., Any]:
    def rule(input: Any, other: Any, **kwargs: Any) -> Any:
        if not _number(input):
            return show(name, input, other, **kwargs)
        if name == "sub":
            return show("rsub", other, input, **kwargs)
        if name == "div":
            return show("mul", show("reciprocal", other), input)
        return show(name, other, input, **kwargs)

    return rule


for _name in ("add", "mul", "sub", "div"):
    rules[_name] = _arithmetic(_name)


def _keeping(name: str) -> Callable[..., Any]:
    """An operation in place whose derivative by its other operand needs what is overwritten: PyTorch copies that first."""

    def rule(self: Tensor, other: Any, **kwargs: Any) -> Tensor:
        if state.grad and isinstance(other, Tensor) and other.requires_grad:
            show("clone", self)
        return show(name, self, other, **kwargs)

    return rule


rules["mul_"], rules["div_"] = _keeping("mul_"), _keeping("div_")


@made_of("clamp_min_")
def _clamp_min(self: Tensor, min: Any) -> Tensor:
    if state.grad and self.requires_grad:
        show("clone", self)
    return show("clamp_min_", self, min)


@made_of("square")
def _square(input: Tensor) -> Tensor:
    return show("pow", input, 2)


@made_of("positive")
def _positive(input: Tensor) -> Tensor:
    return input


@made_of("isfinite")
def _isfinite(input: Tensor) -> Tensor:
    finite = show("ne", show("abs", input), math.inf)
    return show("mul", show("eq", input, input), finite)


@made_of("where")
def _where(condition: Any, input: Any = None, other: Any = None) -> Any:
    if not isinstance(condition, Tensor) or input is None or other is None:
        raise refused("'where' of one argument")
    tensors = [x for x in (input, other) if isinstance(x, Tensor)]
    kind = {"dtype": tensors[0].dtype if tensors else None, "layout": strided, "device": condition.device}
    given = [aten("scalar_tensor")(x, **kind) if _number(x) else x for x in (input, other)]
    return aten("where.self")(condition, *given)


def _extreme(name: str, both: str) -> Callable[..., Any]:
    def rule(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return show(both, input, dim if other is None else other)
        if dim is None:
            return aten(name)(input)
        return as_given(name, aten(f"{name}.dim")(input, dim, *[True] * keepdim))

    return rule


rules["max"], rules["min"] = _extreme("max", "maximum"), _extreme("min", "minimum")


def _spread(name: str) -> Callable[..., Any]:
    def rule(
        input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None and unbiased is not None:
            correction = int(unbiased)
        dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
        if correction is None and dims is not None:
            correction = 1
        given = {"correction": correction} if correction is not None else {}
        if keepdim:
            given["keepdim"] = True
        return aten(f"{name}.correction")(input, *[dims] * (dims is not None), **given)

    return rule


for _name in ("var", "std", "var_mean", "std_mean"):
    rules[_name] = _spread(_name)


# -- products


@made_of("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dim() != 2:
        raise refused("'linear' with a vector as its weight")
    if bias is not None and input.dim() == 2:
        return show("addmm", bias, input, weight.t())
    if bias is not None and input.dim() in (1, 3, 4) and input.is_contiguous():
        flat = show("view", input, [math.prod(input.shape[:-1]), input.shape[-1]])
        out = show("addmm", bias, flat, weight.t())
        return show("view", out, [*input.shape[:-1], weight.shape[0]])
    out = _matmul(input, weight.t())
    return out if bias is None else show("add", out, bias)


@made_of("matmul")
def _matmul(input: Tensor, other: Tensor) -> Tensor:
    n, m = input.dim(), other.dim()
    if n == m == 1:
        return show("dot", input, other)
    if (n, m) == (2, 1):
        return show("mv", input, other)
    if (n, m) == (1, 2):
        return aten("squeeze_.dim")(show("mm", input.unsqueeze(0), other), 0)
    if n == m == 2:
        return show("mm", input, other)
    if n >= 3 and m in (1, 2):
        flat = _reshape(input, [math.prod(input.shape[:-1]), input.shape[-1]])
        out = show("mm", flat, other) if m == 2 else show("mv", flat, other)
        return aten("_unsafe_view")(out, [*input.shape[:-1], *other.shape[1:]])
    if n >= 3 and m >= 3:
        batch = list(broadcast_shapes(input.shape[:-2], other.shape[:-2]))
        sides = []
        for x in (input, other):
            spread = show("expand", x, [*batch, *x.shape[-2:]])
            sides.append(_reshape(spread, [math.prod(batch), *x.shape[-2:]]))
        return aten("_unsafe_view")(show("bmm", *sides), [*batch, input.shape[-2], other.shape[-1]])
    raise refused(f"'matmul' of {n} and {m} dimensions")


# -- shapes


@made_of("T", "_reversed")
def _transposed(self: Tensor) -> Tensor:
    return show("permute", self, list(range(self.dim()))[::-1])


@made_of("mT", "_matrix_transposed")
def _turned(self: Tensor) -> Tensor:
    return show("transpose", self, -2, -1)


@made_of("reshape")
def _reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    given = named.get("shape", shape)
    wanted = list(given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given)
    with torch_dispatch.hidden(), no_grad():
        made = input.detach().reshape(wanted)
        is_view = made._alias is not None and made.data_ptr() == input.detach().data_ptr()
    if is_view:
        return show("view", input, wanted)
    return aten("_unsafe_view")(show("clone", input, memory_format=contiguous_format), list(made.shape))


@made_of("flatten")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    n = max(input.dim(), 1)
    first, last = start_dim % n, end_dim % n
    if input.dim() and first == last:
        return input
    shape = list(input.shape)
    return _reshape(input, [*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]])


@made_of("contiguous")
def _contiguous_rule(input: Tensor, memory_format: Any = None) -> Tensor:
    wanted = contiguous_format if memory_format is None else memory_format
    if input.is_contiguous(memory_format=wanted):
        return input
    return show("clone", input, memory_format=wanted)


@made_of("view")
def _view(self: Tensor, *shape: Any, **named: Any) -> Tensor:
    if (shape and isinstance(shape[0], dtypes.dtype)) or "dtype" in named:
        raise refused("a view of another type")
    given = named.get("size", shape)
    return show("view", self, list(given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given))


@made_of("view_as", "reshape_as")
def _view_as(self: Tensor, other: Tensor) -> Tensor:
    return show("view", self, list(other.shape))


@made_of("expand_as")
def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    return show("expand", self, list(other.shape))


@made_of("unflatten")
def _unflatten(input: Tensor, dim: Any, sizes: Any) -> Tensor:
    at = dim % input.dim()
    return show("view", input, [*input.shape[:at], *sizes, *input.shape[at + 1 :]])


@made_of("norm", "linalg_vector_norm", "vector_norm")
def _norm(
    input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None, ord: Any = 2
) -> Tensor:
    kind = 2 if p in ("fro", None) else p
    if isinstance(kind, str) or out is not None:
        raise refused("'norm' of a kind in words, or with out=")
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    rest = [ord if ord != 2 else kind, dims, keepdim]
    for default in (False, None, 2):
        if rest[-1] != default:
            break
        rest.pop()
    return aten("linalg_vector_norm")(input, *rest, **({} if dtype is None else {"dtype": dtype}))


@made_of("argsort")
def _argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    if stable:
        return aten("sort.stable")(input, stable=True, dim=dim, descending=descending)[1]
    return show("sort", input, dim, descending)[1]


@made_of("narrow")
def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    return aten("slice.Tensor")(input, dim, start, start + length)


@made_of("split")
def _split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    if isinstance(split_size_or_sections, int):
        return tuple(aten("split.Tensor")(tensor, split_size_or_sections, *[dim] * (dim != 0)))
    return tuple(aten("split_with_sizes")(tensor, list(split_size_or_sections), *[dim] * (dim != 0)))


@made_of("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    return _split(input, max(-(-input.shape[dim] // chunks), 1), dim)


@made_of("__iter__")
def _iterate(self: Tensor) -> Any:
    return iter(show("unbind", self))


@made_of("__getitem__")
def _item(self: Tensor, index: Any) -> Tensor:
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(p, (bool, list)) or (isinstance(p, Tensor) and not p.dim()) for p in parts):
        raise refused("an index that is a list, a bool or a tensor of no dimensions")
    taken = sum([p.dim() if isinstance(p, Tensor) and p.dtype is dtypes.bool_ else p is not None for p in parts])
    taken -= sum([p is Ellipsis for p in parts])
    found, dim, picked = self, 0, {}
    for p in parts:
        if p is Ellipsis:
            dim += self.dim() - taken
        elif p is None:
            found = show("unsqueeze", found, dim)
            dim += 1
        elif isinstance(p, slice):
            step = 1 if p.step is None else p.step
            start, stop = 0 if p.start is None else p.start, _END if p.stop is None else p.stop
            if start or stop < found.shape[dim] or step != 1:
                found = aten("slice.Tensor")(found, dim, start, stop, *[step] * (step != 1))
            dim += 1
        elif isinstance(p, Tensor):
            picked[dim] = p
            dim += p.dim() if p.dtype is dtypes.bool_ else 1
        else:
            found = show("select", found, dim, int(p))
    if picked:
        indices = [picked.get(d) for d in range(max(picked) + 1)]
        return aten("index.Tensor")(found, indices)
    return aten("alias")(found) if found is self else found


@made_of("__setitem__")
def _set_item(self: Tensor, index: Any, value: Any) -> None:
    parts = list(index) if isinstance(index, tuple) else [index]
    tensors = [p for p in parts if isinstance(p, Tensor)]
    if tensors:
        if len(parts) > 1:
            raise refused("an assignment to an index with tensors and more")
        if not isinstance(value, Tensor):
            with torch_dispatch.hidden():
                value = functions["tensor"](value, dtype=self.dtype)
            value = aten("lift_fresh")(value)
        aten("index_put_")(self, [tensors[0]], value)
        return
    if not isinstance(value, Tensor):
        with torch_dispatch.hidden():
            value = functions["tensor"](value, dtype=self.dtype)
        value = aten("lift_fresh")(value)
        show("fill_", _item(self, index), value)
    else:
        show("copy_", _item(self, index), value)


# -- types and places


@made_of("to")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    given: dict[str, Any] = {}
    for x in args:
        if isinstance(x, dtypes.dtype):
            given["dtype"] = x
        elif isinstance(x, Tensor):
            given["dtype"], given["device"] = x.dtype, x.device
        elif not isinstance(x, bool):
            given["device"] = x
    given |= {k: v for k, v in kwargs.items() if k in ("dtype", "device") and v is not None}
    if kwargs.get("copy") or kwargs.get("memory_format") is not None or any(isinstance(x, bool) for x in args):
        raise refused("'to' with copy=, non_blocking= or memory_format=")
    if "device" in given:
        given["device"] = resolve(given["device"]).device
    if given.get("dtype", self.dtype) is self.dtype and given.get("device", self.device) == self.device:
        return self
    return aten("_to_copy")(self, **{k: v for k, v in given.items() if k == "dtype" or v != self.device})


def _converting(dtype: Any) -> Callable[..., Any]:
    return lambda self: _to(self, dtype)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "bool": dtypes.bool_,
}.items():  # fmt: skip
    rules[_name] = _converting(_dtype)


@made_of("type_as")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    if self.dtype is other.dtype and self.device == other.device:
        return self
    return aten("_to_copy")(self, dtype=other.dtype, layout=strided, device=other.device)


@made_of("item")
def _read(self: Tensor) -> Any:
    return aten("_local_scalar_dense")(self)


@made_of("__bool__")
def _truth(self: Tensor) -> bool:
    return bool(_read(self))


@made_of("__float__")
def _float(self: Tensor) -> float:
    return float(_read(self))


@made_of("__int__")
def _int(self: Tensor) -> int:
    return int(_read(self))
