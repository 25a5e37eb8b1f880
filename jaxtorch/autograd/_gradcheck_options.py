"""What `gradcheck` tries besides comparing derivatives with differences: gradients under `vmap`, and gradients that do not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from . import forward_ad
from ._gradients import grad
from .function import Function


class GradcheckError(RuntimeError):
    """What `gradcheck` raises where derivatives disagree."""


class _Undefined(Function):
    """Its argument, to which no gradient comes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        return None


def _dense(g: Tensor) -> Tensor:
    return g if g.layout is functions["zeros"]((0,)).layout else g.to_dense()


def undefined_gradients(outputs: Callable[[], list[Tensor]], n: int, inputs: list[Tensor]) -> None:
    """GradcheckError unless backward bears that no gradient comes to some of n outputs, or to all, and gives zeros for zeros then."""
    for chosen in [set(range(n)), *([{k} for k in range(n)] if n > 1 else [])]:
        outs = [_Undefined.apply(o) if k in chosen else o for k, o in enumerate(outputs())]
        if not outs:
            return
        zeros = [functions["zeros_like"](o.detach()) for o in outs]
        try:
            found = grad(outs, inputs, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined output "
                "gradients' in 'tools/autograd/derivatives.yaml'"
            ) from error
        if any(g is not None and bool((_dense(g) != 0).any()) for g in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                "'Notes about undefined output gradients' in 'tools/autograd/derivatives.yaml'"
            )


def _tangents(func: Callable[..., Any], given: list[Any]) -> list[Tensor]:
    """Of the floating point outputs; zeros where there are none. To be called where a level is open."""
    outs, found = func(*given), []
    for o in outs if isinstance(outs, (tuple, list)) else [outs]:
        if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex()):
            primal, tangent = forward_ad.unpack_dual(o)
            found.append(functions["zeros_like"](primal) if tangent is None else tangent)
    return found


def undefined_tangents(func: Callable[..., Any], inputs: list[Any], wanted: list[int]) -> None:
    """GradcheckError unless an input without a tangent is as one whose tangent is zero, while the others have tangents."""

    def run(place: int, zero: bool) -> list[Tensor]:
        with forward_ad.dual_level():
            given = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
            for i in wanted:
                if i != place:
                    given[i] = forward_ad.make_dual(given[i], functions["ones_like"](given[i]))
                elif zero:
                    given[i] = forward_ad.make_dual(given[i], functions["zeros_like"](given[i]))
            return _tangents(func, given)

    for place in wanted:
        for without, zero in zip(run(place, False), run(place, True), strict=True):
            if not functions["allclose"](without, zero, equal_nan=True):
                raise GradcheckError(
                    "Expected forward AD of a function whose input has no tangent to be that of a zero tangent."
                )


def _compared(run: Callable[[Tensor], Any], vectors: list[Tensor], what: str) -> None:
    """GradcheckError unless a function under `vmap` gives what it gives for one vector after the other."""
    from ..func._vmap import vmap  # the transformations are loaded when asked for

    each = [run(v) for v in vectors]
    try:
        together = vmap(run)(functions["stack"](vectors))
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\ngradcheck or gradgradcheck failed while testing batched gradient "
            f"computation ({what})."
        ) from error
    for k, found in enumerate(together):
        expected = functions["stack"]([e[k] for e in each])
        if not functions["allclose"](expected, found):
            raise GradcheckError(
                f"gradcheck or gradgradcheck failed while testing batched gradient computation ({what}) at {k}.\n"
                f"Got:\n{found}\n\nExpected:\n{expected}"
            )


def batched_gradients(outputs: list[Tensor], inputs: list[Tensor]) -> None:
    """GradcheckError unless gradients under `vmap` are those of one cotangent after the other."""
    for output in outputs:

        def run(v: Tensor, output: Tensor = output) -> tuple[Tensor, ...]:
            found = grad(output, inputs, v, retain_graph=True, allow_unused=True)
            return tuple(
                [functions["zeros_like"](x) if g is None else _dense(g) for x, g in zip(inputs, found, strict=True)]
            )

        _compared(run, [functions["randn_like"](output.detach()) for _ in range(2)], "backward")


def batched_tangents(func: Callable[..., Any], inputs: list[Any], wanted: list[int]) -> None:
    """GradcheckError unless tangents under `vmap` are those of one direction after the other."""
    for place in wanted:

        def run(v: Tensor, place: int = place) -> tuple[Tensor, ...]:
            with forward_ad.dual_level():
                moved = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
                moved[place] = forward_ad.make_dual(moved[place], v)
                return tuple(_tangents(func, moved))

        _compared(run, [functions["randn_like"](inputs[place].detach()) for _ in range(2)], "forward mode")
