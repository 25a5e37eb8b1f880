"""What `torch.compile` returns for a function: calls are replayed where they can be, recorded as ever where not.

The first call of a kind (types of tensors, Python arguments, modes) runs as without `torch.compile`, and is observed. The second is
captured. From the third on the captured program is replayed as long as its guards hold; when one does not, the call is
captured anew.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import sys
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any

from .._core.compile import context
from .._core.compile.kernel import function_from_text
from .._core.dispatch import torch_function
from .._core.host import forked
from .._core.random import jax_draws
from .._core.record import program
from .._core.run import capture as engine
from .._core.run.except_handlers import user_line
from .._core.run.log import logger
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor, is_inference
from .._core.transforms.write_journal import Journal
from .._core.types import dtypes, grad_mode
from .._core.types.device import default_device
from .._core.types.value import Aval
from ..autograd.profiler import recorded
from ..nn import Parameter
from ..nn.modules._module import hooks as _hooks
from ..optim import optimizer
from . import capturing, finding_guards, observing
from .border import Border
from .capturing import Capture, Captured, Source, Uncapturable
from .checking_guards import Guard, Guards, described, pictured
from .fullgraph_errors import Unsupported, UserError
from .graph_node import Graph
from .memory import Before, Met
from .replaying import Replay, Stale
from .trees import Signature, Unbuildable, outline

ATTEMPTS = 3
"""So often is the capture of one kind of call tried."""

DISTURBED = 20
"""So often is it tried again because other threads were computing."""

EAGER_KINDS = 4
"""So many kinds of calls are observed when they first come; later ones when they come again."""

MOST_KINDS = 256
"""So many kinds of calls of one function are remembered."""

STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Stance:
    """What compiled functions do; `torch.compiler.set_stance` sets it."""

    name = "default"


_all: weakref.WeakSet[Compiled] = weakref.WeakSet()


class Variant:
    """A captured call: its replay, the guards under which it stands, and objects whose identity they rely on.

    fits: a quick look whether arguments are of this kind, where they are plain tensors; `modes` are those of the kind.
    meeting: which of the arguments the call also reaches otherwise; `met` says which they were.
    """

    __slots__ = ("replay", "guards", "objects", "fits", "modes", "meeting", "met")

    def __init__(self, replay: Replay, guards: Guards, called: Signature, meeting: tuple[Met, list[int]]) -> None:
        self.meeting, self.met = meeting
        self.replay = replay
        self.guards = guards
        self.objects = called.objects
        self.fits = None if any(self.met) else _fitting(called, self.meeting)
        self.modes = environment()

    def meets(self, arguments: list[Tensor]) -> bool:
        """Are the same of the arguments also reached otherwise as when the call was captured?"""
        return self.meeting(arguments) == self.met


class Trial:
    """What is known of one kind of call: whether it was observed, the code it ran, and why it is not captured if it is not.

    recorded: it could be, but its results need the graph of each operation.
    """

    __slots__ = ("seen", "codes", "attempts", "disturbed", "reason", "variants", "recorded")

    def __init__(self) -> None:
        self.seen = False
        self.codes: set[Any] = set()
        self.attempts = self.disturbed = 0
        self.reason: str | None = None
        self.variants: list[Variant] = []
        self.recorded = False


class Compiled:
    """A function whose calls are captured and replayed.

    limit: how many captures one kind of call may need before it is left to recording.
    again: may the gradients of its results be differentiated? A call whose results have a graph is then recorded.
    watched: all of its state that a call through it depends on.
    """

    watched = ("fn",)

    def __init__(self, fn: Callable[..., Any], fullgraph: bool, limit: int, again: bool = False) -> None:
        self.fn = fn
        self.again = again
        self.fullgraph = fullgraph
        self.limit = limit
        self.trials: dict[Any, Trial] = {}
        self.last: Any = None
        self.title = getattr(fn, "__qualname__", type(fn).__qualname__)
        _all.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if Stance.name == "force_eager" or engine.active is not None or forked.active or jax_draws.transforming():
            return self.fn(*args, **kwargs)
        if program.IMMEDIATE:
            return self._plainly(args, kwargs)
        if (grad_mode.watch or torch_function.state.modes) and _watched(args, kwargs):
            return self.fn(*args, **kwargs)
        last = self.last
        if last is not None and not kwargs and last.fits(args) and last.modes == environment() and last.guards():
            try:
                return last.replay(args)
            except Stale:
                pass  # the look-up below finds it stale again
        called = Signature(args, kwargs)
        key = (called.key, environment())
        trial = self.trials.get(key)
        if trial is None or not trial.seen:
            if Stance.name != "default":
                return self._by_stance(args, kwargs)
            return self._whole(called.tensors, lambda: self._observe(key, trial, args, kwargs))
        for variant in trial.variants:
            if variant.guards() and variant.meets(called.tensors):
                self.last = variant if variant.fits is not None else None
                try:
                    return variant.replay(called.tensors)
                except Stale:
                    trial.variants.remove(variant)
                    break
        if trial.recorded or trial.reason is not None:
            return self._plainly(args, kwargs)
        if Stance.name != "default":
            return self._by_stance(args, kwargs)
        return self._whole(called.tensors, lambda: self._capture(trial, called, args, kwargs))

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return Compiled(copy.deepcopy(self.fn, memo), self.fullgraph, self.limit, self.again)

    def reset(self) -> None:
        """Forget everything that was captured."""
        self.trials.clear()
        self.last = None

    # -- the calls that are not replayed

    def _by_stance(self, args: Any, kwargs: Any) -> Any:
        """A call that would be captured, where the stance forbids it."""
        if Stance.name == "eager_on_recompile":
            return self.fn(*args, **kwargs)
        if Stance.name not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance {Stance.name!r}, expected one of {', '.join(STANCES)}")
        raise RuntimeError(
            f"Detected recompile when torch.compile stance is 'fail_on_recompile': a call of {self.title} is of a new kind"
        )

    def _give_up(self, trial: Trial, reason: str) -> None:
        trial.reason = reason
        logger.info("torch.compile: calls of %s are recorded, not replayed: %s", self.title, reason)

    def _plainly(self, args: Any, kwargs: Any) -> Any:
        """A call that is recorded."""
        if not self.fullgraph:
            return self.fn(*args, **kwargs)
        return self._whole(Signature(args, kwargs).tensors, lambda: self.fn(*args, **kwargs))

    def _whole(self, tensors: list[Tensor], run: Callable[[], Any]) -> Any:
        """A call that runs as Python. With `fullgraph=True` one that PyTorch's tracer refuses writes nothing, and raises."""
        if not self.fullgraph or engine.refusing:
            return run()
        grads = [(t, t._grad, t._rg) for t in tensors]
        engine.refusing = get_ident()
        try:
            with Journal(of_before=True) as journal:
                return run()
        except engine.Refusal as refusal:
            found = refusal
        finally:
            engine.refusing = 0
        journal.undo()
        for t, grad, rg in grads:
            t._grad, t._rg = grad, rg
        self.trials.clear()
        kind = UserError if found.by_user else Unsupported
        raise kind(
            f"{found.reason}\n  torch.compile(fullgraph=True): a call of {self.title} cannot be captured ({user_line()})"
        )

    def _observe(self, key: Any, trial: Trial | None, args: Any, kwargs: Any) -> Any:
        if trial is None:
            if len(self.trials) >= MOST_KINDS:
                self.trials.pop(next(iter(self.trials)))
            trial = self.trials[key] = Trial()
            if len(self.trials) > EAGER_KINDS:
                return self.fn(*args, **kwargs)  # of many kinds, most come once: watch those that come again
        if (
            sys.getprofile() is not None
        ):  # of a compiled function round this one, or the user's: it may be gone another time
            return self.fn(*args, **kwargs)
        result, seen = observing.observe(lambda: self.fn(*args, **kwargs))
        trial.seen = True  # all of it: nothing was raised
        trial.codes = seen.codes
        if seen.reason is not None:
            self._give_up(trial, seen.reason)
        return result

    def _capture(self, trial: Trial, called: Signature, args: Any, kwargs: Any) -> Any:
        if not all(c.holds() for c in _listening()):
            return self.fn(*args, **kwargs)
        if len(trial.variants) >= self.limit:
            changed = trial.variants[-1].guards.broken()
            what = changed[0].path if changed else "an option of an optimizer"
            self._give_up(trial, f"{what} changes too often")
            return self.fn(*args, **kwargs)
        try:
            roots = [(self.title, self.fn), *[("an argument", x) for x in called.objects]]
            guards, tensors = finding_guards.watch(trial.codes, roots)
        except finding_guards.Unwatchable as error:
            self._give_up(trial, str(error))
            return self.fn(*args, **kwargs)
        if any(is_sparse(t) for t in [*called.tensors, *[t for t, _ in tensors.values()]]):
            self._give_up(trial, "a sparse tensor is used")
            return self.fn(*args, **kwargs)
        border = Border(called.tensors, [t for t, _ in tensors.values()])
        try:
            return self._try(trial, called, args, kwargs, guards, tensors, border)
        finally:
            border.lift()

    def _try(
        self,
        trial: Trial,
        called: Signature,
        args: Any,
        kwargs: Any,
        guards: Guards,
        tensors: Any,
        border: Border,
    ) -> Any:
        """The call, captured if it can be; otherwise the reason is kept."""
        before = [Guard("tensor", t, None, described(t), path) for t, path in tensors.values()]
        grads = [Guard("grad", t, None, t._grad is None, f"{path}.grad") for t, path in tensors.values()]
        outlined, modes_before = outline((args, kwargs)), environment()
        work, memory = Capture(called.tensors, border), Before([t for t, _ in tensors.values()], called.tensors)
        trial.attempts += 1
        with contextlib.ExitStack() as held:
            result, seen = capturing.record(
                lambda: observing.observe(lambda: self.fn(*args, **kwargs)), work, memory.look, held
            )
            border.close()
            try:
                if seen.reason is not None:
                    raise Uncapturable(seen.reason)
                if not seen.codes <= trial.codes:
                    trial.codes |= seen.codes
                    raise Uncapturable("each call runs other code")
                if environment() != modes_before:
                    raise Uncapturable("it changes a mode (gradients, types, devices) and leaves it changed")
                if outline((args, kwargs)) != outlined:
                    raise Uncapturable("it changes its arguments")
                made = capturing.settle(work, result, guards)
                _check_reached(made, tensors)
                replay = Replay(made)
                replay.first(made, called.tensors)
                if any(isinstance(r, capturing.Result) and capturing.is_alive(r.node) for r in made.tensors):
                    if self.again:
                        trial.recorded = True
                        return result
                    replay.graph = Graph(work, made, trial.codes)
            except (Uncapturable, Unbuildable) as error:
                if str(error).startswith(engine.ELSEWHERE) and trial.disturbed < DISTURBED:
                    trial.attempts, trial.disturbed = trial.attempts - 1, trial.disturbed + 1
                elif trial.attempts >= ATTEMPTS or not str(error).startswith("each call"):
                    self._give_up(trial, str(error))
                program.settle()
                return result
        uses_grad = bool(made.updated or made.grads) or any(s.kind == "grad" for s in made.sources)
        named = any("grad" in code.co_names for code in trial.codes)
        if uses_grad or named:
            stepped = {
                id(p) for again, _ in made.updated for p in again.group["params"]
            }  # frozen ones too, with a gradient
            before += [c for c in grads if named or _may_have(c.place) or id(c.place) in stepped]
        kept = _listening() + made.kept + [c for c in before if id(c.place) not in made.moved]
        kept += [Guard("typed", c.now, None, pictured(c.now()), c.path) for c, _ in made.places]
        memory.settled(made)
        kept += memory.guards(made)
        meeting = memory.meeting([t for t, _ in tensors.values()], called.tensors)
        trial.variants.append(Variant(replay, Guards(kept), called, meeting))
        trial.attempts = 0
        logger.info("torch.compile: captured a call of %s, %d conditions", self.title, len(kept))
        return result


