"""The autograd graph: nodes made while operations are recorded.

A node points to what its inputs came from (an edge is a node and an output index, or a leaf tensor and 0), and holds the values
its backward kernel needs. Nothing points forward, so there are no reference cycles: a graph dies with its last handle.
"""

from __future__ import annotations

import traceback
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import ENGINE
from ..record.program import counter
from ..types.dtypes import scalar_name
from ..types.grad_mode import Anomaly
from ..types.removable_handle import RemovableHandle
from ..types.value import DETACHED, VIEW, Value

_TENSOR_OPERANDS = frozenset({"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0"})
"""Operations whose every operand is a tensor to PyTorch, a number too."""
SAVED_NUMBERS = frozenset({"MulBackward0", "DivBackward0"})
"""Those that save them."""
OF_LAYERS = frozenset({
    "ConvolutionBackward0", "NativeLayerNormBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0"
})  # fmt: skip
"""Operations whose inputs to PyTorch are input, weight and bias, whether given or not."""


class HookedValues:
    """Saved values in the hands of `saved_tensors_hooks`: pairs (value that stays, or None; what the hook made of it)."""

    __slots__ = ("items", "unpack")

    def __init__(self, things: list[Any], unpack: Any) -> None:
        self.items = things
        self.unpack = unpack

    def __bool__(self) -> bool:
        return False


class InputMetadata(NamedTuple):
    """The type of a gradient that a node takes."""

    shape: Any
    dtype: Any
    device: Any


