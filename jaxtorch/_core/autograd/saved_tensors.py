"""What a node has saved, under PyTorch's names: `grad_fn._saved_self`, `_saved_result`, `_saved_dim`, and `_raw_saved_self`."""

from __future__ import annotations

import gc
import math
import re
from typing import Any

import numpy as np

from ..graph import nodes
from ..graph.nodes import OF_LAYERS, SAVED_NUMBERS, HookedValues, Node
from ..tensor.tensor import Tensor, apply_pack_hook, from_host, wrap
from ..tensor.views import detached
from ..types.grad_mode import no_grad
from ..types.value import Value

_INDICES = {"indices": ("out", 1)}
_OTHER_NAMES: dict[str, dict[str, Any]] = {
    "MmBackward0": {"mat2": "other"},
    "AddmmBackward0": {"mat1": "input"},
    "EmbeddingBackward0": {"indices": "input"},
    **dict.fromkeys(
        ("TopkBackward0", "SortBackward0", "SortBackward1", "MaxBackward0", "MinBackward0", "KthvalueBackward0",
         "ModeBackward0", "MedianBackward1", "NanmedianBackward1", "CummaxBackward0", "CumminBackward0"), _INDICES
    ),
    "LinalgQrBackward0": {"Q": ("out", 0), "R": ("out", 1)},
    "LinalgEighBackward0": {"eigenvalues": ("out", 0), "eigenvectors": ("out", 1)},
    "LinalgCholeskyExBackward0": {"L": ("out", 0)},
}  # fmt: skip
"""What else PyTorch calls operands and results, for each kind of node."""

_UNSIGNED = frozenset(
    "dim dim0 dim1 dim2 dims index start end shifts offset diagonal padding_idx ignore_index k".split()
)
"""Static arguments that PyTorch shows as numbers without a sign: -1 is 18446744073709551615."""

_CODES = {
    "reduction": {"none": 0, "mean": 1, "sum": 2},
    "padding_mode": {"zeros": 0, "border": 1, "reflection": 2},
    "interpolation_mode": {"bilinear": 0, "nearest": 1, "bicubic": 2},
    "mode": {"sum": 0, "mean": 1, "max": 2},
}
"""Words that are numbers to PyTorch's derivatives."""

_LISTS_OF_DIMS = re.compile(r"(Sum|Mean|Norm)Backward1|(Std|Var|Logsumexp|Amax|Amin|LinalgVectorNorm|Fft...)Backward0")
_WINDOWED = re.compile(r"Convolution|Pool[123]D|Im2Col|Col2Im")
_WINDOW = frozenset(("kernel_size", "stride", "padding", "dilation", "output_padding"))
_SIZES = re.compile(r"(\w+)_sym_(sizes|numel|argsize_(?:minus_)?\d)|(\w+)_dim")
_UPSAMPLED = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def saved_attribute(node: Node, name: str) -> Any:
    """`node._saved_<name>`: a tensor, a static argument, or None for an operand that backward does not need.

    AttributeError for what the operation has not; RuntimeError once the graph has been freed.
    """
    form = node.form
    op = getattr(getattr(form, "entry", None), "op", None)
    place = None if op is None else _place(node, name)
    if op is None or place == (None, 0):
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")
    if place is not None:
        if isinstance(place, list):
            return tuple([None if p is None else _saved_value(node, *p) for p in place])
        return _saved_value(node, *place)
    return _plain(node, name)


def _operand(node: Node, name: str) -> int | None:
    """The input that an operand's name means, or None."""
    operands = node.form.entry.operand_names
    if len(operands) == len(node.form.in_avals):
        for asked in (name, "input", "x") if name == "self" else (name,):
            if operands.count(asked) == 1:
                return operands.index(asked)
    return None


def _place(node: Node, name: str) -> Any:
    """Where `_saved_<name>` is: ("in", i) or ("out", k), a list of these and None, None for what is no tensor, and (None, 0)
    where there is no such name."""
    form = node.form
    kind = type(node).__name__
    operands = form.entry.operand_names
    if kind == "IndexBackward0" and name == "indices":
        numbers = iter([i for i, n in enumerate(operands) if n == "indices"])
        pattern = _statics(node).get("pattern", ())
        return [("in", next(numbers)) if used else None for used in pattern]
    if name not in operands:
        name = _OTHER_NAMES.get(kind, {}).get(name, name)
        if not isinstance(name, str):
            return name
    found = _operand(node, name)
    if found is not None:
        return ("in", found)
    place = int(name[6:] or 0) if name == "result" or (name.startswith("result") and name[6:].isdigit()) else -1
    if place >= 0:
        return ("out", place) if _position(node, "out", place) is not None else (None, 0)
    return None if _plain(node, name, missing=...) is not ... else (None, 0)


