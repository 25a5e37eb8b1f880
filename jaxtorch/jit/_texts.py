"""The nodes of an fx graph as TorchScript's source: calls of ATen operations, by the names and positions of their schemas."""

from __future__ import annotations

import inspect
import json
import math
import operator
from typing import Any

from .. import fx
from .._core.define.op import functions, methods
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import device
from .._ops.types.constants import layout, memory_format
from ..nn import functional as F
from ._operations import OWN
from ._same_names import SAME
from ._values import CODES, FORMATS

EMPTY = "annotate(List[int], [])"
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def refused(what: str) -> NotImplementedError:
    """The error of what cannot be written."""
    return NotImplementedError(f"torch.jit.save: {what} cannot be written as TorchScript by jaxtorch yet")


def literal(x: Any) -> str:
    """The source of a value."""
    if isinstance(x, fx.Node):
        return x.name
    if x is None or type(x) in (bool, int):
        return repr(x)
    if type(x) is float:
        if math.isfinite(x):
            return repr(x)
        return "nan" if math.isnan(x) else "inf" if x > 0 else "torch.neg(inf)"
    if type(x) is str:
        return json.dumps(x)
    if isinstance(x, dtypes.dtype):
        if x not in CODES:
            raise refused(f"the element type {x}")
        return str(CODES.index(x))
    if isinstance(x, device):
        return f"torch.device({json.dumps(str(x))})"
    if isinstance(x, memory_format):
        return next(str(code) for code, name in FORMATS.items() if f"torch.{name}" == repr(x))
    if isinstance(x, layout):
        return "0"
    if isinstance(x, list) or type(x).__name__ == "Size":
        return "[" + ", ".join(map(literal, x)) + "]" if len(x) else EMPTY
    if isinstance(x, tuple):
        return "(" + ", ".join(map(literal, x)) + ("," if len(x) == 1 else "") + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in x.items()) + "}"
    raise refused(f"a value of the type {type(x).__name__}")


def called(name: str, *args: Any, **kwargs: Any) -> str:
    """The source of a call of an operation."""
    given = [literal(list(a) if isinstance(a, tuple) else a) for a in args]
    given += [f"{n}={literal(list(v) if isinstance(v, tuple) else v)}" for n, v in kwargs.items() if v is not None]
    return f"torch.{name}({', '.join(given)})"


# -- functions of `nn.functional`: the operation, and which of their arguments it takes, in its order

_POOL = "input kernel_size stride padding"
_OF_F: dict[str, tuple[str, str]] = {
    **{n: (n, "input") for n in "relu silu mish hardswish hardsigmoid relu6 selu sigmoid tanh".split()},
    "leaky_relu": ("leaky_relu", "input negative_slope"), "elu": ("elu", "input alpha"), "celu": ("celu", "input alpha"),
    "hardtanh": ("hardtanh", "input min_val max_val"), "softplus": ("softplus", "input beta threshold"),
    "logsigmoid": ("log_sigmoid", "input"), "softmax": ("softmax", "input dim dtype"),
    "log_softmax": ("log_softmax", "input dim dtype"), "dropout": ("dropout", "input p training"),
    "linear": ("linear", "input weight bias"), "pad": ("pad", "input pad mode value"),
    **{f"conv{n}d": (f"conv{n}d", "input weight bias stride padding dilation groups") for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": (f"conv_transpose{n}d", "input weight bias stride padding output_padding groups dilation")
       for n in (1, 2, 3)},
    **{f"max_pool{n}d": (f"max_pool{n}d", _POOL + " dilation ceil_mode") for n in (1, 2, 3)},
    "avg_pool1d": ("avg_pool1d", _POOL + " ceil_mode count_include_pad"),
    **{f"avg_pool{n}d": (f"avg_pool{n}d", _POOL + " ceil_mode count_include_pad divisor_override") for n in (2, 3)},
    **{f"adaptive_avg_pool{n}d": (f"adaptive_avg_pool{n}d", "input output_size") for n in (1, 2, 3)},
    "batch_norm": ("batch_norm", "input weight bias running_mean running_var training momentum eps TRUE"),
    "layer_norm": ("layer_norm", "input normalized_shape weight bias eps"),
    "group_norm": ("group_norm", "input num_groups weight bias eps"),
    "embedding": ("embedding", "weight input padding_idx scale_grad_by_freq sparse"),
    "mse_loss": ("mse_loss", "input target reduction"), "l1_loss": ("l1_loss", "input target reduction"),
    "nll_loss": ("nll_loss_nd", "input target weight reduction ignore_index"),
    "cross_entropy": ("cross_entropy_loss", "input target weight reduction ignore_index label_smoothing"),
    "one_hot": ("one_hot", "tensor num_classes"),
    "scaled_dot_product_attention": ("scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal"),
}  # fmt: skip
_UNSAID = {"inplace", "_stacklevel", "TRUE"}
"""Arguments that are dealt with by name."""


