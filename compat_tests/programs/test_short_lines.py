"""Short lines that random programs of many element types, sizes and `out=` tensors found to differ, against PyTorch.

A line is run; what is compared is what its names hold afterwards: values, types, strides, `grad_fn`, or which exception it raised.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jaxtorch
from parity import attempt, parity_test

LINES = [
    # an assignment from the same memory is expanded first; a number of it is read first
    *["x[0:2] = x[0]", "x[:] = x[1]", "c[None] = c", "c[None] = c.detach()", "m[None] = m", "m[None] = m.detach()"],
    *["m[0:1] = m[0]", "m[0:2] = m[0]", "m[None, 0] = m[0]", "m[:] = m.t()", "m[None].copy_(m)", "x[0:2].copy_(x[0])"],
    *["x.fill_(x[0])", "x[0:2].fill_(x[1])", "r[None] = r.detach()", "r[:] = r[0]", "r[0:1] = r[0]", "r[0] = r[0, 0]"],
    *["x[[0, 1]] = x[0]", "m[[0]] = m[0]", "m[[0]] = m[0].detach()", "m[None, [0]] = m[1]", "x[x > 1] = x[3]"],
    # a divisor that is 0 in the type of the tensor
    *["x = u // 256", "x = u % 256", "x = u.fmod(2**40)", "x = u.remainder(-2**32)", "x = i // 2**40", "i //= 2**40"],
    *["x = u.div(256, rounding_mode='trunc')", "x = u.div(256, rounding_mode='floor')", "x = i % 2**33", "x = u // 257"],
    # `out=` of as many elements keeps its shape; one that is resized gets the strides of the result
    *[f"torch.{f}, out=m)" for f in ("arange(4", "linspace(0, 1, 4", "logspace(0, 1, 4", "arange(3", "eye(2")],
    *["x = m.t(); torch.arange(4, out=x)", "x = torch.empty(0); torch.add(p, p, out=x)", "x = torch.add(p, 1, out=e)"],
    *["x = torch.exp(p, out=e)", "x = torch.where(p > 0, p, p, out=e)", "x = torch.lerp(p, p, 0.5, out=e)"],
    # element types
    *["x = b.clamp(b)", "x = b.clamp(max=b)", "x = b.clamp(b, b)", "x = b.clamp(True)", "x = b.clamp_min(True)", "b.clamp_(b)"],
    *["x = b.index_fill(0, z, 1j)", "b.index_fill_(0, z, torch.tensor(1j))", "x = k.index_fill(0, z, 1j)"],
    *[f"x = b.scatter_reduce(0, z, b, '{r}')" for r in ("mean", "amax", "prod", "sum")],
    *[f"x = k.scatter_reduce(0, z, k, '{r}', include_self=False)" for r in ("mean", "amax", "amin", "sum", "prod")],
    *[f"x = b.index_reduce(0, z, b, '{r}', include_self=False)" for r in ("mean", "amax", "amin", "prod")],
    *[f"x = k.index_reduce(0, z, k, '{r}', include_self=False)" for r in ("mean", "amax", "amin", "prod")],
    *["x = torch.nn.functional.cross_entropy(k, k.real)", "x = torch.nn.functional.cross_entropy(k[None], k.real[None])"],
    *["x = x.lerp(x, 1j)", "x.lerp_(x, 1j)", "x = k.lerp(k, 1j)", "x = x.bfloat16().lerp(x.bfloat16(), 1j)", "x = x.lerp(x, 2)"],
    *["x = torch.nansum(x, dtype=torch.complex64)", "x = torch.searchsorted(x, 1j)", "x = torch.bucketize(b, b)",
      "x = torch.searchsorted(b, b)", "x = torch.searchsorted(b, x)", "x = torch.searchsorted(b, 1)", "x = torch.bucketize(x, b)",
      "x = torch.bucketize(1j, x)"],
    # slopes of functions in pieces where the other piece is infinite
    *[f"q = torch.tensor([1.0, -2.0, 9.0], requires_grad=True); x, = torch.autograd.grad(torch.nn.functional.{f}.sum(), q)"
      for f in ("softplus(q, 0.0)", "softplus(q, np.inf)", "huber_loss(q, q[0], delta=np.inf)", "prelu(q, torch.tensor(np.inf))")],
    # numbers of NumPy looked for
    *["e = np.int64(5) in i", "e = np.float32(1) in i", "e = None in i"],
    # a power of three
    *["x = pow(i, 2, 3)", "x = pow(2, i, 3)", "x = pow(x, 2, None)"],
    # names of nodes, views, NumPy's functions
    *["x = r.floor_divide(r)", "x = torch.heaviside(r, r)"],
    *["x = r.sum_to_size(2)", "x = r.sum_to_size(1, 1)", "x = r.sum_to_size(())"],
    *["x = m.sum_to_size(2, 2); x[0] = 7", "x = i.sum_to_size(1)", "x = m.sum_to_size(3)", "x = m[None].sum_to_size(2, 2); x[0] = 7"],
    *["x = np.add(p, 1)", "x = np.greater(p, 1)", "x = np.add(m[:, ::2], 1)"],
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@parity_test
def test_line(torch: Any, line: str) -> Any:
    scope = {"torch": torch, "np": np, "x": torch.arange(4.0), "c": torch.tensor(3.0), "e": torch.empty(0)}
    scope |= {"m": torch.arange(4.0).reshape(2, 2), "r": torch.ones(2, 2, requires_grad=True) * 3}
    scope |= {"u": torch.tensor([5, 3], dtype=torch.uint8), "i": torch.tensor([5, -3], dtype=torch.int32)}
    scope |= {"p": torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2), "b": torch.tensor([True, False])}
    scope |= {"k": torch.tensor([1 + 2j, 3]), "z": torch.tensor([0, 0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = attempt(lambda: exec(line, scope))
    kind = getattr(error, "kind", None)
    x, m = scope["x"], scope["m"]
    same = x is m or x.untyped_storage().data_ptr() == m.untyped_storage().data_ptr()
    return kind, x is m, same, {n: scope[n] for n in "xcmruibke"}


def test_poles_of_lgamma_on_numpy() -> None:
    """What DataLoader workers compute: infinite, not ValueError."""
    from jaxtorch._core.host.numpy_rules import RULES

    found = RULES["lgamma"].run(np.array([-3.0, 0.0, 4.0, np.inf, 1e308]))
    assert np.isinf(found[[0, 1, 3, 4]]).all() and found[2] == pytest.approx(np.log(6))


def test_memory_that_runs_out_is_an_exception() -> None:
    """More than there are addresses, found out while the program is on its way: RuntimeError, not the end of the process."""
    with pytest.raises(RuntimeError, match="memory"):
        (jaxtorch.arange(2**46) * 2).sum().item()


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@parity_test
def test_empty_like_keeps_compressed_indices(torch: Any, kind: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.tensor([[1.0, 0, 2, 0], [0, 0, 3, 0]])
        s = x.to_sparse_bsr((1, 2)) if kind == "bsr" else getattr(x, f"to_sparse_{kind}")()
        made = [torch.empty_like(s), torch.empty_like(s, dtype=torch.float64), torch.empty_like(s, requires_grad=True)]
        places = ("ccol_indices", "row_indices") if kind == "csc" else ("crow_indices", "col_indices")
        return [
            (*(getattr(m, p)() for p in places), m._nnz(), m.values().shape, m.dtype, m.requires_grad) for m in made
        ]


@pytest.mark.parametrize("mode", ["replicate", "reflect"])
@pytest.mark.parametrize("size", [(0, 4), (2, 0, 4), (2, 3, 0), (0, 3, 4)])
@parity_test
def test_padding_of_nothing(torch: Any, size: Any, mode: str) -> Any:
    pad = torch.nn.functional.pad
    found = [attempt(lambda p=p: pad(torch.ones(size), p, mode=mode).shape) for p in [(1, -1), (-1, -1), (1, 0)]]
    return [getattr(f, "kind", f) for f in found]
