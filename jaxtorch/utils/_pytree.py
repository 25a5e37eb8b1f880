"""`torch.utils._pytree`: nested containers of Python objects as a list of leaves and a description of the rest.

Dictionaries keep their own order. None is a leaf (in JAX it is a node without children).
"""

from __future__ import annotations

import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._pytree_keys import GetAttrKey, KeyEntry, KeyPath, MappingKey, SequenceKey, key_get, keystr
from ._pytree_nodes import (  # noqa: F401
    _LEAF,
    _LEAF_SPEC,
    BUILTIN_TYPES,
    CONSTANT_NODES,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    Context,
    DumpableContext,
    FlattenFunc,
    FromDumpableContextFn,
    LeafSpec,
    NodeDef,
    PyTree,
    PyTreeSpec,
    ToDumpableContextFn,
    TreeSpec,
    UnflattenFunc,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _get_node_type,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _parts,
    _private_register_pytree_node,
    _register_pytree_node,
    _Serial,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)
from ._pytree_text import treespec_dumps, treespec_loads, treespec_pprint

__all__ = [
    "Context", "DumpableContext", "FlattenFunc", "FromDumpableContextFn", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec",
    "MappingKey", "NodeDef", "PyTree", "SequenceKey", "ToDumpableContextFn", "TreeSpec", "UnflattenFunc",
    "arg_tree_leaves", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "map_only", "register_constant",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
    "treespec_dict", "treespec_dumps", "treespec_leaf", "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip


# -- flattening

IsLeaf = Callable[[Any], bool] | None


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Is it no node, or does `is_leaf` say so?"""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after another."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments."""
    return [leaf for part in (*args, *kwargs.values()) for leaf in tree_iter(part)]


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves and the description of the rest. is_leaf: says of a node that it is to be taken as a leaf."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The description of a tree without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def _with_path(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    keyed = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if keyed is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in keyed(tree)[0]:
        yield from _with_path((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the path to it."""
    return list(_with_path((), tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with the path to it, and the description of the rest."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


# -- mapping


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with `func` of each leaf, and of what stands there in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` on each leaf; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]), maxlen=0)
    return tree


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, with the path to the leaf as the first argument of `func`."""
    keyed, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [k for k, _ in keyed], [x for _, x in keyed]
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(r) for r in rests]))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function leaves what is of other types as it is."""
    kinds = type_or_types_or_pred
    if isinstance(kinds, (type, tuple, types.UnionType)):
        chosen: Callable[[Any], bool] = lambda x: isinstance(x, kinds)  # noqa: E731
    elif callable(kinds):
        chosen = kinds  # pyright: ignore[reportAssignmentType]
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` on leaves of certain types, or for which a function is true."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map_` on leaves of certain types, or for which a function is true."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Is `pred` true of all leaves?"""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Is `pred` true of some leaf?"""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Is `pred` true of all leaves of certain types?"""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Is `pred` true of some leaf of certain types?"""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, kinds))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of `tree` spread over a description, a leaf standing for all below it. None where they do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind, other = _get_node_type(tree), treespec.type
    if treespec.is_leaf() or (kind != other and not {kind, other} <= STANDARD_DICT_TYPES):
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children:
        return None
    if kind in STANDARD_DICT_TYPES:  # the same keys; what stands there goes by position, as in PyTorch
        if set(tree) != set(treespec.context[1] if other is defaultdict else treespec.context):
            return None
    elif kind is not deque and context != treespec.context:
        return None
    pairs = zip(children, treespec.children(), strict=True)
    parts = [_broadcast_to_and_flatten(child, spec, is_leaf) for child, spec in pairs]
    return None if any(part is None for part in parts) else [leaf for part in parts for leaf in part or ()]
