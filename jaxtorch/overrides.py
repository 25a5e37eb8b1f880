"""`torch.overrides`: classes and modes that say what the functions of `torch` do (`__torch_function__`).

Public functions and methods of `torch`, `torch.nn.functional`, `torch.linalg`, `torch.fft` and `torch.special`, some of
`torch.nn.init`, and `torch.autograd.grad` and `backward` ask their arguments. As in PyTorch the function arrives as the object
it is under its public name, `torch.add` or `torch.Tensor.add`, and operators as they do there: `a + b` as `torch.Tensor.add`,
`1 - a` as `torch.Tensor.__rsub__`. Attributes such as `shape` do not ask.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from ._core.define import argument_names
from ._core.define import op as _op
from ._core.dispatch import torch_function as _engine
from ._core.tensor.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
    "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
    "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "redispatch_function", "resolve_name",
    "wrap_torch_function",
]  # fmt: skip

DisableTorchFunction = _engine.disable_all
DisableTorchFunctionSubclass = _engine.disable_subclass
_disabled_torch_function_impl = _engine.disabled_torch_function
_disabled_torch_dispatch_impl = _engine.disabled_torch_dispatch

_ASKING_NOBODY = frozenset(
    """as_subclass can_cast get_default_device get_default_dtype is_storage is_tensor manual_seed promote_types set_default_device
    set_default_dtype set_default_tensor_type set_printoptions""".split()
)
_IGNORED = frozenset(
    """arange are_deterministic_algorithms_enabled as_strided as_tensor asarray autocast_decrement_nesting autocast_increment_nesting
    bartlett_window blackman_window can_cast clear_autocast_cache compile empty empty_permuted empty_strided eye fill from_file
    from_numpy frombuffer full get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_default_device get_default_dtype
    get_deterministic_debug_mode get_device_module get_float32_matmul_precision get_num_interop_threads get_num_threads
    get_rng_state hamming_window hann_window initial_seed is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
    is_autocast_cpu_enabled is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled
    is_inference_mode_enabled is_storage is_tensor is_warn_always_enabled kaiser_window linspace load logspace manual_seed normal
    ones promote_types rand rand_like randint randint_like randn randn_like randperm range result_type save scalar_tensor seed
    set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
    set_autocast_enabled set_autocast_gpu_dtype set_default_device set_default_tensor_type set_deterministic_debug_mode
    set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_num_threads set_printoptions set_rng_state
    set_warn_always sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
    sparse_csr_tensor tensor tril_indices triu_indices typename use_deterministic_algorithms vander vmap zeros""".split()
)
_IGNORED_LAYERS = "hardsigmoid hardswish scaled_mm sigmoid tanh upsample upsample_bilinear upsample_nearest".split()
_IGNORED_INIT = """calculate_gain constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal
    xavier_uniform""".split()
_IGNORED_METHODS = """as_subclass eig lstsq new new_empty new_empty_strided new_full new_ones new_tensor new_zeros reinforce solve
    stride symeig to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unflatten""".split()
_FREQUENCIES = ("fftfreq", "rfftfreq")
_IGNORED_IN = {
    "torch": _IGNORED, "torch.nn.functional": _IGNORED_LAYERS, "torch.nn.init": _IGNORED_INIT, "torch.fft": _FREQUENCIES,
}  # fmt: skip
_OPERATORS = _engine.OPERATORS.union(
    "__getitem__ __setitem__ __len__ __bool__ __int__ __float__ __repr__ __format__ __invert__".split()
)
_MADE_OF_METHODS = frozenset((("torch.nn.functional", "tanh"), ("torch.nn.functional", "sigmoid")))
"""Functions that ask nobody themselves: the method that they call does."""
_IN_INIT = frozenset("uniform_ normal_ constant_ kaiming_uniform_".split())
"""Of `torch.nn.init` those that ask."""
_PROPERTIES = ("T", "H", "mT", "mH", "data", "real", "imag")


namespaces: dict[str, ModuleType] = {}
"""The modules whose functions ask, by their names. The package hands them over once all of them are imported."""
_ASKING_WHOLE = ("torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
"""Those whose public functions all ask."""


def _of_tensor() -> Iterator[tuple[str, FunctionType]]:
    for name, item in list(vars(Tensor).items()):
        if isinstance(item, FunctionType) and name not in _ASKING_NOBODY and (name[0] != "_" or name in _OPERATORS):
            yield name, item
    for name in _PROPERTIES:
        getter = getattr(vars(Tensor).get(name), "fget", None)
        if isinstance(getter, FunctionType):
            yield name, getter


def _of_modules() -> Iterator[tuple[str, str, FunctionType]]:
    for name, item in list(_op.functions.items()):
        if isinstance(item, FunctionType) and name not in _ASKING_NOBODY and name[0] != "_":
            yield "torch", name, item
    for label in _ASKING_WHOLE:
        for name in namespaces[label].__all__:
            item = getattr(namespaces[label], name)
            if isinstance(item, FunctionType) and (label, name) not in _MADE_OF_METHODS:
                yield label, name, item


def _of_init() -> Iterator[tuple[str, str, FunctionType]]:
    """Those of `torch.nn.init`; some of them ask, in their own text."""
    for name, item in list(vars(namespaces["torch.nn.init"]).items()):
        if isinstance(item, FunctionType) and name[0] != "_" and name[-1] == "_":
            yield "torch.nn.init", name, item


def _all() -> Iterable[FunctionType]:
    found = [item for _, item in _of_tensor()] + [item for _, _, item in _of_modules()]
    return {id(item): item for item in found}.values()


def _asking() -> Iterable[FunctionType]:
    """All of them; those that PyTorch writes in Python know how overrides see their arguments."""
    written = [item for name, item in _of_tensor() if name in argument_names.METHODS]
    for label, name, item in _of_modules():
        if name in {"torch": argument_names.TOP, "torch.nn.functional": argument_names.FUNCTIONAL}.get(label, ()):
            written.append(item)
    for item in written:
        item.told = argument_names.spelling(item)  # pyright: ignore[reportFunctionMemberAccess]
    return _all()


_engine.collectors.append(_asking)


class TorchFunctionMode:
    """Context in which every call of a public function goes to `__torch_function__(func, types, args, kwargs)`.

    In there the mode is not in force, so `func(*args, **kwargs)` computes.
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError("TorchFunctionMode.__torch_function__: define it in the subclass")

    def __enter__(self) -> Any:
        _engine.activate()
        _engine.state.modes.append(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _engine.state.modes.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; the old way to write `with Mode():`."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets every function compute."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    modes = _engine.state.modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(_engine.state.modes)


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Context in which classes and modes are asked again, inside of `__torch_function__`."""
    s = _engine.state
    before, s.disabled, s.all_disabled = (s.disabled, s.all_disabled), 0, 0
    try:
        yield
    finally:
        s.disabled, s.all_disabled = before


def is_tensor_like(inp: Any) -> bool:
    """Is it a tensor, or of a class that says how PyTorch's functions treat it?"""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Is one of the objects of a class with a `__torch_function__` of its own, or a mode in force?"""
    s = _engine.state
    if s.all_disabled:
        return False
    if s.skips:
        s.skips = False
        return False
    return bool(s.modes) or (not s.disabled and any(_engine.overrides(type(x)) for x in relevant_args))


def has_torch_function_unary(x: Any, /) -> bool:
    """`has_torch_function` of one object."""
    return has_torch_function((x,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function so that it asks nobody itself; what it is made of does. For a `__torch_function__`."""
    state = _engine.state
    state.skips = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        state.skips = False


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the objects what `public_api(*args, **kwargs)` is; TypeError where none answers."""
    return _engine.answer(public_api, relevant_args, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions like those of `torch`: `dispatcher(*args, **kwargs)` names the objects to ask."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = list(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ask, by the namespace they are in."""
    ignored = get_ignored_functions()
    found: dict[Any, list[Callable[..., Any]]] = {Tensor: [item for _, item in _of_tensor() if item not in ignored]}
    for label, _, item in _of_modules():
        if item not in ignored:
            found.setdefault(namespaces[label], []).append(item)
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For every function that asks and is not among `get_ignored_functions`, one with its parameters that answers -1."""
    import inspect

    ignored = get_ignored_functions()

    def dummy(function: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any, **kwargs: Any) -> int:
            return -1

        answer.__name__ = function.__name__
        answer.__signature__ = inspect.signature(function)
        return answer

    asking = (*_all(), *(item for _, name, item in _of_init() if name in _IN_INIT))
    return {item: dummy(item) for item in asking if item not in ignored}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that subclasses with `__torch_function__` are not asked about: those that make tensors of no tensor, read
    or set the process's state, or are deprecated."""
    found = set()
    for label, names in _IGNORED_IN.items():
        place = namespaces[label]
        found |= {getattr(place, name) for name in names if callable(getattr(place, name, None))}
    return found | {vars(Tensor)[name] for name in _IGNORED_METHODS if name in vars(Tensor)}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results `Tensor.__torch_function__` leaves as they are."""
    return set(_engine._plain)


def _names() -> dict[int, str]:
    of_tensor, of_modules = list(_of_tensor()), [*_of_modules(), *_of_init()]
    found = {id(item): f"torch.Tensor.{name}" for name, item in of_tensor}
    found.update((id(item), f"{label}.{name}") for label, name, item in of_modules)
    # `torch.clip` is `torch.clamp`: the name is that which the function has itself.
    found.update((id(item), f"torch.Tensor.{name}") for name, item in of_tensor if item.__name__ == name)
    found.update((id(item), f"{label}.{name}") for label, name, item in of_modules if item.__name__ == name)
    # `torch.linalg.det` is `torch.det`: the shorter one, but for what PyTorch too has in `torch.nn.functional` alone.
    for label, name, item in of_modules:
        at = found[id(item)]
        shorter = name in ("sigmoid", "tanh") or at.startswith(("torch.linalg.", "torch.special."))
        if label == "torch" and shorter and item.__name__ in (name, f"linalg_{name}"):
            found[id(item)] = f"torch.{name}"
    return found


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which a function that asks is known: 'torch.add'. None for another."""
    return _names().get(id(f))


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Is it a method of `Tensor`, or the getter of a property?"""
    return any(item is func for _, item in _of_tensor())
