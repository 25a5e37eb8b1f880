"""What the module of a kind of device offers where there is none: questions with true answers, and errors at use."""

from __future__ import annotations

from typing import Any, NoReturn

from ._absent import absent_class


class AbsentDevice:
    """The functions of `torch.xpu` and its like; their names are those without an underscore."""

    def __init__(self, name: str) -> None:
        self._name = name

    def is_available(self) -> bool:
        """Always False."""
        return False

    def is_initialized(self) -> bool:
        """Always False."""
        return False

    def device_count(self) -> int:
        """Always 0."""
        return 0

    def init(self) -> NoReturn:
        """AssertionError: there is no such device."""
        raise AssertionError(f"Torch not compiled with {self._name} enabled")

    def synchronize(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def current_device(self) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def set_device(self, device: Any) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def empty_cache(self) -> None:
        """Nothing to do: there is no such device."""

    def get_device_name(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def get_device_capability(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def get_device_properties(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def get_rng_state(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def get_rng_state_all(self) -> list[Any]:
        """An empty list: there is no such device."""
        return []

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Nothing to do: there is no such device."""

    def set_rng_state_all(self, new_states: Any) -> None:
        """Nothing to do: there is no such device."""

    def current_stream(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def initial_seed(self) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def mem_get_info(self, device: Any = None) -> NoReturn:
        """AssertionError: there is no such device."""
        self.init()

    def max_memory_allocated(self, device: Any = None) -> int:
        """Always 0."""
        return 0

    def memory_reserved(self, device: Any = None) -> int:
        """Always 0."""
        return 0

    def max_memory_reserved(self, device: Any = None) -> int:
        """Always 0."""
        return 0

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Nothing to do: there is no such device."""

    def memory_allocated(self, device: Any = None) -> int:
        """Always 0."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """Nothing to do: there is no such device."""

    def manual_seed_all(self, seed: int) -> None:
        """Nothing to do: there is no such device."""

    def seed(self) -> None:
        """Nothing to do: there is no such device."""


def absent_device(module: str, name: str, without: str = "") -> dict[str, Any]:
    """What the module of a kind of device holds where there is none, by name; `without` some."""
    functions = AbsentDevice(name)
    why = f"jaxtorch has no {name} backend"
    held = {kind: absent_class(f"torch.{module}.{kind}", why) for kind in ("Event", "Stream")}
    names = [n for n in vars(AbsentDevice) if not n.startswith("_") and n not in without.split()]
    return held | {n: getattr(functions, n) for n in names}
