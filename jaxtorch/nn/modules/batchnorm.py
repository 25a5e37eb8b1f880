"""Batch normalisation layers, and the state they share with instance normalisation."""

from __future__ import annotations

from typing import Any

from ..._core.tensor.tensor import Tensor
from ..._core.types.dtypes import int64
from ..._core.types.grad_mode import no_grad
from ..._ops.creation.filled import empty, full, ones, zeros
from ..._ops.creation.from_data import tensor
from ..._ops.shapes.joining import cat
from ..._private_names.absent import undefined
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Scale and shift per channel, and running moments, where they are wanted."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = Parameter(empty(num_features, device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(empty(num_features, device=device, dtype=dtype))
            else:
                self.register_parameter("bias", None)
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Start the running moments anew: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, running moments anew."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    _input_dims: tuple[int, ...] = ()
    """The numbers of dimensions that an input may have."""

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._input_dims:
            raise undefined(self, "_check_input_dim")
        if input.dim() not in self._input_dims:
            known = " or ".join(f"{n}D" for n in self._input_dims)
            raise ValueError(f"expected {known} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any, **named: Any
    ) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            # Checkpoints of before version 2 do not have the counter.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                own = self.num_batches_tracked
                known = own is not None and str(own.device) != "meta"
                state_dict[key] = own if known else tensor(0, dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest, **named)


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:  # errors about arguments name this class, as PyTorch's do
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        own = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            own,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C) or (N, C, L) over the batch (Ioffe and Szegedy, 2015)."""

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch (Ioffe and Szegedy, 2015), then weight and shift it (`affine`).

    In training the batch's moments are used and the running ones updated: running = (1 - momentum) running + momentum batch,
    with momentum None their average so far. In evaluation the running ones are used, unless track_running_stats is False.
    ValueError for an input of other dimensions, or in training for one value a channel.

        >>> norm = torch.nn.BatchNorm2d(3)
        >>> _ = norm(torch.ones(4, 3, 2, 2))
        >>> norm.running_mean, norm.num_batches_tracked
        (tensor([0.1000, 0.1000, 0.1000]), tensor(1))
    """

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch (Ioffe and Szegedy, 2015)."""

    _input_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over all processes of a group; in one process, plain batch normalisation.

    PyTorch's takes no tensors of the CPU where there are several processes; this one does.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    @staticmethod
    def _world_size(group: Any) -> int:
        """How many processes the group has. `torch.distributed` puts its own answer here when it is imported."""
        return 1

    @staticmethod
    def _all_reduce(x: Tensor, group: Any) -> Tensor:
        """The sum of all processes' tensors, from `torch.distributed` likewise."""
        return x

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self._world_size(self.process_group) <= 1:
            return super().forward(input)
        self._check_input_dim(input)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        """Normalise by the moments of all processes' batches, and remember them. The gradient goes through the sums."""
        dims = [d for d in range(input.dim()) if d != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        x = input.float() if input.dtype.itemsize == 2 else input
        own = full((1,), float(input.numel() // input.size(1)), dtype=x.dtype, device=x.device)
        sums = self._all_reduce(cat([x.sum(dims), own]), self.process_group)
        count, mean = sums[-1].detach(), sums[:-1] / sums[-1].detach()
        centred = x - mean.view(shape)
        var = self._all_reduce((centred * centred).sum(dims), self.process_group) / count
        if self.running_mean is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
                momentum = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
                unbiased = var.detach() * count / (count - 1)
                self.running_mean.copy_((1 - momentum) * self.running_mean + momentum * mean.detach())
                self.running_var.copy_((1 - momentum) * self.running_var + momentum * unbiased)
        y = centred * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            y = y * self.weight.view(shape)
        if self.bias is not None:
            y = y + self.bias.view(shape)
        return y.to(input.dtype)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch normalisation in it replaced by a SyncBatchNorm of the same state."""
        out = module
        if isinstance(module, _BatchNorm):
            out = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                out.weight = module.weight
                out.bias = module.bias
            out.running_mean = module.running_mean
            out.running_var = module.running_var
            out.num_batches_tracked = module.num_batches_tracked
            out.training = module.training
        for name, child in module.named_children():
            out.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return out


class _LazyNormBase(LazyModuleMixin):
    """What the lazy normalisation layers share."""

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**place)
            if bias:
                self.bias = UninitializedParameter(**place)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**place)
            self.running_var = UninitializedBuffer(**place)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """As that of the class it becomes, once the sizes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue]

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize parameters and running moments for this input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        found = (self.weight, self.bias, self.running_mean, self.running_var)
        for t in found:
            if t is not None:
                t.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """`BatchNorm1d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """`BatchNorm2d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """`BatchNorm3d` that takes `num_features` from its first input."""

    cls_to_become = BatchNorm3d
