"""`Tensor`: a mutable handle on an immutable value, and the last steps of every operation.

`finish` turns a looked-up entry into result tensors, with a node on the tape where a gradient is wanted. `Tensor._rebind` is
the one door for mutation. What a tensor can do is installed from `_ops` (see `install` there); here is what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..compile.kernel import Entry, Kernel
from ..graph import nodes
from ..graph.derivative import grad_form
from ..graph.nodes import HookedValues, entered_kinds
from ..record import module_depth
from ..record.program import emit, force
from ..run import capture, traced_kernels
from ..run.runner import is_tracer
from ..types import dtypes
from ..types.device import cpu, jax_devices
from ..types.device import device as _device
from ..types.grad_mode import Anomaly, finished, inferring, no_grad, state, watch
from ..types.structseq import of_out
from ..types.value import WHOLE, Mapped, Value, aval_of
from . import storage
from .storage import Alias, Version

_new = object.__new__

write_shared: Any = None
"""`views.write`, which is imported later."""

check_history: Any = None
check_place: Any = None
check_single: Any = None
"""Errors of tensors that share memory. Set by aliasing.py."""
store_out: Any = None
"""(out, result): how an `out=` tensor gets its content. Set by out_tensors.py."""
forward_mode: Any = None
"""Forward mode: the module transforms/forward_mode.py, which puts itself here."""

journals: list[Any] = []
"""Of what is written to tensors while a function may have to begin anew, or a compiled call to be refused
(`transforms/write_journal.py`).
"""

on_subclass: list[Any] = []
"""Functions called with each new subclass of `Tensor`."""


class Tensor:
    """A multi-dimensional array of one element type, with PyTorch's interface.

    _value:  the content when it was last read; through `_alias` when memory is shared.
    _node:   the autograd node that made it, whose output number is `_index`; None for a leaf.
    _layout: (strides, storage offset) when they are not those of a fresh contiguous tensor.
    _ver:    writes in place so far, while no storage is shared.
    """

    __module__ = "jaxtorch"

    __slots__ = ("_value", "_alias", "_node", "_index", "_rg", "_grad", "_layout", "_ver", "_hooks", "_post_hooks",
                 "_inferred", "_written", "__dict__", "__weakref__")  # fmt: skip

    _value: Value
    _alias: Alias | None
    _node: Any
    _index: int
    _rg: bool
    _grad: Any
    _layout: Any
    _ver: int
    _hooks: Any
    _post_hooks: Any

    if TYPE_CHECKING:  # the rest is installed from the tables of `_ops` and `_tensor`

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Any: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __mod__: Any
        __pow__: Any
        __rpow__: Any
        __matmul__: Any
        __neg__: Any
        __abs__: Any
        __invert__: Any
        __and__: Any
        __or__: Any
        __xor__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
    _inferred: bool  # set only on tensors made in inference mode
    _written: Version  # made by the first write in place, for the values that are overwritten

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for callback in on_subclass:
            callback(cls)

    def _read(self) -> Value:
        """The current value."""
        alias = self._alias
        return self._value if alias is None else alias.read(self)

    def _array(self) -> Any:
        """The current content as a JAX (or NumPy) array; runs the program that makes it."""
        alias = self._alias
        return force(self._value if alias is None else alias.peek(self))

    def _write(self, value: Value) -> None:
        """Give this tensor, and all that share its memory, new content without touching autograd."""
        if journals:
            journals[-1].note(self)
        alias = self._alias
        if alias is None:
            written = version_of(self)
            self._value.guard = (written, self._ver, WHOLE, None)
            self._value = value
            self._ver = written.n = self._ver + 1
        else:
            write_shared(self, alias, value)

    def _write_uncounted(self, value: Value) -> None:
        """Give this tensor new content in a way that autograd does not see: where backward has saved the old, it reads the new."""
        if self._alias is None:
            self._value.guard = value
            self._value = value
        else:
            self.data._write(value)

    def _rebind(self, result: Tensor) -> Tensor:
        """Make this tensor be `result`: the effect of every in-place operation."""
        if watch:
            refuse_inference(self)
            if "duals" in watch:
                forward_mode.keep(self, result)
        alias = self._alias
        if alias is not None and (result._rg or (alias.base is not None and alias.base._rg)) and alias.base is not None:
            storage.write_with_graph(self, alias, result)  # pyright: ignore[reportArgumentType]
        else:
            self._write(result._value)
            if result._rg:
                self._set_history(result._node, result._index)
            elif state.grad and self._node is not None:
                self._node, self._index, self._rg = None, 0, False
        return self

    def _set_history(self, node: Any, index: int) -> None:
        old, old_index = self._node, self._index
        self._node, self._index, self._rg = node, index, True
        alias = self._alias
        written = getattr(self, "_written", None) if alias is None else alias.version
        if written is not None and (alias is None or not alias.chain):
            written.by = type(node)
        if old is not None and old.retains and old_index in old.retains and old.retains[old_index]() is self:
            del old.retains[old_index]
            node.retain(index, self)
        if old is None and self._hooks:
            node.output_hooks(index).update(self._hooks)
            self._hooks = None


def version_of(t: Tensor) -> Version:
    """The count of writes to a tensor's memory, made if nothing has asked for it yet."""
    if t._alias is not None:
        return t._alias.version
    written = getattr(t, "_written", None)
    if written is None:
        written = t._written = Version(t._ver)
    return written


