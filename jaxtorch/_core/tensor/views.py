"""Views: reading a tensor through its chain of view steps, and writing through it.

A view operation is an `Op` with `view=ViewRule(...)`: how strides follow (`layout`), and how a new value of the view is put
back into what it was taken from (`write`; by default derived from reading, by viewing the element numbers). A chain of
such steps is read, or written, as one operation: `view_read` and `view_write`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..compile.kernel import Entry, Kernel
from ..define.op import registry
from ..graph.nodes import GradientSink, node_type, shown
from ..record.program import emit
from ..run import capture, state_packing
from ..run.runner import is_tracer
from ..tuning import CACHED
from ..types.grad_mode import state, watch
from ..types.value import WHOLE, Aval, Value, same_content, wrap_number
from . import storage as storage_
from . import strides
from . import tensor as _tensor
from .aliasing import REPEATED, check_place, forbidden, repeats
from .layouts import memory_places, normal, offset_of, strides_of
from .storage import Alias, Storage, Version, alias_of
from .tensor import Tensor, apply_entry, finish, kept_value, wrap
from .view_chains import chain_kernel
from .view_rules import ViewRule, constant, set_at

_layouts: dict[Any, Any] = {}
_shown: dict[Any, Any] = {}  # of (entry, layout of the base): layout and chain of each of several views
several_in_c: Any = None
"""`several(base, kernel, values, shown, name)`: the views, where nothing unusual is going on, or None (dispatch/recorder.py)."""
put_in_c: Any = None
"""`put(tensor, alias, value)`: as `write`, for chains in `puts`; was it done?"""
puts: dict[Any, Any] = {}
"""(Types of the whole and the part, chain, layout of the part) -> the kernel that puts it there, and the chain's numbers."""


def finish_view(entry: Entry, mask: int, values: list[Value], operands: Any, base: Tensor, op: Any) -> Any:
    """Emit a view operation: its results share the memory of `base`, its first operand."""
    if several_in_c is not None and entry.view_ops and not mask and len(values) == 1 and entry.pack is not None:
        key = entry, base._layout
        shown = _shown.get(key)
        if shown is None:
            if len(_shown) >= CACHED:
                _shown.clear()
            shown = _shown[key] = [(_layout(base, step), (step,)) for step in entry.view_ops]
        made = several_in_c(base, entry.kernel, values, shown, entry.grad_name)
        if made is not None:
            return made if entry.pack is tuple else entry.pack(list(made))
    out = finish(entry, mask, values, operands)
    numbers = tuple([v.array for v in values[1:]]) if len(values) > 1 else ()
    alias = alias_of(base)
    rule: ViewRule = op.view
    if rule.several is None:
        _join(out, base, alias, (op, entry.static, numbers), "")
        return out
    if not out:
        check_place(base)
    steps = entry.view_ops
    if steps is None or numbers:
        arguments = _arguments(op, entry.static, numbers)
        steps = entry.view_ops = [rule.several(base._value.aval, j, **arguments) for j in range(len(out))]
    for t, step in zip(out, steps, strict=True):
        _join(t, base, alias, step, entry.grad_name)
    return out


def _arguments(op: Any, static: Any, numbers: Any) -> dict[str, Any]:
    given = dict(zip([p.name for p in op.statics], static, strict=True))
    given.update(zip([p.name for p in op.operands[1:]], numbers, strict=False))  # defaults are left out
    return given


def _join(t: Tensor, base: Tensor, alias: Alias, step: Any, several: str) -> None:
    op, static, numbers = step
    size = base._value.aval.shape
    key = (size, base._layout, op, static, numbers)
    try:
        layout = _layouts[key]
    except KeyError:
        if len(_layouts) >= CACHED:
            _layouts.clear()
        layout = _layouts[key] = _layout(base, step)
    except TypeError:  # a number that only the device knows
        layout = _layout(base, step)
    t._layout = layout
    made = view_alias(base, alias, (*alias.chain, step), several)
    made.placed = alias.counted()
    if made.base is not None and made.base._rg and not t._rg:
        drop_gradients(t)
    t._alias = made
    t._value.guard = alias.guard(layout)
    if alias.storage.host is not None:
        made.seen = -1