def _may_have(t: Tensor) -> bool:
    """Will whoever looks for gradients look at this tensor?"""
    return t._rg or isinstance(t, Parameter)


def _fitting(called: Signature, meeting: Met) -> Any:
    """`fits(args)` for a call whose arguments were plain tensors; None for others."""
    avals = called.key
    if not called.tensors or len(avals) != len(called.tensors) or any(type(a) is not Aval for a in avals):
        return None
    scope: dict[str, Any] = {"Tensor": Tensor, "own": meeting.own, "grads": meeting.grads}
    parts = [f"len(args) == {len(avals)}"]
    for i, aval in enumerate(avals):
        scope[f"a{i}"] = aval
        parts.append(
            f"(t := args[{i}]).__class__ is Tensor and t._value.aval is a{i} and t._alias is None and t._rg is False "
            "and t._layout is None and t._grad is None and id(t) not in own"
        )
    parts += [f"args[{i}] is not args[{j}]" for i in range(len(avals)) for j in range(i)]
    if meeting.owners:
        parts.append("grads().isdisjoint(map(id, args))")
    return function_from_text(f"def fits(args):\n    return {' and '.join(parts)}", scope, "fits")


def _listening() -> list[Guard]:
    """That nothing listens to all calls: hooks on every module or optimizer, profilers whose parts a call may name."""
    every = (
        _hooks._global_forward_hooks, _hooks._global_forward_pre_hooks, _hooks._global_backward_hooks,
        _hooks._global_backward_pre_hooks, optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks,
    )  # fmt: skip
    found = [Guard("empty", hooks, None, None, "hooks on every module or optimizer") for hooks in every]
    return [*found, Guard("empty", recorded, None, None, "a profiler")]


