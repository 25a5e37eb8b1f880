"""`torch.optim.swa_utils`: averages of a model's parameters over its training."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .._core.define.op import functions
from .._core.types import grad_mode
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ._schedulers.base import LRScheduler, cosine, linear, per_group
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves lists of averages towards lists of parameters, exponentially."""
    _check_decay(decay)

    @grad_mode.no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        for mean, x in zip(ema_param_list, current_param_list):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(x, 1 - decay)
            else:
                mean.copy_(mean * decay + x * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that takes lists of parameters into lists of equally weighted averages."""

    @grad_mode.no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        weight = 1 / (int(num_averaged) + 1)
        for mean, x in zip(averaged_param_list, current_param_list):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(x, weight)
            else:
                mean.add_(((x - mean) * weight).to(mean.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """A function of (average, parameter, number averaged): the exponential average."""
    _check_decay(decay)

    @grad_mode.no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """A function of (average, parameter, number averaged): the equally weighted average."""

    @grad_mode.no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the calls of `update_parameters` (Izmailov et al., 2018).

    avg_fn: (average, parameter, number averaged) -> new average; multi_avg_fn: the same on lists, in place. By default
    all are weighted equally. use_buffers: average the buffers too, instead of copying them.
    """

    n_averaged: Any

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        tensor = functions["tensor"]

        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages."""
        means, current = _tensors(self.module, self.use_buffers), _tensors(model, self.use_buffers)
        with grad_mode.no_grad():
            pairs = [(mean, x.detach().to(mean.device)) for mean, x in zip(means, current)]
            if int(self.n_averaged) == 0:
                for mean, x in pairs:
                    mean.detach().copy_(x)
            elif self.avg_fn is not None:
                for mean, x in pairs:
                    mean.detach().copy_(self.avg_fn(mean.detach(), x, self.n_averaged.to(mean.device)))
            elif pairs:
                update = self.multi_avg_fn or get_swa_multi_avg_fn()
                groups: dict[Any, list[Any]] = {}
                for mean, x in pairs:
                    groups.setdefault((mean.device, mean.dtype), []).append((mean.detach(), x))
                for group in groups.values():
                    update([mean for mean, _ in group], [x for _, x in group], self.n_averaged.to(group[0][0].device))
            if not self.use_buffers:
                for kept, x in zip(self.module.buffers(), model.buffers()):
                    kept.detach().copy_(x.detach().to(kept.device))
            self.n_averaged.fill_(int(self.n_averaged) + 1)


def _tensors(model: Module, buffers: bool) -> Iterable[Any]:
    return itertools.chain(model.parameters(), model.buffers()) if buffers else model.parameters()


@grad_mode.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's BatchNorm layers anew, over the batches of `loader`."""
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present rates to swa_lr in anneal_epochs steps, and constant afterwards (Izmailov et al., 2018)."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _way(self, step: int) -> float:
        """How far the annealing has come after so many steps, from 0 to 1."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return cosine(0.0, 1.0, done) if self._anneal_strategy == "cos" else linear(0.0, 1.0, done)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._way(step - 1), self._way(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
