"""The parameters of an operation, as its body's annotations give them, and static arguments as parts of a key."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ..types import dtypes
from ..types.foreign_errors import is_foreign, refuse_foreign
from ..types.size import check_long, kind_name, need_sizes
from ..types.value import Value, python_number
from ..types.value import check_long as check_scalar
from . import overloads
from .argument_names import TOP

_KINDS = {
    "Array": "array",
    "Array | None": "optional",
    "Operand": "operand",
    "Operand | None": "operand_optional",
    "Arrays": "arrays",
    "Scalar": "scalar",
    "Scalar | None": "scalar",
    "Number": "number",
    "Number | None": "number",
}
OPERAND_KINDS = ("array", "optional", "operand", "operand_optional", "arrays", "scalar")
_NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    kind: str
    default: Any
    keyword_only: bool
    star: bool = False
    note: str = ""
    """What it is annotated as."""
    position: int = 0
    """Its place among those that may be given without a name, from 1 on; 0 where it may not."""

    @property
    def required(self) -> bool:
        return self.default is _NO_DEFAULT


def refuse_sizes(op: str, p: Parameter, given: Any) -> None:
    """TypeError where an argument annotated as `Ints` or `Sizes` is nothing of the kind."""
    kind, _, rest = p.note.partition(" | ")
    if not (given is None and rest == "None") and not (isinstance(given, str) and rest == "str"):
        need_sizes(op, p.name, given, p.position, alone=kind == "Ints")


_DEEPEST = 64


def freeze(static: Any, depth: int = 0) -> Any:
    """A static argument in hashable form: lists become tuples, NumPy numbers Python ones. TypeError for a list that holds itself."""
    if isinstance(static, (list, tuple)):
        if depth == _DEEPEST:
            raise TypeError(
                f"an argument must be a number or a tuple of numbers, but found element of type {type(static).__name__}"
            )
        return tuple([freeze(s, depth + 1) for s in static])
    if isinstance(static, np.generic):
        return bool(static) if isinstance(static, np.bool_) else python_number(static)
    if isinstance(static, np.ndarray) and not static.ndim:
        return static.item()
    if isinstance(static, slice):
        return ("slice", freeze(static.start), freeze(static.stop), freeze(static.step))
    if isinstance(static, dict):
        if depth == _DEEPEST:
            raise TypeError(
                "an argument must be a number or a tuple of numbers, but found a dictionary that holds itself"
            )
        return tuple((k, freeze(v, depth + 1)) for k, v in sorted(static.items()))
    if hasattr(static, "_value") and hasattr(static, "item") and not isinstance(static, type):
        return static.item()
    hash(static)
    return static


@dataclass(frozen=True)
class Signed:
    """A number of which a part is -0.0, in a key: it equals the one with 0.0 there, and does not make the same."""

    text: str
    number: Any = field(compare=False)


FLOATS = frozenset((float, complex, np.float64, np.float32, np.float16, np.complex64, np.complex128))
"""Types of numbers that may be -0.0."""


def marked(static: Any) -> Any:
    """A static argument as it stands in a key: -0.0 is marked, and all NaN are one."""
    if type(static) is tuple and len(static) == 2 and isinstance(static[0], type):
        return static[0], marked(static[1])
    if type(static) not in FLOATS:
        return static
    number: Any = static
    if number != number and type(number) is float:
        return math.nan  # which equals itself alone
    negative = any([x == 0 and math.copysign(1, x) < 0 for x in (number.real, number.imag)])  # noqa: C419
    return Signed(repr(python_number(static)), static) if negative else static


def plain(static: Any) -> Any:
    """A static argument without the mark that it has in a key."""
    if type(static) is tuple and len(static) == 2 and type(static[1]) is Signed:
        return static[0], static[1].number
    return static.number if type(static) is Signed else static


def key_part(p: Parameter) -> str:
    """What stands for a static argument in a key, in the text of a generated function. 0.0 and -0.0 are equal, so -0.0 is marked."""
    n = p.name
    if p.kind == "number":
        return (
            f"({n}.__class__, {n} if {n}.__class__ not in _FLOATS or {n} and {n}.__class__ is float else _MARKED({n}))"
        )
    if p.note.startswith(("float", "Real")):
        return f"{n} if {n}.__class__ not in _FLOATS or {n} else _MARKED({n})"
    return n


def parse(fn: Callable[..., Any], star: str | None) -> list[Parameter]:
    """The parameters of a body, by its annotations."""
    fn = inspect.unwrap(fn)
    code, notes = fn.__code__, fn.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = names[code.co_argcount - len(fn.__defaults__ or ()) : code.co_argcount]
    defaults = {**dict(zip(last, fn.__defaults__ or (), strict=True)), **(fn.__kwdefaults__ or {})}
    found = []
    for i, n in enumerate(names):
        note = notes.get(n, "")
        kind = _KINDS.get(note if isinstance(note, str) else getattr(note, "__name__", ""), "static")
        position = 0 if i >= code.co_argcount or n == star else i + 1
        by_name = i >= code.co_argcount
        found.append(Parameter(n, kind, defaults.get(n, _NO_DEFAULT), by_name, n == star, str(note), position))
    return found


_NO_NUMBERS = (str, list, tuple, dict, np.ndarray, dtypes.dtype)
_REFUSED = {
    "int": (bool, np.bool_, float, np.floating, complex, np.complexfloating, *_NO_NUMBERS),
    "float": (complex, *_NO_NUMBERS),
    "Real": _NO_NUMBERS,
    "Number": _NO_NUMBERS,
}
_SHOWN = {"Real": "Number"}
"""What PyTorch does not take for a number, though Python may be able to make one of it."""


def refuse_kind(op: str, p: Parameter, given: Any) -> None:
    """TypeError where an argument is of another kind than `p` is annotated as (see `need_kind`)."""
    wanted, _, rest = p.note.partition(" | ")
    if given is not None or not rest:
        need_kind(op, p.name, wanted, given)


def _is_number(given: Any) -> bool:
    """Is it a number, something that stands for a whole one, or an array of JAX?"""
    if isinstance(given, (int, float, complex, np.generic)):
        return True
    return hasattr(type(given), "__index__") or hasattr(given, "aval") or hasattr(type(given), "__torch_function__")


_SIZE_LIKE = frozenset(
    """embedding.padding_idx fft_fft.n fft_hfft.n fft_ifft.n fft_ihfft.n fft_irfft.n fft_rfft.n kthvalue.k nll_loss.ignore_index
    cross_entropy.ignore_index split_with_sizes.split_sizes topk.k tril.diagonal triu.diagonal local_response_norm.size
    eye.n eye.m randint.low randint.high randint_like.low randint_like.high randperm.n interpolate.size bincount.minlength
    multinomial.num_samples tensor_split.indices_or_sections select.index slice.start narrow.start
    repeat_interleave.repeats channel_shuffle.groups conv1d.groups conv2d.groups conv3d.groups conv_transpose1d.groups
    conv_transpose2d.groups conv_transpose3d.groups native_group_norm.C native_group_norm.HxW native_group_norm.N nonzero_static.size
    select_scatter.index slice.end slice.step as_strided.storage_offset
    as_strided_scatter.storage_offset narrow.length linalg_vander.N
    slice_scatter.end slice_scatter.start slice_scatter.step""".split()
)
"""Whole numbers that PyTorch takes for sizes: a tensor or array with one whole number stands for it."""


def _is_size_like(function: str, argument: str) -> bool:
    return f"{function.strip('_').removesuffix('_copy')}.{argument}" in _SIZE_LIKE


def need_kind(function: str, argument: str, wanted: str, given: Any) -> None:
    """TypeError where an argument that should be a `bool`, `str`, `int`, `float` or any `Number` is of another kind, as PyTorch
    tells them apart: a flag is a bool and nothing else, a whole number is no flag, a tensor is a number where it has no
    dimensions and requires no gradient."""
    if wanted in ("bool", "str"):
        bad = not isinstance(given, bool if wanted == "bool" else str)
    elif given is not None and hasattr(given, "_value"):  # a tensor
        bad = given.requires_grad or (wanted == "int" and dtypes.category(given.dtype) != 1)
        bad = bad or (given.ndim and (given.numel() != 1 or not _is_size_like(function, argument)))
    elif isinstance(given, np.ndarray) and _is_size_like(function, argument):
        bad = given.ndim or not np.issubdtype(given.dtype, np.integer)
    else:
        bad = given is None or isinstance(given, _REFUSED[wanted]) or not _is_number(given)
    if wanted == "int":
        check_long(given)
    elif wanted in ("Number", "Real"):
        check_scalar(given)
    if bad and (hasattr(given, "_value") or not hasattr(type(given), "__torch_function__")):
        raise TypeError(
            f"{function.lstrip('_')}(): argument '{argument}' must be {_SHOWN.get(wanted, wanted)}, not {kind_name(given)}"
        )


first_looks: dict[str, Callable[..., None]] = {}
"""By the name of an operation whose function PyTorch has in Python: what that looks at before the kinds of its arguments, in its
order. Asked with all arguments where a call has failed."""


def look_first(name: str, values: tuple[Any, ...]) -> None:
    """Raise what PyTorch raises before it looks at the kinds of these arguments, whose call has failed."""
    look = first_looks.get(name)
    if look is None or any([v is MISSING for v in values]):  # noqa: C419
        return
    try:
        look(*values)
    except Exception as error:
        raise error.with_traceback(None) from None


class _Missing:
    def __repr__(self) -> str:
        return "<required>"


MISSING = _Missing()
"""What a required parameter holds that was not given."""


def star_items(items: tuple[Any, ...], keyword: Any, op: str, name: str) -> Any:
    """The value of a parameter that takes its items one by one or as one sequence."""
    if items:
        if keyword is not MISSING:
            raise TypeError(f"{op}() got multiple values for argument '{name}'")
        if len(items) == 1 and isinstance(items[0], (tuple, list)):
            items = tuple(items[0])
        for item in items:
            if item.__class__ is not int:
                return need_sizes(op, name, items, 1)
        return items
    if keyword is MISSING:
        raise TypeError(f'{op}() missing 1 required positional arguments: "{name}"')
    return keyword


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""NumPy's names of arguments, by which PyTorch takes them too."""