def _watched(args: Any, kwargs: Any) -> bool:
    """Must every operation of a call be seen: by anomaly detection, hooks on saved tensors, a TorchFunctionMode, a counter?"""
    if torch_function.state.modes or any(
        [w in grad_mode.watch for w in ("anomaly", "hooks", "duals", "flops", "dispatch")]  # noqa: C419, a list is quicker
    ):
        return True
    return any(is_inference(t) for t in Signature(args, kwargs).tensors) and not grad_mode.state.inference


def environment() -> tuple[Any, ...]:
    """The modes that a captured program is made for."""
    return (
        grad_mode.state.grad, grad_mode.state.inference, grad_mode.state.casts, grad_mode.state.casts, dtypes._Defaults.floating,
        default_device(), context._Precision.name,
    )  # fmt: skip


def _check_reached(made: Captured, tensors: dict[int, tuple[Tensor, str]]) -> None:
    """Uncapturable if the call used a tensor that no guard pins down."""
    storages = {id(t._alias.storage) for t, _ in tensors.values() if t._alias is not None}
    handed = [t for t in made.tensors if isinstance(t, Source)]
    for source in [*made.sources, *(w.source for w in made.writes), *handed]:
        if source.kind in ("tensor", "grad") and id(source.of) not in tensors:
            raise Uncapturable(
                f"it uses a tensor of shape {tuple(source.of.shape)} that jaxtorch cannot tell where it is from"
            )
        if source.kind == "storage" and id(source.of) not in storages:
            raise Uncapturable("it uses a view whose base jaxtorch cannot tell where it is from")
    for p, _ in made.grads:
        if id(p) not in tensors:
            raise Uncapturable("it gives a gradient to a tensor that jaxtorch cannot tell where it is from")


def compiled_module(module: Any, fullgraph: bool, limit: int | None, again: bool) -> Compiled:
    """The calls of a module, captured and replayed."""
    return Compiled(module, fullgraph, 8 if limit is None else limit, again)


def compiled(fn: Callable[..., Any], fullgraph: bool, limit: int | None, again: bool) -> Callable[..., Any]:
    """A function whose calls are captured and replayed, with the name and text of `fn`."""
    run = Compiled(fn, fullgraph, 8 if limit is None else limit, again)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    call._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    call._compiled = run  # type: ignore[attr-defined]
    return call


def reset() -> None:
    """Forget everything that was captured, of all functions."""
    for each in list(_all):
        each.reset()
