"""Two outcomes of the same call, PyTorch's and jaxtorch's: whether they agree, and how not.

A floating-point result outside the tolerance still passes if, against the result computed in double precision, its error
is at most twice PyTorch's own. (PyTorch judges its second implementations so, in `test_python_ref`, without the factor.)
Results that are determined only up to signs, phases or order are compared by what they determine (`INVARIANTS`).
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from op_db_kit import DEVICE, Absent, converted, seed, tensors, tolerance
from parity import MISSING_KERNEL, candidate

UNDEFINED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_".split()
)
"""Operations whose elements are undefined: only shape, type and strides are compared."""
if DEVICE != "cpu":  # PyTorch's numbers are those of its own CPU generator
    UNDEFINED |= frozenset(
        """bernoulli cauchy exponential geometric log_normal multinomial normal nn.functional.rrelu rand_like randint
        randint_like randn randn_like uniform""".split()
    )
HIGH = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


class Call:
    """One sample on both sides: the arguments, and the outcome of calls on them."""

    def __init__(self, entry: Any, sample: Any, dtype: str) -> None:
        self.entry, self.sample, self.dtype = entry, sample, dtype
        self.theirs = (sample.input, sample.args, sample.kwargs)

    def seen(self, result: Any) -> Any:
        """Of a result, what is determined."""
        view = INVARIANTS.get(self.entry.name)
        return result if view is None or isinstance(result, Exception) else view(_on_torch(result), self)

    @property
    def ours(self) -> Any:
        return converted(self.theirs)


def outcome(body: Callable[[], Any]) -> Any:
    """What `body` returns, or the exception it raised."""
    seed(42)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return body()
        except Exception as error:  # the exception is the observation
            return error


def synchronise() -> None:
    """Compute all that is pending, and raise what its data flags."""
    from jaxtorch._core.record import deferred_errors, program

    try:
        program.flush_all()
        deferred_errors.raise_pending(careful=False)
    finally:
        deferred_errors.forget()


def read(value: Any) -> Any:
    """A result of jaxtorch with its values computed, so that late errors are raised here."""
    for t in tensors(value):
        if isinstance(t, candidate().Tensor):
            theirs(t)
    synchronise()
    return value


def settled(actual: Any) -> Any:
    """An outcome on jaxtorch with its values computed, or the exception that this raises."""
    return actual if isinstance(actual, Exception) else outcome(lambda: read(actual))


def _on_torch(value: Any) -> Any:
    """A result with jaxtorch's tensors as PyTorch's."""
    if isinstance(value, candidate().Tensor):
        return theirs(value)
    if type(value) is list:
        return list(map(_on_torch, value))
    return tuple(map(_on_torch, value)) if isinstance(value, tuple) else value


def compare(expected: Any, actual: Any, call: Call, high: Callable[[], Any] | None = None, values: bool = True) -> str:
    """How two outcomes differ; empty where they agree."""
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        return compare_errors(expected, actual)
    found = _compare(expected, actual, call, values)
    rounded = call.dtype in HIGH or any(str(t.dtype).removeprefix("torch.") in HIGH for t in tensors(call.theirs))
    if not found.startswith("values") or not rounded or high is None:
        return found
    exact = outcome(high)
    return "" if not isinstance(exact, Exception) and _as_near(exact, expected, actual) else found


def compare_errors(expected: Any, actual: Any) -> str:
    if isinstance(actual, Absent):
        return f"absent: {actual}"
    if not isinstance(expected, Exception):
        last = traceback.extract_tb(actual.__traceback__)[-1]
        return f"raises {type(actual).__name__}: {str(actual)[:300]} [{last.filename.rsplit('/', 2)[-1]}:{last.lineno}]"
    wanted = type(expected).__name__
    if not isinstance(actual, Exception):
        return "" if MISSING_KERNEL.search(str(expected)) else f"no error: {wanted}: {str(expected)[:200]}"
    got = type(actual).__name__
    if wanted.lstrip("_") == got.lstrip("_"):
        return ""
    return f"error type: {wanted}: {str(expected)[:150]} | got {got}: {str(actual)[:200]}"


def _compare(expected: Any, actual: Any, call: Call, values: bool, at: str = "") -> str:
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, candidate().Tensor | torch.Tensor):
            return f"type{at}: expected a tensor, got {type(actual).__name__}"
        return _compare_tensors(expected, actual, call, values, at)
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return f"type{at}: expected {len(expected)} items, got {type(actual).__name__}"
        for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
            if found := _compare(e, a, call, values, f"{at}[{i}]"):
                return found
        return ""
    if isinstance(expected, float | complex):
        return _compare(torch.tensor(expected), candidate().tensor(actual), call, values, at)
    if isinstance(expected, torch.dtype):
        expected, actual = str(expected), str(actual)
    return "" if expected == actual else f"type{at}: expected {expected!r:.100}, got {actual!r:.100}"


def _compare_tensors(expected: torch.Tensor, actual: Any, call: Call, values: bool, at: str) -> str:
    if str(expected.dtype) != str(actual.dtype):
        return f"dtype{at}: expected {expected.dtype}, got {actual.dtype}"
    if tuple(expected.shape) != tuple(actual.shape):
        return f"shape{at}: expected {tuple(expected.shape)}, got {tuple(actual.shape)}"
    if not values:
        same = tuple(expected.stride()) == tuple(actual.stride())
        return "" if same else f"stride{at}: expected {expected.stride()}, got {actual.stride()}"
    name = str(expected.dtype).removeprefix("torch.")
    # A result stored in a wider type is as exact as the type it was computed in.
    rtol, atol = tolerance(call.entry, call.dtype if name in ("float64", "complex128") and call.dtype in HIGH else name)
    if rtol is None and name in ("float64", "complex128") and call.dtype in HIGH:
        rtol, atol = torch.testing._comparison.default_tolerances(getattr(torch, call.dtype))
    try:
        torch.testing.assert_close(
            theirs(actual), expected.detach().resolve_conj(), rtol=rtol, atol=atol, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return f"values{at}: " + " ".join(str(error).split())[:260]
    return ""


def theirs(tensor: Any) -> torch.Tensor:
    """A tensor of jaxtorch as one of PyTorch's."""
    if isinstance(tensor, torch.Tensor):
        return tensor
    c = candidate()
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = tensor.resolve_conj()
    array = np.array(tensor.jax())
    if tensor.dtype is c.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _as_near(exact: Any, expected: Any, actual: Any) -> bool:
    """Is each of our results at most twice as far from the exact one as PyTorch's?"""
    triples = list(zip(tensors(exact), tensors(expected), tensors(actual), strict=False))
    for x, e, a in triples:
        if not (e.is_floating_point() or e.is_complex()):
            if not torch.equal(theirs(a), e):
                return False
            continue
        wide = torch.complex128 if e.is_complex() else torch.float64
        x, rounded, e, a = x.detach().to(wide), x.detach().to(e.dtype).to(wide), e.detach().to(wide), theirs(a).to(wide)
        # Where PyTorch overflows on the way to a finite result, ours need only be what the exact one is.
        apart = torch.isfinite(e) != torch.isfinite(a)
        if not bool((torch.isfinite(rounded) == torch.isfinite(a))[apart].all()):
            return False
        e, a = (torch.where(torch.isfinite(y) & torch.isfinite(x) & ~apart, (y - x).abs(), 0) for y in (e, a))
        if not bool(a.sum() <= 2 * e.sum()):
            return False
    return bool(triples)


