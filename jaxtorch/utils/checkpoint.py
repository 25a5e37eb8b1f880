"""`torch.utils.checkpoint`: keep a function's inputs instead of what its operations save, and run it again in backward.

Both runs land in one XLA program, which would compute equal things once and keep them all. So the second run gets its inputs
through an optimization barrier together with the gradient that has arrived, as `jax.checkpoint` does it.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from .. import cuda
from .._core.autograd import backward as engine
from .._core.compile.kernel import Kernel
from .._core.dispatch.torch_function import disable_all
from .._core.graph import nodes
from .._core.random import generator
from .._core.random.generator import get_rng_state, set_rng_state
from .._core.record import program
from .._core.run import capture
from .._core.run.runner import is_tracer
from .._core.tensor.layouts import normal, strides_of
from .._core.tensor.strides import preserved
from .._core.tensor.tensor import Tensor, wrap
from .._core.types import grad_mode
from .._core.types.size import Size
from .._core.types.value import Value
from .._ops.creation.legacy_constructors import become
from ..amp._settings import settings
from ..autograd._gradients import backward
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ._checkpoint_policy import CheckpointPolicy, SelectiveCheckpointContext

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "SelectiveCheckpointContext",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "set_device_states",
]  # fmt: skip


def _metadata(aval: Any) -> dict[str, Any]:
    return {"shape": Size(aval.shape), "dtype": aval.dtype, "device": aval.slot.device}


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not do what the first did."""


class DefaultDeviceType:
    """The kind of device whose random numbers are restored where no input says: 'cuda' unless set."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Which it is."""
        return DefaultDeviceType._default_device_type


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """Two contexts for `checkpoint(..., use_reentrant=False, context_fn=...)`: what the policy says to save is not computed again.

    policy_fn_or_list: `policy(ctx, op, *args, **kwargs)` gives a `CheckpointPolicy` for an operation (`torch.ops.aten.mm.default`),
    of which it sees the tensors; or a list of the operations to save. RuntimeError in backward where what was saved has been
    written to since, NotImplementedError with `allow_cache_entry_mutation`.
    """
    from ._selective_checkpoint import contexts  # loads the operations of `torch.ops`

    return contexts(policy_fn_or_list, allow_cache_entry_mutation)


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: list[bool] = []
_debug: list[bool | None] = []


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """For functions checkpointed meanwhile: may the second run stop once it has computed all that backward needs?"""
    _early_stop.append(enable)
    try:
        yield
    finally:
        _early_stop.pop()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted and without effect: errors always say what differed."""
    _debug.append(enabled)
    try:
        yield
    finally:
        _debug.pop()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as leaves that require a gradient where the inputs do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(_leaf(x.detach(), x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def _leaf(x: Tensor, requires_grad: bool) -> Tensor:
    x.requires_grad = (
        requires_grad  # unlike `requires_grad_` also where a transformation of `torch.func` goes back through it
    )
    return x


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the GPUs that tensors among the arguments are on, and the states of their random numbers."""
    devices = sorted({x.get_device() for x in args if isinstance(x, Tensor) and x.device.type == "cuda"})
    return devices, [cuda.get_rng_state(d) for d in devices]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the states of GPUs' random numbers."""
    for d, s in zip(devices, states, strict=True):
        cuda.set_rng_state(s, d)


class _Surroundings:
    """What a function's run depends on beside its arguments: random numbers and autocast, as they are now."""

    def __init__(self, seeded: bool, args: tuple[Any, ...]) -> None:
        self.autocast = set(settings.enabled), dict(settings.types), settings.cache
        self.drawn = _Drawn(capture.active.drawn) if seeded and hasattr(capture.active, "drawn") else None
        self.random = (get_rng_state(), get_device_states(*args)) if seeded and self.drawn is None else None

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Run with them, then go on with the present ones."""
        if self.drawn is not None:
            with self.drawn.again():
                yield from self._with_autocast()
            return
        before = _Surroundings(self.random is not None, ())
        if self.random is not None:
            before.random = get_rng_state(), (self.random[1][0], _states(self.random[1][0]))
        self._set()
        try:
            yield
        finally:
            before._set()

    def _with_autocast(self) -> Iterator[None]:
        before = _Surroundings(False, ())
        self._set()
        try:
            yield
        finally:
            before._set()

    def _set(self) -> None:
        if self.random is not None:
            set_rng_state(self.random[0])
            set_device_states(*self.random[1])
        settings.enabled, settings.types, settings.cache = (
            set(self.autocast[0]),
            dict(self.autocast[1]),
            self.autocast[2],
        )
        settings.apply()


class _Drawn:
    """In a call that `torch.compile` captures, the random numbers from here on: the second run takes them as they are."""

    def __init__(self, drawn: list[Any]) -> None:
        self.drawn, self.begin = drawn, len(drawn)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Draw them again, for the second run."""
        rest = iter(self.drawn[self.begin :])

        def repeat(asked: Any, method: Any, args: tuple[Any, ...]) -> Any:
            if not hasattr(capture.active, "drawn"):
                capture.break_capture("random numbers are drawn again in a backward pass outside the call")
            array, source, name, given = next(rest, (None, None, None, None))
            if source is not asked or name != method or given != args:
                raise CheckpointError(
                    "torch.utils.checkpoint: the second run draws other random numbers than the first"
                )
            return array

        before, generator.draw_replayer = generator.draw_replayer, repeat
        try:
            yield
        finally:
            generator.draw_replayer = before