def _layout(base: Tensor, step: Any) -> Any:
    size = base._value.aval.shape
    return normal(*step[0].view.layout(size, strides_of(base), offset_of(base), **_arguments(*step)))


def view_alias(base: Tensor, alias: Alias, chain: Any, several: str = "") -> Alias:
    """How a new view of `base`, whose alias is given, reads the memory."""
    made = Alias(alias.storage, chain, base if alias.base is None else alias.base, 0)
    made.depth = len(alias.chain) if alias.base is None else alias.depth
    made.silent = alias.silent
    if alias.storage.inferred:  # views of inference tensors are none to autograd
        made.base, made.depth = None, len(chain)
    elif not state.grad:
        made.no_grad = "inference" if state.inference else "no_grad"
    elif several:
        made.multi = several
    else:
        made.multi, made.no_grad = alias.multi, alias.no_grad
    return made


def drop_gradients(t: Tensor) -> None:
    """A view of a base that requires a gradient requires one too, though none may flow to the base."""
    dtype = t._value.aval.dtype
    if dtype.is_floating_point or dtype.is_complex:
        t._rg = True
        if t._node is None:
            t._node = GradientSink()


def detached(t: Tensor, silent: bool = False) -> Tensor:
    """A tensor on the same memory that autograd does not see: `detach()`, and with `silent` `.data`."""
    alias = alias_of(t)
    value = alias.peek(t)
    chain = alias.chain
    if "duals" in watch and _tensor.forward_mode.is_dual(value):
        value = _tensor.forward_mode.without(value)
        chain = (*chain, (constant, (), ()))
    elif is_tracer(value.array):  # a JAX transformation differentiates through shared memory unless it is told
        value = Value(value.aval, jax.lax.stop_gradient(value.array))
        chain = (*chain, (constant, (), ()))
    out = wrap(value)
    out._layout = t._layout
    out._alias = made = Alias(alias.storage, chain, None, len(chain))
    made.seen = alias.seen
    made.silent = alias.silent
    made.loose = alias.storage.inferred and not state.inference
    if silent or made.loose:
        made.silent = Version(0)
        made.silent.memory = UncountedMemory(alias.storage)
        if made.seen >= 0:
            made.seen = -2  # a value of its own: what backward saves of it does not mind writes that it does not count
    return out


class UncountedMemory:
    """The memory of tensors that some writes are not counted for: what backward has saved of them is read there again.

    The storage is held as PyTorch holds it, or, where it holds this itself (`own`), by a weak reference.
    """

    __slots__ = ("storage",)

    def __init__(self, storage: Storage, own: bool = False) -> None:
        self.storage = weakref.ref(storage) if own else lambda: storage

    def now(self, value: Value, layout: Any) -> Value:
        """A saved value as it is now."""
        storage = self.storage()
        if storage is None or value.aval.dtype.is_complex:  # a conjugating view has no layout of its own
            return value
        whole = storage.value
        if storage.host is not None:
            return Value(value.aval, np.array(storage.host.window(value.aval, layout), order="C"))
        if value.aval.dtype is not whole.aval.dtype:
            return value
        if whole.aval is value.aval and layout == storage.layout:
            return whole
        size = value.aval.shape
        stride, offset = layout if layout is not None else (strides.contiguous(size), 0)
        chain, numbers = _chain_key(((registry["_as_strided"], (size, stride, offset, storage.layout), ()),))
        return emit(_read_entry(whole.aval, chain, numbers).kernel, [whole, *numbers])[0]


# -- chains of steps as single operations


