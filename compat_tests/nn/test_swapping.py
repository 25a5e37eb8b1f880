"""`torch.utils.swap_tensors`, and modules whose parameters are exchanged or replaced (`torch.__future__`)."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import Any

import pytest

import jaxtorch as candidate
from parity import parity_test


@contextmanager
def replacing(torch: Any, swap: bool = False, overwrite: bool = False) -> Any:
    torch.__future__.set_swap_module_params_on_conversion(swap)
    torch.__future__.set_overwrite_module_params_on_conversion(overwrite)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
        torch.__future__.set_overwrite_module_params_on_conversion(False)


@parity_test
def test_two_tensors_exchange_what_they_are(torch: Any) -> Any:
    a, b = torch.arange(3.0), torch.nn.Parameter(torch.ones(2, 2))
    b.note, b.grad = "b's", torch.full((2, 2), 5.0)
    names = (a, b)
    torch.utils.swap_tensors(a, b)
    b.mul_(10)
    seen = [
        type(a).__name__,
        type(b).__name__,
        a.note,
        hasattr(b, "note"),
        a.grad,
        b.grad,
        a,
        b,
        b._version,
        names[0] is a,
    ]
    b.add_(1)
    (a * 2).sum().backward()
    return [*seen, a.grad, a.requires_grad, b.requires_grad]


@parity_test
def test_what_cannot_be_exchanged(torch: Any) -> Any:
    class WithSlot(torch.Tensor):
        __slots__ = ("extra",)

    a, b = torch.ones(1), torch.ones(1)
    seen, held = [], weakref.ref(b)
    for x, y in ((a, b), (b, a), (a, torch.ones(1).as_subclass(WithSlot))):
        try:
            torch.utils.swap_tensors(x, y)
        except RuntimeError as error:
            seen.append(str(error))
    return seen, held() is b


@pytest.mark.parametrize("setting", ["swap", "overwrite", "neither"])
@parity_test
def test_conversions_keep_or_replace_parameters(torch: Any, setting: str) -> Any:
    net = torch.nn.Linear(2, 1)
    net(torch.ones(2)).sum().backward()
    net.weight.note, optimizer, before = (
        "kept",
        torch.optim.SGD(net.parameters(), lr=0.5),
        (net.weight, net.weight.grad),
    )
    with replacing(torch, **{setting: True} if setting != "neither" else {}):
        net.double()
    optimizer.step()
    same = [net.weight is before[0], hasattr(net.weight, "note"), net.weight.dtype, net.weight.grad.dtype]
    return same, [
        before[0].dtype,
        before[1].dtype,
        optimizer.param_groups[0]["params"][0] is net.weight,
        net.weight.requires_grad,
    ]


@pytest.mark.parametrize("assign", [False, True])
@parity_test
def test_loading_exchanges_what_module_load_makes(torch: Any, assign: bool) -> Any:
    class Doubling(torch.nn.Parameter):
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return (self if not assign else other).detach() + 2 * other.detach()

    net = torch.nn.Linear(2, 1)
    torch.nn.init.ones_(net.weight)
    net.weight = Doubling(net.weight.detach(), requires_grad=False)
    weight, bias = net.weight, net.bias
    with replacing(torch, swap=True):
        keys = net.load_state_dict({"weight": torch.full((1, 2), 3.0), "bias": torch.ones(1)}, assign=assign)
    return (
        str(keys),
        net.weight is weight,
        net.bias is bias,
        net.weight,
        net.bias,
        net.weight.requires_grad,
        type(net.weight).__name__,
    )


def test_namespaces_lead_back_to_the_package():
    from jaxtorch.functional import F, Tensor

    assert F is candidate.nn.functional and Tensor is candidate.Tensor
    for module in (
        candidate.sparse,
        candidate.functional,
        candidate.nn.functional,
        candidate.nn.init,
        candidate.autograd,
    ):
        assert module.torch is candidate


@parity_test
def test_the_older_form_of_library_impl(torch: Any) -> Any:
    library = torch.library.Library("jaxtorch_test_older_form", "DEF")
    library.define("muladd(Tensor a, Tensor b, float c=1.0) -> Tensor")

    @torch.library.impl(library, "muladd", "CompositeImplicitAutograd")
    def muladd(a, b, c=1.0):
        return a * b + c

    x = torch.ones(2, requires_grad=True)
    found = torch.ops.jaxtorch_test_older_form.muladd(x, torch.full((2,), 3.0), 0.5)
    found.sum().backward()
    return found, x.grad, muladd(x, x)


@parity_test
def test_inductors_groups_of_switches(torch: Any) -> Any:
    import importlib

    config = importlib.import_module(f"{torch.__name__}._inductor.config")
    config.triton.unique_kernel_names = True
    return config.triton.unique_kernel_names, config.max_autotune, config.coordinate_descent_tuning


@parity_test
def test_a_causal_bias_shows_its_mask(torch: Any) -> Any:
    from importlib import import_module

    return repr(import_module(f"{torch.__name__}.nn.attention.bias").causal_lower_right(2, 4))
