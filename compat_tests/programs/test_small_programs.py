"""Lines of Python next to PyTorch's: what each shows, or the type of what it raises. Each program's lines share their names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from parity import candidate, reference

PROGRAMS = {
    "conjugate and negated views": """
z = torch.tensor([1 + 2j, 3 - 4j]); c = z.conj()
torch.view_as_real(c)
torch.view_as_real(c.resolve_conj())
c.imag, c.imag.is_neg(), c.imag.is_conj(), c.real.is_neg(), c.real.is_conj()
c.imag[0].is_neg(), c.imag.clone().is_neg(), c.imag.conj().is_neg(), c.conj().imag.is_neg()
c.imag.numpy()
c.imag.resolve_neg().numpy(), c.imag.resolve_neg().is_neg()
c.view(torch.float32)
c.imag.view(torch.int32)
torch.from_dlpack(c)
c.imag.add_(1), z
""",
    "numbers beyond float8_e4m3fn": """
torch.tensor([447.0, 460.0, 465.0, 1000.0, float("inf"), -float("inf"), float("nan"), -1e9]).to(torch.float8_e4m3fn).float()
torch.tensor([1000.0, float("inf")], dtype=torch.float8_e4m3fn).float(), torch.tensor([1000]).to(torch.float8_e4m3fn).float()
torch.tensor([60000.0, 65000.0, float("inf")]).to(torch.float8_e5m2).float()
x = torch.zeros(2, dtype=torch.float8_e4m3fn)
x.fill_(1000)
x[0] = 2000.0; x.float()
torch.full((2,), 1e9, dtype=torch.float8_e4m3fn)
""",
    "scatter_reduce's other names": """
x = torch.ones(3, 2); i = torch.tensor([[0, 0], [0, 2]]); s = torch.tensor([[2.0, 3], [4, 5]])
x.scatter_reduce(0, i, s, "max"), x.scatter_reduce(0, i, s, "min"), x.scatter_reduce(0, i, s, "amax")
x.scatter_reduce(0, i, s, "add")
""",
    "storages as data": """
torch.Tensor(torch.ones(2).untyped_storage())
torch.Tensor(torch.ones(2).storage())
""",
    "inference mode": """
w = torch.ones(2, requires_grad=True)
with torch.inference_mode(), torch.enable_grad(): v = w * 2; seen = torch.is_grad_enabled()
v.requires_grad, v.is_inference(), seen
""",
    "flags that must be bool": """
x = torch.ones(1)
x.requires_grad = 1
x.requires_grad_("a")
x.requires_grad_(1)
torch.nn.Linear(1, 1).requires_grad_(0)
torch.use_deterministic_algorithms("x")
torch.use_deterministic_algorithms(True, warn_only=1)
import torch.utils.deterministic
torch.utils.deterministic.fill_uninitialized_memory, torch.are_deterministic_algorithms_enabled()
torch.utils.deterministic.fill_uninitialized_memory = 1
""",
    "out= that lies partly on an operand": """
x = torch.ones(4)
torch.add(x[:3], x[1:], out=x[:3])
torch.exp(x[1:], out=x[:3])
torch.addcmul(x[:3], x[:3], x[1:], out=x[:3])
torch.eq(x[1:], x[:3], out=x[1:])
torch.exp(x, out=x), torch.mul(x, x, out=x), torch.add(x[:3], 1, out=x[:3]), torch.add(x[:2], x[2:], out=x[:2])
""",
    "types that differ in a product": """
torch.ones(2) @ torch.ones(2).double()
torch.ones(2, 2) @ torch.ones(2).double()
torch.ones(2) @ torch.ones(2, 2).double()
""",
    "betas of two kinds": """
torch.optim.Adam([torch.ones(1, requires_grad=True)], betas=(0, 0.9))
torch.optim.AdamW([torch.ones(1, requires_grad=True)], betas=(0.5, 0))
torch.optim.Adam([torch.ones(1, requires_grad=True)], betas=(0.0, 0.9)).defaults["betas"]
torch.optim.RAdam([torch.ones(1, requires_grad=True)], betas=(0, 0.9)).defaults["betas"]
""",
    "class numbers that are too large": """
torch.nn.functional.one_hot(torch.tensor([0, 3]), 3)
torch.nn.functional.one_hot(torch.tensor([0, -1]), 3)
torch.nn.functional.one_hot(torch.tensor([0, 2]), 3)
""",
    "errors of their own": """
x = torch.ones(3, 4)
del x[0]
torch.arange(0.0, 1.0, float("nan"))
torch.device(-1)
class Twice(torch.autograd.Function): forward = staticmethod(lambda ctx, x: x * 2)
type(Twice()).__name__
Twice()(x)
""",
}


def shown(module: Any, text: str) -> list[str]:
    scope = {"torch": module, "np": np}
    found = []
    for line in text.strip().splitlines():
        *before, last = [line] if ": " in line else line.split("; ")  # a compound statement stays whole
        try:
            for part in before:
                exec(part, scope)
            try:
                code = compile(last, "<program>", "eval")
            except SyntaxError:
                exec(last, scope)
            else:
                found.append(repr(eval(code, scope)).replace("jaxtorch", "torch"))
        except Exception as error:  # which one is compared
            found.append(f"{line}: {type(error).__name__}")
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_program(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = shown(reference(), PROGRAMS[name])
        found = shown(candidate(), PROGRAMS[name].replace("import torch.utils", "import jaxtorch.utils"))
    assert found == expected
