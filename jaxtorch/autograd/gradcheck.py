"""`gradcheck` and `gradgradcheck`: derivatives compared with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.grad_mode import enable_grad
from . import forward_ad
from ._gradcheck_options import (
    GradcheckError,
    batched_gradients,
    batched_tangents,
    undefined_gradients,
    undefined_tangents,
)
from ._gradients import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def _tensors(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def _differentiable(t: Any) -> bool:
    return isinstance(t, Tensor) and t.requires_grad


def _numpy(t: Tensor) -> np.ndarray[Any, Any]:
    t = (t.to_dense() if is_sparse(t) else t).detach().resolve_conj()
    return np.asarray((t.float() if t.dtype is dtypes.bfloat16 else t).numpy()).copy()


def _floating(outs: Any) -> list[Tensor]:
    return [o for o in _tensors(outs) if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def _same_kind(a: Tensor, b: Tensor, place: Any, step: complex) -> None:
    """AssertionError unless two results at inputs that were moved are of one shape and type."""
    for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {place} by {step}, "
                f"but got: {what}s {other} and {one}."
            )


def _requiring(outs: Any) -> list[Tensor]:
    """The outputs that require a gradient."""
    found = [o for o in _tensors(outs) if o.requires_grad]
    if any(isinstance(o, Tensor) and is_sparse(o) for o in _tensors(outs)):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn "
            "for gradcheck."
        )
    return found


class _Check:
    """One comparison of a function's derivatives at some inputs.

    masked: of sparse inputs, are only the elements that are there moved?
    """

    def __init__(self, func: Callable[..., Any], inputs: list[Any], eps: float, masked: bool) -> None:
        self.func = func
        self.inputs = inputs
        self.wanted = [i for i, t in enumerate(inputs) if _differentiable(t)]
        self.eps = eps
        self.masked = masked

    def outputs(self) -> list[Tensor]:
        """The differentiable outputs at the inputs."""
        return _requiring(self.func(*self.inputs))

    def moved(self, place: int, k: int, step: complex) -> list[Tensor]:
        """All floating point outputs where element k of an input is another. The input itself is written to, and back again."""
        t, given = self.inputs[place], list(self.inputs)
        x = _numpy(t)
        x.reshape(-1)[k] += step
        if is_sparse(t):
            given[place] = from_host(x).to_sparse(layout=t.layout).requires_grad_()
            return [o.detach() for o in _floating(self.func(*given))]
        whole, before = t.data, t.detach().clone()
        whole.copy_(from_host(x))
        try:
            return [o.detach().clone() for o in _floating(self.func(*given))]
        finally:
            whole.copy_(before)

    def numerical(self, place: int) -> list[np.ndarray[Any, Any]]:
        """The Jacobian of each output by central differences: (elements of the input, elements of the output).

        Complex inputs give the conjugate Wirtinger derivative times two: what PyTorch's backward computes.
        """
        t = self.inputs[place]
        x = _numpy(t)
        still = np.zeros(x.size, bool)
        if is_sparse(t) and self.masked:
            ones = t.detach()._with_values(functions["ones_like"](t._parts[-1].detach()))
            still = _numpy(ones).reshape(-1) == 0
        rows: list[list[Any]] = []
        for k in range(x.size):
            changes = []
            for step in (self.eps, self.eps * 1j) if np.iscomplexobj(x) else (self.eps,):
                if still[k]:
                    outs = _floating(self.func(*self.inputs))
                    changes.append([np.zeros(o.numel(), _numpy(o).dtype) for o in outs])
                    continue
                down, up = self.moved(place, k, -step), self.moved(place, k, step)
                for a, b in zip(up, down, strict=False):
                    _same_kind(a, b, tuple(map(int, np.unravel_index(k, x.shape))), step)
                pairs = zip(up, down, strict=False)
                changes.append([(_numpy(a) - _numpy(b)).reshape(-1) / (2 * self.eps) for a, b in pairs])
            rows.append(changes)
        n_out = len(rows[0][0]) if rows else 0
        return [self._joined(rows, j) for j in range(n_out)]

    @staticmethod
    def _joined(rows: list[Any], j: int) -> Any:
        """Rows of differences along the real, and where there is one the imaginary, axis of the input."""
        return [np.stack([row[axis][j] for row in rows]) for axis in range(len(rows[0]))]

    def analytical(self, output: Tensor, place: int, cotangent: complex) -> np.ndarray[Any, Any] | None:
        """The gradients of each element of the output times `cotangent`: (elements of the input, elements of the output)."""
        columns = []
        for j in range(output.numel()):
            one = np.zeros(output.numel(), _numpy(output).dtype)
            one[j] = cotangent
            cotangent_j = from_host(one.reshape(tuple(output.shape))).to(output.dtype)
            (g,) = grad(output, [self.inputs[place]], [cotangent_j], retain_graph=True, allow_unused=True)
            columns.append(
                np.zeros(self.inputs[place].shape, _numpy(self.inputs[place]).dtype) if g is None else _numpy(g)
            )
        return np.stack([c.reshape(-1) for c in columns], axis=1) if columns else None


def _tangents(check: _Check, place: int, direction: Tensor) -> list[Any]:
    """Of the differentiable outputs, where one input moves in this direction."""
    with forward_ad.dual_level():
        given = [t.detach() if isinstance(t, Tensor) else t for t in check.inputs]
        given[place] = forward_ad.make_dual(given[place], direction)
        tangents = [forward_ad.unpack_dual(o).tangent for o in _floating(check.func(*given))]
        return [None if t is None else _numpy(t) for t in tangents]


def _forward_checked(check: _Check, atol: float, rtol: float) -> None:
    """Compare tangents of the outputs, for each element of each input, with differences."""
    for place, numerical in [(place, check.numerical(place)) for place in check.wanted]:
        x = _numpy(check.inputs[place])
        found: list[Any] = [[np.zeros_like(d) for d in along] for along in numerical]
        for k in range(x.size):
            for axis, direction in enumerate((1, 1j) if np.iscomplexobj(x) else (1,)):
                one = np.zeros_like(x)
                one.reshape(-1)[k] = direction
                for j, tangent in enumerate(_tangents(check, place, from_host(one))):
                    if tangent is not None:
                        found[j][axis][k] = tangent.reshape(-1)
        for j, (expected, along) in enumerate(zip(numerical, found, strict=True)):
            for d, a in zip(expected, along, strict=True):
                if not np.allclose(a, d, rtol, atol, equal_nan=True):
                    raise GradcheckError(
                        f"Jacobian computed with forward mode mismatch for output {j} with respect to input {place},\n"
                        f"numerical:{from_host(d)!r}\nanalytical:{from_host(a)!r}\n"
                    )


def _expected(along: Any, part: str) -> Any:
    """The gradient of the real or imaginary part of the outputs, from their differences along the axes of the input."""
    taken = [np.real(d) if part == "real" else np.imag(d) for d in along]
    return taken[0] if len(taken) == 1 else taken[0] + 1j * taken[1]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of `func` at `inputs`, tensors of double precision, with central differences of width eps.

    True where they agree; GradcheckError (or False) otherwise. fast_mode runs the full check. check_forward_ad: compare tangents
    too. check_undefined_grad: backward has to bear that no gradient comes. check_batched_grad, check_batched_forward_grad: gradients
    and tangents under `vmap` are those without. nondet_tol: how far two backward passes may differ, beyond rounding.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    given = _tensors(inputs)
    check = _Check(func, given, eps, bool(masked))
    if not check.wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i in check.wanted:
        if given[i].dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=2,
            )
        layout = None if is_sparse(given[i]) else given[i]._layout
        if layout is not None and 0 in layout[0] and given[i].numel() > 1:
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be "
                "able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    try:
        outs = func(*given)
        differences = [check.numerical(i) for i in check.wanted] if check_backward_ad or not _requiring(outs) else []
        if not _requiring(outs):
            _refuse_motion(differences, atol)
        inputs = [given[i] for i in check.wanted]
        if check_backward_ad and _requiring(outs):
            _backward_checked(check, outs, differences, atol, rtol, nondet_tol)
        if check_forward_ad:
            if _requiring(outs):
                _forward_checked(check, atol, rtol)
            if check_undefined_grad:
                undefined_tangents(func, given, check.wanted)
            if check_batched_forward_grad:
                batched_tangents(func, given, check.wanted)
        if check_batched_grad:
            batched_gradients(_requiring(outs), inputs)
        if check_backward_ad and check_undefined_grad:
            undefined_gradients(check.outputs, len(_requiring(outs)), inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _rounding(a: np.ndarray[Any, Any]) -> float:
    """How far two runs may be apart: the first is NumPy's, a later one a compiled program's."""
    return 100 * float(np.finfo(a.dtype).eps * np.abs(a).max(initial=0.0))


def _refuse_motion(differences: list[Any], atol: float) -> None:
    """Where no output requires a gradient, none may move."""
    for found in differences:
        for along in found:
            if any(np.abs(d).max(initial=0.0) > atol for d in along):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _backward_checked(
    check: _Check, outs: Any, differences: list[Any], atol: float, rtol: float, nondet_tol: float
) -> None:
    """Compare gradients with differences."""
    outputs = _requiring(outs)
    places = [j for j, o in enumerate(_floating(outs)) if o.requires_grad]
    for i, numerical in zip(check.wanted, differences, strict=True):
        for number, (output, j) in enumerate(zip(outputs, places, strict=True)):
            for part, cotangent in (("real", 1.0), ("imag", 1j)) if output.is_complex() else (("real", 1.0),):
                analytical = check.analytical(output, i, cotangent)
                if analytical is None or not numerical:
                    continue
                again = check.analytical(output, i, cotangent)
                if np.abs(np.asarray(again) - analytical).max(initial=0.0) > nondet_tol + _rounding(analytical):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                        "gives different values, although analytical gradient matches numerical gradient."
                    )
                expected = _expected(numerical[j], part)
                if not np.allclose(analytical, expected, rtol, atol, equal_nan=True):
                    where = " (calculated using complex valued grad output)" if part == "imag" else ""
                    raise GradcheckError(
                        f"Jacobian mismatch for output {number} with respect to input {i}{where},\n"
                        f"numerical:{from_host(np.asarray(expected))!r}\nanalytical:{from_host(analytical)!r}\n"
                    )
    _refuse_constants(outputs, [check.inputs[i] for i in check.wanted])


def _refuse_constants(outputs: list[Tensor], inputs: list[Tensor]) -> None:
    """Zeros times the Jacobian are zeros: a backward that leaves its argument out shows here, also where that is wrong for
    no column of ones and zeros."""
    zeros = [functions["zeros_like"](o.detach()) for o in outputs]
    for g in grad(outputs, inputs, zeros, retain_graph=True, allow_unused=True):
        if g is not None and _numpy(g).any():
            raise GradcheckError("backward not multiplied by grad_output")


def _random_like(o: Tensor) -> Tensor:
    from ..testing import make_tensor  # rare here, and heavy

    return make_tensor(o.shape, dtype=o.dtype, device=o.device, low=-1, high=1, requires_grad=True)


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Compare second derivatives of `func` with central differences of its gradients.

    grad_outputs: the gradients of the outputs to use; random ones by default.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    given = _tensors(inputs)
    outputs = [o for o in _tensors(func(*given)) if o.requires_grad]
    cotangents = [_random_like(o) for o in outputs] if grad_outputs is None else _tensors(grad_outputs)
    n = len(cotangents)

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        args, vectors = args[: len(args) - n], args[len(args) - n :]
        with enable_grad():
            for own, x in zip(given, args, strict=True):  # detached where tangents are followed
                if _differentiable(own) and not x.requires_grad:
                    x.requires_grad_()
            outs = [o for o in _tensors(func(*args)) if o.requires_grad]
            wanted = [t for t in args if _differentiable(t)]
            found = grad(outs, wanted, list(vectors), create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients, (*given, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_grad_dtypes=check_grad_dtypes, fast_mode=fast_mode, masked=masked,
        check_undefined_grad=check_undefined_grad, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
    )  # fmt: skip
