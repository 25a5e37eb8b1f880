"""`torch.distributed._composable_state`: what is kept beside modules; no module of jaxtorch's has such a state by itself."""

from __future__ import annotations

import weakref
from typing import Any

from ..nn import Module


class _State:
    """What a function applied to a module keeps for it."""


_states: weakref.WeakKeyDictionary[Module, weakref.ReferenceType[_State]] = weakref.WeakKeyDictionary()


def _insert_module_state(module: Module, state: _State) -> None:
    """Give a module its state, once."""
    if module in _states:
        raise AssertionError(f"Inserting {module} more than once.")
    _states[module] = weakref.ref(state)


def _get_module_state(module: Any) -> _State | None:
    """A module's state: itself where it is one, what was given, or None."""
    if isinstance(module, _State):
        return module
    found = _states.get(module)
    return found() if found is not None else None
