"""`PassManager`: runs passes in an order that keeps to constraints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A pass made of a function that changes a module in place, or gives another; None stays None."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: Any) -> PassResult:
        found = fn(gm)
        if found is None:
            return PassResult(gm, True)
        return found if isinstance(found, PassResult) else PassResult(found, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]) -> Callable[..., bool]:
    """The constraint that `this` runs before `that`: may `a` run before `b`?"""

    def allowed(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return not (a == that and b == this)

    return allowed


class PassManager:
    """Runs passes, one after another, until none changes anything or `steps` times.

    passes: functions of a module that give a `PassResult`. constraints: functions of two passes that say whether the first may run
    before the second. run_checks_after_each_pass: run the checks of `add_checks` after every pass, not only before the first.
    """

    def __init__(
        self, passes: list[Any] | None = None, constraints: list[Any] | None = None, steps: int | None = None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Append a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Replace what is called with the module before the passes. TypeError unless it takes one argument."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module: Any) -> None:
        """Called with the module before the passes, and after each where that is asked for."""

    def validate_constraints(self) -> None:
        """RuntimeError where the passes, as they stand, break a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[i + 1 :], i + 1):
                    if not constraint(a, b):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {b} before {a} but found {a} at index {i} and {b} at "
                            f"index{j} in pass list."
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that keeps to the constraints; RuntimeError where there is none."""
        left, ordered = list(self.passes), []
        while left:
            free = [a for a in left if all(c(a, b) for c in self.constraints for b in left if b is not a)]
            if not free:
                raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
            ordered.append(free[0])
            left.remove(free[0])
        self.passes = ordered
        self._validated = True

    def __call__(self, module: Any) -> PassResult:
        """Run the passes on a module."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, one in enumerate(self.passes):
                module, own = self._run(module, one, i)
                modified = modified or own
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _run(self, module: Any, one: Any, place: int) -> tuple[Any, bool]:
        name = one.__name__ if inspect.isfunction(one) else type(one).__name__
        try:
            found = one(module)
            if not isinstance(found, PassResult) and not (
                hasattr(found, "graph_module") and hasattr(found, "modified")
            ):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()"
                )
            module = found.graph_module
            if isinstance(module, GraphModule):
                module.recompile()
            if self.run_checks_after_each_pass:
                self.check(module)
            return module, found.modified
        except Exception as error:
            before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:place]]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following passes: {before}"
            ) from error
