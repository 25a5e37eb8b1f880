"""What a failed call was given is let go with its error, as in PyTorch: no cycle of frames and exceptions waits for the collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import jaxtorch
import jaxtorch.nn.functional as F
from jaxtorch import Tensor


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def _later(x: Tensor) -> Any:
    return (x * 0).long()


def _backward_fails(x: Tensor) -> None:
    y = x.requires_grad_().exp()
    y.add_(1)
    y.sum().backward()


CALLS = {
    "shapes": lambda x: x + jaxtorch.ones(5),
    "shapes of a product": lambda x: x @ jaxtorch.ones(5, 5),
    "dimension": lambda x: x.sum(7),
    "dtype": lambda x: x.bitwise_and(x),
    "reshape": lambda x: x.reshape(7, 7),
    "index": lambda x: x[9],
    "index array": lambda x: x[jaxtorch.tensor([9])],
    "computed index": lambda x: x[_later(x) + 9].tolist(),
    "gather": lambda x: x.gather(0, jaxtorch.tensor([9])),
    "argument": lambda x: x.add(x, nonsense=1),
    "kind of argument": lambda x: x.sum("a"),
    "out": lambda x: jaxtorch.add(x, x, out=jaxtorch.ones(3, dtype=jaxtorch.int64)),
    "in place": lambda x: x.add_(jaxtorch.ones(4, 3)),
    "view": lambda x: x.view(jaxtorch.complex128),
    "expand": lambda x: x.expand(4, 7),
    "cat": lambda x: jaxtorch.cat([x, jaxtorch.ones(2, 2)]),
    "stack": lambda x: jaxtorch.stack([x, jaxtorch.ones(2)]),
    "einsum": lambda x: jaxtorch.einsum("ij->i", x),
    "loss": lambda x: F.cross_entropy(x, jaxtorch.tensor(9)),
    "value": lambda x: F.binary_cross_entropy(x + 2, x),
    "division": lambda x: jaxtorch.ones(3).long() // _later(x),
    "quantile": lambda x: x.quantile(2.0),
    "cholesky": lambda x: jaxtorch.linalg.cholesky(-x.outer(x)),
    "inverse": lambda x: jaxtorch.linalg.inv(x.outer(x) * 0),
    "svd of nan": lambda x: jaxtorch.linalg.svd(x.outer(x) * float("nan")),
    "module": lambda x: jaxtorch.nn.Linear(7, 7)(x),
    "norm": lambda x: F.layer_norm(x, (7,)),
    "convolution": lambda x: F.conv2d(x, x),
    "item": lambda x: x.item(),
    "bool": bool,
    "backward": lambda x: x.backward(),
    "backward of what was written": _backward_fails,
    "grad": lambda x: jaxtorch.autograd.grad(x.sum(), x),
    "state": lambda x: jaxtorch.nn.Linear(2, 2).load_state_dict({"weight": x}),
    "numpy": lambda x: x.requires_grad_().numpy(),
    "multinomial": lambda x: (-x).multinomial(1),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "vmap": lambda x: jaxtorch.func.vmap(lambda a: a.item())(x),
    "func.grad": lambda x: jaxtorch.func.grad(lambda a: a * 2)(x),
    "rare type": lambda x: x.to(jaxtorch.float8_e5m2).sin(),
    "sparse": lambda x: x.to_sparse().add(jaxtorch.ones(5)),
}


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_caught_error_holds_nothing(name: str, within: bool):
    held: list[Any] = []

    def go() -> None:
        x = jaxtorch.rand(3)
        held.append(weakref.ref(x))
        CALLS[name](x)

    for _ in range(2):
        try:
            if within:  # another error is being handled
                try:
                    raise KeyError
                except KeyError:
                    go()
            else:
                go()
        except Exception:
            pass
        else:
            pytest.fail("no error")
    assert [h() for h in held] == [None, None]
