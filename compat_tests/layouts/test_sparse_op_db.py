"""The entries of PyTorch's operator database that are about sparse layouts: values and gradients over their samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
import op_db_kit

OPERATIONS = {
    "to_sparse": lambda module, x, *args, **kwargs: x.to_sparse(*args, **kwargs),
    "sparse.mm/reduce": lambda module, *args, **kwargs: module.sparse.mm(*args, **kwargs),
    "sparse.sampled_addmm": lambda module, *args, **kwargs: module.sparse.sampled_addmm(*args, **kwargs),
}
pytestmark = [pytest.mark.filterwarnings("ignore:Sparse"), pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")]


def converted(x: Any) -> Any:
    """The same argument for jaxtorch."""
    if not isinstance(x, torch.Tensor) or x.layout is torch.strided:
        return op_db_kit.converted(x)
    if x.layout is torch.sparse_coo:
        made = jaxtorch.sparse_coo_tensor(converted(x._indices()), converted(x._values()), tuple(x.shape))
    else:
        parts = [converted(p.detach()) for p in (x.crow_indices(), x.col_indices(), x.values())]
        made = jaxtorch.sparse_csr_tensor(parts[0], parts[1], parts[2], tuple(x.shape))
    return made.requires_grad_(x.requires_grad)


def run(module: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The result as a dense array, and the gradients of the dense arguments and of sparse ones' values."""
    out = OPERATIONS[name](module, *args, **kwargs)
    dense = out.to_dense()
    found = [dense.detach()]
    if dense.requires_grad:
        weight = module.arange(dense.numel()).reshape(dense.shape).to(dense.dtype) % 7 - 3
        (dense * weight).sum().backward()
        for a in args:
            if getattr(a, "requires_grad", False) and a.grad is not None:
                found.append(a.grad.to_dense())
    return [t.cpu().numpy() for t in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_samples(name: str, dtype: str) -> None:
    entry = op_db_kit.entries()[name]
    samples = op_db_kit.samples(entry, dtype, grad=True, limit=12)
    assert samples
    for sample in samples:
        args, kwargs = [sample.input, *sample.args], dict(sample.kwargs)
        if kwargs.get("reduce") == "prod" or (name == "sparse.sampled_addmm" and sample.input.dim() > 2):
            continue
        ours = [converted(a) for a in args], {k: converted(v) for k, v in kwargs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = run(torch, name, args, kwargs)
        found = run(jaxtorch, name, *ours)
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-4 if dtype == "float32" else 1e-7, atol=1e-5)