def _states(devices: list[int]) -> list[Tensor]:
    return [cuda.get_rng_state(d) for d in devices]


_barriers: dict[Any, Kernel] = {}


def _behind_barrier(values: list[Value], after: list[Value]) -> list[Value]:
    """The values, in a way that XLA neither computes before `after` nor takes for the same as the originals."""
    if not values:
        return values
    apart: dict[Any, list[int]] = {}
    for i, v in enumerate(values):
        apart.setdefault(v.aval.slot, []).append(i)
    found = list(values)
    for slot, where in apart.items():
        operands = [values[i] for i in where] + [v for v in after if v.aval.slot is slot]
        avals = tuple(v.aval for v in operands)
        kernel = _barriers.get((avals, len(where)))
        if kernel is None:
            _barriers[avals, len(where)] = kernel = Kernel("checkpoint", _barrier(len(where), slot), avals, slot)
        for i, v in zip(where, program.emit(kernel, operands), strict=True):
            found[i] = v
    return found


def _barrier(n: int, slot: Any) -> Callable[..., Any]:
    """The first n of several arrays, once all are there.

    XLA for the CPU drops its barriers before it orders the operations, so there the arrays are combined, bit by bit, with a 0
    that is computed from the others.
    """

    def run(*arrays: Any) -> tuple[Any, ...]:
        made = jax.lax.optimization_barrier(arrays)[:n]
        if slot.name != "cpu":
            return tuple(made)
        zero = jnp.uint32(0)
        for x in arrays[n:]:
            if x.size and jnp.issubdtype(x.dtype, jnp.floating):
                bits = jax.lax.bitcast_convert_type(x.reshape(-1)[0].astype(jnp.float32), jnp.uint32)
                zero = zero | ((bits & 1) >> 1)
        return tuple(_combined(x, zero) for x in made)

    return run


def _combined(x: Any, zero: Any) -> Any:
    if x.dtype == jnp.bool_:
        return x | (zero > 0)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jax.lax.complex(_combined(x.real, zero), _combined(x.imag, zero))
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x | zero.astype(x.dtype)
    unsigned = {2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[x.dtype.itemsize]
    return jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(x, unsigned) | zero.astype(unsigned), x.dtype)


# -- with use_reentrant=True


class CheckpointFunction(Function):
    """Runs a function without a graph; its backward runs it again with one, and backward through that."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.others = [None if isinstance(x, Tensor) else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with grad_mode.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if grad_mode.state.capturing:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
        saved = ctx.saved_tensors
        after = [g._read() for g in grads if isinstance(g, Tensor)]
        values = _behind_barrier([t._read() for t in saved], after)
        args = list(ctx.others)
        for i, t, v in zip(ctx.places, saved, values, strict=True):
            args[i] = _leaf(wrap(v), t.requires_grad)
        with ctx.surroundings.restored(), grad_mode.enable_grad():
            outputs = ctx.run_function(*args)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x.grad if isinstance(x, Tensor) else None for x in args])


# -- with use_reentrant=False


class _Stop(Exception):
    """The second run has computed all that is needed."""


class _Frame:
    """One checkpointed call: how to run it again, what its first run saved, and what the second run has computed."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: dict[str, Any]) -> None:
        self.function = function
        self.args = [_Input(x) if isinstance(x, Tensor) else x for x in args]
        self.kwargs = {k: _Input(x) if isinstance(x, Tensor) else x for k, x in kwargs.items()}
        self.early_stop: bool = options["early_stop"]
        self.check: bool = options["determinism_check"] != "none"
        self.context = options["recompute_context"]
        self.surroundings = _Surroundings(options["preserve_rng_state"], args)
        self.saved: list[weakref.ref[_Holder]] = []
        self.types: list[Any] = []
        self.computed: dict[int, dict[int, Tensor]] = {}  # of each backward pass, by its number
        self.complete = False  # has the first run ended?
        self.arrived: list[Value] = []

    def pack(self, x: Tensor) -> _Holder:
        holder = _Holder(self, len(self.saved))
        self.saved.append(weakref.ref(holder))
        self.types.append(x._read().aval)
        return holder

    def arrive(self, grad: Tensor | None) -> None:
        """A gradient of the outputs, or none: what is computed again may begin after it."""
        if grad is not None:
            self.arrived.append(grad._read())

    def unpack(self, holder: _Holder) -> Tensor:
        number = engine.running_passes[-1].number if engine.running_passes else None
        computed = self.computed.get(number) if number is not None else None
        if computed is None:
            computed = self._run_again()
            if number is not None:
                self.computed[number] = computed
        if holder.index not in computed:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case."
            )
        return computed.pop(holder.index)

    def _run_again(self) -> dict[int, Tensor]:
        """What is saved, computed once more, by the numbers of those that are still wanted."""
        seen, staging = 0, capture.staging
        computed: dict[int, Tensor] = {}
        last = max((h.index for h in (r() for r in self.saved) if h is not None), default=-1)

        def collect(x: Tensor) -> Tensor:
            nonlocal seen
            index, seen = seen, seen + 1
            if index < len(self.types):
                if self.check and x._read().aval is not self.types[index]:
                    raise CheckpointError(
                        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                        f"during the forward pass.\ntensor at position {index}:\nsaved metadata: {_metadata(self.types[index])}\n"
                        f"recomputed metadata: {_metadata(x._read().aval)}"
                    )
                if self.saved[index]() is not None:
                    if capture.staging is not staging and is_tracer(x._read().array):
                        raise CheckpointError(
                            "torch.utils.checkpoint: Recomputed values belong to a transformation of torch.func inside of the "
                            f"function, and are gone at its end.\ntensor at position {index}"
                        )
                    computed[index] = x.detach()
            if self.early_stop and index == last:
                raise _Stop
            return x.detach()

        inputs = [x for x in (*self.args, *self.kwargs.values()) if isinstance(x, _Input)]
        values = _behind_barrier([x.current() for x in inputs], self.arrived)
        made = {id(x): x.leaf(v) for x, v in zip(inputs, values, strict=True)}
        args = [made[id(x)] if isinstance(x, _Input) else x for x in self.args]
        kwargs = {k: made[id(x)] if isinstance(x, _Input) else x for k, x in self.kwargs.items()}
        with (
            self.surroundings.restored(), self.context, grad_mode.enable_grad(), saved_tensors_hooks(collect, lambda x: x),
            contextlib.suppress(_Stop),
        ):  # fmt: skip
            self.function(*args, **kwargs)
        self.arrived = []
        missing = any(r() is not None and i not in computed for i, r in enumerate(self.saved) if i >= seen)
        if missing or (not self.early_stop and self.complete and seen != len(self.types)):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.types)}\nNumber of tensors saved during "
                f"recomputation: {seen}."
            )
        return computed


