"""`DistributedDataParallel`: a module in several processes, each with its part of a batch, whose gradients are averaged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._core.tensor.tensor import Tensor
from ..._core.types.grad_mode import no_grad, state
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.content import content, like, put
from ...distributed.exchange import as_array
from ...distributed.objects import all_gather_object
from ...distributed.process_group import default_group
from ..modules.module import Module
from ..parameter import UninitializedParameter
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]


def _whether_to_send(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
    """Are buffers sent to all processes in each forward? By the new option, or the old one where that alone is given."""
    if broadcast_buffers is None:
        return True if forward_sync_buffers is None else forward_sync_buffers
    if forward_sync_buffers is not None:
        text = (
            "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and its value is "
            "ignored when `forward_sync_buffers` is provided."
        )
        warnings.warn(text, FutureWarning, stacklevel=3)
        return forward_sync_buffers
    text = (
        "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike `broadcast_buffers=False`, "
        "`forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT being synced at init (e.g. "
        "rank-local buffers), keep using `broadcast_buffers=False`."
    )
    warnings.warn(text, FutureWarning, stacklevel=3)
    return broadcast_buffers


class DistributedDataParallel(Module, Joinable):
    """Calls `module`, and averages its gradients over the processes of a group when a backward pass ends.

    Parameters and buffers begin as those of process 0; with `broadcast_buffers` its buffers are taken at each forward pass. Its
    parameters are those of the module, under names that begin with `module.`. All gradients of an element type travel together
    (`bucket_cap_mb` and `gradient_as_bucket_view` are accepted and change nothing).

    ValueError without a process group. RuntimeError where no parameter requires a gradient, where the processes' modules differ,
    and at the forward pass after one whose backward pass left out parameters without `find_unused_parameters`. Sparse gradients
    raise NotImplementedError.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
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
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        sent_at_first = True if forward_sync_buffers is not None or broadcast_buffers is None else broadcast_buffers
        sent_in_forward = _whether_to_send(broadcast_buffers, forward_sync_buffers)
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group(0)
        self.process_group = default_group() if process_group is None else process_group
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.module = module
        averaged = self._averaged()
        if not averaged:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = self.forward_sync_buffers = sent_in_forward
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.reducer: Reducer | None = None
        if self.process_group.size() > 1:
            if mixed_precision is not None or delay_all_reduce_named_params is not None:
                raise NotImplementedError(
                    "DistributedDataParallel: mixed_precision and delay_all_reduce_named_params are missing; use torch.autocast"
                )
            if any(isinstance(p, UninitializedParameter) for p in module.parameters()):
                raise RuntimeError(
                    "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to "
                    "correctly initialize the modules"
                )
            self._verify(list(averaged.values()))
            if init_sync:
                tensors: list[Tensor] = [p for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
                self._take_over(tensors + self._buffers_to_send() if sent_at_first else tensors)
            self.reducer = self._made_reducer()

    def _averaged(self) -> dict[str, Tensor]:
        """The parameters whose gradients are averaged, by name."""
        named = self.module.named_parameters()
        return {n: p for n, p in named if p.requires_grad and n not in self.parameters_to_ignore}

    def _made_reducer(self) -> Reducer:
        averaged = self._averaged()
        unused = self.find_unused_parameters or self.static_graph
        return Reducer(list(averaged.values()), list(averaged), self.process_group, unused)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducer = self.reducer
        if reducer is None:
            return self.module(*inputs, **kwargs)
        averages = state.grad and self.require_backward_grad_sync
        if averages:
            reducer.check()
        if self.require_forward_param_sync and self.broadcast_buffers and (buffers := self._buffers_to_send()):
            self._take_over(buffers)
        outputs = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averages
        if averages:
            reducer.expect(outputs)
        return outputs

    def _buffers_to_send(self) -> list[Tensor]:
        return [b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _verify(self, parameters: Sequence[Tensor]) -> None:
        """RuntimeError, in all processes, where they have other parameters."""
        group = self.process_group
        found: list[Any] = [None] * group.size()
        all_gather_object(found, [(tuple(p.shape), p.dtype.name) for p in parameters], group)
        rank = group.rank()
        own = found[rank]
        other, theirs = next(((r, f) for r, f in enumerate(found) if f != own), (rank, own))
        if len(theirs) != len(own):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(own)} params, while rank {other} has "
                f"inconsistent {len(theirs)} params."
            )
        for k, (a, b) in enumerate(zip(own, theirs, strict=True)):
            if a != b:
                raise RuntimeError(
                    f"[{rank}]: params[{k}] in this process with sizes {list(a[0])} appears not to match sizes of the same param in "
                    f"process {other}."
                )

    def _take_over(self, tensors: Sequence[Tensor]) -> None:
        """Give tensors the content that they have in process 0."""
        if not tensors:
            return
        group = self.process_group
        x = group.exchange()
        if group.rank() == 0:
            whole = np.concatenate([np.ascontiguousarray(content(t)).reshape(-1).view(np.uint8) for t in tensors])
            x.broadcast(whole, 0)
            return
        expected = [like(t) for t in tensors]
        whole = x.receive(0, np.empty(sum(a.nbytes for a in expected), np.uint8))
        begin = 0
        with no_grad():
            for t, a in zip(tensors, expected, strict=True):
                put(t, as_array(whole[begin : begin + a.nbytes].copy(), a))
                begin += a.nbytes

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context in which gradients are not averaged: the first backward pass after it averages what has been gathered."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Have `hook(state, bucket)` combine gradients: it returns a `Future` of the flat tensor that takes the place of
        `bucket.buffer()`. There is one bucket for each element type."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer is not None:
            if self.reducer.hook is not None:
                raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
            self.reducer.hook = (state, hook)

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Context for processes with unequal numbers of batches."""
        return Join([self], enable, throw_on_early_termination)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return JoinHook()

    def _set_static_graph(self) -> None:
        self.static_graph = True
        if self.reducer is not None:
            self.reducer.unused = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "process_group": None, "reducer": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        super().__setstate__(kept)
        self.process_group = default_group()
        if self.process_group.size() > 1:
            self.reducer = self._made_reducer()
