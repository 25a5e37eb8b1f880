"""Matrix products and the linear algebra that small programs use."""

from __future__ import annotations

from parity import BASIC, COMPLEX, FLOATS, V, X, code, row

SPD = V([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
MANY = (*BASIC, *COMPLEX)

CASES = [
    row("matmul", X(2, 3), X(3, 4)).op("@").on(*MANY, "bfloat16"),
    row("matmul", X(3), X(3)).on(*MANY),
    row("matmul", X(2, 3), X(3)).on(*BASIC),
    row("matmul", X(3), X(3, 2)),
    row("matmul", X(5, 2, 3), X(3, 4)),
    row("matmul", X(5, 2, 3), X(5, 3, 4)),
    row("matmul", X(2, 1, 2, 3), X(5, 3, 4)),
    row("matmul", X(0, 3), X(3, 2)),
    row("mm", X(2, 3), X(3, 4)).on(*MANY),
    row("mv", X(2, 3), X(3)).on(*BASIC),
    row("dot", X(3), X(3)).on(*MANY),
    row("vdot", X(3), X(3)).on("float64", *COMPLEX),
    row("bmm", X(5, 2, 3), X(5, 3, 4)).on(*BASIC),
    row("addmm", X(4), X(2, 3), X(3, 4), beta=0.5, alpha=2),
    row("addmv", X(2), X(2, 3), X(3)),
    row("addbmm", X(2, 4), X(5, 2, 3), X(5, 3, 4)),
    row("baddbmm", X(5, 2, 4), X(5, 2, 3), X(5, 3, 4), beta=0.5),
    row("outer", X(2), X(3)).on(*BASIC),
    row("inner", X(2, 3), X(4, 3)),
    row("tensordot", X(2, 3, 4), X(3, 4, 5), dims=2),
    row("tensordot", X(2, 3, 4), X(4, 2), dims=([0, 2], [1, 0])),
    row("einsum", "ij,jk->ik", X(2, 3), X(3, 4)),
    row("einsum", "bij,bjk->bik", X(5, 2, 3), X(5, 3, 4)),
    row("einsum", "ii->i", X(3, 3)),
    row("einsum", "i,j", X(2), X(3)),
    row("einsum", "...ij->...ji", X(2, 3, 4)),
    row("chain_matmul", X(2, 3), X(3, 4), X(4, 2)),
    row("linalg.multi_dot", [X(2, 3), X(3, 4), X(4, 2)]),
    row("cross", X(2, 3), X(2, 3), dim=1),
    row("matrix_power", X(3, 3), 3),
    row("linalg.inv", SPD).any_stride(),
    row("linalg.det", SPD),
    row("linalg.slogdet", SPD),
    row("linalg.solve", SPD, X(3, 2)).any_stride(),
    row("linalg.cholesky", SPD).upto(1).any_stride(),
    row("linalg.eigvalsh", SPD).upto(1),
    row("linalg.svdvals", X(3, 4)).upto(1),
    row("cdist", X(4, 3), X(5, 3)).upto(1),
    row("nn.functional.linear", X(2, 3), X(4, 3), X(4)).on(*FLOATS, "bfloat16"),
    row("nn.functional.linear", X(5, 2, 3), X(4, 3)),
    row("nn.functional.linear", X(3), X(4, 3), X(4)),
    row("nn.functional.bilinear", X(2, 3), X(2, 4), X(5, 3, 4), X(5)),
    code("transposed_operands", lambda torch, x, y: x.mT @ y.mT, X(3, 2), X(4, 3)),
]
