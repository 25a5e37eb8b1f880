"""What PyTorch takes for a number, a dimension, a flag or a word, and what it refuses: the same exception, or the same values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from parity import Raised, attempt, parity_test

GIVEN = """True; np.bool_(True); np.int64(1); np.float32(1); np.float64(1); 1.0; torch.tensor(1); torch.tensor([1])
    torch.tensor(1.0); g; torch.tensor([1, 2]); None; 'a'; 1j; np.complex64(1); np.array([1]); object()"""
DIMENSIONS = """torch.softmax(x, {}); torch.select(x, 0, {}); torch.sum(x, {}); x.amax({}); x.logsumexp({}); x.var({})
    x.unsqueeze({})
    torch.diagonal(x, {}); x.flip({}); x.permute({}, 0); x.transpose({}, 0); x.flatten({}); x.movedim({}, 0); x.size({})
    torch.cat([x, x], {}); x.cumsum({}); torch.norm(x, 2, {}); x.argmax({}); x.sum_to_size({}, 3); torch.stack([x, x], {})"""
SIZES = """torch.topk(x, {}); torch.multinomial(x, {}, True).shape; torch.tensor_split(x, {}); torch.chunk(x, {}); torch.roll(x, {})
    torch.split(x, {}); torch.eye({}); torch.randperm({}); torch.bincount(i, minlength={}); torch.triu_indices({}, 2)
    torch.combinations(x[0], {}); torch.cov(x, correction={}); F.interpolate(x[None], {}); torch.fft.fft(x, {})
    F.embedding(i, x, padding_idx={}); F.adaptive_avg_pool1d(x, {}); torch.linspace(0, 1, {}); torch.randint({}, (2,))
    F.group_norm(x, {}); torch.vander(x[0], {})"""
NUMBERS = """torch.add(x, x, alpha={}); torch.sub(x, {}); x * {}; x / {}; F.leaky_relu(x, {}); torch.logit(x / 6, {})
    torch.dist(x, x, {})
    torch.isclose(x, x, {}); torch.full((1,), {}); x.new_full((1,), {}); torch.linspace({}, 2, 3)
    F.cross_entropy(x, i, label_smoothing={})
    F.batch_norm(x, None, None, training=True, eps={}); F.batch_norm(x, None, None, training=True, momentum={})
    F.interpolate(x[None], scale_factor={}); F.interpolate(x[None], scale_factor={}, mode='area')
    F.alpha_dropout(x, {}); torch.renorm(x, {}, 0, 1); torch.cdist(x, x, {})
    torch.logspace(0, 1, 2, {}); torch.norm(x, {}); F.softplus(x, {}); torch.pow(x, {}); torch.nan_to_num(x, {})"""
FLAGS = """F.gelu(x, approximate={}); torch.fft.fft(x, norm={}); F.embedding(i, x, sparse={}); torch.multinomial(x, 1, {}).shape
    F.batch_norm(x, r, r + 1, training={}); F.mse_loss(x, x, reduction={})"""
BESIDE = """b | {}; torch.bitwise_and(i, {}); i << {}; torch.result_type(i, {}); x.masked_fill(b[:, None], {})
    x.scatter(1, i[:, None], {})
    torch.where(b[:, None], x, {}); x.fill_({})"""
STATISTICS = """F.batch_norm(x, None, r, training=True); F.batch_norm(x, r, None, training=True); F.batch_norm(x, None, r)
    F.instance_norm(x[None], None, r[:2]); F.instance_norm(x[None], r[:2], None); F.instance_norm(x[None], momentum=1j)
    torch.native_batch_norm(x, None, None, None, r, True, 0.1, 1e-5); F.batch_norm(x, r, r, training=True, momentum=1j)
    nn.MultiheadAttention(3, 1)(x[None], x[None], x[None], 1.5); nn.utils.rnn.pad_sequence(['a'])
    torch._native_batch_norm_legit(x, None, None, None, r, True, 0.1, 1e-5)"""

LAYERS = """nn.HuberLoss(delta={}); nn.Unflatten({}, (1, 2)).unflattened_size; nn.Embedding(2, 2, max_norm={})(i).shape
    nn.utils.rnn.pack_padded_sequence(x[:, None, None], [2], {}); torch.distributions.Normal({}, 1.0, validate_args=True).mean
    torch.distributions.Gamma({}, 1.0, validate_args=True).mean; torch.distributions.Binomial(2, {}, validate_args=True).mean
    torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([g], 0.1), {}).mode"""


# validate_args: PyTorch's torch.compile switches the checks of distributions off for the whole process


def _listed(texts: str) -> list[str]:
    return [e.strip() for line in texts.splitlines() for e in line.split("; ")]


def _found(torch: Any, text: str) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "nn": torch.nn,
        "np": np,
        "x": x,
        "i": torch.tensor([1, 0]),
        "r": torch.ones(3),
    }
    names |= {"g": torch.tensor(1.0, requires_grad=True), "b": torch.tensor([True, False])}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = attempt(lambda: eval(text, names))
    return found.kind if isinstance(found, Raised) else found


@pytest.mark.parametrize("text", [t for group in (DIMENSIONS, SIZES, NUMBERS, FLAGS, LAYERS) for t in _listed(group)])
@parity_test
def test_arguments(torch: Any, text: str) -> Any:
    return [(given, _found(torch, text.replace("{}", given))) for given in _listed(GIVEN)]


@pytest.mark.parametrize("text", _listed(BESIDE))
@parity_test
def test_numbers_of_numpy(torch: Any, text: str) -> Any:
    given = ("np.bool_(True)", "np.int64(1)", "np.float32(1)", "np.complex64(1)", "np.complex128(1)")
    return [(number, _found(torch, text.replace("{}", number))) for number in given]


@pytest.mark.parametrize("text", _listed(STATISTICS))
@parity_test
def test_running_statistics(torch: Any, text: str) -> Any:
    return _found(torch, text)


@parity_test
def test_equal_arguments_that_came_before(torch: Any) -> Any:
    """1.0 and True are refused where 1 was taken, though they are equal."""
    x = torch.ones(2, 3)
    calls = [
        lambda n=n, f=f: f(n) for f in (x.sum, x.amax, x.var, x.flip, x.squeeze, x.unsqueeze) for n in (1, 1.0, True)
    ]
    return [getattr(attempt(call), "kind", "taken") for call in calls]
