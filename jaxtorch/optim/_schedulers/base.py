"""The base of all schedulers, and schedulers of schedulers."""

from __future__ import annotations

import functools
import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._core.run import capture
from ..._core.tensor.tensor import Tensor
from ..._private_names.absent import undefined
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. With an epoch, the closed form of the schedule is used where there is one."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def copied(x: Any) -> Any:
    """A rate that later changes in place do not reach."""
    return x.clone() if isinstance(x, Tensor) else x


def scalar(x: Any) -> Any:
    """A rate as a number."""
    return x.item() if isinstance(x, Tensor) and x.dim() else x


def assign(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; one that is a tensor is filled."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that is one number or a list with one for each group, as such a list."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(optimizer.param_groups)
    if len(value) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
            f"has {len(optimizer.param_groups)}."
        )
    return list(value)


def _track_steps(optimizer: Any) -> None:
    """Let the optimizer remember that it has stepped: the warning about the order of calls asks."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return

    @functools.wraps(step.__func__ if hasattr(step, "__func__") else step)
    def tracked(*args: Any, **kwargs: Any) -> Any:
        owner = reference()
        if owner is not None:
            owner._opt_called = True
            return type(owner).step(owner, *args, **kwargs) if own is None else own(*args, **kwargs)

    import weakref

    reference = weakref.ref(optimizer)  # a cycle would keep the optimizer's state until the garbage collector runs
    own = optimizer.__dict__.get("step")
    tracked._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = tracked


def _replayed(step: Callable[..., Any]) -> Callable[..., Any]:
    """The `step` of a scheduler, which a call captured by `torch.compile` makes again at each replay."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if capture.active is None:
            return step(*args, **kwargs)
        with capture.active.later(functools.partial(wrapper, *args, **kwargs), getattr(args[0], "optimizer", None)):
            return step(*args, **kwargs)

    return wrapper


class LRScheduler:
    """Base of the schedulers: a subclass computes the rates of all groups in `get_lr`, from `last_epoch` and the rates
    as they are."""

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _takes_a_measure: bool = False
    """Has `step` to be given what is to improve?"""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _replayed(cls.__dict__["step"])

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0: load the state of the optimizer that was scheduled first"
                    )
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with self._flag("_is_initial"):
            self.step()

    @contextmanager
    def _flag(self, name: str) -> Iterator[None]:
        setattr(self, name, True)
        try:
            yield
        finally:
            setattr(self, name, False)

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, one for each group."""
        raise undefined(self, "get_lr")

    @_replayed
    def step(self, epoch: int | None = None) -> None:
        """Set the rates for the next epoch, or for the given one."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_SEE}",
                    UserWarning,
                    stacklevel=3,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                    "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first "
                    f"value of the learning rate schedule is skipped. {_SEE}",
                    UserWarning,
                    stacklevel=3,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)
        self._update_lr(epoch)

    def _update_lr(self, epoch: Any = None) -> None:
        with self._flag("_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed is None else closed()
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values):
            assign(group, "lr", lr)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _times(self, factor: Any) -> list[Any]:
        """The present rates, multiplied."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The base class's former name."""


def _check_members(kind: str, schedulers: Sequence[Any], optimizer: Any) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{kind} at index {i} should have `optimizer` as its attribute.")
        if getattr(scheduler, "_takes_a_measure", False):
            raise ValueError(
                f"{kind} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                f"when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if optimizer is not scheduler.optimizer:
            raise ValueError(
                f"{kind} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class _Combined(LRScheduler):
    """What schedulers of schedulers share: their state holds the others' states."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """The attributes, and under "_schedulers" the states of the schedulers in it."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        return state | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that `state_dict` returned."""
        states = state_dict["_schedulers"]
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, states):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after the other: the next one begins at each milestone."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check_members("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # undo what the schedulers did when they were made
            assign(group, "lr", group["initial_lr"])
        self.recursive_undo()
        self._schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the step with which each scheduler begins."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:
        """Step the scheduler whose turn it is."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedulers that step together, each changing what the one before has set."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        _check_members("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers  # pyright: ignore[reportAttributeAccessIssue]
        self.optimizer = optimizer
        self._last_lr = self._rates()

    def step(self) -> None:
        """Step them all, in their order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


def cosine(start: Any, end: Any, fraction: float) -> Any:
    """From start to end along half a cosine."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)


def linear(start: Any, end: Any, fraction: float) -> Any:
    """From start to end along a line."""
    return (end - start) * fraction + start


def saved_function(fn: Callable[..., Any] | None) -> dict[str, Any] | None:
    """What a state dictionary keeps of a function: the attributes of an object that can be called, nothing of others."""
    import types

    return None if fn is None or isinstance(fn, types.FunctionType) else fn.__dict__.copy()
