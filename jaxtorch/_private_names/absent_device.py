"""What the module of a kind of device offers where there is none: questions with true answers, and errors at use."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, NoReturn

from .absent import absent_class


class _Functions:
    """The functions of the module of one kind of device: of these, one for each form of arguments and answer."""

    def __init__(self, name: str) -> None:
        self._name = name

    def init(self) -> NoReturn:
        """AssertionError: there is no such device."""
        raise AssertionError(f"Torch not compiled with {self._name} enabled")

    def fails_on(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def set_device(self, device: Any) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def false(self) -> bool:
        """Always False."""
        return False

    def zero(self) -> int:
        """Always 0."""
        return 0

    def zero_on(self, device: Any = None) -> int:
        """Always 0."""
        return 0

    def no_states(self) -> list[Any]:
        """An empty list: there is no such device."""
        return []

    def nothing(self) -> None:
        """Nothing to do: there is no such device."""

    def nothing_on(self, device: Any = None) -> None:
        """Nothing to do: there is no such device."""

    def seeded(self, seed: int) -> None:
        """Nothing to do: there is no such device."""

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Nothing to do: there is no such device."""

    def set_rng_state_all(self, new_states: Any) -> None:
        """Nothing to do: there is no such device."""


_NAMES = {
    "false": "is_available is_initialized", "zero": "device_count", "init": "init current_device initial_seed",
    "fails_on": "synchronize get_device_name get_device_capability get_device_properties get_rng_state current_stream mem_get_info",
    "set_device": "set_device", "nothing": "empty_cache seed", "no_states": "get_rng_state_all",
    "set_rng_state": "set_rng_state", "set_rng_state_all": "set_rng_state_all",
    "zero_on": "max_memory_allocated memory_reserved max_memory_reserved memory_allocated",
    "nothing_on": "reset_peak_memory_stats", "seeded": "manual_seed manual_seed_all",
}  # fmt: skip
"""The functions of `torch.xpu` and its like, by their form."""


def _called(name: str, form: Any, functions: _Functions) -> MethodType:
    """A form as the function of that name."""
    made = FunctionType(form.__code__, form.__globals__, name, form.__defaults__)
    made.__doc__, made.__annotations__ = form.__doc__, form.__annotations__
    return MethodType(made, functions)


def absent_device(module: str, name: str, without: str = "") -> dict[str, Any]:
    """What the module of a kind of device holds where there is none, by name; `without` some."""
    functions = _Functions(name)
    why = f"jaxtorch has no {name} backend"
    held = {kind: absent_class(f"torch.{module}.{kind}", why) for kind in ("Event", "Stream")}
    forms = [(n, getattr(_Functions, form)) for form, names in _NAMES.items() for n in names.split()]
    return held | {n: _called(n, form, functions) for n, form in forms if n not in without.split()}
