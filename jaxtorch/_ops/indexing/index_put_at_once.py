"""Writing at places that index tensors name, as one operation: where nothing else has a part in it, with little ado."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.define.op import Array, Arrays, inner_op
from ..._core.record.program import emit
from ..._core.run.runner import PLAIN
from ..._core.tensor import strides
from ..._core.tensor.storage import Alias
from ..._core.tensor.tensor import Tensor
from ..._core.tensor.views import set_at
from ..._core.tuning import CACHED
from ..._core.types import dtypes
from ..._core.types.grad_mode import watch
from ..._core.types.value import wrap_number
from ..types.casting import convert
from .getitem import _index_tuple, places_of


@inner_op(grad="IndexPutBackward0")
def _index_put(self: Array, value: Array, indices: Arrays, pattern: Any, accumulate: bool, checked: bool = False):
    at = _index_tuple(self.shape, indices, pattern, checked)
    value = convert(value, dtypes.from_numpy(self.dtype))
    if accumulate:
        if self.dtype == np.bool_:
            return self.at[at].max(value, mode="promise_in_bounds")
        return self.at[at].add(value, mode="promise_in_bounds")
    return set_at(self, value, at)


def is_plain(t: Tensor, alias: Any) -> bool:
    """Is a tensor all of its memory, in order, so that writing to it needs no more than new content?"""
    if watch or t._rg or t._layout is not None or t._node is not None:
        return False
    return alias is None or (
        type(alias) is Alias
        and not alias.chain
        and alias.base is None
        and alias.silent is None
        and alias.storage.host is None
    )


PUT_BY = frozenset((Tensor, tuple))
"""Types of an index that `put_at_once` may know."""
_NOTHING = type(None)
_puts: dict[Any, Any] = {}  # by types: the kernel, None where the usual way has to look at it


def put_at_once(self: Tensor, index: Any, value: Any) -> bool:
    """Write at places that integer tensors or a mask on the host name, if neither autograd nor shared memory has a part in it.

    Was that so?
    """
    indices = (index,) if type(index) is Tensor else index
    alias = self._alias
    memory = None if alias is None else getattr(alias, "storage", None)
    if not indices or not is_plain(self, alias):
        return False
    for i in indices:
        if type(i) is not Tensor or i is self or (i._alias is not None and not _is_beside(i._alias, memory)):
            return False
    if isinstance(value, Tensor):
        if value._rg or value is self or (value._alias is not None and not _is_beside(value._alias, memory)):
            return False
        part = value._read()
    else:
        part = wrap_number(value)
    whole = self._read()
    if part.aval.numel == 1 and indices[0]._value.aval.dtype is dtypes.bool_:
        return False  # a fill
    found = places_of(whole.aval.shape, whole.aval.slot, indices)
    if found is None or None in found.values:
        return False
    key = (whole.aval, part.aval, tuple([v.aval for v in found.values]))
    kernel = _puts.get(key, False)
    if kernel is False:
        if len(_puts) >= CACHED:
            _puts.clear()
        kernel = _puts[key] = _put_kernel(*key)
    if kernel is None or type(whole.array) not in _ENTERING or type(part.array) not in _ENTERING:
        return False
    if not found.are_within(whole.aval.shape):
        return False
    self._write(emit(kernel, [whole, part, *found.values])[0])
    return True


_ENTERING = PLAIN | {_NOTHING}
"""Types of a value's array, or of none yet, that are no tracer's."""


def _is_beside(alias: Any, memory: Any) -> bool:
    """Does a tensor lie in other memory than this, which NumPy does not share?"""
    return type(alias) is Alias and alias.storage is not memory and alias.storage.host is None


def _put_kernel(whole: Any, part: Any, kinds: Any) -> Any:
    """The kernel of `put_at_once` for these types; None where there is something to refuse, or to convert."""
    size, slot = whole.shape, whole.slot
    if slot.is_meta or any(a.slot is not slot for a in kinds):
        return None
    if not part.wrapped and (part.dtype is not whole.dtype or part.slot is not slot):
        return None
    try:
        shape = (*strides.broadcast_shapes(*[a.shape for a in kinds]), *size[len(kinds) :])
        if strides.broadcast_shapes(part.shape, shape) != shape:
            return None
    except RuntimeError:
        return None
    return _index_put.op.build((whole, part, kinds, (True,) * len(kinds), False, True)).kernel
