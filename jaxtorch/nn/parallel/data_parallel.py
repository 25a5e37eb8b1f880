"""`DataParallel` and its parts. A batch stays on one device, where the result is the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


class DataParallel(Module):
    """Calls `module`, which stays where it is.

    Unlike in PyTorch the batch is not spread over several GPUs; the result is the same. Parameters are those of the module,
    under names that begin with `module.`.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids) if isinstance(device_ids, Iterable) else []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """`module(*inputs, **module_kwargs)`, on one device."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Cut the tensors in `inputs` along `dim` into a part for each of `target_gpus`, and put it there.

    Containers are looked into; of anything else each part has the object itself.
    """
    if isinstance(inputs, Tensor):
        return tuple(
            part.to(device) if not isinstance(device, int) else part.cuda(device)
            for part, device in zip(inputs.chunk(len(target_gpus), dim), target_gpus, strict=False)
        )
    if isinstance(inputs, (tuple, list)) and inputs:
        parts = zip(*[scatter(x, target_gpus, dim) for x in inputs], strict=False)
        if hasattr(inputs, "_fields"):
            return [type(inputs)(*part) for part in parts]
        return [type(inputs)(part) for part in parts]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*[scatter(x, target_gpus, dim) for x in inputs.values()], strict=False)
        return [type(inputs)(zip(inputs, part, strict=True)) for part in parts]
    return [inputs for _ in target_gpus]


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Join the tensors of several devices along `dim`, on one of them; in containers, place by place."""
    first = outputs[0]
    if isinstance(first, Tensor):
        where = f"cuda:{target_device}" if isinstance(target_device, int) else target_device
        moved = [t.to(where) for t in outputs]
        return functions["stack"](moved) if first.dim() == 0 else functions["cat"](moved, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    joined = [gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module, once for each device. NotImplementedError for more than one."""
    if len(devices) > 1:
        raise NotImplementedError(
            f"torch.nn.parallel.replicate: jaxtorch makes no replicas on several devices, got {len(devices)}"
        )
    return [network for _ in devices]


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """Call each module on its inputs, one after another: XLA runs what does not depend on each other side by side."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    named = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    return [
        module(*(given if isinstance(given, (tuple, list)) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, named, strict=True)
    ]
