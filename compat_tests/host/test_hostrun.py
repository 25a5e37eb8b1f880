"""Kernels on NumPy, as forked DataLoader workers run them: the same results as through XLA, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch._core.compile.tracing import EXPANDED
from jaxtorch._core.host import forked
from jaxtorch._core.host.forked import HostModeError
from jaxtorch._core.host.numpy_program import RULES
from jaxtorch._core.record import program

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
Y = RANDOM.normal(size=(3, 4)).astype(np.float32)
IMAGE = RANDOM.integers(0, 256, (3, 6, 5)).astype(np.uint8)
INTS = RANDOM.integers(-5, 6, (3, 4))
SIGNS = np.array([-7, -6, -1, 0, 1, 5, 7, 8])
C = (X + 1j * Y).astype(np.complex64)


def run_on_host(body: Callable[[], Any]) -> Any:
    """The result of a body computed without JAX: as in a forked worker, where no array is a JAX array."""
    program.flush_all()
    forked.active = True
    try:
        found = body()
        return [np.array(t._read().array) for t in flat(found)]
    finally:
        forked.active = False


def flat(x: Any) -> list[Any]:
    if isinstance(x, tuple | list):
        return [t for item in x for t in flat(item)]
    return [x]


def t(array: np.ndarray) -> Any:
    return torch.from_numpy(array.copy())


CASES: dict[str, Callable[[], Any]] = {
    # what transforms of samples do
    "normalise": lambda: (t(IMAGE).float() / 255 - 0.45) / 0.225,
    "normalise channels": lambda: (
        (t(IMAGE).float().div(255) - torch.tensor([0.4, 0.5, 0.6])[:, None, None])
        / torch.tensor([0.2, 0.3, 0.4]).view(3, 1, 1)
    ),
    "flip": lambda: t(IMAGE).flip(-1),
    "crop": lambda: t(IMAGE)[:, 1:5, 2:4],
    "step": lambda: t(IMAGE)[:, ::2, 1::3],
    "to channels last": lambda: t(IMAGE).permute(1, 2, 0).contiguous(),
    "rotate": lambda: t(IMAGE).transpose(1, 2).flip(1),
    "grey": lambda: t(IMAGE).float().mean(0, keepdim=True),
    "pad": lambda: torch.nn.functional.pad(t(X), (1, 2, 0, 1), value=-1.0),
    "one hot": lambda: torch.nn.functional.one_hot(torch.tensor([0, 2, 1]), 4),
    "stack": lambda: torch.stack([t(X), t(Y)]),
    "cat": lambda: torch.cat([t(X), t(Y)], 1),
    "chunk": lambda: t(X).chunk(2, 1),
    "split": lambda: t(X).split([1, 3], 1),
    "unbind": lambda: t(X).unbind(0),
    "where": lambda: torch.where(t(X) > 0, t(X), t(Y)),
    "mask": lambda: t(X).masked_fill(t(Y) > 0, -9.0),
    "noise": lambda: t(X) + 0.1 * t(Y),
    "clamp": lambda: t(X).clamp(-0.5, 0.5),
    "clamp one side": lambda: (t(X).clamp(min=0.1), t(X).clamp(max=0.1)),
    "take rows": lambda: t(X)[torch.tensor([2, 0, 2])],
    "take pairs": lambda: t(X)[torch.tensor([2, 0]), torch.tensor([1, 3])],
    "one element": lambda: (t(X)[1, 2], t(X)[-1], t(X)[..., -2]),
    "write": lambda: written(t(X)),
    "write block": lambda: block(t(X)),
    "arange": lambda: (torch.arange(5), torch.arange(1.0, 2.0, 0.25), torch.linspace(0, 1, 5)),
    "make": lambda: (torch.zeros(2, 3), torch.ones(2), torch.full((2,), 7), torch.eye(3)),
    "tensor": lambda: torch.tensor([[1, 2], [3, 4]]),
    # arithmetic
    "add": lambda: t(X) + t(Y),
    "integers": lambda: t(INTS) * 3 - 7,
    "true division": lambda: t(INTS) / 4,
    "floor division": lambda: (t(SIGNS) // 3, t(SIGNS) // -3, t(SIGNS).float() // 3),
    "remainder": lambda: (t(SIGNS) % 3, t(SIGNS) % -3, t(SIGNS).float() % 2.5),
    "fmod": lambda: (torch.fmod(t(SIGNS), 3), torch.fmod(t(SIGNS), -3)),
    "truncated": lambda: torch.div(t(SIGNS), 3, rounding_mode="trunc"),
    "round": lambda: (t(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)).round(), t(X).floor(), t(X).ceil()),
    "trunc": lambda: (t(X).trunc(), t(X).frac()),
    "powers": lambda: (t(X) ** 2, t(X) ** 3, t(X).abs() ** 0.5, 2.0 ** t(X), t(X).abs() ** -1),
    "exponentials": lambda: [f(t(X)) for f in (torch.exp, torch.expm1, torch.sigmoid, torch.tanh, torch.sin)],
    "logarithms": lambda: [f(t(X).abs()) for f in (torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt)],
    "rsqrt": lambda: t(X).abs().rsqrt(),
    "signs": lambda: (t(X).sign(), t(X).abs(), -t(X), t(INTS).sign()),
    "special values": lambda: (t(X) / 0, torch.isnan(t(X) * 0 / 0), torch.isfinite(t(X) / 0)),
    "bits": lambda: (t(INTS) & 6, t(INTS) | 1, t(INTS) ^ 3, ~t(INTS), t(INTS).abs() << 2, t(INTS).abs() >> 1),
    "logic": lambda: (t(X) > 0) & ~(t(Y) > 0) | (t(X) < -1),
    "comparisons": lambda: (t(INTS) == 2, t(INTS) != 2, t(INTS) <= 1, t(INTS) >= 1, t(X) < t(Y)),
    "complex": lambda: (t(C) * t(C), t(C).abs(), t(C).real, t(C).imag, t(C).conj() + 0, torch.complex(t(X), t(Y))),
    "casts": lambda: (
        [t(X).to(d) for d in (torch.int64, torch.float64, torch.uint8, torch.bool, torch.complex64)]
        + [t(INTS).float(), (t(X) > 0).int()]
    ),
    "maximum": lambda: (torch.maximum(t(X), t(Y)), torch.minimum(t(X), t(Y))),
    # reductions
    "sums": lambda: (t(X).sum(), t(X).sum(0), t(INTS).sum(1), t(X).mean(), t(X).prod(1), (t(X) > 0).sum()),
    "extremes": lambda: (t(X).max(), t(X).min(), t(X).amax(0), t(X).argmax(), t(X).argmin(1), t(INTS).argmax(1)),
    "max with index": lambda: (*t(X).max(1), *t(X).min(0)),
    "spread": lambda: (t(X).std(), t(X).var(0), t(X).norm()),
    "quantifiers": lambda: ((t(X) > 0).any(), (t(X) > -9).all(), (t(X) > 0).any(1)),
    "softmax": lambda: (t(X).softmax(1), t(X).log_softmax(0), t(X).logsumexp(1)),
    "pad and cut": lambda: torch.nn.functional.pad(t(X), (-1, 2, 1, -1)),
    "scatter reduced": lambda: [
        t(X).scatter_reduce(0, torch.tensor([[0, 0, 2, 1]]), t(Y)[:1], r) for r in ("sum", "prod", "amax", "amin")
    ],
    "copysign": lambda: (torch.copysign(t(X), t(Y)), t(X).signbit()),
    "interpolate": lambda: torch.nn.functional.interpolate(t(X)[None, None], scale_factor=2),
    "pool": lambda: torch.nn.functional.avg_pool2d(t(IMAGE).float()[None], 2),
    "cumulative": lambda: (t(X).cumsum(0), t(X).cumprod(1), *t(X).cummax(1)),
    "sort": lambda: (*t(X).sort(1), *t(X).sort(0, descending=True), t(INTS).argsort(1, stable=True)),
    "topk": lambda: t(X).topk(2, 1),
    "matmul": lambda: (t(X) @ t(Y).t(), t(X)[0] @ t(Y)[0], torch.bmm(t(IMAGE).float(), t(IMAGE).float().mT)),
    "einsum": lambda: torch.einsum("ij,ik->jk", t(X), t(Y)),
    "gather": lambda: t(X).gather(1, torch.tensor([[0, 3], [1, 1], [2, 0]])),
    "scatter": lambda: torch.zeros(3, 4).scatter(1, torch.tensor([[0], [3], [2]]), 1.0),
    "index add": lambda: torch.zeros(3, 4).index_add(0, torch.tensor([0, 0, 2]), t(X)),
    "bincount": lambda: torch.bincount(torch.tensor([0, 2, 2, 3])),
    "tri": lambda: (t(X).tril(), t(X).triu(1)),
    "roll": lambda: (t(X).roll(1, 0), t(X).roll((1, -1), (0, 1))),
    "repeat": lambda: (t(X).repeat(2, 1), t(X)[0].repeat_interleave(2), t(X)[:, None].expand(3, 2, 4)),
    "shapes": lambda: (t(X).view(-1), t(X).reshape(2, 6), t(X)[None].squeeze(0), t(X).unsqueeze(1), t(X).flatten()),
    "diagonal": lambda: (t(X).diagonal(), torch.diag(t(X)[0])),
    "unfold": lambda: t(X).unfold(1, 2, 1),
    "fourier": lambda: (torch.fft.fft(t(C)), torch.fft.ifft2(t(X)), torch.fft.irfft(torch.fft.rfft(t(X)), n=5)),
    "spectrogram": lambda: torch.stft(t(X).view(-1), 4, window=torch.hann_window(4), return_complex=True).abs(),
    "complex matrices": lambda: (
        torch.linalg.inv(t(C) @ t(C).mH + 3 * torch.eye(3)),
        torch.linalg.svdvals(t(C)),
        torch.linalg.cholesky(t(C) @ t(C).mH),
    ),
    "gradient of a transform": lambda: gradient(),
}


def written(x: Any) -> Any:
    x[0] = -1
    x[:, 1] = x[:, 2] * 2
    x += 1
    x[1, 3].mul_(5)
    return x


def block(x: Any) -> Any:
    x[1:3, 1:3] = torch.zeros(2, 2)
    x[torch.tensor([0]), torch.tensor([3])] = 8.0
    x[x > 1.5] = 0
    return x


def gradient() -> Any:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (w**2 * 3).sum().backward()
    return w.grad


@pytest.mark.parametrize("case", CASES)
def test_the_host_computes_what_xla_computes(case: str):
    expected = [np.array(x.detach().clone().numpy()) for x in flat(CASES[case]())]
    actual = run_on_host(CASES[case])
    assert len(expected) == len(actual)
    for e, a in zip(expected, actual, strict=True):
        assert e.dtype == a.dtype and e.shape == a.shape
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-6)


def test_nothing_is_computed_by_jax(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("JAX was called")

    for name in ("run", "run_now"):
        monkeypatch.setattr(program.runner, name, refuse)
    (out,) = run_on_host(lambda: (t(X) * 2 + 1).exp().sum(0) - t(Y)[0])
    np.testing.assert_allclose(out, np.exp(X * 2 + 1).sum(0) - Y[0], rtol=1e-5)


def test_what_the_host_lacks_is_refused_by_name():
    with pytest.raises(HostModeError, match="igamma") as caught:
        run_on_host(lambda: torch.igamma(t(X), t(X)))
    assert "num_workers=0" in str(caught.value)


def test_bad_data_is_raised_at_once():
    x, index = t(X), torch.tensor([1, 7])
    with pytest.raises((IndexError, RuntimeError), match=r"out of range|out of bounds"):
        run_on_host(lambda: x.index_select(0, index))


def test_what_was_pending_is_computed():
    x = torch.full((3,), 2.0)
    x.tolist()
    y = x * 3
    forked.active = True
    try:
        program.forget_all()
        z = y + 1
        assert z._read().array.tolist() == [7.0] * 3
    finally:
        forked.active = False
    assert y.tolist() == [6.0] * 3


def test_every_rule_names_a_primitive():
    """A misspelt name would never be found."""
    import jax
    from jax._src import ad_util
    from jax._src.lax import control_flow, convolution, fft, lax, linalg, slicing, special, windowed_reductions

    known = {"jit", "copy_p", "pjit", *EXPANDED}  # these are jaxtorch's own
    if tuple(map(int, jax.__version__.split(".")[:2])) < (0, 12):
        known |= {"log2", "one_minus_square", "polynomial"}
    places = (
        lax,
        slicing,
        windowed_reductions,
        convolution,
        special,
        linalg,
        fft,
        control_flow,
        control_flow.loops,
        ad_util,
    )
    for module in places:
        known |= {p.name for p in vars(module).values() if isinstance(p, jax.extend.core.Primitive)}
    assert set(RULES) - known == set()
