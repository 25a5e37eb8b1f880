"""Making tensors: from shapes, ranges, Python and NumPy data, and in the likeness of another tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity import ALL, BASIC, Dtype, X, attempt, code, row

A = X(2, 3)
WIDE = [Dtype(name) for name in ALL]
PYTHON = [
    1,
    1.5,
    True,
    1j,
    [1, 2],
    [1.0, 2],
    [True, False],
    [[1, 2], [3, 4]],
    [],
    [[]],
    [[1], [2.5]],
    (1, 2),
    range(3),
]
ARRAYS = [
    np.arange(3),
    np.float32(2),
    np.ones((2, 2)),
    np.array(True),
    np.array([1j]),
    np.zeros((0, 2), np.uint8),
]

CASES = [
    *[row(name, 2, 3).upto(0) for name in ("zeros", "ones")],
    *[row(name, (2, 3), dtype=Dtype(dtype)).upto(0) for name in ("zeros", "ones") for dtype in ("int64", "bool")],
    row("zeros", 0).upto(0),
    row("zeros", ()).upto(0),
    row("full", (2, 3), 7).upto(0),
    row("full", (2,), 1.5).upto(0),
    row("full", (2,), True).upto(0),
    row("full", (2,), 3, dtype=Dtype("float64")).upto(0),
    row("arange", 5).upto(0),
    row("arange", 1, 10, 3).upto(0),
    row("arange", 0.0, 1.0, 0.25).upto(0),
    row("arange", 5, 0, -2).upto(0),
    row("arange", 5, dtype=Dtype("float32")).upto(0),
    row("linspace", 0, 1, 5).upto(0),
    row("linspace", -3, 7, steps=4, dtype=Dtype("float64")).upto(0),
    row("logspace", 0, 2, 3).upto(0),
    row("eye", 3).upto(0),
    row("eye", 2, 4, dtype=Dtype("int64")).upto(0),
    row("zeros_like", A).on(*ALL).upto(0),
    row("ones_like", A).on(*BASIC).upto(0),
    row("full_like", A, 3).on(*BASIC).upto(0),
    row("zeros_like", A, dtype=Dtype("int32")).upto(0),
    row("tril_indices", 3, 4).upto(0),
    row("triu_indices", 3, 3, 1).upto(0),
    row("scalar_tensor", 2.5).upto(0),
    row("vander", X(3)).upto(0),
    row("hann_window", 6).upto(0),
    code("tensor_from_python", lambda torch: [attempt(lambda v=v: torch.tensor(v)) for v in PYTHON]).upto(0),
    code("as_tensor_from_python", lambda torch: [attempt(lambda v=v: torch.as_tensor(v)) for v in PYTHON]).upto(0),
    code("tensor_from_numpy", lambda torch: [torch.tensor(a) for a in ARRAYS]).upto(0),
    code("tensor_of_every_dtype", lambda torch: [torch.tensor([0, 1, 2], dtype=getattr(torch, d)) for d in ALL]).upto(
        0
    ),
    code("tensor_of_tensors", lambda torch: torch.tensor([torch.tensor(1.0), torch.tensor(2.0)])).upto(0),
    code("tensor_requires_grad", lambda torch: torch.tensor([1.0], requires_grad=True)).upto(0),
    code(
        "new_methods",
        lambda torch, x: [x.new_zeros(2), x.new_ones((2, 1)), x.new_full((2,), 3), x.new_tensor([1, 2])],
        A,
    )
    .on(*BASIC)
    .upto(0),
    code("empty_shapes", lambda torch: [torch.empty(2, 3).shape, torch.empty((0,), dtype=torch.int8).dtype]).upto(0),
    code("constructors", lambda torch: [torch.Tensor([1, 2]), torch.Tensor(2, 0), torch.LongTensor([1, 2])]).upto(0),
    code("default_dtype", lambda torch: _with_default(torch)).upto(0),
    code(
        "finfo",
        lambda torch: [
            torch.finfo(torch.float32).eps,
            torch.iinfo(torch.int8).max,
            torch.get_default_dtype(),
        ],
    ).upto(0),
    code(
        "cast",
        lambda torch, x: [x.to(torch.float64), x.to(x), x.type(torch.int32), x.type_as(torch.ones(1))],
        A,
    ).on(*BASIC),
    code(
        "to_is_self",
        lambda torch, x: [x.to(x.dtype) is x, x.float() is x, x.to("cpu") is x, x.contiguous() is x],
        A,
    ),
]


def _with_default(torch: Any) -> list[Any]:
    torch.set_default_dtype(torch.float64)
    try:
        return [torch.ones(2), torch.tensor(1.5), torch.tensor(1) / 2, torch.arange(1.0)]
    finally:
        torch.set_default_dtype(torch.float32)
