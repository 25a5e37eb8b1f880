"""TorchScript's operations on numbers, strings, lists and dicts, which have the names of those on tensors."""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import device
from .._ops.types import constants
from ._scripted import Error

CODES: list[Any] = [
    dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64,
    None, dtypes.complex64, dtypes.complex128, dtypes.bool_, None, None, None, dtypes.bfloat16,
]  # fmt: skip
"""Element types by the number that stands for each in TorchScript."""

LAYOUTS = {0: constants.strided}
FORMATS = {0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d"}


def kind(code: Any) -> Any:
    """The element type of a number; None and element types as they are."""
    if type(code) is not int:
        return code
    found = CODES[code] if 0 <= code < len(CODES) else None
    if found is None:
        raise NotImplementedError(f"the TorchScript archive has the element type number {code}, which jaxtorch has not")
    return found


def code_of(x: Tensor) -> int:
    """`ops.prim.dtype`: the number of a tensor's element type."""
    return CODES.index(x.dtype)


# -- numbers


def _divide(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is not None:
        raise NotImplementedError("torch.div of numbers with rounding_mode, in a TorchScript archive")
    if b == 0:
        raise ZeroDivisionError("float division by zero")
    return a / b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return a**b
    return math.pow(a, b)


def _multiplied(a: Any, b: Any) -> Any:
    return a * b


def _added(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a + b if alpha == 1 else a + b * alpha


def _subtracted(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - b if alpha == 1 else a - b * alpha


def _of_float(fn: Callable[[float], float]) -> Callable[[Any], Any]:
    def compute(x: Any) -> Any:
        try:
            return fn(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return compute


def _log(x: Any, base: Any = None) -> float:
    if x == 0:
        return -math.inf
    return math.log(x) if base is None else math.log(x) / math.log(base)


def _nothing(x: Any) -> Any:
    return x


NUMBERS: dict[str, Callable[..., Any]] = {
    "add": _added, "sub": _subtracted, "mul": _multiplied, "div": _divide, "pow": _power, "neg": operator.neg,
    "floordiv": operator.floordiv, "floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": math.fmod,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor, "__lshift__": operator.lshift,
    "__rshift__": operator.rshift, "abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "log": _log,
    "log1p": _of_float(math.log1p), "log2": _of_float(math.log2), "log10": _of_float(math.log10), "exp": _of_float(math.exp),
    "sqrt": _of_float(math.sqrt), "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": _of_float(math.asin),
    "acos": _of_float(math.acos), "atan": math.atan, "atan2": math.atan2, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite, "erf": math.erf,
    "gcd": math.gcd, "copysign": math.copysign, "expm1": _of_float(math.expm1), "lgamma": math.lgamma,
}  # fmt: skip
"""Operations on numbers, lists and strings of names that tensors have too."""


# -- strings, lists and dicts


def _text(x: Any) -> str:
    """How TorchScript writes a value: floats of whole numbers as `1.`, others with 17 digits."""
    if type(x) is float and math.isfinite(x):
        return f"{int(x)}." if x == int(x) and abs(x) < 1e10 else f"{x:.17g}"
    if type(x) is list:
        return "[" + ", ".join(map(_quoted, x)) + "]"
    if type(x) is tuple:
        return "(" + ", ".join(map(_quoted, x)) + ("," if len(x) == 1 else "") + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{_quoted(k)}: {_quoted(v)}" for k, v in x.items()) + "}"
    return str(x)


def _quoted(x: Any) -> str:
    return '"' + x + '"' if isinstance(x, str) else _text(x)


def _format(text: str, *values: Any) -> str:
    parts = text.split("{}")
    shown = [_text(x) for x in values]
    if len(parts) - 1 != len(shown):
        raise RuntimeError(f"Expected {len(parts) - 1} arguments for the format string, got {len(shown)}")
    return "".join(p + s for p, s in zip(parts, [*shown, ""], strict=True))


def _percent_format(text: str, *values: Any) -> str:
    return text % values


def _set_item(held: Any, key: Any, value: Any) -> Any:
    held[key] = value
    return held


def _get_item(held: Any, key: Any) -> Any:
    return held[key]


def _append(held: list[Any], value: Any) -> list[Any]:
    held.append(value)
    return held


def _pop(held: Any, *key: Any) -> Any:
    return held.pop(*key)


def _delete(held: Any, key: Any) -> None:
    del held[key]


def _range_length(start: int, stop: int, step: int) -> int:
    return len(range(start, stop, step))


def _derive_index(index: int, start: int, step: int) -> int:
    return start + index * step


def _warn(text: str, stacklevel: int = 2) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)


def _keys(held: dict[Any, Any]) -> list[Any]:
    return list(held.keys())


def _values(held: dict[Any, Any]) -> list[Any]:
    return list(held.values())


def _items(held: dict[Any, Any]) -> list[Any]:
    return list(held.items())


def _sorted(held: list[Any], reverse: bool = False) -> None:
    held.sort(reverse=reverse)


def _slice(held: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return held[start:end:step]


def _copied(held: Any) -> Any:
    return held.copy()


def _dict_of(pairs: Any = ()) -> dict[Any, Any]:
    return dict(pairs)


def _contains(held: Any, key: Any) -> bool:
    if isinstance(held, list) and isinstance(key, Tensor):
        return any(bool((x == key).all()) for x in held)
    return key in held


def _method(name: str) -> Callable[..., Any]:
    def call(held: Any, *args: Any) -> Any:
        if not isinstance(held, (str, list, dict)):
            raise TypeError(f"torch.{name} of a {type(held).__name__}, in a TorchScript archive")
        return getattr(held, name)(*args)

    return call


_OF_STRINGS = """
    capitalize center count endswith expandtabs find isalnum isalpha isdecimal isdigit isidentifier islower isnumeric isprintable
    isspace istitle isupper join ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip splitlines
    startswith strip swapcase title upper zfill
""".split()

CONTAINERS: dict[str, Callable[..., Any]] = {name: _method(name) for name in _OF_STRINGS}
CONTAINERS |= {name: _method(name) for name in ("clear", "extend", "insert", "remove", "reverse", "setdefault", "update",
                                                "popitem", "get")}  # fmt: skip
CONTAINERS |= {
    "append": _append, "pop": _pop, "Delete": _delete, "_set_item": _set_item, "__getitem__": _get_item,
    "__contains__": _contains, "keys": _keys, "values": _values, "items": _items, "dict": _dict_of, "format": _format,
    "percentFormat": _percent_format, "warn": _warn, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin,
    "__not__": operator.not_, "__is__": operator.is_, "__isnot__": operator.is_not, "str": _text, "divmod": divmod, "hash": hash,
    "degrees": math.degrees, "radians": math.radians, "factorial": math.factorial, "modf": math.modf, "fabs": math.fabs,
    "mathremainder": math.remainder, "__range_length": _range_length, "__derive_index": _derive_index,
}  # fmt: skip
"""Operations of names that no operation on tensors has."""

SHARED: dict[str, tuple[type | tuple[type, ...], Callable[..., Any]]] = {
    "len": ((list, dict, str, tuple), len), "sort": (list, _sorted), "split": (str, _method("split")),
    "slice": ((list, str, tuple), _slice), "index": ((list, str), _method("index")), "copy": ((list, dict), _copied),
    "list": ((list, str, tuple), list), "sum": (list, sum), "all": (list, all), "any": (list, any),
    "select": ((list, str), _get_item),
}  # fmt: skip
"""Operations on containers whose names tensors have with another meaning: the types, and what is done to them."""


# -- of the language


def _raise(message: Any = "", kind: Any = None) -> None:
    """`ops.prim.RaiseException`: the interpreter's error, with the exception that the program named."""
    said = str(message) if kind is None else f"{kind}: {message}"
    raise Error(
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript, serialized code (most recent "
        f"call last):\n{said if kind is not None else 'RuntimeError: ' + said}\n"
    )


def _least(*given: Any) -> Any:
    return min(given[0] if len(given) == 1 else given)


def _most(*given: Any) -> Any:
    return max(given[0] if len(given) == 1 else given)


def _absolute(x: Any) -> Any:
    return abs(x)


def _shown(*values: Any) -> None:
    sys.stdout.write(" ".join(map(_text, values)) + "\n")


def _ranged(*ends: int) -> list[int]:
    return list(range(*ends))


def _number(x: Tensor, *_: Any) -> Any:
    return x.item()


PRIM: dict[str, Callable[..., Any]] = {
    "RaiseException": _raise, "dtype": code_of, "min": _least, "max": _most, "abs": _absolute, "rangelist": _ranged,
    "device": lambda x: x.device, "is_cuda": lambda x: x.is_cuda, "is_sparse": lambda x: x.is_sparse,
    "is_quantized": lambda x: x.is_quantized, "is_mkldnn": lambda x: False, "is_mps": lambda x: False,
    "is_xpu": lambda x: False, "is_nested": lambda x: x.is_nested, "is_meta": lambda x: x.is_meta,
    "is_cpu": lambda x: x.is_cpu, "is_ipu": lambda x: False, "is_vulkan": lambda x: False, "is_maia": lambda x: False,
    "is_sparse_csr": lambda x: False, "requires_grad": lambda x: x.requires_grad, "data": lambda x: x.data,
    "grad": lambda x: x.grad, "type": lambda d: d.type, "index": lambda d: d.index, "itemsize": lambda x: x.itemsize,
    "layout": lambda x: 0, "shape": lambda x: list(x.shape), "unchecked_unwrap_optional": _nothing, "name": lambda x: x.name,
    "tolist": lambda x, *_: x.tolist(), "itemcolumn": _nothing, "isinstance": _nothing,
}  # fmt: skip
"""The operations of `ops.prim`."""

LANGUAGE: dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "str": _text, "complex": complex, "print": _shown, "sorted": sorted, "len": len,
    "range": _ranged, "min": _least, "max": _most, "abs": _absolute, "ord": ord, "chr": chr, "round": round, "list": list,
    "hex": hex, "bin": bin, "oct": oct, "all": all, "any": any, "sum": sum, "divmod": divmod,
}  # fmt: skip
"""Functions that the source calls by a bare name."""


def is_scalar(x: Any) -> bool:
    """Is it a number?"""
    return isinstance(x, (int, float, complex))


def make_device(name: Any, index: Any = None) -> device:
    """`torch.device("cpu")`."""
    return device(name) if index is None else device(name, index)
