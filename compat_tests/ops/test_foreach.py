"""`torch._foreach_*` against PyTorch: every family, its operands, what it returns, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity import parity_test

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
    sigmoid sign sin sinh sqrt tan tanh trunc clone max norm""".split()
CALLS = {
    "number": "f('mul')(a, 2.0), f('pow')(2.0, a), f('sub')(a, 1), f('clamp_min')(a, scalar=0.7), f('maximum')(a, 0.8)",
    "numbers": "f('add')(a, [1, 2]), f('pow')(a, [2, 3]), f('div')(a, scalars=[2, 4]), f('minimum')(a, [0.3, 0.6])",
    "numbers of NumPy": "[f(n)(t, v) for n in ('add', 'mul', 'div', 'pow', 'clamp_min', 'maximum')"
    " for t in (a, [torch.arange(3)] * 2)"
    " for v in (np.float32(2), np.int32(3), np.bool_(True), [np.float64(2), np.float16(3)], [np.int64(2), 4])]",
    "numbers of NumPy elsewhere": "f('pow')(np.float32(2), a), f('lerp')(a, b, np.float32(0.3)),"
    " f('addcmul')(a, b, b, np.float32(2)), f('addcdiv')(a, b, b, [np.float32(0.5), 2])",
    "tensors": "f('add')(a, b, alpha=3), f('pow')(a, b), f('clamp_max')(a, b), f('maximum')(a, b), f('mm')([m], [m.t()])",
    "tensor": "f('add')(a, torch.tensor(2.0)), f('mul')(a, torch.tensor(3.0)), f('div')(a, torch.tensor(4.0))",
    "pointwise": "f('addcmul')(a, b, b, value=0.5), f('addcdiv')(a, b, b, [0.5, 2]), f('addcmul')(a, a, b, torch.tensor([1.0, 3]))",
    "lerp": "f('lerp')(a, b, 0.3), f('lerp')(a, b, weight=[0.2, 0.4]), f('lerp')(a, b, b)",
    "norms": "f('norm')(a, 1, dtype=torch.float64), f('norm')(a, float('inf')), f('powsum')(a, 3)",
    "in place": "f('mul_')(a, 2.0) is a, f('add_')(a, b), f('lerp_')(a, b, 0.5), f('addcdiv_')(a, b, b), f('sqrt_')(a), a",
    "copies": "f('copy_')(b, [torch.zeros(2), torch.ones(1)]) is b, f('zero_')(a), a, b",
    "integers": "f('add')([torch.arange(3)], 1.5), f('maximum')([torch.arange(3)], 1), f('div')([torch.arange(3)], 2)",
    "nan": "f('maximum')([torch.tensor([float('nan'), 1.0])], [torch.tensor([2.0, float('nan')])])",
}


def lists(torch: Any) -> tuple[Any, Any, Any]:
    a = [torch.tensor([0.25, 0.5]), torch.tensor([0.125, 0.75, 0.9])]
    return a, [torch.tensor([1.0, 0.5]), torch.tensor([2.0, 0.25, 0.1])], torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("name", UNARY)
@parity_test
def test_one_operand(torch: Any, name: str) -> Any:
    a, _, _ = lists(torch)
    made = getattr(torch, f"_foreach_{name}")(a)
    inplace = name not in ("clone", "max", "norm") and getattr(torch, f"_foreach_{name}_")(a) is a
    return type(made).__name__, list(made), inplace, a


@pytest.mark.parametrize("kind", CALLS)
@parity_test
def test_operands(torch: Any, kind: str) -> Any:
    a, b, m = lists(torch)
    return eval(
        CALLS[kind],
        {"torch": torch, "np": np, "a": a, "b": b, "m": m, "f": lambda name: getattr(torch, "_foreach_" + name)},
    )


@parity_test
def test_gradients(torch: Any) -> Any:
    a = [t.requires_grad_() for t in lists(torch)[0]]
    sum(t.sum() for t in torch._foreach_mul(torch._foreach_exp(a), a)).backward()
    return [t.grad for t in a]


BAD = [
    "torch._foreach_mul(a, [1.0])",
    "torch._foreach_mul(a, a[:1])",
    "torch._foreach_lerp(a, a[:1], weight=0.5)",
    "torch._foreach_sqrt([])",
    "torch._foreach_add(a, torch.ones(2))",
    "torch._foreach_add(a, [torch.ones(5), torch.ones(1)])",
    "torch._foreach_add_([torch.ones(2, dtype=torch.int32)], 1.5)",
    "torch._foreach_add_([torch.ones(2, requires_grad=True)], 1.5)",
]


@pytest.mark.parametrize("call", BAD)
@parity_test
def test_errors(torch: Any, call: str) -> Any:
    with pytest.raises(RuntimeError) as error:
        eval(call, {"torch": torch, "a": lists(torch)[0]})
    return str(error.value)


def test_a_missing_family_is_named():
    import jaxtorch

    with pytest.raises(AttributeError, match="_foreach_nonsense"):
        jaxtorch._foreach_nonsense  # noqa: B018
