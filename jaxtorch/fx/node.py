"""`Node`: one step of a graph."""

from __future__ import annotations

import builtins
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .._namespace.symbols import _assert
from ..overrides import resolve_name

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Any
Argument = Any
BaseArgumentTypes = Any

_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effects: set[Any] = {_assert}
_JAXTORCH = re.compile(r"\bjaxtorch\b")


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one whose calls stay, though nothing uses their results."""
    _side_effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists, dictionaries and slices with `fn` of everything else."""
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list(map_aggregate(x, fn) for x in a)
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Nested arguments with `fn` of every node."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _immutable(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
        "torch.fx.Node object, instead create a new copy of it and assign the copy to the node"
    )


class immutable_list(list):
    """A list among a node's arguments."""

    __module__ = "jaxtorch.fx.immutable_collections"

    append = clear = extend = insert = pop = remove = reverse = sort = __setitem__ = __delitem__ = __iadd__ = _immutable

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dictionary among a node's arguments."""

    __module__ = "jaxtorch.fx.immutable_collections"

    clear = pop = popitem = setdefault = update = __setitem__ = __delitem__ = _immutable

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


_BUILTIN = frozenset(
    """avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus
    softshrink""".split()
)
_TOP = frozenset(
    """adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity hardshrink pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_
    threshold_""".split()
)
_FUNCTIONAL = frozenset(
    """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum lu
    meshgrid norm split stft tensordot unique unique_consecutive unravel_index""".split()
)


_ELSEWHERE = {
    "torch.nn.functional.logsigmoid": "torch._C._nn.log_sigmoid",
    "torch.nn.functional.threshold": "torch.nn.functional._threshold",
}


def _address(known: str) -> str:
    """Where PyTorch has a function that goes by this name: 'torch._C._nn.gelu' for 'torch.nn.functional.gelu'."""
    if known in _ELSEWHERE:
        return _ELSEWHERE[known]
    where, _, name = known.rpartition(".")
    if where == "torch.nn.functional" and name in _BUILTIN:
        return f"torch._C._nn.{name}"
    if where == "torch.nn.functional" and name in _TOP:
        return f"torch.{name}"
    if where == "torch" and name in _FUNCTIONAL:
        return f"torch.functional.{name}"
    space = where.removeprefix("torch.")
    if space in ("linalg", "fft", "special"):
        return f"torch._C._{space}.{space}_{name}"
    return known


def qualified_name(func: Callable[..., Any]) -> str:
    """The name under which a program finds a function: 'torch.nn.functional.relu', 'operator.add', 'len'."""
    if getattr(builtins, getattr(func, "__name__", ""), None) is func:
        return func.__name__
    known = resolve_name(func)
    if known is not None:
        return _address(known)
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__name__}.{func.__name__}"
    module = str(getattr(func, "__module__", "") or "").replace("_operator", "operator")
    if module == "jaxtorch" or module.startswith("jaxtorch."):
        if getattr(sys.modules["jaxtorch"], getattr(func, "__name__", ""), None) is func:
            module = "jaxtorch"
        module = "torch" + module.removeprefix("jaxtorch")
    return f"{module}.{getattr(func, '__name__', type(func).__name__)}"


_get_qualified_name = qualified_name


def type_text(kind: Any) -> str:
    """A type under the name that PyTorch shows: 'int', 'torch.Tensor', 'typing.List[int]'."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        return f"{_JAXTORCH.sub('torch', kind.__module__)}.{kind.__qualname__}"
    return "..." if kind is ... else _JAXTORCH.sub("torch", repr(kind))


class Node:
    """One step of a graph.

    op: 'placeholder' (an input, named by target), 'get_attr' (target: a path to an attribute), 'call_function' (target: the
    function), 'call_method' (target: a method's name; args[0] is its object), 'call_module' (target: a path to a module)
    or 'output' (args[0] is the result). users: the nodes that use this one, as the keys of a dictionary.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], return_type: Any = None
    ) -> None:  # fmt: skip
        if op not in _OPS:
            raise AssertionError(f"Node op must be one of {', '.join(_OPS)}, got {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target: Any = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._set(args, kwargs)

    # -- arguments

    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Change one argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put an argument before another."""
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Change one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node wherever `old_input` is an argument."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:  # fmt: skip
        """Have this node's users use another one, where the callback says so; returns the users that were changed."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # -- place in the list

    @property
    def next(self) -> Node:
        """The next node of the graph."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move `x` to the place before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move `x` to the place after this node."""
        if self is not x:
            self._next.prepend(x)

    # -- the rest

    def is_impure(self, impure_random: bool = True) -> bool:
        """Does the node do more than give a result?"""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effects
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            module = owner.get_submodule(self.target) if owner is not None else None
            return bool(getattr(module, "_is_impure", False))
        return False

    @property
    def stack_trace(self) -> str | None:
        """Where in the program the node was recorded, where that was kept."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def format_node(self, *args: Any, **kwargs: Any) -> str | None:
        """The node in one line."""
        kind = "" if self.type is None else f": {type_text(self.type)} "
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return (
                f"%{self.name} {kind or ': '}[num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
            )
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        head = f"%{self.name} {kind or ': '}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_percent(self.args)}, kwargs = {_percent(self.kwargs)})"

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        name = qualified_name(target)
        return f"builtins.{name}" if "." not in name and getattr(target, "__module__", "") == "builtins" else name

    def __repr__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("'Node' object is not iterable")


def _percent(a: Any) -> str:
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return f"({', '.join(map(_percent, a))}{',' if len(a) == 1 else ''})"
    if isinstance(a, list):
        return f"[{', '.join(map(_percent, a))}]"
    if isinstance(a, dict):
        return f"{{{', '.join(f'{k}: {_percent(v)}' for k, v in a.items())}}}"
    return str(a)
