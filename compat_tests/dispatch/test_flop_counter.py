"""`FlopCounterMode` next to PyTorch's: operations forward and backward, by module and by operation."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from parity import candidate, reference


def _mode(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils.flop_counter").FlopCounterMode


def _trained(make: Any, *shape: int, input_grad: bool = False) -> Any:
    def program(t: Any) -> None:
        x = t.ones(*shape, requires_grad=input_grad)
        out = make(t.nn)(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()

    return program


def _pictures(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.Conv2d(8, 4, 1, bias=False), nn.ConvTranspose2d(4, 4, 3, stride=2), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(16, 10),
    )  # fmt: skip


def _attention(t: Any, dropout: float, dims: int, **options: Any) -> None:
    q = t.ones((2, 2, 4, 8)[4 - dims :], requires_grad=True)
    t.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=dropout, **options).sum().backward()


PROGRAMS = {
    "pictures": _trained(_pictures, 2, 3, 17, 17),
    "pictures, with the input's gradient": _trained(_pictures, 2, 3, 17, 17, input_grad=True),
    "one dimension": _trained(lambda nn: nn.Conv1d(3, 5, 4, dilation=2), 2, 3, 20),
    "three dimensions": _trained(lambda nn: nn.Conv3d(2, 3, 2, stride=2), 1, 2, 6, 6, 6, input_grad=True),
    "linear": _trained(lambda nn: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2, bias=False)), 2, 3, 4),
    "encoder": _trained(lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 4, 2, 8),
    "GRU": lambda t: t.nn.GRU(3, 4)(t.ones(5, 2, 3)),
    "LSTM": _trained(lambda nn: nn.LSTM(3, 4), 5, 2, 3),
    "attention": lambda t: _attention(t, 0.0, 4),
    "causal attention": lambda t: _attention(t, 0.0, 4, is_causal=True),
    "attention with dropout": lambda t: _attention(t, 0.5, 4),
    "attention of three dimensions": lambda t: t.nn.functional.scaled_dot_product_attention(*[t.ones(2, 4, 8)] * 3),
    "matmul": lambda t: t.ones(2, 3, 4, requires_grad=True).matmul(t.ones(4, 5, requires_grad=True)).sum().backward(),
    "batches": lambda t: (t.ones(6, 3, 4) @ t.ones(6, 4, 5)).sum(),
    "vectors": lambda t: (t.ones(3, 4) @ t.ones(4), t.ones(4) @ t.ones(4)),
    "einsum": lambda t: t.einsum("bij,bjk->bik", t.ones(2, 3, 4), t.ones(2, 4, 5)),
    "addmm and baddbmm": lambda t: (
        t.addmm(t.ones(3, 5), t.ones(3, 4), t.ones(4, 5)), t.baddbmm(t.ones(2, 3, 5), t.ones(2, 3, 4), t.ones(2, 4, 5))
    ),
    "no product": lambda t: t.ones(3).exp().sum(),
    "solver": lambda t: t.linalg.inv(t.eye(3)),
}  # fmt: skip


def counted(t: Any, program: Any) -> Any:
    with _mode(t)(display=False) as counter:
        program(t)
    found = counter.get_flop_counts()
    by_module = {  # PyTorch counts what follows under a dropout layer that hands its input on
        name: {str(op): n for op, n in counts.items()} for name, counts in found.items() if ".dropout" not in name
    }
    return counter.get_total_flops(), by_module


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_counts(name: str) -> None:
    assert counted(candidate(), PROGRAMS[name]) == counted(reference(), PROGRAMS[name])


def test_a_second_use_begins_anew_and_compiled_calls_count() -> None:
    t = candidate()
    net = t.nn.Linear(3, 4)
    compiled = t.compile(net)
    x = t.ones(2, 3)
    for _ in range(4):
        compiled(x)
    counter = _mode(t)(display=False)
    for _ in range(2):
        with counter:
            compiled(x)
        assert counter.get_total_flops() == 48
    compiled(x)
    assert counter.get_total_flops() == 48


def test_the_table(capsys: Any) -> None:
    t = candidate()
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Sequential(t.nn.Linear(4, 4)))
    with _mode(t)(depth=2) as counter:
        net(t.ones(2, 3))
    shown = capsys.readouterr().out
    assert "Sequential.1 " in shown and "Sequential.1.0" not in shown and "112.000" in shown and "57.14%" in shown
    assert "Sequential.1.0" in counter.get_table(3)
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        _mode(t)(custom_mapping={t.ops.aten.mm: len})
