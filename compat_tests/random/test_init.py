"""`nn.init` draws PyTorch's numbers, and `nn.utils` clips gradients as it does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as candidate
from module_kit import check, kit, lines, parity

INITIALISERS = lines("""
    init.uniform_(e(7))
    init.uniform_(e(40), -2, 3)
    init.normal_(e(7))
    init.normal_(e(40), 1, .5)
    init.normal_(e(3, dtype=torch.float64))
    init.normal_(nn.Parameter(e(20)))
    init.normal_(e(5), generator=torch.Generator().manual_seed(3))
    init.trunc_normal_(e(5))
    init.trunc_normal_(e(20, 30))
    init.trunc_normal_(e(300), std=.02)
    init.trunc_normal_(e(300), 0, .02, -.04, .04)
    init.trunc_normal_(e(300, dtype=torch.float64))
    init.trunc_normal_(e(50), 0, 1, 0, 2)
    init.trunc_normal_(e(50), 0, 1, -.4, .4)
    init.trunc_normal_(e(50), 0, 1, -.35, .35)
    init.trunc_normal_(e(50), 0, 1, 1, 2)
    init.trunc_normal_(e(50), 3, 1, 0, .5)
    init.trunc_normal_(e(50, dtype=torch.float64), 0, 1, 5, 6)
    init.trunc_normal_(e(300, dtype=torch.float16), 0, 1, 2, 3)
    init.trunc_normal_(nn.Parameter(e(20)))
    init.trunc_normal_(e(20), generator=torch.Generator().manual_seed(3))
    init.trunc_normal_(e(0))
    init.trunc_normal_(e(6, 5).t())
    init.constant_(e(2), 3)
    init.ones_(e(2))
    init.zeros_(e(2))
    init.eye_(e(2, 3))
    init.eye_(nn.Parameter(e(3, 2)))
    init.dirac_(e(2, 2, 3))
    init.dirac_(e(4, 2, 3), 2)
    init.dirac_(e(2, 3, 3, 2))
    init.dirac_(nn.Parameter(e(2, 3, 1, 2, 3)))
    init.xavier_uniform_(e(6, 5))
    init.xavier_uniform_(e(6, 5), gain=2, generator=torch.Generator().manual_seed(3))
    init.xavier_normal_(e(2, 3, 4))
    init.kaiming_uniform_(e(6, 5))
    init.kaiming_uniform_(e(6, 5), a=5 ** .5)
    init.kaiming_uniform_(e(6, 5), mode='FAN_OUT', nonlinearity='tanh')
    init.kaiming_normal_(e(6, 5, 3, 3), nonlinearity='relu')
    init.kaiming_normal_(e(6, 5), generator=torch.Generator().manual_seed(3))
    init.kaiming_normal_(e(0, 2))
    init.orthogonal_(e(5, 3))
    init.orthogonal_(e(3, 5), gain=2)
    init.orthogonal_(nn.Parameter(e(4, 2, 2)))
    init.orthogonal_(e(0, 3))
    init.sparse_(e(10, 4), .5)
    init.sparse_(nn.Parameter(e(10, 4)), .25, std=1)
    init.normal(e(7))
    init.kaiming_uniform(e(6, 5))
""")


@pytest.mark.parametrize("case", INITIALISERS)
def test_init_draws_pytorchs_numbers(case: str) -> None:
    """The values, and the next number of the generator: a model built after this one starts the same too."""
    found = []
    for torch in (reference, candidate):
        scope = {**kit(torch), "e": torch.empty}
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensor = eval(case, scope)
        found.append((tensor.detach().numpy().copy(), torch.rand(1).item(), type(tensor).__name__, tensor.stride()))
    (expected, *rest), (actual, *same) = found
    tolerance = 2e-6 if "orthogonal" in case else 0
    np.testing.assert_allclose(actual, expected, rtol=max(tolerance, 2e-7), atol=tolerance)
    assert same == rest


INIT_TEXTS = lines("""
    [init.calculate_gain(n) for n in 'linear conv1d conv_transpose3d tanh relu leaky_relu selu'.split()]
    init.calculate_gain('leaky_relu', 0.2), init.calculate_gain('leaky_relu', 1)
    init.calculate_gain('foo')
    init.calculate_gain('leaky_relu', True)
    init.calculate_gain('leaky_relu', 'x')
    init.eye_(T(2))
    init.dirac_(T(2, 2))
    init.dirac_(T(3, 2, 3), 2)
    init.xavier_uniform_(T(2))
    init.kaiming_uniform_(T(2))
    init.kaiming_uniform_(T(2, 3), mode='foo')
    init.kaiming_uniform_(T(0, 2))
    init.orthogonal_(T(2))
    init.sparse_(T(3), .5)
    init.uniform_(T(3), 1, 0)
    init.normal_(T(3), 0, -1)
    init.trunc_normal_(T(3), std=0)
    init.trunc_normal_(T(5), 3, 1, 0, .5).shape
    init.constant(T(2), 4)
    init.ones_(P(2)), init.zeros_(P(2)), init.constant_(P(2), 3)
    init._calculate_fan_in_and_fan_out(T(2, 3, 4, 5))
    init.constant.__name__, init.xavier_uniform.__name__
