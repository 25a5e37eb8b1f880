"""Names that exist so that libraries can import them, and say at use what jaxtorch lacks; methods that subclasses define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class _AbsentMeta(type):
    """Makes a class whose attributes, where they are not defined, cannot be used either."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"{cls._api}.{name}: {cls._reason}")


def absent_class(api: str, reason: str = "jaxtorch does not have it") -> Any:
    """A class for annotations and `isinstance`; making an instance raises NotImplementedError naming `api`."""

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{api}: {reason}")

    module, _, name = api.rpartition(".")
    return _AbsentMeta(
        name,
        (),
        {"__new__": __new__, "__module__": module, "__doc__": f"{reason}.", "_api": api, "_reason": reason},
    )


def absent_function(api: str, reason: str = "jaxtorch does not have it") -> Callable[..., NoReturn]:
    """A function that raises NotImplementedError naming `api`."""

    def missing(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{api}: {reason}")

    missing.__name__ = missing.__qualname__ = api.rpartition(".")[2]
    missing.__doc__ = f"NotImplementedError: {reason}."
    return missing


def undefined(instance: Any, name: str) -> NotImplementedError:
    """The error of a method that a subclass has to define."""
    return NotImplementedError(f"{type(instance).__name__}.{name} is not implemented")


def absent(module: str, names: str, reason: str = "jaxtorch does not have it") -> dict[str, Any]:
    """Absent classes (capitalised names) and functions of a module, by name."""
    module = "torch" + module.removeprefix("jaxtorch")
    return {
        name: (absent_class if name.lstrip("_")[0].isupper() else absent_function)(f"{module}.{name}", reason)
        for name in names.split()
    }
