"""`out=` tensors: which types and which memory PyTorch takes, and what becomes of views where they are resized."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import jaxtorch
from parity import attempt, parity_test


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("part", ["whole", "slice", "end", "nothing", "transposed", "detached"])
@parity_test
def test_a_resized_tensor_keeps_its_memory(torch: Any, part: str, size: int) -> Any:
    base = torch.zeros(6)
    pick = {"whole": base, "slice": base[2:4], "end": base[4:], "nothing": base[:0], "transposed": base.view(2, 3).t(),
            "detached": base.detach()}  # fmt: skip
    other, out = base[1:], pick[part]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.add(torch.ones(size), 1, out=out)
    seen = [base.clone(), other.clone(), out.clone(), out._version]
    out.fill_(7)
    base.add_(1)
    return [*seen, base, other, out, out.stride(), out.storage_offset()]


@parity_test
def test_results_of_several_and_permuted_memory(torch: Any) -> Any:
    values, places = torch.zeros(4), torch.zeros(4, dtype=torch.int64)
    firsts = values[1:], places[:]
    permuted = torch.zeros(6)[:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sort(torch.tensor([2.0, 1.0]), out=firsts)
        torch.add(torch.ones(2, 3).t(), 1, out=permuted)
    firsts[0][0] = 9
    return values, places, *firsts, permuted


CALLS = {
    "clamp by numbers": lambda torch, x, out: torch.clamp(x, 0, 2.5, out=out),
    "clamp by one number": lambda torch, x, out: torch.clamp(x, None, 2, out=out),
    "clamp by tensors": lambda torch, x, out: torch.clamp(x, torch.zeros(2), torch.ones(2), out=out),
    "clamp_min": lambda torch, x, out: torch.clamp_min(x, 1, out=out),
    "clamp_max": lambda torch, x, out: torch.clamp_max(x, torch.ones(2), out=out),
    "lerp by a number": lambda torch, x, out: torch.lerp(x, x + 1, 0.5, out=out),
    "lerp by one weight": lambda torch, x, out: torch.lerp(x, x + 1, torch.tensor(0.5, dtype=x.dtype), out=out),
    "lerp by weights": lambda torch, x, out: torch.lerp(x, x + 1, x / 2, out=out),
    "abs": lambda torch, x, out: torch.abs(x, out=out),
    "abs of complex": lambda torch, x, out: torch.abs(x + 1j, out=out),
    "round": lambda torch, x, out: torch.round(x, out=out),
    "sum": lambda torch, x, out: torch.sum(x, 0, dtype=torch.float32, out=out[0]),
    "mean": lambda torch, x, out: torch.mean(x, 0, dtype=torch.float32, out=out[0]),
    "cumsum": lambda torch, x, out: torch.cumsum(x, 0, dtype=torch.float32, out=out),
    "cumsum of its own": lambda torch, x, out: torch.cumsum(x, 0, out=out),
    "diff of order 0": lambda torch, x, out: torch.diff(x, n=0, out=out),
    "diff of order 0 and more in front": lambda torch, x, out: torch.diff(x, n=0, prepend=x, out=out),
    "hfft": lambda torch, x, out: torch.fft.hfft(x, out=out),
    "irfftn": lambda torch, x, out: torch.fft.irfftn(x, out=out),
    "bmm": lambda torch, x, out: torch.bmm(x.view(1, 1, 2), x.view(1, 2, 1), out=out[:1].view(1, 1, 1)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("name", CALLS)
@parity_test
def test_types(torch: Any, name: str, dtype: str) -> Any:
    def texts(body: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return body()
            except RuntimeError as error:
                return str(error)

    out = lambda: torch.zeros(2, dtype=getattr(torch, dtype))  # noqa: E731
    found = [texts(lambda: CALLS[name](torch, torch.ones(2, dtype=torch.float64), out()))]
    return [*found, attempt(lambda: CALLS[name](torch, torch.ones(2), out()))]


@pytest.mark.parametrize("shape", [(0,), (2, 3), (3,), (1,), (), (2, 2, 3), (1, 3), (2,), (0, 3)], ids=str)
@parity_test
def test_normal_numbers_of_given_means_fill_the_result(torch: Any, shape: Any) -> Any:
    """`out` is filled and the means are added: both shapes broadcast, and `out` may only grow."""
    x, found = torch.arange(6.0).view(2, 3), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mean in (x, x[:0], x[0], x[0, 0]):
            torch.manual_seed(0)
            out = torch.ones(shape)
            found += [attempt(lambda mean=mean, out=out: torch.normal(mean, 1.0, out=out)), out.shape]
    return found


OWN = {
    "cross": lambda torch, x: torch.cross(x, x + 1, dim=0, out=x),
    "linalg.cross": lambda torch, x: torch.linalg.cross(x.view(1, 3), x.view(1, 3) + 1, out=x.view(1, 3)),
    "take_along_dim": lambda torch, x: torch.take_along_dim(x, torch.tensor([0, 0, 1]), 0, out=x),
    "add": lambda torch, x: torch.add(x, 1, out=x),
}


@pytest.mark.parametrize("name", OWN)
@parity_test
def test_an_input_as_the_result(torch: Any, name: str) -> Any:
    x = torch.tensor([1.0, 2.0, 4.0])
    return attempt(lambda: OWN[name](torch, x)), x


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", ["sum", "nansum", "prod", "cumsum", "cumprod"])
@parity_test
def test_sums_in_integers_have_no_gradient(torch: Any, name: str, grad: bool) -> Any:
    x = torch.tensor([1.5, 2.0], requires_grad=True)

    def text(**named: Any) -> Any:
        try:
            return getattr(torch, name)(x, 0, **named)
        except RuntimeError as error:
            return str(error)

    with torch.set_grad_enabled(grad):
        return [text(dtype=torch.int64), text(dtype=torch.uint8), text(dtype=torch.float64), text()]


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
@parity_test
def test_logic_in_place_is_beside_autograd(torch: Any, name: str) -> Any:
    others = () if name == "logical_not_" else (torch.tensor([0.0, 1.0]),)
    leaf = torch.tensor([0.0, 3.0], requires_grad=True)
    before = leaf._version
    same = getattr(leaf, name)(*others) is leaf
    x = torch.tensor([0.0, 3.0], requires_grad=True)
    y = x * 2
    getattr(y, name)(*others)
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    z = torch.tensor([0.0, 3.0], requires_grad=True).exp()
    getattr(z, name)(*others)
    return leaf, same, leaf._version - before, y, x.grad, attempt(lambda: z.sum().backward())


PARTS = {
    "cumsum": lambda torch, x, out: torch.cumsum(x, 0, out=out),
    "logcumsumexp": lambda torch, x, out: torch.logcumsumexp(x, 0, out=out),
    "sort": lambda torch, x, out: torch.sort(x, 0, out=(out, torch.zeros(2, 2, dtype=torch.int64))),
    "topk": lambda torch, x, out: torch.topk(x, 2, out=(out, torch.zeros(2, 2, dtype=torch.int64))),
    "max": lambda torch, x, out: torch.max(x, 0, out=(out[0], torch.zeros(2, dtype=torch.int64))),
    "where": lambda torch, x, out: torch.where(x > 1, x, x, out=out),
    "stack": lambda torch, x, out: torch.stack([x[0], x[1]], out=out),
    "addmm": lambda torch, x, out: torch.addmm(x, torch.ones(2, 2), torch.ones(2, 2), out=out),
    "outer": lambda torch, x, out: torch.outer(x[0], x[0], out=out),
    "renorm": lambda torch, x, out: torch.renorm(x, 2, 0, 1.0, out=out),
    "diff": lambda torch, x, out: torch.diff(x.reshape(4)[:3], out=out[0]),
    "scatter": lambda torch, x, out: torch.scatter(x, 0, torch.zeros(1, 2, dtype=torch.int64), x, out=out),
    "index_add": lambda torch, x, out: torch.index_add(x, 0, torch.tensor([0, 1]), torch.ones(2, 2), out=out),
}


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("name", PARTS)
@parity_test
def test_memory_that_an_operand_has_in_part(torch: Any, name: str, shift: int) -> Any:
    base = torch.tensor([2.0, 0.5, 0.25, 3.0, 1.0])
    x, out = base[:4].view(2, 2), base[shift : shift + 4].view(2, 2)
    return attempt(lambda: [*PARTS[name](torch, x, out)]), base


@pytest.mark.parametrize(
    "call",
    [
        "add(a, c, out=a)",
        "add(c, a, out=a)",
        "where(c > 0, c, a, out=a)",
        "exp(a, out=c)",
        "mul(a, 2, out=a)",
        "lerp(a, c, c, out=a)",
    ],
)
@parity_test
def test_an_operand_is_not_resized(torch: Any, call: str) -> Any:
    a, c = torch.ones(3), torch.ones(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = attempt(lambda: eval("torch." + call))
    return getattr(error, "kind", None), a, c


@parity_test
def test_a_resized_leaf_still_requires_a_gradient(torch: Any) -> Any:
    leaf = torch.arange(6.0).view(2, 3).requires_grad_()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cumsum(torch.ones(3), 0, out=leaf)
    return leaf.requires_grad, leaf.is_leaf, leaf.shape


@pytest.mark.parametrize("time", ["first", "second"])
@pytest.mark.parametrize(
    "name", ["arccosh", "arctan", "arcsinh", "amin", "bitwise_not", "cummax", "min", "max", "deg2rad"]
)
def test_no_method_has_out(name: str, time: str):
    """As PyTorch: functions have it alone, also when the method's text has not been written yet."""
    for t in (torch, jaxtorch):
        x = t.ones(2, dtype=t.int64)
        for out in (None, t.empty(2)):
            with pytest.raises(TypeError):
                getattr(x, name)(0, out=out) if name == "cummax" else getattr(x, name)(out=out)
    assert getattr(jaxtorch.ones(2, dtype=jaxtorch.int64), name)(*[0] * (name == "cummax")) is not None
