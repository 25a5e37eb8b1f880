"""Switches of the modules of `torch.backends`: attributes that are checked when they are set, and may be frozen."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from .._namespace import precision
from .._namespace.switches import expect_bool


class Frozen:
    """Has `torch.backends.disable_global_flags` been called? Then only `flags()` sets switches."""

    on = False


@contextlib.contextmanager
def bracketed() -> Iterator[None]:
    """Context in which the switches may be set although they are frozen."""
    before, Frozen.on = Frozen.on, False
    try:
        yield
    finally:
        Frozen.on = before


class Flag:
    """A switch of a module that keeps a bool; `setter` is the function that PyTorch's error names, None for no check."""

    def __init__(self, value: Any, setter: str | None = None) -> None:
        self.value, self.setter = value, setter

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        return self.value

    def check(self, module: Any, value: Any) -> None:
        """RuntimeError where switches are frozen, or the value is no bool."""
        if Frozen.on:
            name = shown(module)
            raise RuntimeError(
                f"not allowed to set {name} flags after disable_global_flags; please use flags() context manager instead"
            )
        if self.setter is not None:
            expect_bool(self.setter, value)

    def __set__(self, module: Any, value: Any) -> None:
        self.check(module, value)
        self.value = value


class Precision(Flag):
    """`fp32_precision` of a backend."""

    def __init__(self, backend: str, operation: str = "all") -> None:
        super().__init__(None)
        self.place = backend, operation

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        return precision.fp32_precision(*self.place)

    def __set__(self, module: Any, value: Any) -> None:
        self.check(module, value)
        precision.set_fp32_precision(*self.place, value)


class Operation:
    """`torch.backends.mkldnn.matmul` and its like: the precision of one kind of operation, and no other attribute."""

    def __init__(self, backend: str, operation: str) -> None:
        self.__dict__.update(backend=backend, op=operation)

    def __getattr__(self, name: str) -> Any:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        return precision.fp32_precision(self.backend, self.op)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        precision.set_fp32_precision(self.backend, self.op, value)


def shown(module: Any) -> str:
    """A module's name as PyTorch's."""
    return module.__name__.replace("jaxtorch", "torch", 1)


def with_flags(module: str, **flags: Any) -> None:
    """Give a module switches: descriptors by name."""
    made: Any = sys.modules[module]
    made.__class__ = type("_Module", (types.ModuleType,), flags)


def set_flags(module: Any, **given: Any) -> tuple[Any, ...]:
    """Set a module's switches, where the value is not None, and tell what they were."""
    before = tuple(getattr(module, name) for name in given)
    for name, value in given.items():
        if value is not None:
            setattr(module, name, value)
    return before


@contextlib.contextmanager
def changed(module: Any, **given: Any) -> Iterator[None]:
    """Context in which a module's switches are others; None leaves one as it is."""
    with bracketed():
        before = set_flags(module, **given)
    try:
        yield
    finally:
        with bracketed():
            for name, value in zip(given, before, strict=True):
                if getattr(module, name) != value:
                    setattr(module, name, value)
