"""Names that exist so that libraries can import them, and say at use what jaxtorch lacks; methods that subclasses define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Union

from .._core.define import overloads

_REASON = "jaxtorch does not have it"


class AbsentAttribute(NotImplementedError, AttributeError):
    """An attribute of what jaxtorch lacks; `hasattr` says False."""


AbsentAttribute.__name__ = AbsentAttribute.__qualname__ = "NotImplementedError"


class _AbsentMeta(type):
    """Makes a class whose attributes, where they are not defined, cannot be used either."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AbsentAttribute(f"{cls._api}.{name}: {cls._reason}")

    def __iter__(cls) -> Any:
        raise NotImplementedError(f"{cls._api}: {cls._reason}")


def absent_class(api: str, reason: str = _REASON, home: str = "") -> Any:
    """A class for annotations and `isinstance`; making an instance raises NotImplementedError naming `api`.

    home: the module that it says it is from, if that is not the one in `api`.
    """

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{api}: {reason}")

    module, _, name = api.rpartition(".")
    return _AbsentMeta(
        name,
        (),
        {
            "__new__": __new__, "__class_getitem__": classmethod(lambda cls, item: cls), "__module__": home or module,
            "__doc__": f"{reason}.", "_api": api, "_reason": reason,
        },
    )  # fmt: skip


def absent_function(api: str, reason: str = _REASON) -> Callable[..., NoReturn]:
    """A function that raises NotImplementedError naming `api`, or the TypeError of arguments that PyTorch's would not take."""

    def missing(*args: Any, **kwargs: Any) -> NoReturn:
        if api.startswith("torch.") and api.count(".") == 1:
            overloads.refuse(missing.__name__, args, kwargs)
        raise NotImplementedError(f"{api}: {reason}")

    missing.__name__ = missing.__qualname__ = api.rpartition(".")[2]
    missing.__doc__ = f"NotImplementedError: {reason}."
    return missing


class AbsentValue:
    """A table, an instance or a type expression of PyTorch's: it can be named and annotated with, and nothing else."""

    def __init__(self, api: str, reason: str = _REASON) -> None:
        object.__setattr__(self, "_absent", (api, reason))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        api, reason = object.__getattribute__(self, "_absent")
        raise NotImplementedError(f"{api}: {reason}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        api, reason = object.__getattribute__(self, "_absent")
        raise AbsentAttribute(f"{api}: {reason}")

    def __repr__(self) -> str:
        return f"<{self._absent[0]}, which jaxtorch has not>"

    def __or__(self, other: Any) -> Any:
        return Union[type(self), other]  # noqa: UP007 - made while the program runs

    __ror__ = __or__
    __call__ = __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = __delitem__ = __contains__ = _refuse
    __setattr__ = __delattr__ = __enter__ = __exit__ = __int__ = __float__ = __index__ = __add__ = __lt__ = _refuse


def undefined(instance: Any, name: str) -> NotImplementedError:
    """The error of a method that a subclass has to define."""
    return NotImplementedError(f"{type(instance).__name__}.{name} is not implemented")


def absent(module: str, names: str, reason: str = _REASON) -> dict[str, Any]:
    """Absent classes (capitalised names) and functions of a module, by name."""
    module = "torch" + module.removeprefix("jaxtorch")
    return {
        name: (absent_class if name.lstrip("_")[0].isupper() else absent_function)(f"{module}.{name}", reason)
        for name in names.split()
    }
