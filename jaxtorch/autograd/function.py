"""`torch.autograd.Function`: operations whose backward pass the user writes."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from .._core.autograd.backward import edge_of
from .._core.define.op import functions
from .._core.graph import nodes
from .._core.tensor.aliasing import check_history
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import INFERENCE_SAVED, Tensor, apply_pack_hook, count_write, is_inference, wrap
from .._core.transforms import forward_mode
from .._core.types.grad_mode import Anomaly, state, watch
from .._running.install import shown
from .._tensor.sparse_gradients import carrier, places, result, to_values
from . import _function_in_jax, _function_jvp, _function_vmap
from ._function_results import Form, check_gradients, fitted, given_once

_TO_COMPUTE: Any = object()


class BackwardCFunction(nodes.Node):
    """A node that runs a Function's `backward`; it is also the `ctx` that `forward` and `backward` receive."""

    __slots__ = ("__dict__",)

    _cls: Any
    _sparse_inputs: dict[int, Any] = {}  # those of a call that has some, by number
    _sparse_outputs: dict[int, Any] = {}

    def __init__(self) -> None:
        super().__init__(None)
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._saved: Any = None
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._freed = False
        self._to_save_forward: tuple[Any, ...] = ()
        self._for_jvp: tuple[Any, ...] | None = None  # what `saved_tensors` gives while jvp runs

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    # -- what the user calls on ctx

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs or outputs of forward) for `ctx.saved_tensors` in backward."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        self._to_save_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs forward has changed in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        for x in args:
            if not isinstance(x, Tensor):
                raise RuntimeError(
                    f"mark_non_differentiable only accepts variable arguments, but got {type(x).__name__}"
                )
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Shall backward receive zeros (True) or None for outputs without a gradient?"""
        self.materialize_grads = value

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; RuntimeError once freed, or if one was modified in place since."""
        if self._for_jvp is not None:
            return self._for_jvp
        if self._freed:
            self.saved = None
            self.saved_values()
        if self._saved is None:
            return tuple(self._to_save)
        found: list[Tensor | None] = []
        for t, value, place in given_once(self):
            if value is None:
                held: Any = t() if isinstance(t, _Unpack) else None
                found.append(held if place is None else self._with_place(held, place))
                continue
            now = nodes.current(value, (self, place) if t is None else (t._node, t._index), t is None)
            if t is not None and now is value:
                found.append(t)
                continue
            out = wrap(now)
            if t is None:
                out._node, out._index, out._rg = self, place, True
            elif t._rg:
                out._node, out._index, out._rg = t._node or t, t._index, True
            found.append(out)
        return tuple(found)

    def _with_place(self, held: Any, place: Any) -> Any:
        """What a hook or a sparse tensor gave back, at its place in the graph: (node, number), or the number of an output."""
        node, index = place if isinstance(place, tuple) else (self, place)
        if is_sparse(held):
            return result(held, node, index)
        out = held.detach()
        out._node, out._index, out._rg = node, index, True
        return out

    # -- for the engine

    def _keep(self, outputs: dict[int, int], tracked: bool = True) -> None:
        """Store the tensors to save: outputs by value, so that no cycle arises. Only calls with a gradient refuse what is none."""
        kept: list[Any] = []
        for i, t in enumerate(self._to_save):
            if t is None or not (tracked or isinstance(t, Tensor)):
                kept.append((None, None, None))
            elif isinstance(t, Tensor) and state.saved_hooks and not isinstance(state.saved_hooks[-1], str):
                pack, unpack = state.saved_hooks[-1]
                place: Any = outputs.get(id(t))
                if place is None and t._rg and not is_sparse(t):
                    place = (t._node or t, t._index)
                kept.append((_Unpack(apply_pack_hook(pack, t.detach()), unpack), None, place))
            elif not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}"
                )
            elif is_sparse(t):
                kept.append((_Unpack(t, lambda saved: saved), None, outputs.get(id(t))))
            elif id(t) in outputs:
                kept.append((None, t._read(), outputs[id(t)]))
            else:
                kept.append((t, t._read(), None))
        self._saved = kept
        self._to_save = ()

    def release(self) -> None:
        if self._saved:
            self._freed = True
        self._saved = None

    runs_without_gradients = True

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        """Run the user's backward on tensors, and hand back one gradient for each edge."""
        given = []
        for k, (g, aval) in enumerate(zip(grads, self.form.out_avals, strict=True)):
            if g is not None:
                found = mode.to_tensor(g)
            elif self.materialize_grads and aval is not None:
                found = functions["zeros"](aval.shape, dtype=aval.dtype, device=aval.slot.device)
            else:
                found = None
            given.append(
                found if found is None or k not in self._sparse_outputs else self._sparse_outputs[k]._gradient(found)
            )
        before = state.grad
        state.grad = mode.graph
        try:
            results = self._cls._user_backward()(self, *given)
        finally:
            state.grad = before
        results = results if isinstance(results, tuple) else (results,)
        name = self.name()
        if "_in_transform" in self.__dict__:
            name = name.removesuffix("Backward") + "GeneratedBackward"
        check_gradients(name, results, len(self.needs_input_grad), self._tensor_inputs)
        found = []
        for i, aval in zip(self.form.wanted, self.form.in_avals, strict=True):
            g = to_values(results[i], self._sparse_inputs[i]) if i in self._sparse_inputs else results[i]
            if g is None:
                found.append(None)
                continue
            if not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            found.append(mode.of_tensor(fitted(g, aval, self.name(), i)))
        return found

    def inputs(self) -> list[int]:
        return self._tensor_inputs


