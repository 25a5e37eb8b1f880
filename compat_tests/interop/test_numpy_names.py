"""NumPy's names for parameters, `axis` and `keepdims`, wherever PyTorch takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from parity import candidate

CALLS = {
    "cumsum": lambda t, x, i: t.cumsum(x, axis=0),
    "cumprod": lambda t, x, i: x.cumprod(axis=1),
    "cummax": lambda t, x, i: x.cummax(axis=0)[0],
    "softmax": lambda t, x, i: x.softmax(axis=-1),
    "log_softmax": lambda t, x, i: t.log_softmax(x, axis=1),
    "logsumexp": lambda t, x, i: t.logsumexp(x, axis=(0, 1), keepdims=True),
    "unsqueeze": lambda t, x, i: x.unsqueeze(axis=1),
    "select": lambda t, x, i: x.select(axis=0, index=1),
    "gather": lambda t, x, i: t.gather(x, axis=1, index=i),
    "gather by keywords": lambda t, x, i: t.gather(input=x, dim=1, index=i),
    "index_select": lambda t, x, i: x.index_select(axis=1, index=i[0]),
    "stack": lambda t, x, i: t.stack([x, x], axis=1),
    "cat": lambda t, x, i: t.cat([x, x], axis=1),
    "chunk": lambda t, x, i: t.chunk(x, 2, axis=1)[1],
    "tensor_split": lambda t, x, i: t.tensor_split(x, 2, axis=1)[0],
    "repeat_interleave": lambda t, x, i: x.repeat_interleave(2, axis=0),
    "take_along_dim": lambda t, x, i: t.take_along_dim(x, i, axis=1),
    "quantile": lambda t, x, i: t.quantile(x, 0.4, axis=1, keepdims=True),
    "std": lambda t, x, i: x.std(axis=0, keepdims=True),
    "argmax": lambda t, x, i: x.argmax(axis=1),
    "expand": lambda t, x, i: x.expand(size=(2, 2, 3)),
    "linalg.norm": lambda t, x, i: t.linalg.norm(x, axis=1, keepdims=True),
    "linalg.matrix_norm": lambda t, x, i: t.linalg.matrix_norm(x, axis=(0, 1), keepdims=True),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_numpy_names(name: str):
    data = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    index = np.array([[0, 2, 1], [1, 0, 0]])

    def run(t: Any) -> Any:
        return CALLS[name](t, t.from_numpy(data.copy()), t.from_numpy(index.copy())).numpy()

    np.testing.assert_allclose(run(candidate()), run(torch), rtol=1e-5, atol=1e-6)


MISSING = {
    "cumsum": lambda t, x: t.cumsum(x),
    "softmax": lambda t, x: x.softmax(),
    "gather without index": lambda t, x: t.gather(x, 1),
    "gather without anything": lambda t, x: x.gather(),
    "index_select": lambda t, x: x.index_select(0),
    "unsqueeze": lambda t, x: t.unsqueeze(x),
    "unknown": lambda t, x: x.cumsum(axes=0),
}


@pytest.mark.parametrize("name", list(MISSING))
def test_left_out(name: str):
    for t in (torch, candidate()):
        with pytest.raises(TypeError):
            MISSING[name](t, t.ones(2, 3))


def test_both_names_at_once_are_refused():
    for t in (torch, candidate()):
        for call in (t.linalg.norm, t.linalg.matrix_norm):
            with pytest.raises(TypeError):
                call(t.ones(2, 3), dim=(0, 1), axis=(0, 1))
