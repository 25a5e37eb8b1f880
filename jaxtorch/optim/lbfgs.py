"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._core.compile.kernel import Kernel
from .._core.define.op import functions
from .._core.record import program
from .._core.tensor.tensor import Tensor, wrap
from .._core.types import grad_mode
from ._options import number, sent
from ._rule_optimizer import check_common
from .optimizer import Optimizer


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal, 1980), optionally with a line search for the strong Wolfe conditions.

    Each step evaluates the closure several times: `max_iter` iterations, `max_eval` evaluations (by default 5 for 4
    iterations). One group of parameters only. The decisions between evaluations wait for their values.
    """

    def __init__(
        self, params: Any, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_common(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    # -- parameters as one vector

    def _gradient(self) -> Tensor:
        zeros_like = functions["zeros_like"]
        return functions["cat"]([_real(zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])

    def _move(self, t: Any, direction: Tensor) -> None:
        """Add `t * direction` to the parameters."""
        if t is True or t is False:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        start = 0
        for p in self._params:
            target = _real(p)
            part = direction[start : start + target.numel()].view_as(target)
            target.add_(part * t)
            start += target.numel()

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[float, Tensor]:
        with grad_mode.enable_grad():
            loss = _scalar(closure())
        return loss, self._gradient()

    def _objective(self, closure: Callable[[], Any], start: list[Tensor], direction: Tensor) -> Callable[[float], Any]:
        """Loss, gradient and slope at a distance along the direction; the parameters come back to `start`."""

        def at(t: float) -> _Point:
            self._move(t, direction)
            loss, gradient = self._evaluate(closure)
            for p, x in zip(self._params, start, strict=True):
                p.copy_(x)
            return _Point(t, loss, gradient, gradient.dot(direction).item())

        return at

    # -- the step

    def step(self, closure: Callable[[], Any]) -> Any:
        """Minimize for up to `max_iter` iterations; the first loss that `closure` computed is returned."""
        with grad_mode.no_grad():
            return self._step(closure)

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, tolerance = number(group["lr"]), group["tolerance_grad"]
        sent(tolerance), sent(group["tolerance_change"])
        search = group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with grad_mode.enable_grad():
            first_loss = closure()
        loss, evaluations = _scalar(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if _largest(gradient) <= tolerance:
            return first_loss
        work = {name: state.get(name) for name in _KEPT}
        n = 0
        while n < group["max_iter"]:
            n += 1
            state["n_iter"] += 1
            direction = self._direction(state, work, gradient, group["history_size"])
            previous = loss
            work["prev_flat_grad"], work["prev_loss"] = gradient.clone(), previous
            t = min(1.0, 1.0 / gradient.abs().sum().item()) * lr if state["n_iter"] == 1 else lr
            work["d"], work["t"] = direction, t
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            new = 0
            done = False
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError(f"only 'strong_wolfe' is supported as line_search_fn, but got {search!r}")
                start = [p.clone() for p in self._params]
                objective = self._objective(closure, start, direction)
                here, left = _Point(0.0, loss, gradient, slope), group["max_eval"] - evaluations
                best, new = strong_wolfe(objective, here, t, _largest(direction), limit=left)
                t, loss, gradient = best.t, best.loss, best.gradient
                work["t"] = t
                self._move(t, direction)
                done = _largest(gradient) <= tolerance
            else:
                self._move(t, direction)
                if n != group["max_iter"]:
                    loss, gradient = self._evaluate(closure)
                    done = _largest(gradient) <= tolerance
                    new = 1
            evaluations += new
            state["func_evals"] += new
            if n == group["max_iter"] or evaluations >= group["max_eval"] or done:
                break
            if _largest(direction * t) <= group["tolerance_change"] or abs(loss - previous) < group["tolerance_change"]:
                break
        state.update(work)
        return first_loss

    def _direction(self, state: dict[str, Any], work: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
        """Minus the gradient times the approximate inverse Hessian, by the two-loop recursion."""
        if state["n_iter"] == 1:
            work.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        y, s = gradient - work["prev_flat_grad"], work["d"] * work["t"]
        changes, steps, ro = work["old_dirs"], work["old_stps"], work["ro"]
        curvature = y.dot(s)
        if curvature.item() > 1e-10:
            if len(changes) == history:
                for kept in (changes, steps, ro):
                    kept.pop(0)
            changes.append(y)
            steps.append(s)
            ro.append(1.0 / curvature)
            work["H_diag"] = curvature / y.dot(y)
        if len(changes) > max(history, 0):
            raise IndexError("list assignment index out of range")
        result, al = _two_loops(gradient, work["H_diag"], changes, steps, ro)
        state.setdefault("al", [None] * history)[: len(al)] = al
        return result


_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
_kernels: dict[Any, Kernel] = {}


def _two_loops(
    gradient: Tensor, scale: Any, changes: list[Tensor], steps: list[Tensor], ro: list[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """The recursion as one instruction, and the first loop's factors.

    The history is filled up to a power of two, so that few kernels are compiled.
    """
    if not changes:
        return gradient.neg() * scale, []  # its first value, 1, before any curvature was seen
    room = 1 << (len(changes) - 1).bit_length()
    missing = room - len(changes)
    zero = [functions["zeros_like"](gradient)._read()] * missing
    none = [functions["zeros_like"](ro[0])._read()] * missing
    values = [gradient._read(), scale._read()]
    for kind, filling in ((changes, zero), (steps, zero), (ro, none)):
        values += [t._read() for t in kind] + filling
    avals = tuple(v.aval for v in values)
    kernel = _kernels.get(avals)
    if kernel is None:
        kernel = _kernels[avals] = Kernel("lbfgs", _recursion(room), avals, avals[0].slot)
    result, al = [wrap(v) for v in program.emit(kernel, values)]
    return result, list(al[: len(changes)].unbind())


def _recursion(n: int) -> Callable[..., Any]:
    def run(gradient: Any, scale: Any, *rest: Any) -> tuple[Any, ...]:
        history = jnp.stack(rest[:n]), jnp.stack(rest[n : 2 * n]), jnp.stack(rest[2 * n :])

        def down(q: Any, item: Any) -> Any:
            y, s, r = item
            a = jnp.dot(s, q) * r
            return q - a * y, a

        def up(q: Any, item: Any) -> Any:
            (y, s, r), a = item
            return q + s * (a - jnp.dot(y, q) * r), None

        q, al = jax.lax.scan(down, -gradient, history, reverse=True)
        return jax.lax.scan(up, q * scale, (history, al))[0], al

    return run


def _real(x: Tensor) -> Tensor:
    return functions["view_as_real"](x) if x.is_complex() else x


def _scalar(loss: Any) -> float:
    return loss.item() if isinstance(loss, Tensor) else float(loss)


def _largest(x: Tensor) -> float:
    return x.abs().max().item()


class _Point(NamedTuple):
    """Distance along the direction, and there the loss, its gradient and its slope along the direction."""

    t: float
    loss: float
    gradient: Tensor
    slope: float


def _interpolated(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes has its minimum, within bounds."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(best, low), high)


def strong_wolfe(
    objective: Callable[[float], _Point], start: _Point, t: float, size: float, c1: float = 1e-4, c2: float = 0.9,
    tolerance: float = 1e-9, limit: int = 25,
) -> tuple[_Point, int]:  # fmt: skip
    """A point that meets the strong Wolfe conditions, and how many evaluations it took.

    Nocedal and Wright, Numerical Optimization, algorithms 3.5 (bracketing) and 3.6 (zoom).
    size: the direction's largest component, below which times `tolerance` a bracket is not divided further.
    """

    def too_high(p: _Point) -> bool:
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: _Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    last, new, evaluations, rounds = start, objective(t), 1, 0
    bracket = None
    while rounds < limit:
        if too_high(new) or (rounds > 1 and new.loss >= last.loss):
            bracket = [last, new]
            break
        if flat(new):
            return new, evaluations
        if new.slope >= 0:
            bracket = [last, new]
            break
        t = _interpolated(last, new, new.t + 0.01 * (new.t - last.t), new.t * 10)
        last, new = new, objective(t)
        evaluations += 1
        rounds += 1
    if bracket is None:
        bracket = [start, new]

    stalled = False
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    while rounds < limit:
        left, right = sorted(p.t for p in bracket)
        if (right - left) * size < tolerance:
            break
        t = _interpolated(bracket[0], bracket[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = objective(t)
        evaluations += 1
        rounds += 1
        if too_high(new) or new.loss >= bracket[low].loss:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            done = flat(new)
            if not done and new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
            if done:
                break
    return bracket[low], evaluations


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Tensor, float, int]:  # fmt: skip
    """The line search as libraries call it: `obj_func(x, t, d)` gives the loss and the gradient at the distance t along d.

    Returns the loss, the gradient, the distance and the number of evaluations. f, g, gtd: loss, gradient and slope at 0.
    """

    def objective(t: float) -> _Point:
        loss, gradient = obj_func(x, t, d)
        return _Point(t, _scalar(loss), gradient, gradient.dot(d).item())

    start = _Point(0.0, _scalar(f), g.clone(), _scalar(gtd))
    best, evaluations = strong_wolfe(objective, start, _scalar(t), _largest(d), c1, c2, tolerance_change, max_ls)
    return best.loss, best.gradient, best.t, evaluations


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> float:
    """Where the cubic with two values and slopes has its minimum, within bounds; libraries call it with numbers or tensors of one."""
    a, b = (_Point(_scalar(x), _scalar(f), g, _scalar(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))
    low, high = sorted((a.t, b.t)) if bounds is None else map(_scalar, bounds)
    return _interpolated(a, b, low, high)
