"""What PyTorch has added or changed in its last versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch
from expressions import outcome, rows, same

SAME = rows(r"""
torch.ones(2).grad_dtype
torch.hash_tensor(torch.arange(4).view(2,2),1)
torch.hash_tensor(torch.tensor([1.5,2.5]))
torch.from_dlpack(torch.arange(3.0),copy=True)
torch.nn.functional.grouped_mm(torch.ones(4,8),torch.ones(2,8,8),offs=torch.tensor([2,4],dtype=torch.int32)).shape
torch.nn.functional.interpolate(torch.ones(1,1,4,4),3,mode='lanczos')
torch.nn.functional.interpolate(torch.ones(1,1,4,4),3,mode='lanczos',align_corners=True)
torch.nn.functional.interpolate(torch.ones(1,1,4,4),3,mode='lanczos',align_corners=True,antialias=True)
torch.nn.functional.interpolate(torch.ones(1,1,4),3,mode='lanczos')
torch.nn.functional.interpolate(torch.ones(1,1,4),3,mode='lanczos',antialias=True)
torch.nn.functional.interpolate(torch.ones(1,1,4,4).half(),3,mode='lanczos',antialias=True)
torch.nn.functional.interpolate(torch.ones(1,1,4,4).bfloat16(),3,mode='lanczos',antialias=True)
torch.nn.functional.interpolate(torch.ones(1,1,4,4).int(),3,mode='lanczos',antialias=True)
type(torch.nn.functional.interpolate(torch.ones(1,1,4,4,requires_grad=True),3,mode='lanczos',antialias=True).grad_fn).__name__
torch.autograd.Function.clear_saved_tensors_on_access
torch.optim.Muon([torch.ones(2,2,requires_grad=True)]).defaults
torch.ones(2).names
""")


@pytest.mark.parametrize("code", SAME)
def test_expressions(code: str) -> None:
    same(outcome(jaxtorch, code), outcome(pytorch, code))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_lanczos(dtype: str) -> None:
    given = np.random.default_rng(0).integers(0, 255, (2, 3, 4, 6))
    found: list[list[Any]] = []
    for t in (pytorch, jaxtorch):
        x = t.tensor(given).to(getattr(t, dtype))
        resized = lambda x, **to: t.nn.functional.interpolate(x, mode="lanczos", antialias=True, **to)  # noqa: B023, E731
        results = [resized(x, size=size) for size in ((2, 2), (3, 5), (8, 8), (1, 9))]
        results += [resized(x, scale_factor=(0.7, 1.9)), t.ops.aten._upsample_lanczos2d_aa(x, [3, 3], False)]
        if dtype != "uint8":
            leaf = x.clone().requires_grad_()
            (resized(leaf, size=(3, 5)) / 100).sin().sum().backward()
            results.append(leaf.grad)
        found.append([r.detach().numpy() for r in results])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=0 if dtype == "uint8" else 1e-4)


def test_saved_tensors_are_given_once() -> None:
    """Where a Function asks for it: they are let go as soon as backward has them."""
    found: list[list[Any]] = []
    for t in (pytorch, jaxtorch):

        class Double(t.autograd.Function):
            clear_saved_tensors_on_access = True

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return g * x * 2

        x = t.ones(1, requires_grad=True)
        seen: list[Any] = []
        y = Double.apply(x)
        y.backward(retain_graph=True)
        for again in (y.backward, lambda: y.grad_fn.saved_tensors):  # noqa: B023
            with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once") as error:
                again()
            seen.append(str(error.value))
        found.append([*seen, x.grad.item()])
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_shortened_rows_of_an_embedding(dtype: str) -> None:
    """The length is rounded to the type of the weight, and so is what the row is multiplied by."""
    found: list[Any] = []
    for t in (pytorch, jaxtorch):
        weight = t.tensor([[1.0, 1.0], [3.0, 4.0], [0.3, 2.0], [0.1, 0.1]], dtype=getattr(t, dtype))
        rows_ = [t.nn.functional.embedding(t.tensor([0, 1, 2, 3]), weight.clone(), max_norm=m) for m in (1.0, 0.5, 0.3)]
        found.append([r.double().tolist() for r in rows_])
    assert found[0] == found[1]