def by_other_names(op: Any, public: Callable[..., Any], named: dict[str, Any], given: dict[str, Any]) -> Any:
    """The call with the operands that were given by NumPy's names, or by `self` where they are a number in the first place."""
    first, defaults = op.params[0].name, {p.name: p.default for p in op.params}
    for alias, value in named.items():
        own = NUMPY_NAMES.get(alias, first if alias == "self" and not getattr(value, "ndim", 0) else "")
        own = op.also.get(own, own)
        if own not in given or given[own] is not MISSING:
            raise TypeError(f"{op.name}() got an unexpected keyword argument '{alias}'")
        given[own] = value
    return public(**{n: x for n, x in given.items() if x is not MISSING and x is not defaults.get(n)})


def refuse_together(op: Any, values: Sequence[Any], out: Any) -> None:
    """TypeError where no overload of PyTorch's takes an operation's arguments."""
    given = {p.name: x for p, x in zip(op.params, values, strict=True) if x is not p.default and x is not MISSING}
    overloads.refuse_bound(op.name, given if out is None else {**given, "out": out}, lenient=True)


def refuse_beside(op: Any, given: dict[str, Any], alias: str, value: Any) -> None:
    """TypeError where PyTorch takes an argument by another of its names with none of these others: `mean(x, keepdims=True)`."""
    defaults = {p.name: p.default for p in op.params}
    own = {name: x for name, x in given.items() if x is not defaults.get(name, MISSING) and x is not MISSING}
    overloads.refuse_bound(op.name, {**own, alias: value})


