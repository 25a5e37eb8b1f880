"""Calls that must raise, with PyTorch's exception type and, where programs match on it, PyTorch's message."""

from __future__ import annotations

from typing import Any

from parity import I, M, V, X, bad

A = X(2, 3)
INDEX = V([0, 1], "int64", grad=False)

NO_TENSOR = """abs_ sin_ bernoulli broadcast_tensors atleast_2d conj flatten masked_select nonzero positive real unique
    nn.functional.dropout nn.functional.gumbel_softmax nn.functional.one_hot equal zeros_like""".split()
"""Functions that are told None where they expect a tensor first."""

CASES = [
    *[bad(name, None, *[A] * (name in ("masked_select", "equal"))) for name in NO_TENSOR],
    *[
        bad(name, A, match="must be Tensor, not NoneType", body=lambda torch, x, name=name: getattr(x, name)(None))
        for name in ("view_as", "reshape_as", "expand_as", "type_as", "masked_select", "equal")
    ],
    bad("reshape", A, body=lambda torch, x: x.reshape(6, foo=1)),
    bad("type", A, body=lambda torch, x: x.type(x)),
    *[
        bad(f"{name}_nothing", A, body=lambda torch, x, name=name: getattr(x, name)())
        for name in ("hsplit", "tensor_split")
    ],
    bad("hsplit_twice", A, body=lambda torch, x: x.hsplit([1], sections=2)),
    bad("add", A, X(4), match="must match the size of tensor"),
    bad("add", A, "text"),
    bad("add", A, None),
    bad("add", V([1, 2], "int64"), 1, alpha=1.5, match="alpha"),
    bad("sub", M(2), M(2), match="bool"),
    bad("neg", M(2)),
    bad("bitwise_and", A, A),
    bad("pow", V([1, 2], "int64"), -1, match="negative integer powers|Integers to negative"),
    bad("floor_divide", V([1], "int64"), 0, match="ZeroDivisionError"),
    bad("remainder", V([1], "int64"), 0, match="ZeroDivisionError"),
    bad("div", A, A, rounding_mode="up", match="rounding_mode"),
    bad("clamp", A, match="At least one of"),
    bad("no_such_function", A),
    bad("sum", A, dim=2, match="Dimension out of range"),
    bad("sum", A, dim=(0, 0), match="appears multiple times"),
    bad("mean", V([1, 2], "int64"), match="dtype|Long"),
    bad("max", X(0), match="specify the 'dim'|numel"),
    bad("argmax", X(0), match="Expected reduction dim|non-zero"),
    bad("amax", X(2, 0), dim=1, match="non-zero size|Expected reduction"),
    bad("median", A, dim=5),
    bad("softmax", A, dim=3),
    bad("reshape", A, (4, 2), match="is invalid for input of size"),
    bad("reshape", A, (-1, -1), match="only one dimension can be inferred"),
    bad("view", A, (4, 2), match="is invalid for input of size", body=lambda torch, x, shape: x.view(shape)),
    bad("view_of_transposed", A, match="view size is not compatible", body=lambda torch, x: x.t().view(6)),
    bad("expand", A, match="must match the existing size", body=lambda torch, x: x.expand(2, 4)),
    bad("expand_fewer", A, match="number of sizes provided|must be greater", body=lambda torch, x: x.expand(3)),
    bad("transpose", A, 0, 2, match="Dimension out of range"),
    bad("permute", A, (0, 0)),
    bad("permute", A, (0,)),
    bad("t", X(2, 3, 4), match="<= 2"),
    bad("unsqueeze", A, 4, match="Dimension out of range"),
    bad("narrow", A, 1, 2, 2, match="exceeds dimension size"),
    bad("select", A, 0, 5, match="out of range"),
    bad("chunk", A, 0),
    bad("split", A, [1, 3], match="split_with_sizes"),
    bad("cat", [], match="non-empty"),
    bad("cat", [A, X(3, 4)], match="must match except in dimension"),
    bad("stack", [A, X(3, 2)], match="equal size"),
    bad("as_strided", A, (4, 4), (4, 1), match="out of bounds"),
    bad("get_int", A, match="out of bounds", body=lambda torch, x: x[5]),
    bad("get_too_many", A, match="too many indices", body=lambda torch, x: x[0, 0, 0]),
    bad("get_negative_step", A, match="step must be greater than zero", body=lambda torch, x: x[::-1]),
    bad("get_float", A, body=lambda torch, x: x[1.0]),
    bad("get_text", A, body=lambda torch, x: x["a"]),
    bad("get_tensor", A, match="out of bounds|out of range", body=lambda torch, x: x[torch.tensor([0, 7])]),
    bad("get_mask", A, match="shape of the mask", body=lambda torch, x: x[torch.ones(3, dtype=torch.bool)]),
    bad("get_float_tensor", A, body=lambda torch, x: x[torch.tensor([0.5])]),
    bad("get_unbroadcastable", A, body=lambda torch, x: x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]),
    bad("set_shape", A, body=lambda torch, x: x.__setitem__(0, torch.ones(4))),
    bad("set_tensor", A, body=lambda torch, x: x.__setitem__(torch.tensor([7]), 1.0)),
    bad("set_dtype", A, match="dtypes match", body=lambda torch, x: _set_of_other_dtype(torch, x)),
    bad("index_select", A, 0, V([5], "int64", grad=False), match="out of range"),
    bad("index_select", A, 0, V([0.0])),
    bad("gather", A, 0, V([[5]], "int64", grad=False), match="out of bounds"),
    bad("gather", A, 0, V([5], "int64", grad=False)),
    bad("scatter", A, 0, V([[5]], "int64", grad=False), 1.0, match="out of bounds"),
    bad("index_add", A, 0, INDEX, X(3, 3)),
    bad("matmul", A, X(2, 3), match="cannot be multiplied"),
    bad("matmul", X(2, 3, 4), X(2, 3, 4)),
    bad("matmul", X(), X()),
    bad("mm", A, X(3), match="must be a matrix"),
    bad("mm", A, V([[1, 2], [3, 4], [5, 6]], "int64")),
    bad("bmm", X(2, 3, 4), X(3, 4, 2)),
    bad("dot", X(2), X(3)),
    bad("einsum", "ij,jk", A),
    bad("linalg.inv", V([[1.0, 1.0], [1.0, 1.0]]), match="singular"),
    bad("linalg.cholesky", V([[1.0, 2.0], [2.0, 1.0]]), match="positive-definite"),
    bad("linalg.inv", A, match="square"),
    bad("zeros", -1),
    bad("zeros", 2.5),
    bad("arange", 0, 5, -1, match="step"),
    bad("tensor_ragged", body=lambda torch: torch.tensor([[1], [1, 2]]), match="expected sequence of length"),
    bad("tensor_text", body=lambda torch: torch.tensor("text")),
    bad("tensor_none", body=lambda torch: torch.tensor([None])),
    bad("full", (2,), "x"),
    bad("tensor", [1], dtype="float32"),
    bad("item_of_many", A, match="cannot be converted to Scalar", body=lambda torch, x: x.item()),
    bad("bool_of_many", A, match="ambiguous", body=lambda torch, x: bool(x)),
    bad("bool_of_empty", X(0), match="ambiguous", body=lambda torch, x: bool(x)),
    bad("int_of_many", A, body=lambda torch, x: int(x)),
    bad("len_of_scalar", X(), match="0-d", body=lambda torch, x: len(x)),
    bad("iterate_scalar", X(), match="0-d", body=lambda torch, x: list(x)),
    bad("unknown_keyword", A, body=lambda torch, x: torch.sum(x, axes=1)),
    bad("missing_argument", A, body=lambda torch, x: torch.matmul(x)),
    bad(
        "requires_grad_int",
        body=lambda torch: torch.ones(2, dtype=torch.int64).requires_grad_(),
        match="floating point",
    ),
    bad("numpy_of_grad", A, body=lambda torch, x: x.requires_grad_().numpy(), match="requires grad"),
    bad(
        "out_of_grad",
        A,
        body=lambda torch, x: torch.add(x.requires_grad_(), 1, out=torch.zeros(2, 3)),
        match="out=",
    ),
    bad("to_nowhere", A, body=lambda torch, x: x.to("nowhere")),
    bad("sort", A, dim=3),
    bad("topk", A, 9),
    bad("multinomial", V([-1.0, 2.0]), 1),
    bad("multinomial", V([0.5, 0.5]), 3),
    bad("where", M(2), X(3), X(3)),
    bad("masked_fill", A, X(2, 3), 1.0),
    bad("nn.functional.linear", A, X(4, 2), match="cannot be multiplied"),
    bad("nn.functional.conv2d", X(1, 3, 4, 4), X(2, 4, 3, 3), match="channels"),
    bad("nn.functional.conv2d", X(1, 3, 2, 2), X(2, 3, 3, 3), match="Kernel size|kernel size"),
    bad("nn.functional.max_pool2d", X(4), 2),
    bad("nn.functional.layer_norm", A, (4,), match="normalized_shape"),
    bad("nn.functional.batch_norm", X(1, 3), None, None, training=True, match="more than 1 value"),
    bad("nn.functional.cross_entropy", A, V([0, 5], "int64", grad=False), match="out of bounds"),
    bad("nn.functional.cross_entropy", A, INDEX, reduction="average", match="not a valid value for reduction"),
    bad("nn.functional.cross_entropy", A, V([0, 1, 2], "int64", grad=False), match="batch_size|batch size"),
    bad("nn.functional.nll_loss", A, V([0.0, 1.0])),
    bad("nn.functional.embedding", V([9], "int64", grad=False), X(5, 2), match="out of range"),
    bad("nn.functional.embedding", V([0.5]), X(5, 2)),
    bad("nn.functional.one_hot", I(3, high=9), 2),
    bad("nn.functional.dropout", A, p=1.5, match="between 0 and 1"),
    bad("nn.functional.binary_cross_entropy", V([0.5]), X(2)),
    bad("nn.functional.pad", A, (1, 1, 1, 1, 1, 1)),
]
CASES = [case.on("float32").upto(0) for case in CASES]


def _set_of_other_dtype(torch: Any, x: Any) -> None:
    x[torch.tensor([0, 1]), torch.tensor([1, 2])] = torch.ones(2, dtype=torch.float64)