FunctionCtx = BackwardCFunction


class _Unpack:
    """A saved tensor in the hands of `saved_tensors_hooks`."""

    def __init__(self, packed: Any, unpack: Any) -> None:
        self.packed = packed
        self.unpack = unpack

    def __call__(self) -> Tensor:
        found = self.unpack(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(found).__name__}"
            )
        return found


class _Meta(type):
    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        super().__init__(name, bases, attrs)
        body = {"_cls": cls, "__module__": shown(__name__)}
        cls._node_class = type(name + "Backward", (BackwardCFunction,), body)

    def _overrides_vmap(cls: Any) -> bool:
        return cls.vmap is not Function.vmap

    def _has_setup_context(cls: Any) -> bool:
        """Does it define `setup_context`, so that `forward` takes no ctx?"""
        return cls.setup_context is not Function.setup_context

    def _applied(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`apply`, whatever the user has made of that name."""
        return _apply(cls, args, kwargs)

    def _user_backward(cls: Any) -> Any:
        """The `backward` or `vjp` that the user has defined."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                "them."
            )
        return cls.vjp


class Function(metaclass=_Meta):
    """Base of operations with a hand-written derivative: define static `forward(ctx, ...)` (or `forward(...)` and
    `setup_context(ctx, inputs, output)`) and `backward(ctx, *grad_outputs)`, and call `apply`."""

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False  # does `ctx.saved_tensors` give them once, and let them go?
    _everywhere = False  # may it be applied under torch.func whatever it lacks? One of ours

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradient of each input from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Store what backward needs; used when `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs from those of the inputs, for forward mode; None for what has none."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The rule for `torch.func.vmap`: (outputs, the dimension of the examples in each, None where there is none).

        info: `batch_size` and `randomness`. in_dims: for each argument the dimension of the examples in it, or None. args: those of
        `forward`, for all examples. Without it, or `generate_vmap_rule = True`, the Function cannot be mapped.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: `apply` is called on the class."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
            "static forward method."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record `backward` where a gradient is wanted."""
        return _apply(cls, args, kwargs)


class InplaceFunction(Function):
    """The base of functions that may write to their input, from before they were static; like `Function`."""


_signatures: Any = weakref.WeakKeyDictionary()


def _bound(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of `forward` by position, defaults included."""
    known = _signatures.get(forward)
    if known is None:
        signature = inspect.signature(forward)
        plain = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature.parameters.values())
        known = _signatures[forward] = signature, len(signature.parameters) if plain else -1
    if not kwargs and len(args) == known[1]:
        return args, kwargs
    bound = known[0].bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls.apply(*args, **kwargs)`."""
    modern = cls.setup_context is not Function.setup_context
    if modern:
        args, kwargs = _bound(cls.forward, args, kwargs)
    if state.transforms:
        _function_in_jax.check(cls, modern)
    level = _function_vmap.level_of(args) if state.taped else None
    if level is not None:
        return _apply_mapped(cls, args, kwargs, level)
    if _function_in_jax.is_traced(args):
        found = _function_in_jax.apply(cls, args, kwargs, modern)
        if not (state.grad and any([isinstance(a, Tensor) and a._rg for a in args])):  # noqa: C419
            return found
        if modern:
            return _recorded(cls, args, kwargs, output=found)  # tensors from outside take part in autograd as well
        recorded = _recorded(cls, args, kwargs)
        for own, other in zip(*[o if isinstance(o, tuple) else (o,) for o in (recorded, found)], strict=True):
            if isinstance(own, Tensor):
                own._value = other._value
        return recorded
    if forward_mode.level is not None and (at := _function_jvp.moving(args)) is not None:
        return _function_jvp.apply(cls, args, kwargs, at, _recorded)
    if not state.taped:
        return _recorded(cls, args, kwargs)
    ctx = cls._node_class()
    ctx._in_transform = True
    return _recorded(cls, args, kwargs, ctx)


def _apply_mapped(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], level: Any) -> Any:
    """The same where the engine's own `vmap` maps over an argument: the user's rule runs, or `forward` on one example of all.

    Within a derivative that is taken of each example the user's `backward` (`jvp`) is asked, and the rule gives values only.
    """
    at = None if forward_mode.level is None else _function_jvp.moving(args)
    within = state.working and type(state.working[-1]) in (type(None), str, frozenset)
    ruled = cls._overrides_vmap()
    if ruled and not within:
        return _function_vmap.apply(cls, args, kwargs, level)
    recorded = _recorded
    if ruled:
        before, state.grad = state.grad, False
        try:
            with forward_mode.pausing():
                found = _function_vmap.apply(cls, args, kwargs, level)
        finally:
            state.grad = before
        recorded = functools.partial(_recorded, output=found)
    if at is not None:
        return _function_jvp.apply(cls, args, kwargs, at, recorded)
    ctx = cls._node_class()
    ctx._in_transform = True
    return recorded(cls, args, kwargs, ctx)


def _recorded(
    cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Any = None, output: Any = _TO_COMPUTE, marks: Any = None
) -> Any:  # fmt: skip
    """Run `forward`, unless its output is known already, and make a node of the call.

    marks: a list for what the user has marked: the tensors (by id) that are written to, the numbers of outputs without a gradient.
    """
    ctx = cls._node_class() if ctx is None else ctx
    wants = [isinstance(a, Tensor) and _wants(a) for a in args]
    ctx.needs_input_grad = tuple(wants)
    tracked = state.grad and any(wants)
    before_edges = [edge_of(carrier(a)) if w and tracked else None for a, w in zip(args, wants, strict=True)]
    in_avals = [carrier(a)._value.aval if w else None for a, w in zip(args, wants, strict=True)]
    before = state.grad
    state.grad = False
    try:
        if cls.setup_context is not Function.setup_context:
            if output is _TO_COMPUTE:
                output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args, **kwargs)
    finally:
        state.grad = before
    outputs = output if isinstance(output, tuple) else (output,)
    dirty = {id(t) for t in ctx._dirty}
    if not dirty <= set(map(id, outputs)):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function."
        )
    inputs = {id(a) for a in args if isinstance(a, Tensor)} - dirty
    if tracked:
        _connect(ctx, cls, args, wants, before_edges, in_avals, outputs)
    fixed = {id(t) for t in ctx._non_differentiable}
    if marks is not None:
        marks += [dirty, {k for k, o in enumerate(outputs) if id(o) in fixed}]
    made: list[Any] = []
    saved_at: dict[int, int] = {}
    for k, o in enumerate(outputs):
        if isinstance(o, Tensor):
            dtype = o._value.aval.dtype
            if tracked and id(o) not in fixed and (dtype.is_floating_point or dtype.is_complex):
                saved_at[id(o)] = k
                o = _placed(o, ctx, k, id(o) in inputs, id(o) in dirty)
            else:
                o = _plain(o, id(o) in inputs, id(o) in dirty)
        made.append(o)
    ctx._keep(saved_at, tracked)
    ctx._dirty = ctx._non_differentiable = ()
    return tuple(made) if isinstance(output, tuple) else made[0]


def _wants(t: Any) -> bool:
    """Does a tensor require a gradient, whatever a transformation shows of that?"""
    t = carrier(t)
    if t._alias is not None:
        t._alias.peek(t)
    return t._rg


def _connect(
    ctx: Any, cls: Any, args: Any, wants: list[bool], edges: list[Any], in_avals: list[Any], outputs: Any
) -> None:
    """Make the node that a call of the Function is."""
    wanted = tuple(i for i, w in enumerate(wants) if w)
    ctx.form = Form(cls.__name__ + "Backward", len(outputs), len(args), wanted, [
        carrier(o)._value.aval if isinstance(o, Tensor) else None for o in outputs
    ])  # fmt: skip
    ctx.form.in_avals = tuple(in_avals[i] for i in wanted)
    ctx.edges = tuple(edges[i] for i in wanted)
    if inputs := places(args):
        ctx._sparse_inputs = inputs
    if found := places(outputs):
        ctx._sparse_outputs = found
    ctx._tensor_inputs = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    if watch:
        if any(isinstance(t, Tensor) and is_inference(t) for t in ctx._to_save):
            raise RuntimeError(INFERENCE_SAVED)
        if Anomaly.enabled:
            ctx.note_traceback()


def _plain(o: Tensor, is_input: bool, dirty: bool) -> Tensor:
    """An output that no gradient passes through."""
    if dirty:
        _count_write(o)
    if (is_input or dirty) and o.requires_grad:
        return o.detach()
    o = _handed_back(o) if is_input else o
    if not is_sparse(o) and o._alias is not None and o._alias.no_grad == "no_grad":
        o._alias.no_grad = "no_grad custom"
    return o.detach_() if o._rg and not o._is_view() else o


def _handed_back(o: Tensor) -> Tensor:
    """A view of an input that is also an output, made as in `forward`."""
    before, state.grad = state.grad, False
    try:
        return o.view_as(o)
    finally:
        state.grad = before


def _placed(o: Tensor, ctx: Any, k: int, is_input: bool, dirty: bool) -> Tensor:
    """Output `k` with its place in the graph."""
    if is_sparse(o):
        if is_input or dirty:
            raise NotImplementedError(
                "jaxtorch: an autograd.Function cannot hand back a sparse argument; return another tensor"
            )
        return result(o, ctx, k)
    alias = o._alias
    if dirty:
        if o._rg and o._node is None:
            _count_write(o)
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if alias is not None and alias.base is not None:
            try:
                if ctx.form.n_out > 1:
                    raise RuntimeError(
                        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                        "return more than one Tensor. Clone the input, or do the rest of the work in a second Function."
                    )
                check_history(o, alias)
            except RuntimeError:
                _count_write(o)
                raise
            written = wrap(alias.read(o))
            written._set_history(ctx, k)
            return o._rebind(written)
        _count_write(o)
    else:
        if is_input:
            o = _handed_back(o)
            alias = o._alias
        if alias is not None and alias.base is not None:
            alias.no_grad = "custom"
            alias.multi = alias.multi or (type(ctx).__name__ if ctx.form.n_out > 1 else "")
            alias.peek(o)
            alias.placed = alias.counted()
    o._set_history(ctx, k)
    return o


def _count_write(t: Tensor) -> None:
    """PyTorch counts `mark_dirty` as a modification of its own."""
    alias = t._alias
    if alias is None:
        count_write(t)
    else:
        alias.peek(t)
        if alias.seen == alias.version.n and not alias.chain:  # a view is read again, under the new count
            alias.seen += 1
        alias.version.n += 1
        if alias.silent is not None:
            alias.version.hidden += 1
            alias.silent.n += 1


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot be differentiated again: a second derivative through it raises an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        before, state.grad = state.grad, False
        try:
            outputs = fn(ctx, *args)
        finally:
            state.grad = before
        if not state.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        made = []
        for o in several:
            if isinstance(o, Tensor):
                o = o.detach()
                o._set_history(_ErrorNode(Form("DelayedError", 1, 0, (), [None])), 0)
            made.append(o)
        return tuple(made) if isinstance(outputs, tuple) else made[0]

    return wrapper


class _ErrorNode(nodes.Node):
    """Raises when backward reaches it."""

    __slots__ = ()

    def run_values(self, mode: Any, grads: list[Any]) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