def count_write(t: Tensor) -> None:
    """Count a change of a tensor that shares its memory with none as a write."""
    written = getattr(t, "_written", None)
    t._ver += 1
    if written is not None:
        written.n = t._ver


def wrap(value: Value) -> Tensor:
    """A new tensor on a value."""
    t = _new(Tensor)
    t._value = value
    t._alias = t._node = t._grad = t._layout = t._hooks = t._post_hooks = None
    t._index = t._ver = 0
    t._rg = False
    if inferring and state.inference:
        t._inferred = True
    return t


def is_inference(t: Tensor) -> bool:
    """Was the tensor made in inference mode?"""
    alias = t._alias
    if type(alias) is not Alias:  # no memory shared; a sparse tensor's alias has no storage
        return getattr(t, "_inferred", False)
    return alias.storage.inferred


def need_tensor(x: Any, function: str, argument: str = "input", position: int = 1) -> Tensor:
    """An argument that must be a tensor; TypeError if it is none. position: its place among the arguments, from 1; 0 where it
    has none."""
    if not isinstance(x, Tensor):
        kind = type(x).__name__
        kind = f"numpy.{kind}" if type(x).__module__ == "numpy" else kind
        where = f" (position {position})" * bool(position)
        raise TypeError(f"{function.lstrip('_')}(): argument '{argument}'{where} must be Tensor, not {kind}")
    return x


def refuse_inference(t: Tensor) -> None:
    """Raise PyTorch's error for writing, outside inference mode, to a tensor made there."""
    if not state.inference and is_inference(t) and not getattr(t._alias, "loose", False):
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def from_host(array: np.ndarray[Any, Any], device: Any = None) -> Tensor:
    """A tensor that takes a NumPy array over, without a copy: nobody may write to the array afterwards."""
    slot = (device or cpu).slot
    return wrap(Value(aval_of(array.shape, dtypes.from_numpy(array.dtype), slot), array))


def from_array(array: Any) -> Tensor:
    """A tensor on a JAX array or tracer, without a copy."""
    return wrap(Value(aval_of(tuple(array.shape), dtypes.from_numpy(array.dtype), _slot_of(array)), array))


def _slot_of(array: Any) -> Any:
    try:
        where = next(iter(array.devices()))
    except Exception:
        if (inner := traced_kernels.within(array)) is not None:
            return _slot_of(inner)
        # a tracer lives where JAX puts what is not placed
        where = jax.config.jax_default_device or jax.local_devices()[0]  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(where, str):
            where = jax.local_devices(backend=where)[0]
    if where.platform == "cpu":
        return cpu.slot
    kind = {"gpu": "cuda", "cuda": "cuda", "rocm": "cuda", "tpu": "tpu"}.get(where.platform, "xla")
    return _device(kind, jax_devices(kind).index(where)).slot


finish_in_c: Any = None
"""`finish` in C for the common case, None in any other (see dispatch/recorder.py); None where it was not built."""


def finish(entry: Entry, mask: int, values: list[Value], operands: Any) -> Any:
    """Emit an entry and wrap its outputs; `mask` says which operands require a gradient."""
    if finish_in_c is not None:
        made = finish_in_c(entry, mask, values, operands)
        if made is not None:
            return made
    if mask and state.grad and True in entry.out_float:
        return _graded(entry, mask, values, operands)
    outs = emit(entry.kernel, values)
    pack = entry.pack
    if pack is None:
        return wrap(outs[0])
    return pack([wrap(o) for o in outs])


