"""SparseAdam."""

from __future__ import annotations

from typing import Any

from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor
from ._options import number, run_closure
from ._update_rules import sparse_steps
from .optimizer import Optimizer


def _sparse_places(params: Any) -> list[list[int]]:
    """Where the sparse ones are among parameters or groups of them: [group, place]."""
    groups = params if isinstance(params, list) and params and isinstance(params[0], dict) else [{"params": params}]
    return [
        [i, j]
        for i, group in enumerate(groups)
        if isinstance(group.get("params"), (list, tuple))
        for j, p in enumerate(group["params"])
        if isinstance(p, Tensor) and is_sparse(p)
    ]


class SparseAdam(Optimizer):
    """Adam (Kingma and Ba, 2015) whose moments move only where a sparse gradient has rows; dense gradients are refused."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not number(lr) > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i in range(2):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        params = params if isinstance(params, (Tensor, dict)) else list(params)
        found = _sparse_places(params)
        if found:
            raise ValueError(f"Sparse params at indices {found}: SparseAdam requires dense parameter tensors")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        found = [[i, j] for i, g in enumerate(self.param_groups) for j, p in enumerate(g["params"]) if p.is_complex()]
        if found:
            raise ValueError(f"Complex params at indices {found}: SparseAdam does not support complex parameters")

    def step(self, closure: Any = None) -> Any:
        """Update the rows that have gradients; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is None:
                    continue
                if not is_sparse(p._grad):
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                sparse_steps.adam(self, p, group)
        return loss