def _statics(node: Node) -> dict[str, Any]:
    entry = node.form.entry
    return dict(zip([p.name for p in entry.op.statics], entry.static, strict=False))


def _plain(node: Node, name: str, missing: Any = None) -> Any:
    """A static argument as PyTorch's derivative keeps it, or something about an operand's shape."""
    form, kind, statics = node.form, type(node).__name__, _statics(node)
    if name in statics or (name == "interpolation_mode" and "mode" in statics):
        given = statics["mode" if name == "interpolation_mode" else name]
        p = next((p for p in form.entry.op.statics if p.name == name), None)
        if p is not None and p.kind == "number" and isinstance(given, tuple):
            return given[1]
        return _as_kept(node, kind, name, given)
    asked = _SIZES.fullmatch(name)
    found = None if asked is None else _operand(node, asked[1] or asked[3])
    if asked is not None and found is not None:
        shape = form.in_avals[found].shape
        if asked[3]:
            return len(shape)
        if asked[2] == "sizes":
            return shape
        return (
            math.prod(shape) if asked[2] == "numel" else shape[int(asked[2][-1]) * (-1 if "minus" in asked[2] else 1)]
        )
    if kind.startswith("Upsample"):
        factors = statics["factors"]
        shown = {"output_size": statics["size"], **dict(zip(_UPSAMPLED[len(statics["size"])], factors, strict=False))}
        return shown.get(name, missing)
    if kind == "SliceBackward0" and name in ("start", "end"):
        return 0 if name == "start" else statics["length"]
    if kind == "ConvolutionBackward0" and name in ("transposed", "output_padding", "bias_sym_sizes_opt"):
        return _of_convolution(node, name)
    if kind == "SplitBackward0" and name == "split_size":
        return statics["sizes"][0]
    if form.entry.op.name == "square" and name == "exponent":
        return 2
    for p in form.entry.op.operands:
        if p.name == name and not p.required:
            return p.default
    return missing


def _of_convolution(node: Node, name: str) -> Any:
    if name == "transposed":
        return "transpose" in node.form.entry.op.name
    if name == "output_padding":
        return (0,) * (len(node.form.in_avals[0].shape) - 2)
    bias = _operand(node, "bias")
    return (0,) if bias is None else node.form.in_avals[bias].shape


def _as_kept(node: Node, kind: str, name: str, given: Any) -> Any:
    if isinstance(given, str):
        return _CODES.get(name, {}).get(given, given)
    if name == "dim" and _LISTS_OF_DIMS.fullmatch(kind) and isinstance(given, int):
        given = (given,)
    if name in _WINDOW and _WINDOWED.search(kind):
        n = len(node.form.in_avals[0].shape) - 2
        given = () if given is None else given if isinstance(given, tuple) else (given,) * n
    if name == "shifts" and isinstance(given, int):
        given = (given,)
    if name in _UNSIGNED:
        return tuple(map(_unsigned, given)) if isinstance(given, tuple) else _unsigned(given)
    return given


def _unsigned(number: Any) -> Any:
    return number + 2**64 if isinstance(number, int) and number < 0 else number


def saved_names(node: Node) -> list[str]:
    """What `dir(grad_fn)` lists of it: the operands that backward needs, static arguments that were given, and results."""
    form = node.form
    op = getattr(getattr(form, "entry", None), "op", None)
    if op is None:
        return []
    operands = form.entry.operand_names
    found = [p.name for p, s in zip(op.statics, form.entry.static, strict=False) if s is not None]
    if len(operands) == len(form.in_avals):
        first = "input" if form.name in OF_LAYERS else "self"
        names = [operands[k] for kind, k in form.roots if kind == "in" and operands.count(operands[k]) == 1]
        found += [first if name == "input" else name for name in names]
    outs = [k for kind, k in form.roots if kind == "out"]
    found += ["result" if len(form.out_avals) == 1 else f"result{k}" for k in outs]
    return sorted("_saved_" + name for name in found)


