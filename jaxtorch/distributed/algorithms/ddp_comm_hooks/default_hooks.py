"""`torch.distributed.algorithms.ddp_comm_hooks.default_hooks`: how `DistributedDataParallel` may combine gradients instead.

ddp.register_comm_hook(None, fp16_compress_hook)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core.types.dtypes import bfloat16, float16
from ....futures import Future
from ...collectives import all_reduce
from ...process_group import default_group

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip


def _mean(group: Any, tensor: Any) -> Future[Any]:
    own = group or default_group()
    work = all_reduce(tensor.div_(own.size()), group=own, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The mean, as without a hook."""
    return _mean(process_group, bucket.buffer())


def _compressed(dtype: Any, process_group: Any, bucket: Any) -> Future[Any]:
    buffer = bucket.buffer()
    return _mean(process_group, buffer.to(dtype)).then(lambda done: done.value().to(buffer.dtype))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The mean of the gradients in float16."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """The mean of the gradients in bfloat16."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Callable[[Any, Any], Future[Any]]) -> Callable[[Any, Any], Future[Any]]:
    def compressing(state: Any, bucket: Any) -> Future[Any]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: done.value().to(buffer.dtype))

    return compressing


def fp16_compress_wrapper(hook: Callable[[Any, Any], Future[Any]]) -> Callable[[Any, Any], Future[Any]]:
    """The hook, for gradients in float16."""
    return _wrapped(float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Future[Any]]) -> Callable[[Any, Any], Future[Any]]:
    """The hook, for gradients in bfloat16."""
    return _wrapped(bfloat16, hook)
