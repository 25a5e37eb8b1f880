"""Modes with a `__torch_dispatch__` see `einsum`, attention, resampling, recurrent cells and losses as PyTorch's operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatch_log import log
from parity import candidate, reference


def _ar(t: Any, *shape: int, grad: bool = True) -> Any:
    return ((t.arange(t.Size(shape).numel()) * 0.37).sin().reshape(shape) + 0.1).requires_grad_(grad)


def _einsum(equation: str, *shapes: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda t: t.einsum(equation, *[_ar(t, *s) for s in shapes])


def _attention(*shapes: tuple[int, ...], **options: Any) -> Callable[[Any], Any]:
    def run(t: Any) -> Any:
        given = {k: v(t) if callable(v) else v for k, v in options.items()}
        return t.nn.functional.scaled_dot_product_attention(*[_ar(t, *s) for s in shapes], **given)

    return run


def _resized(*shape: int, **options: Any) -> Callable[[Any], Any]:
    return lambda t: t.nn.functional.interpolate(_ar(t, *shape), **options)


def _loss(name: str, shape: tuple[int, ...], target: Callable[[Any], Any], **options: Any) -> Callable[[Any], Any]:
    def run(t: Any) -> Any:
        given = {k: v(t) if callable(v) else v for k, v in options.items()}
        return getattr(t.nn.functional, name)(_ar(t, *shape), target(t), **given)

    return run


S3, S4 = (2, 3, 4), (1, 2, 3, 4)
CASES: dict[str, Callable[[Any], Any]] = {
    "einsum": _einsum("ij,jk->ik", (3, 4), (4, 5)),
    "einsum scores": _einsum("bnhd,bmhd->bhnm", (2, 3, 2, 4), (2, 5, 2, 4)),
    "einsum values": _einsum("bhnm,bmhd->bnhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    "einsum turned": _einsum("ij,kj->ki", (3, 4), (5, 4)),
    "einsum alone": _einsum("ijk,j->k", (2, 3, 4), (3,)),
    "einsum to a number": _einsum("ij,ij->", (3, 4), (3, 4)),
    "einsum of one": _einsum("ijk->ki", (2, 3, 4)),
    "einsum elements": _einsum("bi,bj->bij", (2, 3), (2, 4)),
    "einsum dots": _einsum("...ij,...jk", (2, 3, 4), (4, 5)),
    "einsum of three": _einsum("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    "tensordot": lambda t: t.tensordot(_ar(t, 3, 4, 5), _ar(t, 4, 5, 2)),
    "attention bool": _attention(S4, S4, S4, attn_mask=lambda t: t.ones(3, 3, dtype=t.bool).tril()),
    "attention grouped": _attention((1, 4, 3, 4), S4, S4, enable_gqa=True),
    "attention dropout": _attention(S4, S4, S4, dropout_p=0.5),
    "attention of three": _attention(S3, S3, S3, scale=0.3),
    "attention causal": _attention(S3, S3, S3, is_causal=True),
    "attention by mask": _attention(S4, S4, S4, attn_mask=lambda t: _ar(t, 3, 3)),
    "nearest": _resized(1, 2, 4, 4, scale_factor=2),
    "exact": _resized(1, 2, 4, size=7, mode="nearest-exact"),
    "linear": _resized(1, 2, 4, size=6, mode="linear"),
    "bilinear": _resized(1, 2, 4, 4, size=(8, 6), mode="bilinear"),
    "aligned": _resized(1, 2, 4, 4, scale_factor=2.0, mode="bilinear", align_corners=True),
    "bicubic": _resized(1, 2, 4, 4, size=(6, 6), mode="bicubic"),
    "antialias": _resized(1, 2, 6, 6, size=(4, 3), mode="bilinear", antialias=True),
    "trilinear": _resized(1, 1, 2, 3, 4, size=(3, 4, 5), mode="trilinear"),
    "area": _resized(1, 2, 4, 4, size=(2, 2), mode="area"),
    "grid": lambda t: t.nn.functional.grid_sample(_ar(t, 1, 2, 4, 4), _ar(t, 1, 3, 3, 2), align_corners=False),
    "lstm cell": lambda t: t.nn.LSTMCell(5, 3)(_ar(t, 2, 5, grad=False))[0],
    "gru cell": lambda t: t.nn.GRUCell(5, 3)(_ar(t, 2, 5, grad=False)),
    "rnn cell": lambda t: t.nn.RNNCell(5, 3, nonlinearity="relu")(_ar(t, 2, 5, grad=False)),
    "smoothed": _loss("cross_entropy", (3, 4), lambda t: t.tensor([0, 1, 2]), label_smoothing=0.1),
    "smoothed sum": _loss("cross_entropy", (3, 4), lambda t: t.tensor([0, 1, 2]), label_smoothing=0.1, reduction="sum"),
    "probabilities": _loss("cross_entropy", (3, 4), lambda t: _ar(t, 3, 4, grad=False).softmax(-1)),
    "three dimensions": _loss("cross_entropy", (2, 4, 3), lambda t: t.tensor([[0, 1, 2], [1, 2, 3]])),
    "kl": _loss("kl_div", (3, 4), lambda t: _ar(t, 3, 4, grad=False).softmax(-1), reduction="batchmean"),
    "kl of logs": _loss(
        "kl_div", (3, 4), lambda t: _ar(t, 3, 4, grad=False).log_softmax(-1), log_target=True, reduction="sum"
    ),
    "logits": _loss("binary_cross_entropy_with_logits", (3,), lambda t: t.ones(3), pos_weight=lambda t: t.ones(3) * 2),
    "ranking": lambda t: t.nn.functional.margin_ranking_loss(_ar(t, 3), _ar(t, 3) + 1, t.ones(3), margin=0.5),
    "poisson": _loss("poisson_nll_loss", (3,), lambda t: t.ones(3)),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    seen = []
    for t in (reference(), candidate()):
        t.manual_seed(0)
        with log(t) as mode:
            out = CASES[name](t)
            out.sum().backward()
        seen.append((mode.lines, out.detach().flatten().tolist()))
    assert seen[1][0] == seen[0][0]
    assert seen[1][1] == pytest.approx(seen[0][1], rel=1e-4, abs=1e-5)


def test_operations_are_there_before_a_mode_is_entered(run_python: Any) -> None:
    asked = "a = torch.ops.aten; a.add; print(a.upsample_nearest2d(torch.ones(1, 1, 2, 2), [4, 4]).shape, a.grid_sampler_2d_backward)"
    shown = run_python("-c", f"import jaxtorch as torch; {asked}").stdout
    assert shown == "torch.Size([1, 1, 4, 4]) aten.grid_sampler_2d_backward\n"
