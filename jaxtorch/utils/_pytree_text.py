"""Descriptions of trees as JSON."""

from __future__ import annotations

import importlib
import json
from collections import defaultdict, namedtuple
from typing import Any

from . import _pytree_nodes as trees

_PROTOCOL = 1


def _dumpable(spec: Any) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    serial = trees.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if serial is None or serial.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with "
            "a `serialized_type_name` kwarg."
        )
    context = spec.context
    if serial.to_dumpable is not None:
        context = serial.to_dumpable(context)
    elif spec.type is namedtuple:
        context = f"{context.__module__}.{context.__qualname__}"
    elif spec.type is defaultdict:
        factory = context[0]
        named = None if factory is None else [factory.__module__, factory.__qualname__]
        context = {"default_factory_module": named and named[0], "default_factory_name": named and named[1],
                   "dict_context": context[1]}  # fmt: skip
    return {
        "type": serial.name,
        "context": json.dumps(context),
        "children_spec": [_dumpable(child) for child in spec.children()],
    }


def _load(name: str) -> Any:
    module, _, rest = name.rpartition(".")
    return getattr(importlib.import_module(module), rest)


def _loaded(found: dict[str, Any]) -> Any:
    if found["type"] is None:
        return trees.treespec_leaf()
    kind = trees.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(found["type"])
    if kind is None:
        raise NotImplementedError(f"{found['type']!r} is not a registered type of pytree nodes")
    context = json.loads(found["context"])
    serial = trees.SUPPORTED_SERIALIZED_TYPES[kind]
    if serial.from_dumpable is not None:
        context = serial.from_dumpable(context)
    elif kind is namedtuple:
        context = _load(context)
    elif kind is defaultdict:
        name = context["default_factory_name"]
        factory = None if name is None else _load(f"{context['default_factory_module']}.{name}")
        context = [factory, context["dict_context"]]
    return trees.TreeSpec(kind, context, [_loaded(child) for child in found["children_spec"]])


def treespec_dumps(treespec: Any, protocol: int | None = None) -> str:
    """A description as JSON. NotImplementedError for node types registered without a name."""
    if not isinstance(treespec, trees.TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps([_PROTOCOL, _dumpable(treespec)])


def treespec_loads(serialized: str) -> Any:
    """A description from its JSON."""
    protocol, found = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _loaded(found)


def treespec_pprint(treespec: Any) -> str:
    """A description as the tree it describes, with `*` for leaves."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([Star()] * treespec.num_leaves))
