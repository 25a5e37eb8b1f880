"""PyTorch's operator database, `op_db`, as cases for jaxtorch: entries, samples, and the same call on both modules.

The database describes each operation by a callable, sample inputs for every element type, bad inputs, and the forms it has.
Here the callable gets its *twin* on jaxtorch (`twin`): a name found under `torch` is looked up under `jaxtorch`, and a function
that the database itself defines is copied with `torch` bound to jaxtorch. Samples are made once, by PyTorch, and converted
through NumPy with their strides (`converted`). `op_db_checks` runs, `op_db_compare` compares.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import random
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import torch

from parity import candidate
from quick_reference import databases

DTYPES = ("float32", "float64", "int64", "int32", "bool", "complex64", "bfloat16", "float16")
DEVICE = os.environ.get("JAXTORCH_TEST_DEVICE", "cpu")
"""Where jaxtorch's tensors are; PyTorch's are on the CPU."""
OUT_OF_SCOPE = {
    "sparse.sampled_addmm": "sparse layout: compared in compat_tests/layouts/test_sparse_op_db.py",
    "sparse.mm": "sparse layout: compared in compat_tests/layouts/test_sparse_op_db.py",
    "to_sparse": "sparse layout: compared in compat_tests/layouts/test_sparse_op_db.py",
    "torch._scaled_mm": "8-bit floating point",
    "torch._scaled_mm_v2": "8-bit floating point",
    "max_pool2d_with_indices_backward": "reached only through torch.ops.aten",
}


def out_of_scope(entry: Any) -> str:
    """Why an entry is not looked at; empty where it is."""
    if entry.name in OUT_OF_SCOPE:
        return OUT_OF_SCOPE[entry.name]
    if entry.name.startswith("jiterator") or not entry.supported_dtypes("cpu"):
        return "CUDA only"
    if type(entry.op).__module__ == "torch._ops":
        return "reached only through torch.ops.aten"
    return ""


def key_of(entry: Any) -> str:
    """'nn.functional.linear_cross_entropy/chunked': the name and, where there is one, the variant."""
    return entry.name + (f"/{entry.variant_test_name}" if entry.variant_test_name else "")


@functools.cache
def entries() -> dict[str, Any]:
    """All entries by key."""
    return {key_of(e): e for e in databases().op_db}


@functools.cache
def in_scope() -> list[str]:
    """The keys of the entries that are looked at."""
    return [key for key, entry in entries().items() if not out_of_scope(entry)]


# -- the same callable on jaxtorch ---

_PLACES = (
    "torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.masked",
    "torch.signal.windows", "torch._C._nn", "torch._C",
)  # fmt: skip


def _lookup(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


@functools.cache
def _paths() -> dict[int, str]:
    """Dotted path below `torch` of every public callable, by identity."""
    found: dict[int, str] = {}
    for place in _PLACES:
        module = torch if place == "torch" else _lookup(torch, place.removeprefix("torch."))
        for name in dir(module):
            item = getattr(module, name, None)
            if callable(item) and (not name.startswith("__") or place == "torch.Tensor"):
                found.setdefault(id(item), f"{place}.{name}".removeprefix("torch."))
    return found


class Absent(Exception):
    """jaxtorch has no such name."""


def twin(item: Any, hint: str = "") -> Any:
    """The callable's counterpart on jaxtorch."""
    path = _paths().get(id(item))
    if hint:
        with contextlib.suppress(AttributeError):
            path = hint if _lookup(torch, hint) is item else path
    if path is not None:
        try:
            return _lookup(candidate(), path)
        except AttributeError:
            raise Absent(f"torch.{path}") from None
    if isinstance(item, functools.partial):
        return functools.partial(
            twin(item.func), *map(twin_value, item.args), **{k: twin_value(v) for k, v in item.keywords.items()}
        )
    if isinstance(item, types.FunctionType) and item.__module__.startswith("torch."):
        return _seeded if item.__name__ == "wrapper_set_seed" else _rebound(item)
    return item


def twin_value(item: Any) -> Any:
    if isinstance(item, torch.Tensor):
        return converted(item)
    return twin(item) if callable(item) and not isinstance(item, type) else item


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    candidate().manual_seed(42)
    return op(*args, **kwargs)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _rebound(function: types.FunctionType) -> Callable[..., Any]:
    """A copy of one of the database's own functions, with the names of PyTorch that it uses bound to jaxtorch's."""
    scope: dict[str, Any] = {"__builtins__": __builtins__}
    copy = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__,
        function.__closure__ and tuple(types.CellType(twin_value(c.cell_contents)) for c in function.__closure__),
    )  # fmt: skip
    copy.__kwdefaults__ = function.__kwdefaults__
    for name in _names(function.__code__):
        item = function.__globals__.get(name)
        if name == "torch":
            scope[name] = candidate()
        elif name == "wrapper_set_seed":
            scope[name] = _seeded
        elif isinstance(item, types.ModuleType) and item.__name__.startswith("torch."):
            with contextlib.suppress(AttributeError):
                scope[name] = _lookup(candidate(), item.__name__.removeprefix("torch."))
        elif item is function:
            scope[name] = copy
        elif item is not None:
            scope[name] = twin_value(item)
    return copy


# -- the same value on jaxtorch ---


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The values, bfloat16 as its bits in int16."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor).numpy()


