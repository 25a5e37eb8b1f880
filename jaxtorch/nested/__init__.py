"""`torch.nested`: tensors of different sizes as one, in PyTorch's two layouts (torch.strided and torch.jagged)."""

from __future__ import annotations

import itertools
from typing import Any

from .._core.define.op import functions
from .._core.dispatch.torch_function import disable_subclass
from .._core.tensor.tensor import Tensor
from .._ops.types import constants
from ._tensor import NestedTensor as _NestedTensor
from ._tensor import Ragged as _Ragged
from ._tensor import _flat, _like, _made

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _ragged(layout: Any) -> _Ragged | None:
    if layout not in (None, constants.strided, constants.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return _Ragged() if layout is constants.jagged else None


def _checked(parts: list[Any], jagged: bool) -> list[Any]:
    """The tensors for a nested tensor, of one rank each; for a jagged one, some, and different in one dimension at most."""
    if jagged and not parts:
        raise RuntimeError("a nested tensor of the layout torch.jagged needs at least one tensor")
    for i, p in enumerate(parts):
        if p.dim() != parts[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {p.dim()} for Tensor at index {i} and dimension {parts[0].dim()} for Tensor at index {i - 1}."
            )
    if jagged and sum(len(set(n)) > 1 for n in zip(*[tuple(p.shape) for p in parts], strict=True)) > 1:
        raise RuntimeError(
            "torch.nested.nested_tensor: with layout=torch.jagged the tensors may differ in one dimension only"
        )
    return parts


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A nested tensor, a leaf, of copies of the tensors (or lists of numbers) in a list."""
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    ragged = _ragged(layout)
    parts = [x.detach() if isinstance(x, Tensor) else functions["tensor"](x) for x in tensor_list]
    dtype = parts[0].dtype if dtype is None and parts else dtype
    parts = [p.to(device=device or p.device, dtype=dtype) for p in _checked(parts, ragged is not None)]
    with disable_subclass():
        return _like(packed := _made(parts, ragged), _flat(packed)).requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of a list of tensors, or of a tensor's rows, with their history."""
    if isinstance(ts, _NestedTensor):
        return ts
    if not isinstance(ts, (list, tuple, Tensor)):
        raise TypeError(
            f"as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors, got {type(ts)}"
        )
    ragged = _ragged(layout)
    parts = list(ts.unbind(0)) if isinstance(ts, Tensor) else list(ts)
    dtype = parts[0].dtype if dtype is None and parts else dtype
    return _made([p.to(device=device or p.device, dtype=dtype) for p in _checked(parts, ragged is not None)], ragged)


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """A nested tensor of the layout torch.jagged from packed values: part i is `values[offsets[i] : offsets[i + 1]]`, or has
    lengths[i] elements. The offsets are read. Padding makes parts `max_seqlen` long, or as long as all of them, unless told."""
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    dim = (1 if jagged_dim is None else jagged_dim) - 1
    if offsets is None:
        sizes = lengths.tolist()  # pyright: ignore[reportOptionalMemberAccess]
        starts = [0, *itertools.accumulate(sizes[:-1])]
    else:
        ends: list[int] = offsets.tolist()
        starts = ends[:-1]
        sizes = [b - a for a, b in itertools.pairwise(ends)] if lengths is None else lengths.tolist()
    parts = [values.narrow(dim, a, n) for a, n in zip(starts, sizes, strict=True)]
    padded = values.shape[dim] if max_seqlen is None and lengths is None else max_seqlen
    return _made(parts, _Ragged(padded), dim + 1)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = None) -> Tensor:
    """Of row i of `tensor`, length[i] elements from start[i] on, as a nested tensor. `dim` must be 1; PyTorch has views here."""
    if dim != 1:
        raise RuntimeError("torch.nested.narrow: only dim=1 is possible")
    n = tensor.shape[0]
    starts, lengths = ([x] * n if isinstance(x, int) else x.tolist() for x in (start, length))
    return _made([tensor[i].narrow(0, starts[i], lengths[i]) for i in range(n)], _ragged(layout))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of each row where `mask` is True, as a nested tensor of the layout torch.jagged."""
    if tensor.layout is not constants.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    x, m = functions["broadcast_tensors"](tensor, mask)
    return _made([a[b] for a, b in zip(x.unbind(0), m.unbind(0), strict=True)], _Ragged())


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """A plain tensor with `padding` behind the elements of each part; its shape is `output_size` or that of the largest parts."""
    if out is not None:
        raise NotImplementedError("to_padded_tensor: jaxtorch has no out= here")
    if not isinstance(input, _NestedTensor):
        raise RuntimeError("to_padded_tensor: expected a nested tensor")
    return input.to_padded_tensor(padding, output_size)
