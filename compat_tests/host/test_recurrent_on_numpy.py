"""Loops of recurrent layers, written out for NumPy, beside XLA: forward and backward, both ways, with rows that end early."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxtorch._core.compile.context import x64
from jaxtorch._core.host import numpy_recurrent
from jaxtorch._core.host.numpy_program import NumpyProgram
from jaxtorch._ops.nn import recurrent_loops as scans

STEPS, ROWS, WIDTH = 5, 3, 4
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _scan(kind: str, reverse: bool) -> Callable[..., Any]:
    if kind == "lstm":
        return lambda xw, h, c, w, b, valid: scans.lstm_scan(xw, h, c, w, None, valid, reverse)
    if kind == "gru":
        return lambda xw, h, c, w, b, valid: scans.gru_scan(xw, h, w, b, valid, reverse)
    return lambda xw, h, c, w, b, valid: scans.rnn_scan(xw, h, w, valid, kind, reverse)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("ends_early", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", [*GATES])
def test_loops_are_those_of_xla(kind: str, reverse: bool, ends_early: bool, dtype: Any) -> None:
    rng, wide = np.random.default_rng(0), GATES[kind] * WIDTH
    drawn = functools.partial(rng.normal, 0.0, 0.7)
    shapes = [(STEPS, ROWS, wide), (ROWS, WIDTH), (ROWS, WIDTH), (wide, WIDTH), (wide,)]
    given = [drawn(size=shape).astype(dtype) for shape in shapes]
    valid = (np.arange(STEPS)[:, None] < [5, 2, 0]).astype(dtype) if ends_early else None
    run = _scan(kind, reverse)

    def whole(*args: Any) -> Any:
        outs, back = jax.vjp(lambda *a: run(*a, valid), *args)
        return outs, back(jax.tree.map(jax.numpy.cos, outs))

    with x64():
        for fn in (whole, lambda *args: run(*args, valid)):
            closed = jax.make_jaxpr(fn)(*given)
            program = NumpyProgram(closed)
            assert any(s.fn.__module__ == numpy_recurrent.__name__ for s in program.steps) == (dtype != np.float16)
            expected = jax.tree.leaves(jax.jit(fn)(*given))
            for theirs, ours in zip(expected, program.run(given, False), strict=True):
                assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape)
                tolerance = {2: 2e-2, 4: 1e-5, 8: 1e-12}[theirs.dtype.itemsize]
                np.testing.assert_allclose(ours, theirs, tolerance, tolerance)