class _Holder:
    """Stands in a node for a value that will be computed again."""

    __slots__ = ("frame", "index", "__weakref__")

    def __init__(self, frame: _Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class _Input:
    """An argument of the checkpointed function, as it was at the call; with its class, and with its attributes as they are."""

    __slots__ = ("value", "requires_grad", "kind", "layout", "attributes")

    def __init__(self, x: Tensor) -> None:
        self.value = x._read()
        self.requires_grad = x.requires_grad
        self.kind, self.attributes = type(x), x.__dict__
        self.layout = x._layout and normal(x.shape, preserved(x.shape, strides_of(x)), 0)

    def current(self) -> Value:
        """The value; RuntimeError where it was modified in place since."""
        return nodes.current(self.value, None)

    def leaf(self, value: Value) -> Tensor:
        made = wrap(value)
        made._layout = self.layout
        with disable_all():
            made = become(_leaf(made, self.requires_grad), self.kind)
        made.__dict__ = self.attributes
        return made


def _unpacked(holder: _Holder) -> Tensor:
    return holder.frame.unpack(holder)


def _saving_inputs(function: Any, args: Any, kwargs: Any, options: dict[str, Any], forward_context: Any) -> Any:
    frame = _Frame(function, args, kwargs, options)
    with saved_tensors_hooks(frame.pack, _unpacked), forward_context:
        outputs = function(*args, **kwargs)
    frame.complete = True
    own = {id(x) for x in (*args, *kwargs.values())}
    for out in _tensors(outputs):
        if out.requires_grad and out.grad_fn is not None and id(out) not in own:
            out.register_hook(frame.arrive)
    return outputs


def _tensors(x: Any) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _tensors(item)
    elif isinstance(x, dict):
        yield from _tensors(list(x.values()))


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args, **kwargs)`, without keeping what its operations save for backward (Chen et al., 2016).

    use_reentrant=False (recommended): `function` runs again when backward needs the first of its saved values, up to the
    last one. True, and for now the default: it runs as an operation of its own, whose backward runs backward.
    preserve_rng_state (default True): the second run draws the same random numbers.
    CheckpointError where the second run saves other values.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    if context_fn is not noop_context_fn and (_debug[-1] if _debug and _debug[-1] is not None else debug):
        raise ValueError("debug=True is incompatible with non-default context_fn")
    forward_context, recompute_context = context_fn()
    if not grad_mode.state.grad:
        with forward_context:
            return function(*args, **kwargs)
    options = {
        "early_stop": early_stop and (not _early_stop or _early_stop[-1]), "determinism_check": determinism_check,
        "recompute_context": recompute_context, "preserve_rng_state": preserve,
    }  # fmt: skip
    return _saving_inputs(function, args, kwargs, options, forward_context)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions (or a Sequential) one after the other, checkpointed in `segments` pieces; the last one is not."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
            "use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def piece(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return forward

    start = 0
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(piece(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return piece(size * (segments - 1), len(steps))(input)