_reads: dict[Any, Entry] = {}
_writes: dict[Any, Entry] = {}
_assignments: dict[Any, Kernel] = {}


def _chain_key(chain: Any) -> tuple[Any, list[Value]]:
    """The static part of a chain, and its numbers as values."""
    if len(chain) == 1:
        op, static, numbers = chain[0]
        return ((op, static, len(numbers)),), list(map(wrap_number, numbers))
    return (
        tuple([(op, static, len(numbers)) for op, static, numbers in chain]),
        [wrap_number(n) for _, _, numbers in chain for n in numbers],
    )


def _apply_steps(steps: Any, x: Any, numbers: list[Any]) -> list[Any]:
    """The values along a chain, from the whole to the last view."""
    found, rest = [x], iter(numbers)
    for op, static, n in steps:
        x = op.fn(x, **_arguments(op, static, [next(rest) for _ in range(n)]))
        found.append(x)
    return found


def _reading(steps: Any, avals: Any) -> Callable[..., tuple[Any, ...]]:
    return lambda x, *n: (_apply_steps(steps, x, list(n))[-1],)


def _read_entry(aval: Aval, steps: Any, numbers: list[Value]) -> Entry:
    key = (aval, steps, tuple([v.aval for v in numbers]))
    entry = _reads.get(key)
    if entry is None:
        avals = (aval, *[v.aval for v in numbers])
        with capture.unobserved():
            kernel = chain_kernel("view_read", _reading, steps, avals)
        entry = _reads[key] = Entry(None, kernel, None)
        last = steps[-1][0] if steps else None
        entry.grad_name = "AsStridedBackward0"
        if last is not None and last.name in _UNSTRIDED:
            entry.grad_name = last.grad_name
    return entry


_UNSTRIDED = frozenset(("_conj", "view_as_real", "view_as_complex"))
"""Views that no strides lead to: in the graph they keep their names when their base is written."""
_REPEATING = frozenset(("unfold", "_as_strided"))
"""Views with several elements in one place: of these only the part that is written may be put back."""
_RETYPING = frozenset(("_view_dtype", "_part", "view_as_real", "view_as_complex"))


def several_in_one_place(chain: Any, t: Tensor) -> bool:
    """Do elements of a view lie in one place, where the operations' own rules for writing do not look for it?"""
    layout = t._layout
    if layout is not None:
        for step in chain:
            if step[0].name in _REPEATING:
                return repeats(t._value.aval.shape, layout[0])
    return False


def _write_entry(aval: Aval, part: Aval, steps: Any, numbers: list[Value], repeated: bool) -> Entry:
    key = (aval, part, steps, tuple([v.aval for v in numbers]), repeated)
    entry = _writes.get(key)
    if entry is None:
        avals = (aval, part, *[v.aval for v in numbers])
        with capture.unobserved():
            kernel = chain_kernel("view_write", _writing_repeated if repeated else _writing, steps, avals, repeated)
        entry = _writes[key] = Entry(None, kernel, None)
        entry.grad_name = "CopySlices"
    return entry


def _writing(steps: Any, avals: Any, repeated: bool = False) -> Callable[..., tuple[Any, ...]]:
    """The function that puts a part in the place of what a chain shows."""

    def write(whole: Any, new: Any, *given: Any) -> tuple[Any]:
        if (repeated or any(step[0].name in _REPEATING for step in steps[:-1])) and not any(
            s[0].name in _RETYPING for s in steps
        ):
            places = _apply_steps(steps, jnp.arange(whole.size).reshape(whole.shape), list(given))[-1].reshape(-1)
            flat, new = whole.reshape(-1), new.reshape(-1)
            if repeated:  # by a fill, perhaps of a part: the elements that have changed hold one value
                old = flat[places]
                changed = (new != old) & ~((new != new) & (old != old))
                flat = flat.at[jnp.where(changed, places, whole.size)].set(new, mode="drop")
            else:
                flat = set_at(flat, new, places)
            return (flat.reshape(whole.shape),)
        return (_put_along(steps, whole, lambda _: new, given),)

    return write


