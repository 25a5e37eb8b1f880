"""Indexing: reading and writing through slices, None, ..., masks and index tensors; gather and scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parity import ALL, BASIC, Case, I, M, V, X, code, row

A = X(4, 5)
B = X(2, 3, 4)
ROWS = V([0, 2, 2, 1], "int64", grad=False)


def get(name: str, index: Callable[[Any], Any]) -> Case:
    return code(f"get_{name}", lambda torch, x: x[index(torch)], X(3, 4, 5))


def put(name: str, index: Callable[[Any], Any], value: Callable[[Any, Any], Any] = lambda torch, x: 7) -> Case:
    def body(torch: Any, x: Any) -> Any:
        y = x.clone()
        alias = y.detach()
        y[index(torch)] = value(torch, x)
        return y, alias, y._version

    return code(f"set_{name}", body, X(3, 4, 5)).on("int64", "float32", "float64", "bool")


INDICES: dict[str, Callable[[Any], Any]] = {
    "int": lambda torch: 1,
    "negative": lambda torch: -1,
    "slice": lambda torch: slice(1, 3),
    "slice_step": lambda torch: (slice(None), slice(None, None, 2)),
    "slice_clipped": lambda torch: slice(-9, 99),
    "slice_empty": lambda torch: slice(2, 1),
    "ellipsis": lambda torch: (..., 1),
    "none": lambda torch: (None, 1, None, slice(1, 2)),
    "true": lambda torch: True,
    "false": lambda torch: False,
    "mixed": lambda torch: (1, ..., slice(None, 2)),
    "tensor": lambda torch: torch.tensor([2, 0, 0]),
    "tensor_negative": lambda torch: (slice(None), torch.tensor([-1, 0])),
    "list": lambda torch: [0, 2],
    "pair": lambda torch: (torch.tensor([0, 1]), torch.tensor([2, 3])),
    "pair_broadcast": lambda torch: (torch.tensor([[0], [2]]), torch.tensor([1, 3])),
    "pair_apart": lambda torch: (torch.tensor([0, 1]), slice(None), torch.tensor([2, 3])),
    "tensor_after_int": lambda torch: (1, slice(1, 3), torch.tensor([0, 4])),
    "zero_dim_tensor": lambda torch: torch.tensor(1),
    "mask": lambda torch: (torch.arange(60) % 3 == 0).reshape(3, 4, 5),
    "mask_rows": lambda torch: torch.tensor([True, False, True]),
    "mask_and_slice": lambda torch: (slice(None), torch.tensor([True, False, True, False]), slice(1, 3)),
    "mask_none_true": lambda torch: torch.zeros(3, dtype=torch.bool),
    "none_and_tensor": lambda torch: (None, torch.tensor([1, 0]), ..., 0),
    "uint8_is_int": lambda torch: torch.tensor([1, 0], dtype=torch.int32),
}

CASES = [
    *[get(name, index) for name, index in INDICES.items()],
    *[put(name, index) for name, index in INDICES.items()],
    put("slice_tensor", lambda torch: slice(0, 2), lambda torch, x: torch.arange(5)),
    put(
        "slice_other_dtype",
        lambda torch: (1, slice(1, 3)),
        lambda torch, x: torch.full((2, 5), 1.5, dtype=torch.float64),
    ),
    put(
        "pair_tensor",
        lambda torch: (torch.tensor([0, 1]), torch.tensor([2, 3])),
        lambda torch, x: torch.ones(2, 5, dtype=x.dtype),
    ),
    put(
        "mask_tensor",
        lambda torch: torch.tensor([True, False, True]),
        lambda torch, x: torch.ones(4, 1, dtype=x.dtype),
    ),
    code("set_gradients", lambda torch, x, y: _assign(x.clone(), (slice(1, 3), 0), y), A, X(2)),
    code("set_gradients_tensor", lambda torch, x, y: _assign(x.clone(), torch.tensor([3, 1]), y), A, X(2, 5)),
    code("set_gradients_mask", lambda torch, x, y: _assign(x.clone(), torch.arange(4) > 1, y), A, X(5)),
    row("index_select", A, 1, ROWS).on(*ALL),
    row("gather", A, 1, I(4, 2, high=5)).on(*BASIC),
    row("gather", A, 0, I(2, 5, high=4)),
    row("take_along_dim", A, I(4, 1, high=5), 1),
    row("take", A, I(3, high=20)),
    row("scatter", A, 1, V([[0, 2], [1, 4], [3, 0], [2, 1]], "int64", grad=False), X(4, 2)).on(*BASIC),
    row("scatter", A, 1, V([[0, 2], [1, 4]], "int64", grad=False), 3.5),
    row("scatter", A, 0, I(2, 5, high=4), X(2, 5), reduce="add").upto(0),
    row("scatter_add", A, 1, I(4, 3, high=5), X(4, 3)).on(*BASIC),
    row("scatter_reduce", A, 1, I(4, 3, high=5), X(4, 3), reduce="sum"),
    row("scatter_reduce", A, 1, I(4, 3, high=5), X(4, 3), reduce="amax").upto(1),
    row("scatter_reduce", A, 1, I(4, 3, high=5), X(4, 3), reduce="mean", include_self=False).upto(1),
    row("index_add", A, 0, ROWS, X(4, 5), alpha=2).on(*BASIC),
    row("index_copy", A, 0, V([3, 0], "int64", grad=False), X(2, 5)).on(*BASIC),
    row("index_fill", A, 1, V([3, 0], "int64", grad=False), 1.5).any_stride(),
    row("index_put", A, (V([0, 1], "int64", grad=False), V([2, 3], "int64", grad=False)), X(2)),
    row("index_put", A, (V([0, 0], "int64", grad=False),), X(5), accumulate=True),
    row("nonzero", V([[0, 1, 2], [3, 0, 0]])).on("bool", *BASIC).upto(0),
    row("nonzero", V([[0, 1, 2], [3, 0, 0]]), as_tuple=True).upto(0),
    row("argwhere", M(3, 3)).upto(0),
    row("select_scatter", A, X(5), 0, 2).any_stride(),
    row("slice_scatter", A, X(4, 2), 1, 1, 5, 2).any_stride(),
    row("diagonal_scatter", X(3, 3), X(3)).any_stride(),
    code("iterate", lambda torch, x: list(x), X(3, 2)),
    code("contains", lambda torch, x: [1.0 in torch.ones(2), 5.0 in torch.ones(2)], X(1)).upto(0),
]


def _assign(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target
