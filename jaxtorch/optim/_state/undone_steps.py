"""A step that may turn out not to have been reached: something around the training loop catches errors, and an operation of this step
has not said yet whether its values were as it wants them (`_core/record/deferred_errors.py`).

Looked at when the step has been recorded, so that a step stays one program; where something failed, parameters and state are again
what they were, as in PyTorch, which raises before it comes to the step.
"""

from __future__ import annotations

from typing import Any

from ..._core.record import deferred_errors, program
from ..._core.tensor.tensor import Tensor, version_of
from ..._core.types.value import Value


class Undo:
    """What an optimizer's step is about to change: held, so that the step leaves its memory alone."""

    def __init__(self, optimizer: Any, watched: list[tuple[Any, list[deferred_errors.Check]]]) -> None:
        self.watched = watched
        self.state = optimizer.state
        self.states = {p: dict(state) for p, state in optimizer.state.items()}
        tensors = [p for group in optimizer.param_groups for p in group["params"]]
        tensors += [t for state in self.states.values() for t in state.values() if isinstance(t, Tensor)]
        self.held: list[tuple[Tensor, Value, Any, int]] = [
            (t, value := t._read(), value.guard, t._ver if t._alias is None else t._alias.version.n) for t in tensors
        ]

    def settle(self) -> None:
        """The step has been recorded: raise what its program says, with everything as it was."""
        try:
            for recorded, checks in self.watched:
                program.flush(recorded)
                deferred_errors.settle(checks, at_call=False)
        except Exception:
            for t, value, guard, version in self.held:
                t._write_uncounted(value)
                value.guard = guard  # it is what the tensor holds once more
                if t._alias is None:
                    t._ver = version_of(t).n = version
                else:
                    t._alias.version.n = version
            for p in list(self.state):
                if p in self.states:
                    self.state[p] = self.states[p]
                else:
                    del self.state[p]
            raise


def begin(optimizer: Any) -> Undo | None:
    """An optimizer's step begins. What has run, or was recorded in a loop that has been left, is looked at now, before anything
    changes."""
    here, watched = deferred_errors.call_site(), []
    deferred_errors.note_step(here)
    for recorded, checks in deferred_errors.watched():
        around = checks[0].call_site
        if around.regions[0] not in here.regions:
            continue  # that has been left: nothing would catch it there
        if recorded.state != "open" or here.all_loops.keys().isdisjoint(around.loops):
            program.flush(recorded)
            deferred_errors.settle(checks, at_call=False)
        else:
            watched.append((recorded, checks))
    return Undo(optimizer, watched) if watched else None
