"""Operands of several element types: the result's type, or the refusal, is PyTorch's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch

# {a} and {b} make tensors of ones of two types.
CALLS = """
torch.mv({a}(3,3),{b}(3)) | torch.addmv({a}(3),{b}(3,3),{b}(3)) | torch.addmv({a}(3),{a}(3,3),{b}(3))
torch.mm({a}(3,3),{b}(3,3)) | torch.bmm({a}(1,3,3),{b}(1,3,3)) | torch.dot({a}(3),{b}(3)) | torch.vdot({a}(3),{b}(3))
torch.outer({a}(3),{b}(3)) | torch.inner({a}(3,3),{b}(3,3)) | torch.inner({a}(3),{b}(3)) | torch.inner({a}(3),{b}(()))
torch.inner({a}(3),{b}(4)) | {a}(3,3)@{b}(3) | {a}(2,3,3)@{b}(3,3) | torch.addmm({a}(3,3),{b}(3,3),{b}(3,3))
torch.addmm({a}(3,3),{a}(3,3),{b}(3,3)) | torch.baddbmm({a}(1,3,3),{b}(1,3,3),{b}(1,3,3))
torch.baddbmm({a}(1,3,3),{a}(1,3,3),{b}(1,3,3)) | torch.addbmm({a}(3,3),{b}(1,3,3),{b}(1,3,3))
torch.addbmm({a}(3,3),{a}(1,3,3),{b}(1,3,3)) | torch.addr({a}(3,3),{b}(3),{b}(3)) | torch.tensordot({a}(3,3),{b}(3,3),1)
torch.tensordot({a}(3),{b}(3),0) | torch.tensordot({a}(3),{b}(4),1) | torch.linalg.multi_dot([{a}(3,3),{b}(3,3)])
torch.einsum("ij,jk->ik",{a}(3,3),{b}(3,3)) | torch.einsum("i,i->i",{a}(3),{b}(3)) | torch.einsum("i,i",{a}(3),{b}(3))
torch.einsum("i,j->ij",{a}(3),{b}(3)) | torch.einsum("ij,k->k",{a}(2,3),{b}(3)) | torch.einsum("ij,jk->ik",{a}(2,1),{b}(1,2))
torch.einsum("...i,i->...",{a}(2,3),{b}(3)) | torch.einsum("ij,jk,kl",{a}(2,2),{b}(2,2),{a}(2,2))
torch.einsum("ij,j->ij",{a}(2,3),{b}(3)) | F.linear({a}(2,3),{b}(4,3)) | F.linear({a}(2,3),{b}(4,3),{b}(4))
F.linear({a}(2,3),{a}(4,3),{b}(4)) | F.linear({a}(2,5),{b}(4,3),{b}(4)) | torch.mm({a}(2,5),{b}(4,3))
torch.mv({a}(2,5),{b}(4)) | F.conv2d({a}(1,1,3,3),{b}(1,1,2,2)) | F.bilinear({a}(2,3),{a}(2,3),{b}(4,3,3))
F.cross_entropy({a}(2,3),{b}(2,3)) | F.binary_cross_entropy({a}(2),{b}(2)) | F.mse_loss({a}(2),{b}(2))
F.huber_loss({a}(2),{b}(2)) | F.binary_cross_entropy_with_logits({a}(2),{b}(2))
F.binary_cross_entropy_with_logits({a}(2),{b}(2),reduction="none") | F.kl_div({a}(2),{b}(2),reduction="sum")
F.smooth_l1_loss({a}(2),{b}(2)) | F.l1_loss({a}(2),{b}(2)) | torch.dist({a}(2),{b}(2))
F.grid_sample({a}(1,1,2,2),{b}(1,2,2,2),align_corners=False) | F.grid_sample({a}(1,1,2,2,2),{b}(1,2,2,2,3),align_corners=False)
F.embedding_bag(torch.tensor([[0,1]]),{a}(3,2),per_sample_weights={b}(1,2),mode="sum")
F.embedding_bag(torch.tensor([[0,1]]),{b}(3,2)) | F.cosine_similarity({a}(2,3),{b}(2,3)) | torch.lerp({a}(2),{b}(2),.5)
F.prelu({a}(2,3),{b}(1)) | torch.cat([{a}(2),{b}(2)])
"""
FORMS = [form.strip() for line in CALLS.strip().splitlines() for form in line.split(" | ")]
TYPES = {"float": "float32", "double": "float64", "long": "int64", "half": "float16"}
PAIRS = [
    ("float", "double"),
    ("double", "float"),
    ("float", "long"),
    ("long", "float"),
    ("float", "half"),
    ("half", "float"),
]


def outcome(t: Any, form: str, a: str, b: str) -> Any:
    make = {k: (lambda *shape, d=d: t.ones(*shape, dtype=getattr(t, d))) for k, d in TYPES.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(eval(form.format(a=a, b=b), {"torch": t, "F": t.nn.functional, **make}).dtype)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: re.sub(r"[{}\"]", "", form))
def test_two_types(form: str):
    for a, b in PAIRS:
        expected = outcome(torch, form, a, b)
        assert outcome(jaxtorch, form, a, b) == expected, (a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "call",
    [
        "torch.add(a, b, alpha=0.7)", "torch.sub(a, b, alpha=0.7)", "torch.rsub(a, b, alpha=0.7)",
        "torch.addcmul(a, b, c)", "torch.addcmul(a, b, c, value=0.7)", "torch.addcdiv(a, b, c)",
        "torch.addcdiv(a, b, c, value=0.7)", "F.leaky_relu(a, 0.01)", "F.softshrink(a, 0.3)", "F.threshold(a, 0.3, 0.7)",
    ],
)  # fmt: skip
def test_steps_in_half_precision_are_rounded_once(call, dtype):
    """Bit for bit, on lengths that PyTorch's vectors divide (what remains of others it rounds more often)."""

    def run(module):
        module.manual_seed(3)
        a, b, c = (module.randn(512).to(getattr(module, dtype)) for _ in range(3))
        return eval(call, {"torch": module, "F": module.nn.functional, "a": a, "b": b, "c": c}).float().numpy()

    np.testing.assert_array_equal(run(jaxtorch), run(torch))
