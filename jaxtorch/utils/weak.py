"""`torch.utils.weak`: dictionaries whose keys are held weakly and compared by identity.

A `weakref.WeakKeyDictionary` compares its keys by `==`, which for tensors gives a tensor.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from .._core.tensor.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference, hashed by its object's identity and equal to any other to the same living object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        if mine is not None and isinstance(other, weakref.ref):
            return mine is other()
        return self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary of objects that it holds weakly and finds by identity: an entry goes when its key does.

    `ref_type(key, callback)` makes the references.
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        owner = weakref.ref(self)

        def forget(reference: Any) -> None:
            mapping = owner()
            if mapping is not None:
                mapping.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def _living(self) -> list[tuple[Any, Any]]:
        pairs = [(reference(), value) for reference, value in list(self.data.items())]
        return [(key, value) for key, value in pairs if key is not None]

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # numbers and strings cannot be held weakly
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._living()])

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __copy__(self) -> WeakIdKeyDictionary:
        return type(self)(self, self.ref_type)

    copy = __copy__

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        made = type(self)(ref_type=self.ref_type)
        for key, value in self._living():
            made[key] = deepcopy(value, memo)  # keys are what they are: they are compared by identity
        return made

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)(other, self.ref_type)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self._living()} == {id(key): other[key] for key in other}

    __hash__ = None

    def keyrefs(self) -> list[Any]:
        """The references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: calling it gives the tensor, or None."""

    def __init__(self, tensor: Tensor) -> None:
        assert isinstance(tensor, Tensor), f"expected torch.Tensor, got {type(tensor)}."
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
