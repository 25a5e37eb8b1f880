"""What the nodes of a pytree are, and the descriptions of trees: behind `torch.utils._pytree`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .._core.types import structseq as _structseq
from .._core.types.warn_once import warn as _warn
from ._pytree_keys import GetAttrKey, MappingKey, SequenceKey

Context = Any
PyTree = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]
DumpableContext = Any
ToDumpableContextFn = Callable[[Any], Any]
FromDumpableContextFn = Callable[[Any], Any]


# -- what is a node


class NodeDef(NamedTuple):
    """How objects of a type become children and a context, and come back."""

    type: type
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


class _Serial(NamedTuple):
    name: str | None
    to_dumpable: ToDumpableContextFn | None
    from_dumpable: FromDumpableContextFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _Serial] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make objects of a class nodes: `flatten_fn(x)` gives children and context, `unflatten_fn(children, context)` an object.

    ValueError where the class is registered, or where only one of the functions for its context is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serial(serialized_type_name, to_dumpable_context, from_dumpable_context)
    if serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(
    cls: type, flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, *unused: Any, **kwargs: Any
) -> None:
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _deregister_pytree_node(cls: type) -> None:
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).name
    if name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type, *, field_names: Any = None, drop_field_names: Any = None, serialized_type_name: str | None = None
) -> None:
    """Make a dataclass a node whose children are its fields. A field that is None goes into the context."""
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    if drop_field_names is not None:
        names = [n for n in names if n not in drop_field_names]
    elif field_names is not None:
        if set(field_names) != set(names):
            raise ValueError(
                f"register_dataclass(): field_names {list(field_names)} differ from the init fields {names}"
            )
        names = list(field_names)

    def split(obj: Any) -> tuple[list[str], list[str]]:
        some = [n for n in names if getattr(obj, n) is not None]
        return some, [n for n in names if getattr(obj, n) is None]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        some, none = split(obj)
        return [getattr(obj, n) for n in some], [some, none]

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        some, none = split(obj)
        return [(GetAttrKey(n), getattr(obj, n)) for n in some], [some, none]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        some, none = context
        return cls(**dict(zip(some, values, strict=True)), **dict.fromkeys(none))

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of an object that is all context."""

    value: Any


def register_constant(cls: type) -> None:
    """Make objects of a class nodes without children. They have to have `==` and `hash` of their own."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"register_constant(cls): {cls} has the default `==`, which compares identity; define __eq__")
    if cls.__hash__ is None:
        raise TypeError(f"register_constant(cls): {cls} has no __hash__")
    register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Is it registered by `register_constant`?"""
    return cls in CONSTANT_NODES


def is_namedtuple_class(cls: Any) -> bool:
    """Is it a class of named tuples?"""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(f, str) for f in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Is it a named tuple?"""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Is it a named tuple, or a class of them?"""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Is it a class of tuples with names such as `torch.return_types.max`?"""
    return isinstance(cls, type) and issubclass(cls, _structseq.StructSequence)


def is_structseq_instance(obj: Any) -> bool:
    """Is it such a tuple?"""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Is it such a tuple, or a class of them?"""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _register_builtin() -> None:
    def sequence(kind: Any, name: str, context: Callable[[Any], Any], make: Callable[[Any, Any], Any]) -> None:
        register_pytree_node(
            kind,
            lambda x: (list(x), context(x)),
            make,
            serialized_type_name=name,
            flatten_with_keys_fn=lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], context(x)),
        )

    def mapping(kind: Any, name: str, context: Callable[[Any], Any], make: Callable[[Any, Any], Any]) -> None:
        register_pytree_node(
            kind,
            lambda d: (list(d.values()), context(d)),
            make,
            serialized_type_name=name,
            flatten_with_keys_fn=lambda d: ([(MappingKey(k), v) for k, v in d.items()], context(d)),
        )

    sequence(tuple, "builtins.tuple", lambda x: None, lambda v, _: tuple(v))
    sequence(list, "builtins.list", lambda x: None, lambda v, _: list(v))
    sequence(deque, "collections.deque", lambda x: x.maxlen, lambda v, n: deque(v, maxlen=n))
    mapping(dict, "builtins.dict", list, lambda v, k: dict(zip(k, v, strict=True)))
    mapping(OrderedDict, "collections.OrderedDict", list, lambda v, k: OrderedDict(zip(k, v, strict=True)))
    mapping(
        defaultdict,
        "collections.defaultdict",
        lambda d: [d.default_factory, list(d)],
        lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True)),
    )
    register_pytree_node(
        namedtuple,  # pyright: ignore[reportArgumentType]
        lambda x: (list(x), type(x)),
        lambda v, cls: cls(*v),
        serialized_type_name="collections.namedtuple",
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(f), getattr(x, f)) for f in x._fields], type(x)),
    )