def widened(value: Any, dtype: str) -> Any:
    """PyTorch arguments with this floating-point type replaced by double precision."""
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if name not in HIGH:
            return value
        return value.detach().to(getattr(torch, HIGH[name])).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return getattr(torch, HIGH.get(name, name))
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        found = [widened(v, dtype) for v in value]
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)
    if isinstance(value, dict):
        return {k: widened(v, dtype) for k, v in value.items()}
    return value


# -- results that are determined only up to signs, phases or order ---


def _svd(r: Any, call: Call) -> Any:
    u, s, v = r
    if u.numel() == 0 or v.numel() == 0 or u.shape[-1] != s.shape[-1] or v.shape[-2] != s.shape[-1]:
        return [s, tuple(u.shape), tuple(v.shape)]
    return [s, (u * s.unsqueeze(-2).to(u.dtype)) @ v, tuple(u.shape), tuple(v.shape)]


def _svd_old(r: Any, call: Call) -> Any:
    u, s, v = r
    if bool((u == 0).all()):
        return [s, tuple(u.shape), tuple(v.shape)]
    return _svd((u[..., : s.shape[-1]], s, v[..., : s.shape[-1]].mH), call)


def _eigh(r: Any, call: Call) -> Any:
    values, vectors = r
    return [values, (vectors * values.unsqueeze(-2).to(vectors.dtype)) @ vectors.mH]


def _eigenvalues(values: Any) -> Any:
    key = (values.real * 1e3).round() * 1e6 + values.imag
    return values.gather(-1, key.argsort(-1))


def _eig(r: Any, call: Call) -> Any:
    values, vectors = r
    rest = call.theirs[0].to(vectors.dtype) @ vectors - vectors * values.unsqueeze(-2)
    return [_eigenvalues(values), bool(rest.abs().max() < 1e-3) if rest.numel() else True, tuple(vectors.shape)]


def _places(r: Any, call: Call) -> Any:
    """Values, and what the indices point at: which of equal elements is found is not determined."""
    values, indices = r
    x, args, kwargs = call.theirs
    position = 0 if call.entry.name in ("sort", "mode") else 1  # after k, for the others
    at = kwargs.get("dim", args[position] if len(args) > position else -1)
    if not x.ndim or not indices.numel():
        return [values, indices.dtype, tuple(indices.shape)]
    inside = indices if indices.ndim == x.ndim else indices.unsqueeze(at)
    return [values, x.gather(at, inside), indices.dtype, tuple(indices.shape)]


INVARIANTS: dict[str, Callable[[Any, Call], Any]] = {
    "svd": _svd_old, "linalg.svd": _svd, "linalg.eigh": _eigh, "linalg.eig": _eig, "svd_lowrank": _svd_old,
    "linalg.eigvals": lambda r, call: _eigenvalues(r), "pca_lowrank": _svd_old, "topk": _places, "kthvalue": _places, "sort": _places,
    "mode": _places,
}  # fmt: skip
