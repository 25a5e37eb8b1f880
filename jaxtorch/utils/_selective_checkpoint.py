"""Selective checkpointing: a policy says, operation by operation, what a checkpointed function's second run finds computed.

The policy is asked of the operations of jaxtorch under their names in `torch.ops.aten`, as far as they have one: a linear layer
is `aten.addmm` (`aten.mm` without a bias), a convolution `aten.convolution`. Of an operation's arguments it sees the tensors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .._core.compile.kernel import Kernel
from .._core.record.kernel_hook import intercepting_kernels
from .._core.tensor.tensor import Tensor, wrap
from .._core.types import grad_mode
from .._core.types.value import Value
from .._library import operators
from ._checkpoint_policy import CheckpointPolicy, SelectiveCheckpointContext

_UNASKED = frozenset(("checkpoint", "kept", "detach", "_detach", "_alias", "accumulate"))
_TENSOR = frozenset("add sub mul div remainder eq ne lt le gt ge maximum minimum".split())
_RENAMED = {
    "layer_norm": "native_layer_norm", "group_norm": "native_group_norm", "batch_norm": "native_batch_norm",
    "softmax": "_softmax", "log_softmax": "_log_softmax", "dropout": "native_dropout", "_pow": "pow",
}  # fmt: skip
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose", "_conv", "convolution")


def operation(kernel: Kernel, tensors: list[Tensor]) -> tuple[Any, list[Any]] | None:
    """The operation of `torch.ops.aten` that a kernel stands for, and the tensors among its arguments; None where for none."""
    name = kernel.name.removesuffix("_fwd")
    if name in _UNASKED:
        return None
    if name == "linear":
        x, weight, *bias = tensors
        rows = x.reshape(-1, x.shape[-1]) if x.dim() != 2 else x
        return (_aten("addmm"), [bias[0], rows, weight.t()]) if bias else (_aten("mm"), [rows, weight.t()])
    if name == "matmul":
        dims = [t.dim() for t in tensors]
        return _aten({(1, 1): "dot", (2, 1): "mv", (2, 2): "mm"}.get((dims[0], dims[1]), "bmm")), tensors
    if name.startswith(_CONVOLUTIONS):
        return _aten("convolution"), tensors
    if "attention" in name:
        on_cpu = tensors[0].device.type == "cpu"
        return _aten("_scaled_dot_product_flash_attention" + ("_for_cpu" if on_cpu else "")), tensors
    name = _RENAMED.get(name, name)
    return _aten(name, "Tensor" if name in _TENSOR else "default"), tensors


def _aten(name: str, overload: str = "default") -> Any:
    known = [o for o in operators.overloads().get(name, ()) if "out" not in o and "Dimname" not in o]
    if known and overload not in known:
        overload = known[0]
    try:
        return getattr(getattr(operators.namespace("aten"), name), overload)
    except AttributeError:
        return getattr(operators.stand_in(name), overload)


_CONSUMED: list[Any] = []


class _Mode:
    """The context of a run; it can be entered again. Decisions are the first run's, by how often an operation has come."""

    def __init__(self, policy: Callable[..., Any], decided: Any, recompute: bool, mutable: bool) -> None:
        self.policy, self.decided, self.recompute, self.mutable = policy, decided, recompute, mutable
        self.open: list[tuple[intercepting_kernels, dict[Any, int]]] = []

    def __enter__(self) -> None:
        context = intercepting_kernels(self.again if self.recompute else self.first)
        self.open.append((context, defaultdict(int)))
        context.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.open.pop()[0].__exit__(*exc)

    def first(self, kernel: Kernel, values: list[Value], run: Callable[[], list[Value]]) -> list[Value]:
        """Run a kernel, and keep its results where the policy says so."""
        outs = run()
        found = _operation_of(kernel, values)
        if found is not None:
            result = wrap(outs[0]) if len(outs) == 1 else tuple([wrap(v) for v in outs])
            wanted = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), found[0], *found[1])
            if not isinstance(wanted, bool):
                wanted = wanted in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
            self.decided[found[0]].append(outs if wanted else None)
        return outs

    def again(self, kernel: Kernel, values: list[Value], run: Callable[[], list[Value]]) -> list[Value]:
        """The results that the first run has kept, or a kernel run once more."""
        found = _operation_of(kernel, values)
        if found is None:
            return run()
        op, counts = found[0], self.open[-1][1]
        place, counts[op] = counts[op], counts[op] + 1
        decided = self.decided[op]
        if place >= len(decided):
            raise RuntimeError(f"torch.utils.checkpoint: the second run calls {op} more often than the first")
        kept, decided[place] = decided[place], None if decided[place] is None else _CONSUMED
        if kept is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        if kept is None:
            return run()
        for v in kept:
            if type(v.guard) is tuple and v.guard[0].n - v.guard[0].hidden != v.guard[1]:
                self._refuse(op)
        return kept

    def _refuse(self, op: Any) -> None:
        if self.mutable:
            raise NotImplementedError(
                f"jaxtorch: allow_cache_entry_mutation=True where a result of {op} that was kept has been written to: its present "
                "content would be taken for the result"
            )
        raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")


def _operation_of(kernel: Kernel, values: list[Value]) -> tuple[Any, list[Any]] | None:
    with grad_mode.no_grad():
        return operation(kernel, [wrap(v) for v in values])


def contexts(policy_or_list: Any, mutable: bool = False) -> tuple[Any, Any]:
    """The contexts of the first run and of the second."""
    if isinstance(policy_or_list, list):
        for op in policy_or_list:
            if not isinstance(op, (operators.OpOverload, operators.OfEngine)) or "." not in str(op).partition(".")[2]:
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. An OpOverload is one of the "
                    "overloads of an operation: `torch.ops.aten.mm.default`, where `torch.ops.aten.mm` is all of them."
                )
        chosen = set(policy_or_list)

        policy: Any = lambda context, op, *args, **kwargs: op in chosen  # noqa: E731
    elif callable(policy_or_list):
        policy = policy_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    decided: dict[Any, list[Any]] = defaultdict(list)
    return _Mode(policy, decided, False, mutable), _Mode(policy, decided, True, mutable)