def converted(value: Any, known: dict[int, Any] | None = None) -> Any:
    """The same value for jaxtorch; the strides of tensors are kept, and one tensor given twice stays one."""
    known = _shared(value) if known is None else known
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            known[id(value)] = (_tensor(value), value)
        return known[id(value)][0]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[converted(v, known) for v in value])
    if isinstance(value, torch.Size):
        return candidate().Size(value)
    if isinstance(value, list | tuple):
        return type(value)(converted(v, known) for v in value)
    if isinstance(value, dict):
        return {k: converted(v, known) for k, v in value.items()}
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return getattr(candidate(), str(value).removeprefix("torch."))
    if isinstance(value, torch.device):  # samples name the CPU: they are made there
        return candidate().device(str(value)) if value.type != "cpu" else candidate().get_default_device()
    if isinstance(value, slice):
        return slice(converted(value.start, known), converted(value.stop, known), converted(value.step, known))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return getattr(candidate().nn, type(value).__name__)(**converted(fields, known))
    if isinstance(value, torch.nn.PairwiseDistance):
        return candidate().nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    if isinstance(value, torch.nn.Module):
        raise Absent("a module as an argument")
    return twin(value) if callable(value) and not isinstance(value, type) else value


def _shared(value: Any) -> dict[int, Any]:
    """What different tensors on one storage become: views of one piece of memory."""
    found: dict[int, Any] = {}
    by_storage: dict[int, dict[int, torch.Tensor]] = {}
    for t in tensors(value):
        if isinstance(t, torch.Tensor) and t.layout is torch.strided and t.device.type == "cpu" and not t.requires_grad:
            by_storage.setdefault(t.untyped_storage().data_ptr(), {})[id(t)] = t
    for pointer, group in by_storage.items():
        one = next(iter(group.values()))
        if pointer == 0 or len(group) < 2 or len({t.dtype for t in group.values()}) > 1:
            continue
        held = one.untyped_storage().nbytes() // one.element_size()
        memory = _flat(array_of(torch.as_strided(one, (held,), (1,), 0)), one.dtype)
        for t in group.values():
            found[id(t)] = (candidate().as_strided(memory, t.shape, t.stride(), t.storage_offset()), t)
    return found


def _tensor(value: torch.Tensor) -> Any:
    if value.layout is not torch.strided:
        raise Absent(f"{value.layout} as an argument")
    c = candidate()
    if value.device.type == "meta":
        return c.empty_strided(value.shape, value.stride(), dtype=converted(value.dtype), device="meta")
    if value.is_conj():
        made = _tensor(value.detach().conj()).conj()
    elif value.ndim > 64:  # which NumPy's arrays have not
        made = _tensor(value.detach().flatten()).reshape(value.shape)
    elif not value.numel():  # through an array its strides would be 0
        made = c.empty_strided(value.shape, value.stride(), dtype=converted(value.dtype))
    elif value.is_contiguous() and not value.storage_offset():
        made = _flat(array_of(value), value.dtype)
    else:
        last = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
        held = value.untyped_storage().nbytes() // value.element_size()
        span = max(value.storage_offset() + last + 1, min(held, 4096))
        memory = torch.as_strided(value.detach(), (span,), (1,), 0)
        made = c.as_strided(_flat(array_of(memory), value.dtype), value.shape, value.stride(), value.storage_offset())
    if isinstance(value, torch.nn.Parameter):
        return c.nn.Parameter(made, value.requires_grad)
    return made.detach().requires_grad_() if value.requires_grad else made


def _flat(array: np.ndarray, dtype: torch.dtype) -> Any:
    if dtype is torch.bfloat16:
        array = array.view(ml_dtypes.bfloat16)
    return candidate().tensor(np.array(array))


# -- samples ---


def seed(n: int = 0) -> None:
    torch.manual_seed(n)
    candidate().manual_seed(n)
    np.random.seed(n)
    random.seed(n)


SOURCES: dict[str, Callable[..., Any]] = {
    "samples": lambda entry, *a, **k: entry.sample_inputs(*a, **k),
    "reference": lambda entry, *a, **k: entry.reference_inputs(*a, **k),
    "conjugate": lambda entry, *a, **k: entry.conjugate_sample_inputs(*a, **k),
    "noncontiguous": lambda entry, *a, **k: (s.noncontiguous() for s in entry.sample_inputs(*a, **k)),
}
"""Where samples come from: those of the entry, its larger set with extreme values and other shapes, or in unusual memory."""


def samples(entry: Any, dtype: str, grad: bool, limit: int = 0, source: str = "samples") -> list[Any]:
    """The sample inputs for an element type, the same ones every time; `limit` of them, spread over all."""
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(SOURCES[source](entry, "cpu", getattr(torch, dtype), requires_grad=grad))
    if limit and len(made) > limit:
        made = [made[i * len(made) // limit] for i in range(limit)]
    return made


def tensors(value: Any) -> Iterator[Any]:
    """Every tensor, of either module, in nested arguments or results, in order."""
    if isinstance(value, torch.Tensor | candidate().Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)


def tolerance(entry: Any, dtype: str) -> tuple[float, float] | tuple[None, None]:
    """Relative and absolute tolerance: the widest that the entry's own decorators ask for, or assert_close's (None)."""
    from torch.testing._internal.common_device_type import toleranceOverride

    widest: tuple[float, float] | None = None
    for decorate in entry.decorators:
        if getattr(decorate, "device_type", None) not in (None, "cpu"):
            continue
        for override in getattr(decorate, "decorators", [decorate]):
            if isinstance(override, toleranceOverride):
                found = override.d.get(getattr(torch, dtype))
                if found is not None:
                    default = torch.testing._comparison.default_tolerances(getattr(torch, dtype))
                    widest = widest or default
                    widest = max(widest[0], found.rtol), max(widest[1], found.atol)
    return widest or (None, None)