def _position(node: Node, kind: str, k: int) -> int | None:
    """Where among the saved values an operand ("in") or a result ("out") is: those that backward reads come first, then the
    inputs from which others are computed again, then those that are kept because PyTorch keeps them."""
    form = node.form
    if (kind, k) in form.roots:
        return form.roots.index((kind, k))
    inputs = len(form.in_avals) if getattr(form, "has_extra", False) else 0
    if kind == "in" and k < inputs:
        return len(form.roots) + k
    kept = getattr(form, "kept", None) or ()
    return len(form.roots) + inputs + kept.index((kind, k)) if (kind, k) in kept else None


def _owner(value: Value, edge: Any) -> Any:
    """The tensor whose value a node has saved, if the program still has it. Nothing leads there, so that it costs no step of a
    training loop anything: the garbage collector knows who holds the value."""
    for holder in gc.get_referrers(value):
        if not isinstance(holder, Tensor) or holder._value is not value:
            continue
        if edge is None or (holder._node, holder._index) == tuple(edge):
            return holder
    return None


def _saved_value(node: Node, kind: str, k: int) -> Any:
    form = node.form
    position = _position(node, kind, k)
    if position is None:
        return None
    value: Value = node.saved_values()[position]
    hooked = type(node.saved) is HookedValues and node.saved.items[position][0] is None
    if value.aval.wrapped:
        number = np.asarray(value.array)
        return from_host(number) if form.name in SAVED_NUMBERS else number.item()
    edge = (node, k) if kind == "out" else None
    if kind == "in" and k in form.wanted:
        edge = node.edges[form.wanted.index(k)]
        if not isinstance(edge[0], Node) and not hooked:
            return edge[0]
    owner = None if hooked else _owner(value, edge)
    if owner is not None and kind == "in":
        return owner
    t = wrap(value) if owner is None else detached(owner)  # on the memory of what the operation gave
    if edge is not None and (value.aval.dtype.is_floating_point or value.aval.dtype.is_complex):
        t._node, t._index, t._rg = edge[0], edge[1], True
    return t


class SavedTensor:
    """What `grad_fn._raw_saved_self` is: a tensor that a node has saved, to which hooks can be given."""

    __module__ = "jaxtorch._C._autograd"

    __slots__ = ("_node", "_place")

    def __init__(self, node: Node, place: tuple[str, int] | None) -> None:
        self._node = node
        self._place = place

    @property
    def data(self) -> Any:
        """The saved tensor, what a hook has made of it, or None."""
        node, place = self._node, self._place
        position = None if place is None else _position(node, *place)
        if position is not None and type(node.saved) is HookedValues and node.saved.items[position][0] is None:
            thing = node.saved.items[position][1]
            return thing.made if type(thing) is _Hooked else thing
        return None if place is None else _saved_value(node, *place)

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Save `pack_hook(tensor)` in place of the tensor, and take `unpack_hook(that)` for it when it is needed."""
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): incompatible function arguments. They must be two functions")
        node, place = self._node, self._place
        position = None if place is None else _position(node, *place)
        if node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
                "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
                "the graph a second time or if you need to access saved variables after calling backward."
            )
        if position is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        saved = node.saved
        things = saved.items if type(saved) is HookedValues else [(v, None) for v in saved]
        if things[position][0] is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                "allowed at a time."
            )
        unpack = saved.unpack if type(saved) is HookedValues else None
        with no_grad():
            made = apply_pack_hook(pack_hook, self.data)
        each = [
            (v, thing) if v is not None or type(thing) is _Hooked else (None, _Hooked(thing, unpack))
            for v, thing in things
        ]
        each[position] = (None, _Hooked(made, unpack_hook))
        node.saved = HookedValues(each, _unpack)  # pyright: ignore[reportAttributeAccessIssue]


class _Hooked:
    """What one hook has made of a saved tensor, with the hook that turns it back."""

    __slots__ = ("made", "unpack")

    def __init__(self, made: Any, unpack: Any) -> None:
        self.made = made
        self.unpack = unpack


def _unpack(thing: _Hooked) -> Any:
    return thing.unpack(thing.made)


def raw_saved(node: Node, name: str) -> Any:
    """`node._raw_saved_<name>`, where that is a tensor or a list of tensors."""
    op = getattr(getattr(node.form, "entry", None), "op", None)
    place = None if op is None else _place(node, name)
    if place is None or place == (None, 0):
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
    if isinstance(place, list):
        if node.saved is None:
            node.saved_values()
        return tuple([SavedTensor(node, p) for p in place])
    return SavedTensor(node, place)


nodes.saved_attribute, nodes.saved_names, nodes.raw_saved = saved_attribute, saved_names, raw_saved
