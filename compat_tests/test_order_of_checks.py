"""Which of several mistakes in one call is the error: the one that PyTorch finds first."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import jaxtorch

CALLS = """
F.mse_loss(whole, whole + 1, weight=whole)
F.mse_loss(three, three, weight=three[:2], reduction='x')
F.mse_loss(three, rows, reduction='x')
F.mse_loss(ones(2, 3), ones(4), reduction='x')
F.huber_loss(ones(2, 3), ones(4), 'x', 'y')
F.smooth_l1_loss(whole, whole, beta=0.0)
F.smooth_l1_loss(whole, whole + 1, beta=0.0, reduction='none')
F.smooth_l1_loss(whole, whole + 1, beta=0.0, reduction='sum')
F.soft_margin_loss(three[:0], three[:0].clone().requires_grad_())
F.soft_margin_loss(whole.to(torch.uint16), whole.to(torch.uint16)[:2])
F.binary_cross_entropy(3, three)
F.binary_cross_entropy(3, three, reduction='x')
F.binary_cross_entropy_with_logits('x', three)
F.cosine_embedding_loss(rows, rows, rows, size_average=True, reduction=three)
F.cosine_embedding_loss(3, rows, rows, reduction='x')
F.cross_entropy(ones(2, 0).long(), whole)
F.cross_entropy(whole, whole[:1].view(1, 1))
F.cross_entropy(three, whole[0], ignore_index=three, reduction='x')
F.nll_loss(whole[:2], three[:2])
F.kl_div(3, three, reduction='x')
F.kl_div(rows.to_sparse(), rows, reduction='x')
F.margin_ranking_loss(3, three, three)
F.margin_ranking_loss(three, three, 3)
F.margin_ranking_loss(3, three, three, reduction='x')
F.multi_margin_loss(3, three, reduction='x')
F.multi_margin_loss(rows, whole, 3, torch.int64)
F.multilabel_margin_loss([1.0], three, three[:0])
F.multilabel_soft_margin_loss(whole, 3, reduction=True)
F.poisson_nll_loss(3, three, full='x', reduction='x')
F.triplet_margin_loss(three, three, three, margin=whole)
F.triplet_margin_loss(rows, rows.to_sparse(), three)
F.normalize(3)
F.glu(3)
F.tanhshrink(3)
F.softsign(3)
F.softmax(3, 0)
F.softmax({}, 1e-30)
F.log_softmax(-1e30, 0)
F.log_softmax(torch.int32, three, (1.0,))
F.softmin(three.to(torch.float8_e4m3fn))
F.softmin(whole.to(torch.uint16), 7)
F.local_response_norm(three, (1, 2))
F.local_response_norm(3, (1, 2))
F.local_response_norm(ones(1, 2, 0), 'x')
F.local_response_norm(ones(1, 2, 2), 'x')
nn.CrossMapLRN2d((1, 2))(three)
nn.CrossMapLRN2d(2)([three])
F.lp_pool1d(three, three[:2], 1)
F.lp_pool1d(ones(2), ones(2), (1, 1, 1))
F.lp_pool1d(3, three, three)
F.lp_pool2d(rows, three, (1, 1, 1))
F.lp_pool2d(rows, 0, 1)
F.lp_pool3d(3, -2, -1)
F.lp_pool3d(ones(0, 2, 3, 3), 0, (-1, 2, 4))
F.avg_pool1d(rows.to_sparse(), (1, 1))
F.conv1d(ones(3, 3, 1, 2).to_sparse(), ones(3, 3, 1, 2))
F.conv_transpose1d(rows.to_sparse(), rows, three)
F.group_norm(ones(2, 4).to_sparse(), 2, three)
F.group_norm(three, (0.5,))
F.group_norm(three, 2, 3)
F.prelu(three.to_sparse(), three)
F.prelu(whole[:0], whole[0])
F.mish(ones(2, 2).long().to_sparse_csr())
F.adaptive_avg_pool2d(ones(1, 3, 3, 4).long(), 0)
F.adaptive_avg_pool3d(ones(3, 3, 1), 1)
F.adaptive_avg_pool3d(rows, 1)
F.adaptive_max_pool2d(3, 0)
F.adaptive_max_pool2d(three[:0], True)
F.adaptive_max_pool3d(three.bool(), None)
F.adaptive_max_pool3d(rows, (), three)
F.max_pool1d(whole, 2, dilation=0)
F.max_pool1d(three + 0j, 2)
F.max_pool2d(ones(0, 0) + 0j, 4)
F.max_pool2d(ones(1, 5, 1).bool(), 0)
F.max_pool3d(3, (3, 2), return_indices=True)
F.fractional_max_pool2d(ones(1, 4, 4), 2, output_ratio=0.5)
F.fractional_max_pool2d(ones(1, 4, 4), 2, output_ratio=(0.5, 0.5, 0.5))
F.fractional_max_pool2d(ones(1, 4, 4), 2, output_ratio=())
F.fractional_max_pool2d(three, 1, output_ratio=0.0)
F.fractional_max_pool2d([0, 2], (1, 4), output_ratio=-6)
F.fractional_max_pool2d(ones(2, 2, 2) + 0j, 3, (2, 2))
F.fractional_max_pool2d(ones(1, 1, 4, 4).long(), 2, 2, _random_samples=ones(1, 1, 2).long())
F.fractional_max_pool3d(ones(1, 0, 3).long(), (5, 3), (4,))
F.fractional_max_pool3d(ones(1, 1, 4, 4, 4), -1, (3,))
F.fractional_max_pool3d({}, 1e20, (-7, 5))
F.batch_norm(ones(2, 3).long(), ones(4), ones(3))
F.batch_norm(ones(2, 3), ones(3), ones(3), eps=-1.0)
F.batch_norm(three, three, three)
F.batch_norm(ones(0, 3).long(), three, three, three)
F.batch_norm(ones(0, 3), three, three, three[:0])
F.batch_norm(ones(2, 3).to(torch.float8_e4m3fn), None, None, training=True)
F.instance_norm(ones(2, 3, 2).long(), use_input_stats=False)
F.instance_norm(ones(2, 3, 2).long(), None, None, ones(4))
F.instance_norm(ones(2, 3, 2).long(), rows, three)
F.instance_norm(ones(2, 3, 0).long())
F.instance_norm(ones(2, 3, 0), None, three)
F.bilinear(three, three.half(), rows)
F.bilinear(three.bool(), three.bool(), ones(2, 3, 3).bool())
F.unfold(three, (1, 2, 3))
F.unfold(three, 1, dilation=())
F.unfold(three, 1, padding=-1)
F.unfold(ones(2, 0), 1)
F.gumbel_softmax(whole[:0])
F.gumbel_softmax(three[:0], hard=True)
F.gumbel_softmax(three.sum())
F.gumbel_softmax(three.to(torch.float8_e4m3fn))
F.dropout2d(rows.to(torch.uint16))
F.dropout(three.to(torch.float8_e4m3fn))
F.dropout2d(three.sum(), 1.0)
F.embedding(whole, three.sum(), padding_idx=0)
F.scaled_dot_product_attention(rows, rows, rows, is_causal=three)
F.celu(whole, -math.inf)
F.hardshrink(whole, math.nan)
F.softplus(whole.to(torch.uint8), -math.inf)
F.threshold(whole.to(torch.uint16), -0.5, -1.0)
nn.Sigmoid()(3)
nn.Tanh()(True)
ones(2, 2).to_sparse_csr().exp()
ones(2, 2).le(ones(2, 2).to_sparse_csr())
ones(2, 2) ** ones(2, 2).to_sparse_csr()
ones(2, 2).ge_(ones(2, 2).to_sparse_csr())
three.expand()
three.expand(size=3)
three.expand(2, size=(2, 3))
three.tile(2, dims=2)
three.sum_to_size(1, size=(1,))
three.repeat_interleave()
three.cauchy_(generator=3)
whole.exponential_(generator=three)
whole.uniform_(generator=three)
whole.bernoulli(generator={})
whole.normal_(std=-1)
F.rrelu_(three, 0.1, 0.3, True, 3)
three.new_tensor(1, layout=None)
three.new_tensor(1, pin_memory=False)
three.to_sparse(three)
three.to_sparse(1, dense_dim=0)
three.to_sparse(1, 1)
three.to_dense(three)
rows.to_sparse_csr(three)
rows.to_sparse_bsr(torch.float32, 4)
three.slice_inverse(three, end=0.5)
three.unflatten(7, ())
ones(3, 3).fill_diagonal_((1, 1))
ones(3).bitwise_and_(ones(2, 3))
ones(3).bool().igammac_(ones(2, 3))
ones(3).to(torch.uint16).logical_or_(ones(3).bfloat16())
ones(3).logical_xor(ones(3).to(torch.float8_e4m3fn))
F.glu(ones(4), axis=0)
F.ctc_loss(three, three, 2, 'x', reduction='x')
F.pad(3, (1, 2, 3))
F.pad(three, (2,), value=(1,))
nn.GRU(0, 2.0)
nn.Transformer(8, 2, 1, 1, 8)(three, three)
nn.AdaptiveAvgPool3d(1)(whole)
F.gaussian_nll_loss(whole, whole, whole - 2)
F.gaussian_nll_loss(three, three, -ones(3, 1, 1))
F.gaussian_nll_loss(three, three, -three, reduction=None)
F.gaussian_nll_loss(three, three, three.to(torch.float8_e4m3fn), reduction='x')
F.huber_loss(whole, ones(3).double(), weight=rows)
F.hardtanh(three.bool(), 2.0, 1.0)
F.hardtanh_(three, -1.0, -2.0)
F.hardtanh_(three.bool(), 2.0, 1.0)
F.huber_loss(whole, whole, 'x', weight=whole)
F.gumbel_softmax(whole.to(torch.uint16))
F.rrelu(three.to(torch.float8_e4m3fn), training=True)
F.hardtanh(whole.to(torch.uint16), -1.0, 1.0)
F.gumbel_softmax(three, ones(3))
F.lp_pool2d(rows, 2.0, three)
F.kl_div(three.to(torch.float8_e4m3fn), three.to(torch.float8_e4m3fn))
F.adaptive_max_pool2d(ones(2, 2, 4).to(torch.float8_e4m3fn), 2)
F.soft_margin_loss(three.to(torch.float8_e4m3fn), three[:2])
F.normalize(3, -1, 2**31)
whole.to(torch.uint16).pow(whole.to(torch.uint16))
whole.to(torch.uint16) ** 2
three.to(torch.float8_e4m3fn).polygamma(1)
three.take_along_dim(three, (0,))
three.index()
three.index(0.5, 1)
three.index(0.5, 1, 2)
nn.Unflatten(7, ())(three)
""".strip().splitlines()


def _end(library: Any, text: str) -> Any:
    """How a call ends: the class of its error, or what its result is like."""
    names = {
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "math": math,
        "ones": library.ones,
        "three": library.tensor([1.0, 2.0, 3.0]),
        "whole": library.tensor([1, 2, 3]),
        "rows": library.ones(2, 3),
    }
    try:
        result = eval(text, names)
    except Exception as error:
        return type(error).__name__
    if isinstance(result, tuple):
        result = result[0]
    return str(result.dtype), tuple(result.shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", CALLS)
def test_the_same_mistake_is_told(text: str) -> None:
    """Calls with several mistakes, or with one that only some of PyTorch's steps notice."""
    assert _end(jaxtorch, text) == _end(torch, text)


def test_the_weighted_mean_of_huber_loss() -> None:
    """It is over the elements, where that of other weighted losses is over the weights."""
    input, target, weight = [0.5, -0.25, 3.0], [0.0, 2.0, 1.0], [0.5, 2.0, -1.0]
    for loss in ("huber_loss", "mse_loss", "l1_loss"):
        for reduction in ("mean", "sum", "none"):
            ends = []
            for library in (torch, jaxtorch):
                x = library.tensor(input, requires_grad=True)
                given = library.tensor(target), library.tensor(weight)
                found = getattr(library.nn.functional, loss)(x, given[0], reduction=reduction, weight=given[1])
                found.sum().backward()
                ends.append([found.tolist(), x.grad.tolist()])
            assert pytest.approx(ends[0][0]) == ends[1][0]
            assert pytest.approx(ends[0][1]) == ends[1][1]