def _writing_repeated(steps: Any, avals: Any) -> Callable[..., tuple[Any, ...]]:
    return _writing(steps, avals, True)


def _put_along(steps: Any, whole: Any, make: Callable[[Any], Any], given: Sequence[Any]) -> Any:
    """The whole with `make(part)` in place of the part that a chain leads to."""
    along = _apply_steps(steps, whole, list(given))
    new, counts = make(along[-1]), [n for _, _, n in steps]
    for k in range(len(steps) - 1, -1, -1):
        op, static, n = steps[k]
        begin = sum(counts[:k])
        new = _put_back(op, along[k], new, _arguments(op, static, given[begin : begin + n]))
    return new


def assigned(whole: Value, part: Value, chain: Any, convert: Callable[[Any, Any], Any]) -> Value:
    """Content whose part that a chain of views shows has become `part`, broadcast, and converted by this function: one operation
    for `x[1:, 2] = y` where nothing else shares the memory and no gradient is recorded."""
    steps, numbers = _chain_key(chain)
    key = (whole.aval, part.aval, steps)
    kernel = _assignments.get(key)
    if kernel is None:
        dtype = whole.aval.dtype

        def writing(steps: Any, avals: Any) -> Callable[..., tuple[Any, ...]]:
            def write(x: Any, new: Any, *given: Any) -> tuple[Any]:
                return (_put_along(steps, x, lambda old: jnp.broadcast_to(convert(new, dtype), old.shape), given),)

            return write

        avals = (whole.aval, part.aval, *[v.aval for v in numbers])
        with capture.unobserved():
            kernel = _assignments[key] = chain_kernel("assign", writing, steps, avals)
    return emit(kernel, [whole, part, *numbers])[0]


def _put_back(op: Any, whole: Any, part: Any, arguments: dict[str, Any]) -> Any:
    """The whole with `part` in place of its view: by the operation's own rule, or by the numbers of the elements."""
    rule = op.view
    if rule.write is not None:
        return rule.write(whole, part, **arguments)
    if rule.places is not None:
        places = rule.places(whole.shape, **arguments)
    else:
        size, stride, offset = rule.layout(whole.shape, strides.contiguous(whole.shape), 0, **arguments)
        places = memory_places(size, stride, offset)
    return set_at(whole.reshape(-1), part.reshape(-1), places.reshape(-1)).reshape(whole.shape)


def _chain_from(base: Tensor, alias: Alias, t: Tensor) -> Any:
    """The steps from the base to a view of it: one by strides, where the base has changed its own shape (`unsqueeze_`)."""
    own = () if base._alias is None else base._alias.chain
    if len(own) == alias.depth:
        return alias.chain[alias.depth :]
    layout = t._value.aval.shape, strides_of(t), offset_of(t), base._layout
    return ((registry["_as_strided"], layout, ()),)


def _needs_new_grad_fn(t: Tensor, alias: Alias, base: Tensor) -> bool:
    """Must a view, which its memory has been written to since, be found a new place in the graph?

    As in PyTorch it has one if it had one before, or if its base requires a gradient.
    """
    made = shown(t._node) is not None
    if not made and not base._rg:
        t._node, t._rg = None, alias.own
        return False
    if alias.placed == alias.counted():
        if not made:
            t._rg = alias.own
            if not alias.own and base._rg:
                drop_gradients(t)
        return False
    dtype = t._value.aval.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        return False
    if alias.multi or alias.no_grad:
        t._rg = True
        if "invalid views" not in watch:
            watch.append("invalid views")
        return False
    return True


