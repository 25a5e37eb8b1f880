"""How `DistributedDataParallel` averages: when a backward pass has computed all gradients, they travel together.

The engine runs what has been recorded when the values are read, so one reading at the end of the pass costs one program, and one
reading for each parameter would cost as many.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._core.autograd.backward import queue_callback
from ..._core.graph.nodes import Node
from ..._core.tensor.sparse_value import is_sparse
from ..._core.tensor.tensor import Tensor, from_host
from ..._core.types.grad_mode import no_grad
from ...distributed.content import content, put
from ...distributed.grad_bucket import GradBucket
from ...distributed.reduce_op import ReduceOp, scaled
from ...futures import Future

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module "
    "has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword "
    "argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` "
    "function outputs participate in calculating loss. \nIf you already have done the above, then the distributed data parallel "
    "module wasn't able to locate the output tensors in the return value of your module's `forward` function. Please include the "
    "loss function and the structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, "
    "iterable).\nParameter indices which did not receive grad for rank {rank}: {indices}\n In addition, you can set the "
    "environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information about which particular "
    "parameters did not receive gradient on this rank as part of this error"
)


class _Ready:
    """The hook of one parameter, which keeps nothing alive."""

    __slots__ = ("reducer", "index")

    def __init__(self, reducer: Reducer, index: int) -> None:
        self.reducer, self.index = weakref.ref(reducer), index

    def __call__(self, parameter: Tensor) -> None:
        reducer = self.reducer()
        if reducer is not None:
            reducer.ready(self.index)


class Reducer:
    """Averages the gradients of `parameters` over the processes of a group.

    unused: parameters may have no part in the loss; then each forward pass says which those are (`expect`).
    """

    def __init__(self, parameters: Sequence[Tensor], names: Sequence[str], group: Any, unused: bool) -> None:
        self.parameters, self.names, self.group, self.unused = list(parameters), list(names), group, unused
        self.hook: Any = None
        self.expecting = False  # has a forward pass asked for an average that has not come yet?
        self.begun = False  # has a gradient arrived since?
        self.queued = False
        self.done: set[int] = set()
        self.left_out: set[int] = set()
        self.handles = [p.register_post_accumulate_grad_hook(_Ready(self, k)) for k, p in enumerate(self.parameters)]

    def check(self) -> None:
        """RuntimeError where the last forward pass was followed by a backward pass that left parameters without gradients."""
        if self.begun:
            lacking = [k for k in range(len(self.parameters)) if k not in self.done]
            raise RuntimeError(_UNFINISHED.format(rank=self.group.rank(), indices=" ".join(map(str, lacking))))

    def expect(self, outputs: Any) -> None:
        """A forward pass has given these; gradients are to be averaged after the next backward pass."""
        self.expecting, self.begun, self.queued = True, False, False
        self.left_out = _unreached(self.parameters, outputs) if self.unused else set()
        self.done = set(self.left_out)

    def ready(self, index: int) -> None:
        """A parameter has its gradient."""
        if not self.expecting:
            return
        if index in self.done:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
                "module parameter outside the `forward` function. Please make sure model parameters are not shared across multiple "
                "concurrent forward-backward passes. or try to use _set_static_graph() as a workaround if this module graph does not "
                "change during training loop.2) Reused parameters in multiple reentrant backward passes. For example, if you use "
                "multiple `checkpoint` functions to wrap the same part of your model, it would result in the same set of parameters "
                "been used by different reentrant backward passes multiple times, and hence marking a variable ready multiple times. "
                "DDP does not support such use cases in default. You can try to use _set_static_graph() as a workaround if your "
                f"module graph does not change over iterations.\nParameter at index {index} with name {self.names[index]} has been "
                "marked as ready twice. This means that multiple autograd engine  hooks have fired for this particular parameter "
                "during this iteration."
            )
        self.done.add(index)
        self.begun = True
        if not self.queued:
            self.queued = True
            queue_callback(self._end)

    def _end(self) -> None:
        """A backward pass has ended: average, if it was the one that completed the gradients."""
        self.queued = False
        if len(self.done) == len(self.parameters):
            self.expecting = self.begun = False
            with no_grad():
                self._average()

    def _average(self) -> None:
        wanted = list(range(len(self.parameters)))
        if self.unused:  # what no process has used stays as it is
            here = np.array([k not in self.left_out for k in wanted], np.uint8)
            anywhere = self.group.exchange().all_reduce(here, ReduceOp.MAX)
            wanted = [k for k in wanted if anywhere[k]]
        by_type: dict[Any, list[Tensor]] = {}
        for k in wanted:
            by_type.setdefault(self.parameters[k].dtype, []).append(self.parameters[k])
        for number, parameters in enumerate(by_type.values()):
            self._average_of(parameters, number, number == len(by_type) - 1)

    def _average_of(self, parameters: list[Tensor], number: int, last: bool) -> None:
        """Average the gradients of parameters of one element type."""
        flat = np.concatenate([_gradient(p).reshape(-1) for p in parameters])
        if self.hook is not None:
            state, hook = self.hook
            bucket = GradBucket(number, from_host(flat), parameters, last)
            flat = content(_result(hook(state, bucket)), True).reshape(-1)
        else:
            flat = self.group.exchange().all_reduce(scaled(flat, 1 / self.group.size()), ReduceOp.SUM)
        begin = 0
        for p in parameters:
            part = flat[begin : begin + p.numel()].reshape(tuple(p.shape))
            begin += p.numel()
            if p.grad is None:
                p.grad = from_host(part)
            else:
                put(p.grad, part)


def _gradient(p: Tensor) -> Any:
    if p.grad is None:
        return np.zeros(tuple(p.shape), p._value.aval.dtype.np)
    if is_sparse(p.grad):
        raise NotImplementedError("DistributedDataParallel: sparse gradients are not averaged; use sparse=False")
    return content(p.grad)


def _result(found: Any) -> Tensor:
    """The tensor of a hook's future."""
    if not isinstance(found, Future):
        raise RuntimeError("a communication hook must return a torch.futures.Future of a tensor")
    value = found.wait()
    return value[0] if isinstance(value, (list, tuple)) else value


def tensors_in(tree: Any) -> Iterator[Tensor]:
    """The tensors in containers, and in the fields of dataclasses."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from tensors_in(item)
    elif isinstance(tree, (list, tuple, set)):
        for item in tree:
            yield from tensors_in(item)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        for field in dataclasses.fields(tree):
            yield from tensors_in(getattr(tree, field.name))


def _unreached(parameters: Sequence[Tensor], outputs: Any) -> set[int]:
    """The numbers of the parameters to which no gradient of the outputs can come."""
    seen: set[int] = set()
    stack: list[Any] = [t if t._node is None else t._node for t in tensors_in(outputs) if t._rg]
    while stack:
        target = stack.pop()
        if id(target) not in seen:
            seen.add(id(target))
            if isinstance(target, Node):
                stack.extend([end for end in target.ends if end is not None])
    return {k for k, p in enumerate(parameters) if id(p) not in seen}
