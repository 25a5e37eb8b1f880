"""`DistributedDataParallel` in a group of one process: the module's own gradients are the group's mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.process_group import default_group
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """Calls `module`. Its parameters are those of the module, under names that begin with `module.`.

    ValueError without a process group, RuntimeError where no parameter requires a gradient, as in PyTorch. Process groups
    have one process (see `torch.distributed`), so there is nothing to average.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        self.process_group = default_group() if process_group is None else process_group
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self.static_graph = static_graph

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context in which gradients would not be averaged over the processes."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Context for processes with unequal numbers of batches."""
        return Join([self], enable, throw_on_early_termination)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return JoinHook()

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Accepted: there is no communication to change."""

    def _set_static_graph(self) -> None:
        self.static_graph = True