def refresh(t: Tensor, alias: Alias, place: bool | None = None) -> Value:
    """Read a view again: its storage has been written since.

    place: find it its new place in the graph, as PyTorch does where an operation is recorded (None), or `grad_fn` is read.
    """
    storage = alias.storage
    base = alias.base
    displaced = base is not None and _needs_new_grad_fn(t, alias, base)
    if displaced and base is not None and (base._alias is None or base._alias.storage is not storage):
        displaced = False  # the base has other memory since (`base.data = ...`)
    placing = displaced and (state.grad if place is None else place)
    if displaced and not placing:
        t._rg = True
        if t._node is None:
            t._node = GradientSink()
    if placing and base is not None:
        _regenerated(t, alias, base)
    elif storage.host is not None:
        return storage.host.read(t, alias)
    elif not alias.chain:
        t._value = storage.value if alias.silent is None else own_copy(storage.value)
    else:
        t._value = read_along(alias.chain, storage.value)
    if alias.chain or alias.silent is not None:
        t._value.guard = alias.guard(t._layout)
    alias.seen = -1 if storage.host is not None else -2 if displaced and not placing else alias.version.n
    return t._value


def read_along(chain: Any, whole: Value) -> Value:
    """What a chain of views shows of this content."""
    steps, numbers = _chain_key(chain)
    return emit(_read_entry(whole.aval, steps, numbers).kernel, [whole, *numbers])[0]


def written_along(t: Tensor, chain: Any, old: Value, part: Value) -> Value:
    """Content whose part that a chain of views, which has led to `t`, shows has been replaced."""
    steps, numbers = _chain_key(chain)
    repeated = several_in_one_place(chain, t) and not state.copying
    entry = _write_entry(old.aval, part.aval, steps, numbers, repeated)
    return emit(entry.kernel, [old, part, *numbers])[0]


def regenerate_grad_fn(t: Tensor) -> None:
    """Find a view the place in the graph that it has now, whether or not gradients are recorded."""
    alias = t._alias
    if alias is not None and alias.base is not None and alias.seen != alias.version.n:
        refresh(t, alias, True)


def _regenerated(t: Tensor, alias: Alias, base: Tensor) -> None:
    """Read a view from its base as one operation, which becomes its place in the graph."""
    steps, numbers = _chain_key(_chain_from(base, alias, t))
    value = base._read()
    source = base
    if not base._rg:
        source = wrap(value)
        drop_gradients(source)
    grad, state.grad = state.grad, True
    try:
        out = apply_entry(_read_entry(value.aval, steps, numbers), [source, *numbers])
    finally:
        state.grad = grad
    t._value = out._value
    t._set_history(out._node, out._index)
    alias.placed = alias.counted()


def write(t: Tensor, alias: Alias, value: Value) -> None:
    """Put new content into a tensor that shares its memory."""
    if put_in_c is not None and put_in_c(t, alias, value):
        return
    storage = alias.storage
    if storage.host is not None:
        storage.host.write(t, alias, value)
        return
    old = storage.value
    if alias.chain:
        new = written_along(t, alias.chain, old, value)
    else:
        new = value
    storage.value = new
    if alias.silent is None:
        old.guard = (alias.version, alias.version.n - alias.version.hidden, WHOLE, storage.layout)
    else:
        old.guard = new
        alias.version.hidden += 1
        alias.version.memory = UncountedMemory(storage, True)
        alias.silent.n += 1
    alias.version.n += 1
    alias.seen = alias.version.n
    owner = storage.owner()
    other = None if owner is None or owner is t else owner._alias
    if (
        owner is not None and other is not None and other.storage is storage and not other.chain
    ):  # `resize_` leaves it a part
        owner._value = new
        other.seen = alias.seen
    t._value = value if alias.chain else new
    if alias.chain:
        t._value = apply_identity(value)
        t._value.guard = alias.guard(t._layout)
    repeated = t._layout is not None and strides.may_overlap(value.aval.shape, t._layout[0])
    repeated = repeated or several_in_one_place(alias.chain, t)
    if put_in_c is not None and alias.chain and not repeated:
        _note_put(old.aval, value.aval, alias.chain, t._layout)
    if repeated or alias.silent is not None or (alias.base is not None and t._rg):
        alias.seen = -2  # it is to be read again, or its place in the graph to be found anew


