"""`RemovableHandle`: what registering a hook returns."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable
from typing import Any


class RemovableHandle:
    """Removes its hook from the dictionaries it was put into; usable as a context manager.

    hooks_dict maps handle ids to hooks; `extra_dict` (one, or several) are cleared of the id along with it.
    """

    __module__ = "jaxtorch.utils.hooks"

    next_id = itertools.count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(RemovableHandle.next_id)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extras = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self.extra_dict_ref: Iterable[Any] = tuple(weakref.ref(d) for d in extras if d is not None)

    def remove(self) -> None:
        """Take the hook out; nothing happens if it is out already."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: Any) -> None:
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(hooks)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras if d is not None)