def _emit_checked(kernel: Any, values: list[Value]) -> list[Value]:
    state.graded = True
    try:
        return emit(kernel, values)
    finally:
        state.graded = False


def _graded(entry: Entry, mask: int, values: list[Value], operands: Any) -> Any:
    if watch and state.inference:  # under enable_grad in there too
        return finish(entry, 0, values, operands)
    if finished:
        module_depth.outermost_entered()
    form = entry.forms.get(mask)
    if form is None:
        form = grad_form(entry, mask)
    if form.has_extra and ("duals" in watch or any([is_tracer(v.array) for v in values])):  # noqa: C419
        form = form.for_tracers()
    if watch and capture.staging is not None:
        capture.staging.graded = form.kernel, form.wanted, operands
    outs = emit(form.kernel, values) if not form.kernel.checks else _emit_checked(form.kernel, values)
    ends, indices = [], None
    for i in form.wanted:
        x = operands[i]
        node = x._node
        if node is None:
            ends.append(x)
        else:
            ends.append(node)
            if x._index and indices is None:
                indices = tuple([0 if operands[j]._node is None else operands[j]._index for j in form.wanted])
    n = form.n_out
    saved: Any = ()
    if form.roots:
        saved = [values[k] if kind == "in" else outs[k if kind == "out" else n + k] for kind, k in form.roots]
    if form.has_extra:
        saved = [*saved, *values]
    if form.kept:
        saved = [*saved, *[values[k] if kind == "in" else outs[k] for kind, k in form.kept]]
    node = form.node_type(form, saved, ends, indices)
    if watch:
        finish_watched_node(node, operands)
    if entry.pack is None:
        t = wrap(outs[0])
        t._node = node
        t._rg = True
        return t
    made = []
    for k in range(n):
        t = wrap(outs[k])
        if entry.out_float[k]:
            t._node, t._index, t._rg = node, k, True
        made.append(t)
    return entry.pack(made)


def finish_watched_node(node: Any, operands: Any) -> None:
    """Look at a node that has just been made, for the reasons in `watch`."""
    form = node.form
    if capture.staging is not None:
        capture.staging.graded = None
    if "invalid views" in watch:
        for i in form.wanted:
            check_place(operands[i])
    kept = [operands[k] for kind, k in form.roots if kind == "in"]
    if any(isinstance(t, Tensor) and is_inference(t) for t in kept):
        raise RuntimeError(INFERENCE_SAVED)
    if state.saved_hooks and not isinstance(state.saved_hooks[-1], str):
        given = operands[1:] if form.entry.inplace else operands  # what is overwritten is kept apart from its tensor
        node.saved = pack(node.saved, {id(t._read()): t for t in given if isinstance(t, Tensor)})
    if Anomaly.enabled:
        node.note_traceback()


INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)


def pack(values: Any, tensors: dict[int, Tensor]) -> HookedValues:
    """Saved values as the innermost `saved_tensors_hooks` turns them into something else; numbers stay.

    tensors: those that hold some of the values, by the values' ids.
    """
    hooks = state.saved_hooks[-1]
    made: dict[int, Any] = {}
    with no_grad():
        for v in values:
            if id(v) not in made and not v.aval.wrapped:
                made[id(v)] = apply_pack_hook(hooks[0], tensors[id(v)] if id(v) in tensors else wrap(v))
    return HookedValues([(v, None) if v.aval.wrapped else (None, made[id(v)]) for v in values], hooks[1])


def apply_pack_hook(hook: Any, t: Tensor) -> Any:
    """What a pack hook makes of a tensor, which it must leave as it is."""
    before = t._version
    found = hook(t)
    if t._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
            "perform in-place operations on the input to a pack hook."
        )
    return found


def unpack_saved(packed: HookedValues) -> list[Value]:
    """The values that were packed, from the hook that turns them back."""
    given: dict[int, Any] = {}
    found = []
    for value, thing in packed.items:
        if value is None:
            if id(thing) not in given:
                given[id(thing)] = packed.unpack(thing)
                if not isinstance(given[id(thing)], Tensor):
                    raise TypeError(
                        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                        f"{type(given[id(thing)]).__name__}"
                    )
            value = given[id(thing)]._read()
        found.append(value)
    return found


