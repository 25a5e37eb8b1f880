"""Factorisations on NumPy beside XLA's: the same routines of LAPACK, so the same signs and orders too."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxtorch as torch
from jaxtorch._core.compile.context import x64
from jaxtorch._core.host import tiering, writers
from jaxtorch._core.host.numpy_program import Doubt, NumpyProgram
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._ops.linalg.qr_and_cholesky import linalg_cholesky

SHAPES = [(5, 5), (2, 3, 4, 4), (7, 3), (3, 7), (2, 40, 36), (1, 1), (0, 3, 3), (0, 3), (3, 0)]
KINDS = {np.float32: 3e-5, np.float64: 1e-12, np.complex64: 3e-5, np.complex128: 1e-12}


def check(fn: Any, *arrays: np.ndarray, rtol: float) -> None:
    with x64(), np.errstate(all="ignore"):
        found = NumpyProgram(jax.make_jaxpr(fn)(*arrays)).run(list(arrays), careful=True)
        expected = jax.tree.leaves(jax.jit(fn)(*arrays))
    for e, f in zip(expected, found, strict=True):
        assert e.dtype == f.dtype and e.shape == f.shape
        np.testing.assert_allclose(f, e, rtol=rtol, atol=rtol * 10)


def drawn(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    generator = np.random.default_rng(len(shape))
    numbers = generator.normal(size=shape)
    if np.dtype(kind).kind == "c":
        numbers = numbers + 1j * generator.normal(size=shape)
    return numbers.astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_matrices(shape: Any, kind: Any) -> None:
    a = drawn(shape, kind)
    for full in (False, True):
        check(lambda x, full=full: lax.linalg.qr(x, full_matrices=full), a, rtol=KINDS[kind])
        check(lambda x, full=full: lax.linalg.svd(x, full_matrices=full), a, rtol=KINDS[kind])
    check(lambda x: lax.linalg.svd(x, compute_uv=False), a, rtol=KINDS[kind])
    if a.size:
        check(lambda x: jnp.linalg.qr(x, mode="raw"), a, rtol=KINDS[kind])
    if a.size and shape[-2] >= shape[-1]:
        taus = drawn((*shape[:-2], shape[-1]), kind) / 4
        check(lax.linalg.householder_product, a, taus, rtol=KINDS[kind])
        check(lax.linalg.householder_product, a, taus[..., :-1], rtol=KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 1 and s[-1] == s[-2]], ids=str)
def test_square_matrices(shape: Any, kind: Any) -> None:
    a = drawn(shape, kind)
    symmetric = a + a.swapaxes(-1, -2).conj()
    positive = a @ a.swapaxes(-1, -2).conj() + 3 * np.eye(shape[-1], dtype=kind)
    check(jnp.linalg.eigh, symmetric, rtol=KINDS[kind])
    check(lambda x: lax.linalg.eigh(x, lower=False, symmetrize_input=False), symmetric, rtol=KINDS[kind])
    check(lambda x: lax.linalg.cholesky(x), positive, rtol=KINDS[kind])
    check(lambda x: lax.linalg.lu(x), a, rtol=KINDS[kind])
    check(jnp.linalg.slogdet, a, rtol=10 * KINDS[kind])
    for options in (
        {"left_side": True},
        {"lower": True},
        {"transpose_a": True, "lower": True},
        {"transpose_a": True, "conjugate_a": True},
        {"unit_diagonal": True},
    ):
        check(lambda a, b, o=options: lax.linalg.triangular_solve(a, b, **o), positive, a, rtol=10 * KINDS[kind])


def test_what_is_not_finite_goes_to_xla() -> None:
    a = drawn((3, 3), np.float32)
    a[1, 1] = np.nan
    for fn in (lax.linalg.svd, lax.linalg.eigh):
        with pytest.raises(Doubt):
            NumpyProgram(jax.make_jaxpr(fn)(a)).run([a], careful=True)


def test_the_rest_is_xlas() -> None:
    """Not in the table, or of unknown cost, so that XLA runs it."""
    a = drawn((3, 3), np.float32)
    assert NumpyProgram(jax.make_jaxpr(lambda x: lax.linalg.qr(x, pivoting=True))(a)).cost == np.inf


@pytest.mark.skipif(IMMEDIATE, reason="about what a recorded program costs")
def test_a_small_factorisation_stays_on_the_host():
    """What finds out where it failed runs only then, and is not what it costs."""
    torch.linalg.cholesky(torch.eye(6) * 2)
    kernels = [entry.kernel for entry in linalg_cholesky.op.entries.values() if entry.in_avals[0].shape == (6, 6)]
    assert kernels and all(
        tiering.suits(k) and writers.cost(k.numpy_program) < tiering.HOST_PROGRAM / 2 for k in kernels
    )
