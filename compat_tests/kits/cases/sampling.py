"""Random numbers: after `manual_seed` the streams are PyTorch's own, through every way of drawing them."""

from __future__ import annotations

from typing import Any

from parity import BASIC, FLOATS, HALVES, V, X, code, row

A = X(3, 4)
PROBABILITIES = V([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


def filled(name: str, method: str, *args: Any, shape: tuple[int, ...] = (5, 7)) -> Any:
    def body(torch: Any, x: Any) -> Any:
        y = getattr(x.clone(), method)(*args)
        return y, torch.rand(2)  # the stream must have moved as far

    return code(name, body, X(*shape)).upto(0)


def _generator(torch: Any) -> Any:
    first, second = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    drawn = torch.rand(3, generator=first)
    state = first.get_state()
    more = torch.randn(20, generator=first)
    first.set_state(state)
    return [
        drawn,
        torch.rand(3, generator=second),
        more,
        torch.randn(20, generator=first),
        first.initial_seed(),
    ]


def _state(torch: Any) -> Any:
    torch.manual_seed(7)
    state = torch.get_rng_state()
    first = torch.randn(3)
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        torch.rand(9)
    return [first, torch.randn(3), torch.initial_seed(), state.shape, state.dtype]


CASES = [
    *[row("rand", shape).upto(0) for shape in ((), (3,), (4, 5), (40, 10))],
    *[row("randn", shape).upto(0) for shape in ((), (3,), (15,), (16,), (17,), (40, 10))],
    code("rand_dtypes", lambda torch: [torch.rand(20, dtype=getattr(torch, d)) for d in (*FLOATS, *HALVES)]).upto(0),
    code("randn_dtypes", lambda torch: [torch.randn(20, dtype=getattr(torch, d)) for d in (*FLOATS, *HALVES)]).upto(0),
    row("randint", 10, (20,)).upto(0),
    row("randint", -5, 5, (4, 5)).upto(0),
    code("randint_wide", lambda torch: torch.randint(0, 2**40, (9,))).upto(0),
    row("randperm", 10).upto(0),
    row("randperm", 1000).upto(0),
    row("normal", 1.0, 2.0, (20,)).upto(0),
    row("normal", A, X(3, 4, low=0.5)).upto(0),
    row("bernoulli", X(5, 5, low=0, high=1)).upto(0),
    row("bernoulli", X(5, 5), p=0.3).upto(0),
    row("multinomial", PROBABILITIES, 2).upto(0),
    row("multinomial", PROBABILITIES, 8, replacement=True).upto(0),
    row("rand_like", A).upto(0),
    row("randn_like", A).upto(0),
    row("randint_like", A, 9).on(*BASIC).upto(0),
    filled("normal_", "normal_", 1.0, 0.5),
    filled("normal_small", "normal_", shape=(3,)),
    filled("uniform_", "uniform_", -1.0, 3.0),
    filled("random_", "random_", 0, 10).on(*BASIC),
    filled("bernoulli_", "bernoulli_", 0.25),
    filled("exponential_", "exponential_", 2.0),
    filled("normal_on_view", "normal_", shape=(4, 16)),
    code(
        "consecutive",
        lambda torch: [torch.rand(3), torch.randn(3), torch.randn(3), torch.randint(9, (3,)), torch.rand(1)],
    ).upto(0),
    code("generator", _generator).upto(0),
    code("state", _state).upto(0),
    row("dropout", A, 0.4, True),
    row("nn.functional.dropout", A, 0.4),
    row("nn.functional.dropout", X(20, 20), 0.9),
    row("nn.functional.dropout", A, p=1.0),
    row("nn.functional.dropout2d", X(2, 6, 3, 3), 0.5),
    row("nn.functional.alpha_dropout", A, 0.4, True),
    row("nn.functional.feature_alpha_dropout", X(2, 6, 3), 0.4, True),
    row("nn.functional.rrelu", A, training=True).upto(1),
    row("nn.functional.gumbel_softmax", A, hard=True),
]