def apply_entry(entry: Entry, operands: list[Any]) -> Any:
    """Run an entry on tensors (or bare values, which carry no history)."""
    values, mask = [], 0
    for i, x in enumerate(operands):
        if isinstance(x, Value):
            values.append(x)
        else:
            values.append(x._read())
            if x._rg:
                mask |= 1 << i
    if entry.pack is None and entry.n_out > 1:
        entry.pack = tuple
    elif entry.pack is None and entry.op is not None and entry.n_out == 1:
        return finish(entry, mask, values, operands)
    return finish(entry, mask, values, operands)


def finish_inplace(target: Tensor, result: Tensor) -> Tensor:
    """Store the result of an in-place operation. Its node keeps what was overwritten, if only as the target itself."""
    node = result._node
    if node is not None and node.saved:
        form, old = node.form, target._value
        given = node.saved[len(form.roots) :] if form.has_extra else node.saved
        if sum([v is old for v in given]) == 1:
            kept = kept_value(old)
            node.saved = [kept if v is old else v for v in node.saved]
    target._rebind(result)
    alias, value = target._alias, result._value
    if node is not None and alias is not None and value.guard is None:  # a result that backward needs is in that memory
        value.guard = alias.guard(target._layout)
    return target


_copies: dict[Any, Any] = {}


def kept_value(old: Value) -> Value:
    """The content of a tensor about to be overwritten, as a value of its own that the write does not invalidate."""
    kernel = _copies.get(old.aval)
    if kernel is None:
        kernel = _copies[old.aval] = Kernel("kept", lambda x: (x,), (old.aval,), old.aval.slot)
    return emit(kernel, [old])[0]


def check_writable(t: Tensor) -> None:
    """Raise PyTorch's errors for tensors that may not be written in place."""
    alias = t._alias
    if alias is not None:
        check_history(t, alias)
    if t._rg and state.grad and (t._node is None or type(t._node) in entered_kinds):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if t._layout is not None and 0 in t._layout[0]:
        check_single(t)  # pyright: ignore[reportArgumentType]


strict_out: dict[str, Any] = {}
"""For operations whose `out=` must have a certain type: a function of (result's, out's) types that raises if it has not. A name may
say of which arguments that holds: 'clamp|numbers'."""


def _plain(name: str) -> str:
    return name.partition("|")[0]


def write_out(out: Any, result: Any, name: str, operands: Any = ()) -> Any:
    """Store a result in the `out=` tensor (or tensors), which is not resized where it is one of these operands."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(
                f"{_plain(name)}(): argument 'out' must be tuple of {len(result)} Tensors, not {type(out).__name__}"
            )
        for o, r in zip(out, result, strict=True):
            write_out(o, r, name)
        return type(result)(*out) if hasattr(result, "_fields") else of_out(type(result))(out)
    if not isinstance(out, Tensor):
        raise TypeError(f"{_plain(name)}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if watch:
        refuse_inference(out)
        if "duals" in watch and (forward_mode.is_dual(result._value) or forward_mode.is_dual(out._read())):
            raise NotImplementedError(
                f"Trying to use forward AD with {_plain(name)}_out that does not support it because it is an out= function"
            )
    if type(result._value.array) is Mapped or type(out._value.array) is Mapped:
        raise RuntimeError(
            f"Batching rule not implemented for aten::{_plain(name)}.out; the fallback path doesn't work on out= or view ops."
        )
    if state.grad and (result._rg or out._rg):
        raise RuntimeError(
            f"{_plain(name)}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    source, target = result._value.aval, out._value.aval
    if source.slot is not target.slot:
        raise RuntimeError(f"Expected out tensor to be on device {source.slot.name}, but it is on {target.slot.name}")
    refuse = strict_out.get(name)
    if refuse is not None and source.dtype is not target.dtype:
        refuse(source.dtype, target.dtype)
    if not dtypes.can_cast(source.dtype, target.dtype):
        raise RuntimeError(
            f"result type {dtypes.scalar_name(source.dtype)} can't be cast to the desired output type "
            f"{dtypes.scalar_name(target.dtype)}"
        )
    if source.shape != target.shape and any(x is out for x in operands):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(source.shape)}"
        )
    store_out(out, result)  # pyright: ignore[reportArgumentType]
    return out


nodes.unpack_saved = unpack_saved