""")


@parity(init=INIT_TEXTS)
def test_init_answers_as_pytorch(case: str) -> None:
    check(case)


FILLINGS = (
    lambda nn: nn.Linear(3, 2),
    lambda nn: nn.LSTM(2, 2),
    lambda nn: nn.MultiheadAttention(4, 2),
    lambda nn: (nn.Embedding(3, 2), nn.PReLU(), nn.BatchNorm1d(2), nn.LayerNorm(2)),
    lambda nn: nn.init.normal_(nn.Parameter(reference_or(nn).empty(2)), std=3.0),
    lambda nn: [
        getattr(nn.init, f"{name}_")(reference_or(nn).empty(2, 2)) for name in ("ones", "zeros", "xavier_normal")
    ],
)


def reference_or(nn: Any) -> Any:
    """The library that `nn` is part of."""
    return reference if nn is reference.nn else candidate


@pytest.mark.parametrize("fill", FILLINGS)
def test_a_mode_may_leave_out_the_filling(fill: Any) -> None:
    def told(torch: Any) -> list[Any]:
        heard = []

        class Empty(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = torch.overrides.resolve_name(func)
                if name is not None and name.startswith("torch.nn.init."):
                    heard.append((name, args, {k: v for k, v in kwargs.items() if k != "tensor"}))
                    return kwargs["tensor"]
                return func(*args, **(kwargs or {}))

        torch.manual_seed(0)
        with Empty():
            fill(torch.nn)
        return [heard, torch.rand(1).item()]

    assert told(candidate) == told(reference)


def test_a_subclass_is_asked_once_about_its_filling() -> None:
    def told(torch: Any) -> list[str]:
        heard = []

        class Asked(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if "init" in str(torch.overrides.resolve_name(func)):
                    heard.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        w = torch.zeros(2, 2).as_subclass(Asked)
        for name, given in (("normal_", ()), ("kaiming_normal_", ()), ("constant_", (3.0,))):
            getattr(torch.nn.init, name)(w, *given)
        return [*heard, type(w).__name__, str(w.tolist())]

    assert told(candidate) == told(reference)


CLIPPING = lines("""
    utils.clip_grad_norm_(g, 1.), g[0].grad, g[1].grad
    utils.clip_grad_norm_(g, 1., float('inf')), g[0].grad, g[1].grad
    utils.clip_grad_norm_(g, 1, 1), g[0].grad
    utils.clip_grad_norm_(g, 1, 0.5), g[0].grad
    utils.clip_grad_norm_(g, 1, 'inf'), g[0].grad
    utils.clip_grad_norm_(g, 100), g[0].grad
    utils.clip_grad_norm_(g, -1), g[0].grad
    utils.clip_grad_norm_(g, 0), g[0].grad
    utils.clip_grad_norm_(g, max_norm=1, foreach=True), g[0].grad
    utils.clip_grad_norm_(g, max_norm=1, foreach=False), g[0].grad
    utils.clip_grad_norm_(g[0], 1), g[0].grad
    utils.clip_grad_norm_([], 1)
    utils.clip_grad_norm_((p for p in []), 1)
    utils.clip_grad_norm_((p for p in g), 1), g[0].grad
    utils.clip_grad_norm_(iter(g), 1), g[0].grad
    utils.clip_grad_norm_(grads(None), 1)
    utils.clip_grad_norm_(grads([1.], None), 1)
    q = grads([float('inf'), 1.]); utils.clip_grad_norm_(q, 1), q[0].grad
    q = grads([float('nan'), 1.]); utils.clip_grad_norm_(q, 1), q[0].grad
    utils.clip_grad_norm_(grads([float('nan')]), 1, error_if_nonfinite=True)
    utils.clip_grad_norm_(grads([float('inf')]), 1, 1, error_if_nonfinite=True)
    utils.clip_grad_norm_(g, 1, error_if_nonfinite=True)
    utils.clip_grad_norm_(g, 'x')
    type(utils.clip_grad_norm_(g, 1)).__name__, utils.clip_grad_norm_(g, 1).requires_grad
    utils.clip_grad_value_(g, 1), g[0].grad, g[1].grad
    utils.clip_grad_value_(g[0], 3), g[0].grad
    utils.clip_grad_value_(g, -1), g[0].grad
    utils.get_total_norm([p.grad for p in g]), utils.get_total_norm(g[0].grad), utils.get_total_norm([])
    utils.get_total_norm((p.grad for p in g), 1.)
    utils.get_total_norm(T(2) * float('nan'), error_if_nonfinite=True)
    utils.clip_grads_with_norm_(g, 1, torch.tensor(2.)), g[0].grad
    utils.clip_grads_with_norm_([], 1, torch.tensor(2.))
    utils.clip_grad.clip_grad_norm(g, 1)
    utils.parameters_to_vector(g).detach(), utils.parameters_to_vector(g).requires_grad
    utils.parameters_to_vector(g[0]).shape
    utils.vector_to_parameters(torch.arange(5.), g), g
    v = torch.arange(5.); utils.vector_to_parameters(v, g); v.add_(1); g, g[0].is_leaf, g[0].requires_grad
    utils.vector_to_parameters([1], g)
""")


@parity("g = grads([3., 4.], [-12., 0., 2.])", clipping=CLIPPING)
def test_clipping(case: str) -> None:
    check(case)
