"""`torch.autograd.graph`: nodes, and hooks on what the graph saves."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from .._core.autograd.backward import edge_of, running_passes
from .._core.graph.nodes import AccumulateGrad, public_edge
from .._core.graph.nodes import Node as _Node
from .._core.tensor.tensor import Tensor, kept_value, wrap
from .._core.types.grad_mode import no_grad, state, watch
from .._core.types.removable_handle import RemovableHandle

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class _NodeMeta(type):
    """Nodes are instances, their classes subclasses, of what stands for all of them and is no base of any."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_Node, AccumulateGrad)) if cls is Node else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, (_Node, AccumulateGrad)) if cls is Node else super().__subclasscheck__(subclass)


class Node(metaclass=_NodeMeta):
    """What `Tensor.grad_fn` is: `isinstance(t.grad_fn, Node)`. Its methods are those of the nodes."""

    name, register_hook, register_prehook = _Node.name, _Node.register_hook, _Node.register_prehook
    next_functions, metadata = _Node.next_functions, _Node.metadata


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: usable as an input of `autograd.grad`, and as a root."""

    node: Any
    output_nr: int
    ownership_token: Any = None


class saved_tensors_hooks:
    """Context in which what operations save for backward goes through `pack_hook`, and comes back through `unpack_hook`.

    pack_hook(tensor) -> anything; unpack_hook(that) -> a tensor of the same content. Which values an operation saves is
    jaxtorch's own choice, in a few operations other than PyTorch's, and they reach the hooks without their history.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        hooks = state.saved_hooks
        if hooks and isinstance(hooks[-1], str):
            raise RuntimeError(hooks[-1])
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError("saved_tensors_hooks: incompatible function arguments: the two hooks must be callable")
        hooks.append((self.pack_hook, self.unpack_hook))
        watch.append("hooks")

    def __exit__(self, *exc: Any) -> None:
        state.saved_hooks.pop()
        watch.remove("hooks")


class save_on_cpu(saved_tensors_hooks):
    """Context in which what is saved for backward is kept in the host's memory. pin_memory has no effect here."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Context in which entering `saved_tensors_hooks` raises a RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if state.saved_hooks and not isinstance(state.saved_hooks[-1], str):
            raise RuntimeError(self.error_message)
        state.saved_hooks.append(self.error_message)

    def __exit__(self, *exc: Any) -> None:
        state.saved_hooks.pop()


def increment_version(tensor: Any) -> None:
    """Count a modification of the tensor (or tensors) that autograd has not seen."""
    with no_grad():
        for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
            t._write(t.clone()._value)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the tensor's gradient is computed: (node, output number)."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    return GradientEdge(*public_edge((tensor, 0) if node is None else (node, tensor._index)))


@dataclass
class _Round:
    """What a hook on several tensors has seen of one backward pass."""

    walk: Any
    left: int
    found: list[Any]


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context in which what operations save for backward may be written in place afterwards: they keep its present content."""

    _open: Any = None  # what stands for this time that it is open, up to `clear`

    def __init__(self) -> None:
        super().__init__(lambda t: (self, self._open, wrap(kept_value(t._read()))), _if_open)

    def __enter__(self) -> Any:
        if any(isinstance(h, tuple) and h[1] is _if_open for h in state.saved_hooks):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self._open = object()
        return self

    def clear(self) -> None:
        """Forget what has been saved: backward through it raises."""
        self._open = object()

    def __exit__(self, *exc: Any) -> None:
        self._open = None
        super().__exit__(*exc)


def _if_open(packed: tuple[allow_mutation_on_saved_tensors, Any, Tensor]) -> Tensor:
    """What was saved, while its context is open."""
    context, then, t = packed
    if then is None or context._open is not then:
        raise AssertionError(
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."
        )
    return t


def register_multi_grad_hook(tensors: Any, fn: Any, *, mode: str = "all") -> Any:
    """Call `fn` with the gradients of several tensors once all (or any) of them have been computed.

    AssertionError where one of all requires no gradient.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    count = len(tensors)  # TypeError for an iterator, which would be at its end below
    if mode == "all" and not all([t.requires_grad for t in tensors]):  # noqa: C419
        raise AssertionError("Expected gradient function to be set")
    tensors = [t for t in tensors if t.requires_grad]
    rounds: list[_Round] = []
    places = [edge_of(t) for t in tensors]

    def make(i: int) -> Any:
        def hook(grad: Tensor) -> None:
            walk = running_passes[-1]
            if not rounds or rounds[-1].walk() is not walk:
                rounds[:] = [_Round(weakref.ref(walk), walk.reaches(places) if mode == "all" else 1, [None] * count)]
            now = rounds[-1]
            now.left -= 1
            now.found[i] = grad
            if now.left == 0:
                fn(now.found if mode == "all" else grad)

        return hook

    return _MultiHandle([t.register_hook(make(i)) for i, t in enumerate(tensors)])


class _MultiHandle(RemovableHandle):
    """The handles of one hook on several tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for h in self.handles:
            h.remove()


def region_activation_memory_budget(budget: float) -> NoReturn:
    """RuntimeError, as in PyTorch outside of its compiler's regions. Use `torch.utils.checkpoint` to compute activations again."""
    if not 0 <= budget <= 1:
        raise ValueError(f"torch.autograd.graph.region_activation_memory_budget: must be in [0, 1], got {budget}")
    raise RuntimeError(
        "torch.autograd.graph.region_activation_memory_budget can only be used inside a torch.compile region; it has no "
        "effect elsewhere, and none in jaxtorch: see torch.utils.checkpoint"
    )


def _need_bool(enabled: bool) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Without effect: backward passes are ordered by their data, not by streams."""
    _need_bool(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Without effect: there are no captures of streams."""
    _need_bool(enabled)