def _register_structseq(kind: type) -> None:
    register_pytree_node(
        kind,
        lambda x: (list(x), None),
        lambda v, _: kind(v),
        flatten_with_keys_fn=lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], None),
    )


_register_builtin()
for _kind in vars(_structseq.types).values():
    _register_structseq(_kind)
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return namedtuple
    return kind


def _parts(kind: Any) -> tuple[Any, Any, Any]:
    node = SUPPORTED_NODES[kind]
    return node.flatten_fn, node.unflatten_fn, node.flatten_with_keys_fn


_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = _parts(tuple)
_list_flatten, _list_unflatten, _list_flatten_with_keys = _parts(list)
_deque_flatten, _deque_unflatten, _deque_flatten_with_keys = _parts(deque)
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = _parts(dict)
_ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys = _parts(OrderedDict)
_defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys = _parts(defaultdict)
_namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys = _parts(namedtuple)


# -- descriptions


@dataclasses.dataclass(frozen=True, init=False, eq=True, repr=False)
class TreeSpec:
    """What a tree is without its leaves: a node type, its context and its children. A leaf has the type None."""

    type: Any
    _context: Any
    _children: list[TreeSpec]
    num_nodes: int = dataclasses.field(compare=False)
    num_leaves: int = dataclasses.field(compare=False)
    num_children: int = dataclasses.field(compare=False)

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        children = list(children_specs)
        put = object.__setattr__
        put(self, "type", type)
        put(self, "_context", context)
        put(self, "_children", children)
        leaf = type is None
        put(self, "num_nodes", 1 + sum(c.num_nodes for c in children))
        put(self, "num_leaves", 1 if leaf else sum(c.num_leaves for c in children))
        put(self, "num_children", len(children))

    @property
    def context(self) -> Any:
        """What the node is besides its children: the keys of a dictionary, for instance."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The children's descriptions."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The children's descriptions."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """One child's description."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Is the whole tree a leaf?"""
        return self.type is None

    def __hash__(self) -> int:
        context = self._context
        if isinstance(context, list):
            context = tuple(context)
        try:
            return hash((self.type, context, tuple(self._children)))
        except TypeError:
            return hash((self.type, tuple(self._children)))

    def __str__(self) -> str:
        return self.__repr__()

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        name = self.type.__name__
        prefix = f"TreeSpec({name}, {self._context!r}, ["
        inner = indent + 2
        parts = [child.__repr__(inner) for child in self._children]
        return prefix + (",\n" + " " * inner).join(parts) + "])"

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this description has leaves. ValueError where the trees differ above."""
        if self.is_leaf():
            return [tree]
        kind = _get_node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind != self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if both_dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(keys)}, but got {list(tree)}.")
            children = [tree[k] for k in keys]
        elif len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        elif kind is not deque and context != self._context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}.")
        return [
            part for spec, child in zip(self._children, children, strict=True) for part in spec.flatten_up_to(child)
        ]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves; ValueError where there are more or fewer."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)


PyTreeSpec = TreeSpec


class _LeafSpecMeta(type(TreeSpec)):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The description of a leaf."""

    def __new__(cls) -> Any:
        _warn(
            "`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec) and treespec.is_leaf()` instead.",
            FutureWarning,
        )
        return _LEAF


_LEAF = TreeSpec(None, None, [])
_LEAF_SPEC = _LEAF


def treespec_leaf() -> TreeSpec:
    """The description of a leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The description of a tuple of trees."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The description of a dictionary of trees."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), items.values())


for _kind in (NodeDef, ConstantNode, TreeSpec, LeafSpec):
    _kind.__module__ = "jaxtorch.utils._pytree"
