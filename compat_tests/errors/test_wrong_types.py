"""Layers and losses of element types that PyTorch refuses: the same exception with the same message, or the same values."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from parity import Raised, candidate, differences, outcome, reference

TYPES = ("int64", "uint8", "bool", "complex64")
# x (2, 4), of the type; f: as many floats; i3, i4, i5: one example of one channel with 1, 2 and 3 dimensions of 4
LOSSES = """l1_loss(x, x); l1_loss(x, x, reduction="sum"); l1_loss(f, x); mse_loss(x, x); smooth_l1_loss(x, x)
    smooth_l1_loss(f, x); huber_loss(x, x); huber_loss(f, x); kl_div(x, x); poisson_nll_loss(x, x)
    gaussian_nll_loss(x, x, x); gaussian_nll_loss(f, x, f); margin_ranking_loss(x[0], x[0], x[0])
    margin_ranking_loss(f[0], f[0], x[0]); hinge_embedding_loss(x, x); hinge_embedding_loss(x, x, reduction="none")
    cosine_embedding_loss(x, x, one); triplet_margin_loss(f, x, x); soft_margin_loss(x, f); soft_margin_loss(f, x)
    multi_margin_loss(x, one); multilabel_margin_loss(x, x.long()); multilabel_soft_margin_loss(x, f)
    multilabel_soft_margin_loss(f, x); binary_cross_entropy_with_logits(x, x); pairwise_distance(f, x)
    cosine_similarity(x, x)"""
LAYERS = """dropout(x, 0.5); dropout(x, 1.0); alpha_dropout(x, 0.5, True); dropout1d(x, 0.5); normalize(x)
    gumbel_softmax(x); layer_norm(x, (4,), torch.ones(4)); rms_norm(x, (4,)); local_response_norm(i3, 2)
    local_response_norm(i3, 0); max_pool1d(i3, 2); max_pool1d(i3, 2, return_indices=True); max_pool2d(i4, 2)
    avg_pool1d(i3, 2); avg_pool3d(i5, 2); adaptive_avg_pool2d(i4, 2); adaptive_avg_pool2d(i4, 1)
    adaptive_max_pool3d(i5, 2); lp_pool2d(i4, 2, 2); lp_pool2d(i4, 2.0, 2); interpolate(i3, scale_factor=2)
    interpolate(i4, scale_factor=2, mode="bicubic"); interpolate(i5, scale_factor=2, mode="area")
    pad(i4, (1, 1, 1, 1), "reflect"); pad(i3, (1, 1), "replicate"); unfold(i4, 2); fold(i4.reshape(1, 4, 4), 3, 2)
    softsign(x); tanhshrink(x); softshrink(x); softmin(x, 0); scaled_dot_product_attention(x, x, x)
    conv1d(i3, i3); conv2d(i4, i4); conv2d(i4, i4[..., :2, :2], dilation=2); conv_transpose2d(i4, i4)"""


def _expressions(texts: str) -> list[str]:
    return [e.strip() for line in texts.splitlines() for e in line.split(";")]


def _computed(torch: Any, text: str, dtype: str) -> Any:
    f = torch.arange(8.0).reshape(2, 4) % 3
    x = f.to(getattr(torch, dtype))
    names = {"torch": torch, "f": f, "x": x, "one": torch.ones(2).long()}
    names |= {f"i{n + 2}": torch.ones((1, 1) + (4,) * n).to(x.dtype) for n in (1, 2, 3)}
    return eval(text if text.startswith("torch.") else "torch.nn.functional." + text, names)


def _same(text: str, *args: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = [outcome(t, _computed, text, *args) for t in (reference(), candidate())]
    if isinstance(expected, Raised):
        assert isinstance(actual, Raised), actual
        assert (actual.kind, actual.message.split("\n")[0]) == (expected.kind, expected.message.split("\n")[0])
    else:
        named = [d for d in differences(expected, actual, strides=False) if ".grad_fn" not in d]
        assert not named, named


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("text", _expressions(LOSSES))
def test_losses(text: str, dtype: str) -> None:
    _same(text, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("text", _expressions(LAYERS))
def test_layers(text: str, dtype: str) -> None:
    _same(text, dtype)


@pytest.mark.parametrize("dtype", TYPES[:3])
@pytest.mark.parametrize("cell", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
def test_cells(cell: str, dtype: str) -> None:
    x = "torch.ones(2, 4).to(x.dtype)"
    gates = {"lstm_cell": 4, "gru_cell": 3}.get(cell, 1)
    state = f"({x}, {x})" if gates == 4 else x
    weight = f"torch.ones({4 * gates}, 4).to(x.dtype)"
    _same(f"torch.{cell}({x}, {state}, {weight}, {weight})", dtype)