def numpy_names(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function with NumPy's names for its parameters as well, and `self` for a number in the first place, as operations
    have them."""
    code = inspect.unwrap(fn).__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = {k: n for k, n in NUMPY_NAMES.items() if n in own and k not in own}
    first = own[0] if own else ""

    @functools.wraps(fn)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if "self" in kwargs and first == "input" and not args and not getattr(kwargs["self"], "ndim", 0):
                args = (kwargs.pop("self"),)
            named = {known.get(k, k): v for k, v in kwargs.items()}
            if len(named) < len(kwargs):
                twice = next(k for k, n in known.items() if k in kwargs and n in kwargs)
                raise TypeError(f"{fn.__name__}() got an unexpected keyword argument '{twice}'")
            kwargs = named
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if fn.__name__ in TOP:  # in PyTorch, too, the error is Python's
                raise
            if is_foreign(error):
                _look_at_all(fn.__name__, _looked_at(fn), args, kwargs)
            odd = any([isinstance(a, (complex, np.complexfloating)) for a in (*args, *kwargs.values())])  # noqa: C419
            if not isinstance(error, TypeError):
                overloads.refuse(renamed.__dict__.get("signature") or _signature_of(fn), args, kwargs)
            refuse_foreign(fn.__name__, error, first, args, odd)
            raise

    return renamed


def _signature_of(fn: Callable[..., Any]) -> str:
    """The name that a function has in the table of signatures: with its module's, where it is not one of `torch` itself."""
    space = (fn.__module__ or "").rpartition(".")[2].partition("_")[0]
    own = f"{space}_{fn.__name__}"
    return own if space in ("linalg", "fft", "special") and overloads.overloads(own) else fn.__name__


class Signature(inspect.Signature):
    """What the function of an operation shows: without what only old or other spelling needs. Worked out when somebody looks."""

    __slots__ = ("_made_of", "_found")

    def __init__(self, op: Any, others: list[str], out: bool) -> None:
        self._made_of, self._found = (op, others, out), None
        self._return_annotation = inspect.Signature.empty  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def _parameters(self) -> Any:
        if self._found is None:
            self._found = _shown(*self._made_of).parameters
        return self._found

    def replace(self, **changes: Any) -> inspect.Signature:
        """Another signature, with these parts changed."""
        return inspect.Signature(list(self._parameters.values()), __validate_parameters__=False).replace(**changes)

    def __reduce__(self) -> tuple[Any, ...]:
        return inspect.Signature, (list(self._parameters.values()),)


def _shown(op: Any, others: list[str], out: bool) -> inspect.Signature:
    shown, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for p in op.params:
        if p.star:
            shown.append(inspect.Parameter(p.name + "_items", inspect.Parameter.VAR_POSITIONAL))
        if p.star or p.keyword_only:
            kind = inspect.Parameter.KEYWORD_ONLY
        default = MISSING if p.star and p.required else p.default
        shown.append(inspect.Parameter(p.name, kind, default=default))
    by_name = {**dict.fromkeys(others, MISSING), **({"out": None} if out else {})}
    shown += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in by_name.items()]
    return inspect.Signature(shown, __validate_parameters__=False)


