"""A model's graph for TensorBoard: the functions called in one run, each within the module that calls it."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ..._core.tensor.tensor import Tensor
from ..._core.types.grad_mode import no_grad
from ...overrides import TorchFunctionMode
from .._pytree import tree_leaves


class _Recording(TorchFunctionMode):
    """Makes a node of each function that is called with tensors."""

    def __init__(self, model: Any, inputs: list[Tensor]) -> None:
        super().__init__()
        self.nodes: list[NodeDef] = []
        self.made: dict[int, str] = {}  # from tensors, which are kept alive, to their nodes
        self.kept: list[Any] = []
        self.counts: dict[str, int] = {}
        root = type(model).__name__
        self.scopes = [root]
        self.own = {}
        for path, module in model.named_modules():
            scope = "/".join(
                [root, *[f"{type(model.get_submodule(p)).__name__}[{p.rpartition('.')[2]}]" for p in _ancestors(path)]]
            )
            self.own[id(module)] = scope
            for name, t in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
                self._add(f"{scope}/{name}", "prim::GetAttr", [], [t])
        for x in inputs:
            self._add(self._unique("input/input"), "IO Node", [], [x])

    def _unique(self, name: str) -> str:
        n = self.counts[name] = self.counts.get(name, 0) + 1
        return f"{name}.{n}"

    def _add(self, name: str, op: str, inputs: list[str], outputs: list[Tensor]) -> None:
        sizes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in t.shape]) for t in outputs]
        attributes = {"attr": AttrValue(s=b"")}
        if sizes:
            attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=sizes))
        self.nodes.append(NodeDef(name=name, op=op, input=inputs, attr=attributes))
        self.made.update(dict.fromkeys(map(id, outputs), name))
        self.kept.extend(outputs)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = [t for t in tree_leaves(result) if isinstance(t, Tensor)]
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        if outputs and given:
            name = getattr(func, "__name__", type(func).__name__)
            sources = [self.made[id(t)] for t in given if id(t) in self.made]
            self._add(self._unique(f"{self.scopes[-1]}/{name}"), f"aten::{name}", sources, outputs)
        return result

    def enter(self, module: Any, args: Any) -> None:
        """Before a module's forward."""
        self.scopes.append(self.own.get(id(module), self.scopes[-1]))

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """After it."""
        self.scopes.pop()


def _ancestors(path: str) -> list[str]:
    """The paths of the modules that lead to one: 'a', 'a.b'."""
    parts = path.split(".") if path else []
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def of_model(model: Any, inputs: Any, verbose: bool) -> GraphDef:
    """The graph of `model(*inputs)`; RuntimeError, as it was raised, where the model cannot run."""
    args = tuple(inputs) if isinstance(inputs, (list, tuple)) else () if inputs is None else (inputs,)
    recording = _Recording(model, [t for t in tree_leaves(args) if isinstance(t, Tensor)])
    handles = []
    for module in model.modules():
        handles += [module.register_forward_pre_hook(recording.enter), module.register_forward_hook(recording.leave)]
    try:
        with no_grad(), recording:
            result = model(*args)
    finally:
        for handle in handles:
            handle.remove()
    for t in tree_leaves(result):
        if isinstance(t, Tensor) and id(t) in recording.made:
            recording._add(recording._unique("output/output"), "IO Node", [recording.made[id(t)]], [t])
    found = GraphDef(node=recording.nodes, versions=VersionDef(producer=22))
    if verbose:
        print(found)
    return found