class Node:
    """One recorded operation, or one output-side view of it: what `Tensor.grad_fn` shows.

    ends:    where the gradients of the inputs go, in the order of `form.wanted`: nodes, leaf tensors, None for nowhere.
    indices: which output of each of these nodes, or None for the first of all. Most are that, and what a graph does not hold
             the garbage collector need not visit.
    """

    __module__ = "jaxtorch.autograd.graph"

    __slots__ = ("form", "ends", "indices", "saved", "own", "seq", "pre_hooks", "post_hooks", "node_pre_hooks", "retains",
                 "metadata_", "__weakref__")  # fmt: skip

    def __init__(
        self,
        form: Any,
        saved: Sequence[Value] | None = (),
        ends: Sequence[Any] = (),
        indices: tuple[int, ...] | None = None,
    ) -> None:
        self.form = form
        self.saved = saved
        self.ends = ends
        self.indices = indices
        self.own: Value | None = None  # what an in-place operation overwrote: saved as it was
        self.seq = next(counter)
        self.pre_hooks: dict[int, Any] | None = None
        self.post_hooks: Any = None
        self.node_pre_hooks: Any = None
        self.retains: dict[int, Any] | None = None

    @property
    def edges(self) -> list[Any]:
        """Where the gradients of the inputs go: pairs of a node and an output's number, or of a leaf and 0; None for nowhere."""
        indices = self.indices
        if indices is None:
            return [None if end is None else (end, 0) for end in self.ends]
        return [None if end is None else (end, k) for end, k in zip(self.ends, indices, strict=True)]

    @edges.setter
    def edges(self, edges: Sequence[Any]) -> None:
        self.ends = [None if edge is None else edge[0] for edge in edges]
        indices = tuple([0 if edge is None else edge[1] for edge in edges])
        self.indices = indices if any(indices) else None

    # -- what PyTorch shows

    def name(self) -> str:
        """PyTorch's name of the operation's derivative, such as 'AddBackward0'."""
        return node_name(type(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    run_values: Any = None  # nodes of a Function run on tensors
    runs_without_gradients = False  # does it run where no gradient has come to it?

    def inputs(self) -> list[int]:
        """The inputs that count as tensors to PyTorch, in order, -1 for one that was left out: one entry each in `next_functions`."""
        wanted = self.form.wanted
        avals = self.form.in_avals
        if self.form.name in OF_LAYERS:
            names = getattr(getattr(self.form, "entry", None), "operand_names", ())
            if "input" in names:
                return [names.index(n) if n in names else -1 for n in ("input", "weight", "bias")]
        if self.form.name == "WhereBackward0" and len(avals) == 3:
            return [1, 2]  # a number too
        if self.form.name in _TENSOR_OPERANDS:  # `2 + x` is x.add(2)
            return sorted(range(len(avals)), key=lambda i: avals[i].wrapped)
        order = range(len(avals))
        if self.form.name == "AddmmBackward0" and avals[-1].ndim < 2:
            order = (2, 0, 1)  # a linear layer: PyTorch adds the product to the bias
        return [
            i
            for i, aval in zip(order, [avals[j] for j in order], strict=True)
            if i in wanted or (not aval.wrapped and (aval.dtype.is_floating_point or aval.dtype.is_complex))
        ]

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes this one passes gradients to, with the index of the output each came from."""
        by_input = dict(zip(self.form.wanted, self.edges, strict=True))
        return tuple(public_edge(by_input[i]) if i in by_input else (None, 0) for i in self.inputs())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return saved_attribute(self, name[len("_saved_") :])
        if name.startswith("_raw_saved_"):
            return raw_saved(self, name[len("_raw_saved_") :])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *saved_names(self)]

    def _sequence_nr(self) -> int:
        return self.seq

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        """The types of the gradients that the node takes."""
        return [InputMetadata(list(a.shape), a.dtype, a.slot.device) for a in self.form.out_avals]

    def __call__(self, *grads: Any) -> Any:
        """Run the node alone: the gradients of its inputs, from those of its outputs."""
        return call_node(self, grads)

    @property
    def requires_grad(self) -> bool:
        """Always: only what requires a gradient gets a node."""
        return True

    def note_traceback(self) -> None:
        """Keep where the forward call was made, for the message of anomaly detection."""
        frames = traceback.extract_stack()
        while frames and frames[-1].filename.startswith((ENGINE, "<jaxtorch op")):
            frames.pop()
        self.metadata["traceback_"] = traceback.format_list(frames)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""
        try:
            return self.metadata_
        except AttributeError:
            self.metadata_: dict[Any, Any] = {}
            return self.metadata_

    def register_hook(self, fn: Any, /) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; it may return other grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = OrderedDict()
        handle = RemovableHandle(self.post_hooks)
        self.post_hooks[handle.id] = fn
        return handle

    def register_prehook(self, fn: Any, /) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; it may return other grad_outputs."""
        if self.node_pre_hooks is None:
            self.node_pre_hooks = OrderedDict()
        handle = RemovableHandle(self.node_pre_hooks)
        self.node_pre_hooks[handle.id] = fn
        return handle

    # -- for the engine

    def output_hooks(self, index: int) -> Any:
        """The hooks on the gradient of one output, in order of registration."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return self.pre_hooks.setdefault(index, OrderedDict())

    def retain(self, index: int, tensor: Any) -> None:
        """Store the gradient of output `index` in the tensor's `.grad` during backward."""
        if self.retains is None:
            self.retains = {}
        self.retains[index] = weakref.ref(tensor)

    def hooked(self) -> bool:
        """Is anything called when the node runs?"""
        return bool(self.pre_hooks or self.post_hooks or self.node_pre_hooks or self.retains)

    def unhooked(self) -> Node:
        """The same node without its hooks."""
        made = object.__new__(type(self))
        for kind in type(self).__mro__:
            for name in getattr(kind, "__slots__", ()):
                if name != "__weakref__" and hasattr(self, name):
                    setattr(made, name, getattr(self, name))
        made.pre_hooks = made.post_hooks = made.node_pre_hooks = made.retains = None
        return made

    def release(self) -> None:
        """Free what backward needed; PyTorch keeps what are numbers to it, such as where a slice begins."""
        saved = self.saved
        name = self.form.name
        if type(saved) is HookedValues or (saved and name in SAVED_NUMBERS) or name == "CopySlices":
            self.saved = None
            return
        for v in saved or ():
            if not v.aval.wrapped:
                self.saved = None
                return

    def saved_values(self) -> tuple[Value, ...]:
        """The saved values, if they are still there and unmodified."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        if type(saved) is HookedValues:
            found = enumerate(zip(unpack_saved(saved), saved.items, strict=True))
            return tuple([
                v if held is None or v.guard is None or v is self.own else self._current(v, i) for i, (v, (held, _)) in found
            ])  # fmt: skip
        for v in saved:
            if v.guard is not None and v is not self.own:
                return tuple([u if u is self.own else self._current(u, i) for i, u in enumerate(saved)])
        return saved  # pyright: ignore[reportReturnType]

    def _current(self, v: Value, position: int) -> Value:
        """A saved value as it is in memory now; RuntimeError if it has been modified in a way that autograd counts."""
        edge = None
        form, roots = self.form, self.form.roots
        inputs = len(form.in_avals) if getattr(form, "has_extra", True) else 0
        if position < len(roots):
            kind, k = roots[position]
        else:
            position -= len(roots)
            kept = getattr(form, "kept", None)  # a compiled call's form has none
            kind, k = ("in", position) if kept is None or position < inputs else kept[position - inputs]
        unsaved = getattr(self.form, "is_unsaved", None)
        if unsaved is not None and unsaved(kind, k):
            return v
        if kind == "out":
            edge = (self, k)
        elif kind == "in" and k in self.form.wanted:
            edge = self.edges[self.form.wanted.index(k)]
        return current(v, edge, kind == "out")


class _SinkForm:
    """What a `GradientSink` node tells of itself."""

    wanted = in_avals = roots = ()
    n_out = 1
    name = ""


class GradientSink(Node):
    """Where gradients end of a view that requires one only because its base does: made before the base did, or where no
    gradient was recorded. To the user the view is a leaf; its gradient is dropped."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_SinkForm)

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        return []


saved_attribute: Any = None
saved_names: Any = None
raw_saved: Any = None
"""What a node shows of what it has saved: `_saved_NAME`, their names, `_raw_saved_NAME`. Set by autograd/saved_tensors.py."""
call_node: Any = None
"""(node, gradients): what a node that is called gives. Set by autograd/backward.py."""
unpack_saved: Any = None
"""(packed): the values of what hooks have packed. Set by tensor/tensor.py."""

hidden_kinds: set[Any] = {GradientSink}
"""Kinds of nodes that the user does not see: their tensors are leaves to him."""

entered_kinds: set[Any] = set()
"""Those of them at which the history of a transformed function's arguments begins (`torch.func`): gradients arrive there."""


def shown(node: Any) -> Any:
    """A tensor's node as the user sees it."""
    return None if type(node) in hidden_kinds else node


def current(v: Value, edge: Any, result: bool = False) -> Value:
    """A saved value as it is in memory now.

    edge, result: where it came from, and whether that is the node that saved it: for the message of the RuntimeError.
    """
    while isinstance(v.guard, Value):  # written through `.data`
        v = v.guard
    guard = v.guard
    if guard is None:
        return v
    version, expected, kind, layout = guard
    if version.n - version.hidden != expected:
        raise RuntimeError(_modified(v, edge, result))
    if kind == DETACHED and edge is not None and not result and isinstance(edge[0], Node):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
            "use out-of-place `.detach()` instead"
        )
    if version.memory is not None:
        return version.memory.now(v, layout)
    return v


def _modified(v: Value, edge: Any, result: bool) -> str:
    """PyTorch's message for a saved value that was modified."""
    version, expected = v.guard[:2]
    now = version.n - version.hidden
    node, index = edge if edge is not None else (None, 0)
    maker = ""
    if isinstance(node, Node):
        if v.guard[2] == VIEW:
            maker, index = "AsStrided", 0  # a view takes a new history when its base has been written
        else:
            maker = node_name(type(node) if result or version.by is None else version.by).split("Backward")[0]
    which = f", which is output {index} of {maker}," if maker else ""
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
        "changed in there or anywhere later. Good luck!"
        if Anomaly.enabled
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    device, scalar = v.aval.slot.device.type, scalar_name(v.aval.dtype)
    if device == "cpu" and (scalar == "BFloat16" or v.aval.dtype.is_complex):
        kind = f"CPU{scalar}Type"  # types that PyTorch has no older name for
    else:
        kind = f"torch.{'' if device == 'cpu' else device + '.'}{scalar}Tensor"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(v.aval.shape)}]{which} is at version {now}; expected "
        f"version {expected} instead. Hint: {hint}"
    )


class NodeHook:
    """A hook put on an AccumulateGrad node, among the hooks of its tensor."""

    __slots__ = ("hook",)

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, *grads: Any) -> Any:
        return self.hook(*grads)


leaf_hooks: list[bool] = []
"""Not empty once some leaf has had a hook: then leaves get their gradients as soon as these are complete."""


_accumulators: weakref.WeakValueDictionary[int, AccumulateGrad] = weakref.WeakValueDictionary()


def node_name(kind: type[Node]) -> str:
    """PyTorch's name of a kind of node."""
    name = kind.__name__
    return f"torch::autograd::{name}" if name in ("CopySlices", "CopyBackwards", "NotImplemented") else name


class AccumulateGrad:
    """The end of a graph path: adds to a leaf's `.grad`. Made on demand, for `next_functions`; hooks outlive it."""

    __module__ = "builtins"

    __slots__ = ("variable", "metadata", "__weakref__")

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.metadata: dict[Any, Any] = {}

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Nothing comes after."""
        return ()

    @property
    def requires_grad(self) -> bool:
        """Always: it stands for a leaf that requires a gradient."""
        return True

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"

    def register_hook(self, fn: Any, /) -> RemovableHandle:
        """Call `fn((), grad_outputs)` once the gradient has been accumulated."""
        return self.variable.register_post_accumulate_grad_hook(NodeHook(fn))

    def register_prehook(self, fn: Any, /) -> RemovableHandle:
        """Call `fn(grad_outputs)` before accumulation."""

        def adapted(grad: Any) -> Any:
            result = fn((grad,))
            return None if result is None else result[0]

        return self.variable.register_hook(NodeHook(adapted))


def accumulator(variable: Any) -> AccumulateGrad:
    """The AccumulateGrad node of a leaf: the same one as long as anything holds it."""
    found = _accumulators.get(id(variable))
    if found is None:
        found = _accumulators[id(variable)] = AccumulateGrad(variable)
    return found


_node_types: dict[str, type[Node]] = {}


def node_type(name: str) -> type[Node]:
    """The class of the nodes of one operation: programs read its `__name__`, such as 'AddBackward0'."""
    found = _node_types.get(name)
    if found is None:
        found = _node_types[name] = type(name, (Node,), {"__slots__": (), "__module__": "builtins"})
    return found


def public_edge(edge: Any) -> tuple[Any, int]:
    """An edge as `next_functions` shows it: a leaf tensor appears as its AccumulateGrad."""
    target, index = edge
    if type(target) is GradientSink:
        return None, 0
    return (target, index) if isinstance(target, Node) else (accumulator(target), 0)