def of_functional(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The source of a call of a function of `nn.functional`."""
    if name == "gelu":
        given = inspect.signature(F.gelu).bind(*args, **kwargs).arguments
        return called("gelu", given["input"], approximate=given.get("approximate", "none"))
    if name not in _OF_F:
        raise refused(f"torch.nn.functional.{name}")
    operation, names = _OF_F[name]
    bound = inspect.signature(getattr(F, name)).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    for n, v in given.items():
        parameter = bound.signature.parameters[n]
        if n not in names.split() and n not in _UNSAID and v != parameter.default:
            raise refused(f"torch.nn.functional.{name} with {n}")
    values = []
    for n in names.split():
        value: Any = True if n == "TRUE" else given[n]
        if n == "reduction":
            value = _REDUCTIONS[str(value)]
        elif n == "stride" and value is None:
            value = []
        elif n == "padding_idx" and value is None:
            value = -1
        elif n == "output_size" and isinstance(value, (list, tuple)) and None in value:
            raise refused(f"torch.nn.functional.{name} with a size that is None")
        values.append(value)
    return called(operation + ("_" if given.get("inplace") else ""), *values)


# -- operators

_OPERATORS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.mod: "remainder",
    operator.pow: "pow", operator.matmul: "matmul", operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.le: "le",
    operator.gt: "gt", operator.ge: "ge", operator.and_: "__and__", operator.or_: "__or__", operator.xor: "__xor__",
    operator.floordiv: "floor_divide",
}  # fmt: skip
_INPLACE = {operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul,
            operator.itruediv: operator.truediv}  # fmt: skip
_MIRRORED = {
    "add": "add",
    "mul": "mul",
    "sub": "rsub",
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}


def _tensor(x: Any, values: dict[Any, Any]) -> bool:
    return isinstance(values.get(x) if isinstance(x, fx.Node) else x, Tensor)


def of_operator(target: Any, args: tuple[Any, ...], values: dict[Any, Any]) -> str | None:
    """The source of an operator's call; None for what is none."""
    if target in (operator.neg, operator.invert):
        return called("neg" if target is operator.neg else "bitwise_not", *args)
    inplace = target in _INPLACE
    target = _INPLACE.get(target, target)
    if target not in _OPERATORS:
        return None
    name, (a, b) = _OPERATORS[target], args
    first, second = _tensor(a, values), _tensor(b, values)
    if not first and not second:
        return called("floordiv" if name == "floor_divide" else name, a, b)
    if inplace and first:
        return called(name + "_", a, b)
    if not first:
        if name in _MIRRORED:
            return called(_MIRRORED[name], b, a)
        if name == "div":
            return f"torch.mul({called('reciprocal', b)}, {literal(a)})"
        if name != "pow":
            raise refused(f"'{name}' of a number by a tensor")
    return called(name, a, b)


def of_item(x: Any, index: Any, values: dict[Any, Any]) -> str:
    """The source of `x[index]`."""
    if not _tensor(x, values):
        if isinstance(index, slice):
            raise refused("a slice of a list or a shape")
        return f"{literal(x)}[{literal(index)}]"
    parts = list(index) if isinstance(index, tuple) else [index]
    count = values[x].dim() - sum(p is not None and p is not Ellipsis for p in parts)
    if Ellipsis in [p for p in parts if not isinstance(p, fx.Node)]:
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = [slice(None)] * count
    text, dim = literal(x), 0
    gathered: list[str] = []
    for p in parts:
        held = values.get(p) if isinstance(p, fx.Node) else p
        if isinstance(p, slice):
            if p != slice(None):
                bounds = [literal(b) for b in (p.start, p.stop, 1 if p.step is None else p.step)]
                text = f"torch.slice({text}, {dim}, {', '.join(bounds)})"
            dim += 1
            gathered.append("None")
        elif p is None:
            text, dim = f"torch.unsqueeze({text}, {dim})", dim + 1
            gathered.append("None")
        elif type(held) is int:
            text = f"torch.select({text}, {dim}, {literal(p)})"
        elif isinstance(held, Tensor) and held.dtype is not dtypes.uint8:
            dim += 1 if held.dtype is not dtypes.bool_ else held.dim()
            gathered.append(literal(p))
        else:
            raise refused(f"an index of the type {type(held).__name__}")
    if any(g != "None" for g in gathered):
        if len(parts) > 1 and any(type(values.get(p) if isinstance(p, fx.Node) else p) is int for p in parts):
            raise refused("an index of numbers and tensors together")
        text = f"torch.index({text}, annotate(List[Optional[Tensor]], [{', '.join(gathered)}]))"
    return text


# -- functions of `torch`, and methods

_SIZES = {"zeros", "ones", "empty", "rand", "randn"}
_SPREAD = {"view", "reshape", "permute", "expand", "repeat", "tile", "flip", "new_zeros", "new_ones", "new_empty"}
_CASTS = {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "long": dtypes.int64, "int": dtypes.int32,
          "bool": dtypes.bool_, "bfloat16": dtypes.bfloat16}  # fmt: skip
_PROPERTIES = {"shape": "torch.size({})", "dtype": "ops.prim.dtype({})", "device": "ops.prim.device({})",
               "T": "torch.numpy_T({})", "ndim": "torch.dim({})", "mT": "torch.mT({})"}  # fmt: skip


def _listed(args: tuple[Any, ...]) -> list[Any]:
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


def of_method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[Any, Any]) -> str:
    """The source of a call of a method of a tensor."""
    x, *rest = args
    if not _tensor(x, values):
        raise refused(f"the method {name} of what is no tensor")
    if name in _CASTS and not rest and not kwargs:
        return called("to", x, _CASTS[name])
    if name in _SPREAD and not (
        len(rest) == 1 and isinstance(rest[0], fx.Node) and isinstance(values[rest[0]], (list, tuple))
    ):
        if name == "view" and len(rest) == 1 and isinstance(rest[0], dtypes.dtype):
            raise refused("a view as another element type")
        return called(name, x, _listed(tuple(rest)), **kwargs)
    if name not in SAME and name not in OWN:
        raise refused(f"the method {name}")
    return called(name, x, *rest, **kwargs)


def of_function(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], values: dict[Any, Any]) -> str:
    """The source of a call of a function."""
    if target is getattr:
        if args[1] not in _PROPERTIES or not _tensor(args[0], values):
            raise refused(f"the attribute {args[1]}")
        return _PROPERTIES[args[1]].format(literal(args[0]))
    if target is operator.getitem:
        return of_item(args[0], args[1], values)
    if (found := of_operator(target, args, values)) is not None:
        return found
    name = getattr(target, "__name__", str(target))
    known = functions.get(name) or methods.get(name)
    if target is not known and target is getattr(F, name, None):
        return of_functional(name, args, kwargs)
    if target is not known or (name not in SAME and name not in OWN):
        if target is getattr(F, name, None):
            return of_functional(name, args, kwargs)
        raise refused(f"the function {getattr(target, '__module__', '')}.{name}".replace("jaxtorch", "torch"))
    if name in _SIZES:
        return called(name, _listed(args), **kwargs)
    if name == "einsum":
        return called(name, args[0], _listed(args[1:]), **kwargs)
    if name in ("broadcast_tensors", "meshgrid", "cartesian_prod", "block_diag", "tensordot", "lstm", "gru"):
        raise refused(f"torch.{name}")
    return called(name, *args, **kwargs)
