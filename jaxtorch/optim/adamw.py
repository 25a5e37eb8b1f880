"""AdamW."""

from __future__ import annotations

from typing import Any

from ._functional import adamw as adamw
from .adam import Adam


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): p -= lr weight_decay p, beside the step of `Adam`.

    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.AdamW([p], lr=0.1, weight_decay=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.data
    tensor([0.8500])
    """

    _decoupled = True

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip
