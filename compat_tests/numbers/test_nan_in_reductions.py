"""NaN is not lost where a compiled program limits numbers and adds them up, or looks for the largest of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from conftest import Run

PROGRAM = """
import jaxtorch as torch
F = torch.nn.functional
PROGRAMS = '''
F.relu(x * 2).sum(); F.relu(x * 2).mean(0); F.relu(x * 2).sum(1); F.relu(x).var(); (x * 2).clamp(min=0).sum()
(x * 2).clamp(max=0).sum(); (x * 2).clamp(0, 1).mean(); (x * 2).clamp(torch.tensor(0.0), torch.tensor(1.0)).mean()
torch.maximum(x * 2, y).sum(); torch.maximum(y, x * 2).sum(); torch.minimum(x * 2, y).sum(); torch.minimum(y, x * 2).sum()
F.hardtanh(x * 2).sum(); F.relu6(x * 2).sum(); F.hinge_embedding_loss(x * 2, y); F.margin_ranking_loss(x * 2, x, y)
F.binary_cross_entropy_with_logits(x * 2, y); F.huber_loss(x * 2, y); (x * 2).max(); (x * 2).min(); x.max(); (x * 2).amax()
(x * 2).amin(1); (x * 2).amax(0); (x * 2).aminmax()[0]; (x * 2).aminmax()[1]; (x * 2).max(-1)[0]; (x * 2).min(0)[0]
torch.linalg.vector_norm(x * 2, float("inf")); torch.linalg.vector_norm(x * 2, -float("inf"), 1); x.abs().max()
(x * 2).softmax(-1); (x * 2).logsumexp(-1); F.max_pool2d(x[None] * 2, 2).sum(); F.max_pool2d(x[None] * 2, 2).max()
F.adaptive_max_pool2d(x[None] * 2, 1); (x * 2).cummax(0)[0].sum(); torch.linalg.norm(x * 2, 1)
torch.linalg.matrix_norm(x * 2, float("inf")); F.conv2d(F.relu(x)[None, None], w).relu().sum()
'''
for dtype in (torch.float32, torch.bfloat16):
    x = torch.arange(72.0 * 80).reshape(72, 80).remainder(7) / 7
    x[1, 3] = torch.nan
    x, y, w = x.to(dtype), torch.ones(72, 80, dtype=dtype), torch.ones(1, 1, 3, 3, dtype=dtype)
    for text in PROGRAMS.replace("\\n", "; ").split("; "):
        if text and not (dtype is torch.bfloat16 and "linalg.norm" in text):
            if not all(eval(text).sum().isnan().item() for _ in range(2)):
                print(dtype, text)
"""


def test_nan_is_kept(run_python: Run) -> None:
    assert run_python("-c", PROGRAM, env={"JAXTORCH_COLD_RUNS": "0"}).stdout == ""


def test_what_is_compiled_later_keeps_it() -> None:
    import jaxtorch

    torch: Any = jaxtorch
    x = torch.from_numpy(np.random.default_rng(0).random(70_000, dtype=np.float32))
    x[5] = torch.nan
    assert all(torch.nn.functional.relu(x * 2).sum().isnan().item() for _ in range(8))
    assert all((x * 2).max().isnan().item() for _ in range(8))


def test_extremes_of_many_mapped_infinite_and_differentiated() -> None:
    import torch as reference

    import jaxtorch

    mine: list[Any] = []
    wanted: list[Any] = []
    x = np.random.default_rng(0).standard_normal((6, 5000)).astype(np.float32)
    x[0, 3], x[1, 7], x[1, 9], x[2, 4:6] = np.nan, np.inf, -np.inf, np.nan
    for module in (jaxtorch, reference):
        t: Any = module
        rows = t.from_numpy(x)
        results: list[Any] = []
        for f in (
            t.amax,
            t.amin,
            lambda v: v.max(),
            lambda v: v.aminmax()[0],
            lambda v: v.norm(float("inf")),
        ):
            for _ in range(8):
                given = (rows * 1).requires_grad_()
                out = t.func.vmap(f)(given)
                whole = t.stack([f(r) for r in given])
                (out[1:].nansum() + whole.nansum()).backward()
            results += [out.detach(), whole.detach(), given.grad]
        mine, wanted = (results, []) if module is jaxtorch else (mine, results)
    for ours, theirs in zip(mine, wanted, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