def _note_put(whole: Aval, part: Aval, chain: Any, layout: Any) -> None:
    """How a part is put in its place, for `put_in_c`."""
    steps, numbers = _chain_key(chain)
    if all(type(n.array) is int for n in numbers):
        if len(puts) >= CACHED:
            puts.clear()
        kernel = _write_entry(whole, part, steps, numbers, False).kernel
        puts[whole, part, chain, layout] = kernel, tuple([n.array for n in numbers])


def own_copy(value: Value) -> Value:
    """The same content as another value."""
    if value.pack is not None:
        state_packing.unpack(value)
    if value.array is None or capture.active is not None:  # a capture knows its inputs by their values
        return kept_value(value)
    return same_content(value)


def apply_identity(value: Value) -> Value:
    """The same content as a value of its own: guards belong to one tensor."""
    if value.guard is None:
        return value
    if value.pack is not None:
        state_packing.unpack(value)
    same = same_content(value)
    same.program, same.slot = value.program, value.slot
    if hasattr(value, "tangent"):
        same.tangent = value.tangent
    return value if value.array is None else same


_tensor.write_shared = write  # pyright: ignore[reportAttributeAccessIssue]


class Overlapping(node_type("CopySlices")):
    """The write through a view with several elements in one place: PyTorch makes it and cannot differentiate it."""

    __slots__ = ()

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        raise RuntimeError(REPEATED)


Overlapping.__name__ = "CopySlices"


def write_with_graph(t: Tensor, alias: Alias, result: Tensor) -> None:
    """An in-place result stored through a differentiable view: the base's history becomes the write (CopySlices)."""
    base = alias.base
    assert base is not None
    if state.grad and (alias.multi or alias.no_grad):
        raise RuntimeError(forbidden(t, alias, False))
    if result._node is not None and t._node is not None and t._node.hooked():
        # The write is of the base: the hooks of the place that the view had until now are no part of it.
        old, plain = t._node, t._node.unhooked()
        result._node.ends = [plain if end is old else end for end in result._node.ends]
    chain = _chain_from(base, alias, t)
    steps, numbers = _chain_key(chain)
    whole = base._read()
    repeated = several_in_one_place(chain, t) and not state.copying
    entry = _write_entry(whole.aval, result._value.aval, steps, numbers, repeated)
    out = apply_entry(entry, [base, result, *numbers])
    node = out._node
    if node is not None and t._layout is not None and strides.may_overlap(t._value.aval.shape, t._layout[0]):
        node = out._node = Overlapping(node.form, (), node.ends, node.indices)
    if node is not None and node.saved:  # what it needs, if anything, it keeps: it does not mind later writes
        mine = whole, result._value
        node.saved = [kept_value(v) if v.guard is not None or any(v is m for m in mine) else v for v in node.saved]
    if (base._alias is not None and base._alias.chain) or alias.storage.host is not None:
        base._write(out._value)
    else:
        old = alias.storage.value
        alias.storage.value = out._value
        old.guard = (alias.version, alias.version.n - alias.version.hidden, WHOLE, alias.storage.layout)
        alias.version.n += 1
        if alias.silent is not None:
            alias.version.hidden += 1
            alias.silent.n += 1
        base._value = out._value
        base_alias = base._alias
        assert base_alias is not None
        base_alias.seen = alias.version.n
    if out._rg:
        base._set_history(out._node, out._index)
    elif state.grad and base._node is not None:
        base._node, base._index, base._rg = None, 0, False
    alias.seen = -2
    alias.read(t)


storage_.refresh, storage_.write_with_graph = refresh, write_with_graph
