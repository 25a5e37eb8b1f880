"""`torch.distributed.optim`: `ZeroRedundancyOptimizer`; the others raise NotImplementedError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer whose state PyTorch shares out among the processes of a group (Rajbhandari et al., 2020, stage 1).

    Here each process has all of it, and computes the same updates. `optim` is the optimizer of class `optimizer_class` that does so.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.optim = optimizer_class(params, **defaults)
        self.process_group = process_group
        super().__init__(self.optim.param_groups, defaults)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """One step of `optim`; returns what `closure` does."""
        return self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if param_group not in self.optim.param_groups:
            self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Nothing to gather: the whole state is in this process."""