def once_given(function: str, name: str, value: Any, default: Any, other: Any) -> Any:
    """An argument given by another name, which may not be given by its own as well."""
    if value is not default:
        raise TypeError(f"{function}() got multiple values for argument '{name}'")
    return other


def _may_be_tensor(given: Any) -> bool:
    return hasattr(given, "_value") or hasattr(type(given), "__torch_function__") or isinstance(given, Value)


def _need_tensor(function: str, argument: str, position: int, given: Any) -> None:
    if not _may_be_tensor(given):
        where = f" (position {position})" * bool(position)
        raise TypeError(f"{function}(): argument '{argument}'{where} must be Tensor, not {kind_name(given)}")


def _need_tensors(function: str, p: Parameter, given: Any) -> None:
    if isinstance(given, (tuple, list)):
        for k, item in enumerate(given):
            if not _may_be_tensor(item):
                raise TypeError(f"expected Tensor as element {k} in argument 0, but got {kind_name(item)}")
    elif not hasattr(type(given), "__torch_function__") or hasattr(given, "_value"):
        raise TypeError(
            f"{function.lstrip('_')}(): argument '{p.name}' (position {p.position}) must be tuple of Tensors, not "
            f"{kind_name(given)}"
        )


def _look(function: str, p: Parameter, given: Any) -> None:
    kind, _, rest = p.note.partition(" | ")
    if given is None and rest == "None":
        return
    if kind == "Tensor":
        _need_tensor(function, p.name, p.position, given)
    elif kind == "Arrays":
        _need_tensors(function, p, given)
    elif kind in ("Sizes", "Ints"):
        refuse_sizes(function, p, given)
    elif kind == "Generator":
        if type(given).__name__ != kind:
            raise TypeError(f"{function}(): argument '{p.name}' must be torch.Generator, not {kind_name(given)}")
    else:
        need_kind(function, p.name, kind, given)


def refuse_arguments(function: str, params: Sequence[Parameter], values: Sequence[Any]) -> None:
    """TypeError for the first of an operation's arguments that is of another kind than its parameter."""
    for p, given in zip(params, values, strict=True):
        if given is MISSING or given is p.default:
            continue
        note, _, rest = p.note.partition(" | ")
        if given is None and rest == "None":
            continue
        if p.kind in ("array", "optional"):
            _need_tensor(function.lstrip("_"), p.name, p.position, given)
        elif p.kind == "arrays":
            _need_tensors(function, p, given)
        elif p.star:
            continue
        elif note in ("Sizes", "Ints"):
            refuse_sizes(function, p, given)
        elif note in _KNOWN and p.name != "reduction":  # of which any other kind is an unknown word
            need_kind(function, p.name, note, given)


_KNOWN = ("bool", "str", "int", "float", "Real", "Number")
_LOOKED_AT = ("Tensor", "Arrays", "Sizes", "Ints", "bool", "str", "int", "float", "Generator")


def checked(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function that refuses arguments of other kinds than its annotations say, as operations do.

    Annotations that count: `Tensor`, `Arrays`, `Sizes`, `Ints`, `bool`, `str`, `int`, `float`, `Generator`, each also with `| None`.
    """
    parameters = _looked_at(fn)

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        _look_at_all(called.__name__, parameters, args, kwargs)
        return fn(*args, **kwargs)

    return called


def _looked_at(fn: Callable[..., Any]) -> tuple[list[str], dict[str, Parameter]]:
    """The names of a plain function's parameters that have a place, and those whose annotations count."""
    found = parse(fn, None)
    names = [p.name for p in found if not p.keyword_only]
    return names, {p.name: p for p in found if p.note.partition(" | ")[0] in _LOOKED_AT}


def _look_at_all(name: str, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """TypeError for the first argument of a plain function that is of another kind than its annotation says."""
    names, looked_at = parameters
    for argument, given in (*zip(names, args, strict=False), *kwargs.items()):
        p = looked_at.get(argument)
        if p is not None:
            _look(name, p, given)


def form_of(name: str, forms: Sequence[Callable[..., Any]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(which of several forms a call of a function has, its arguments by name): the first whose parameters take them.

    forms: functions with the parameters of each, all of them required. TypeError where the arguments fit none.
    """
    for form in forms:
        names, looked_at = _looked_at(form)
        given = dict(zip(names, args, strict=False)) | kwargs
        if len(args) + len(kwargs) != len(given) or given.keys() != set(names):
            continue
        try:
            _look_at_all(name, (names, looked_at), (), given)
        except TypeError:
            continue
        return form, given
    kinds = ", ".join([*map(kind_name, args), *[f"{n}={kind_name(x)}" for n, x in kwargs.items()]])
    raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds})")


def refusal(
    name: str, error: type[Exception], message: str, takes: Callable[..., None] | None = None
) -> Callable[..., NoReturn]:
    """A function that raises. takes: a function with its parameters, which are looked at first: a call that does not fit them is
    a TypeError."""
    if takes is not None:
        takes.__name__ = takes.__qualname__ = name
        takes = checked(takes)

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        if takes is not None:
            takes(*args, **kwargs)
        raise error(message)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"{error.__name__}: {message.removesuffix('.')}."
    return refuse
