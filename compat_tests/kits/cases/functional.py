"""torch.nn.functional: activations, convolutions, pooling, normalisation, losses, attention, embedding."""

from __future__ import annotations

from typing import Any

from parity import BASIC, FLOATS, HALVES, Case, I, M, V, X, row

A = X(3, 4)
IMAGE = X(2, 3, 6, 5)
SIGNAL = X(2, 4, 7)
VOLUME = X(1, 2, 4, 4, 4)
CLASSES = V([1, 0, 3], "int64", grad=False)
MASK3 = V([[True, False, True], [True, True, False], [True, True, True]], "bool", grad=False)


def f(name: str, *args: Any, **kwargs: Any) -> Case:
    return row(f"nn.functional.{name}", *args, **kwargs)


def _activations() -> list[Case]:
    plain = [
        "relu",
        "relu6",
        "elu",
        "celu",
        "selu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "softsign",
        "sigmoid",
        "tanh",
        "tanhshrink",
        "logsigmoid",
        "hardtanh",
        "hardswish",
        "leaky_relu",
        "softshrink",
        "hardshrink",
    ]
    return [f(name, A).on(*FLOATS, *HALVES).near(4) for name in plain]


def _losses() -> list[Case]:
    pairs = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    return [f(name, A, X(3, 4), reduction=how) for name in pairs for how in ("mean", "sum", "none")]


CASES = [
    *_activations(),
    f("hardsigmoid", A).on(*FLOATS, *HALVES).upto(1),
    f("gelu", A, approximate="tanh"),
    f("elu", A, alpha=0.5),
    f("leaky_relu", A, 0.2),
    f("softplus", A, beta=2, threshold=1),
    f("threshold", A, 0.1, 20.0),
    f("hardtanh", A, -0.5, 0.25),
    f("glu", A, dim=-1),
    f("prelu", X(2, 3, 4), X(3)),
    f("softmax", A, dim=1).on(*FLOATS, *HALVES),
    f("softmin", A, dim=0),
    f("log_softmax", A, dim=1).on(*FLOATS, *HALVES),
    f("normalize", A, dim=1),
    f("normalize", A, p=1.0, dim=0),
    f("cosine_similarity", A, X(3, 4), dim=1),
    f("pairwise_distance", A, X(3, 4)),
    # convolution
    f("conv1d", SIGNAL, X(6, 4, 3), X(6)),
    f("conv1d", SIGNAL, X(6, 2, 3), stride=2, padding=1, groups=2),
    f("conv1d", SIGNAL, X(6, 4, 3), padding="same", dilation=2),
    f("conv2d", IMAGE, X(4, 3, 3, 3), X(4)).any_stride(),
    f("conv2d", IMAGE, X(4, 3, 3, 3), stride=(2, 1), padding=(1, 0), dilation=(1, 2)).any_stride(),
    f("conv2d", IMAGE, X(6, 1, 2, 2), X(6), groups=3).any_stride(),
    f("conv2d", X(3, 6, 5), X(4, 3, 3, 3), padding="valid").any_stride(),
    f("conv3d", VOLUME, X(3, 2, 2, 2, 2), X(3)).any_stride(),
    f("conv_transpose1d", SIGNAL, X(4, 3, 3), X(3), stride=2, output_padding=1),
    f("conv_transpose2d", IMAGE, X(3, 4, 3, 3), X(4), stride=2, padding=1).any_stride(),
    f("conv_transpose2d", X(2, 4, 3, 3), X(4, 2, 3, 3), groups=2, dilation=2).any_stride(),
    f("unfold", IMAGE, 2, padding=1),
    f("fold", X(2, 12, 12), (4, 5), 2),
    # pooling, resizing, padding
    f("max_pool1d", SIGNAL, 2),
    f("max_pool2d", IMAGE, 2),
    f("max_pool2d", IMAGE, 3, stride=1, padding=1, dilation=1),
    f("max_pool2d", IMAGE, 2, ceil_mode=True, return_indices=True),
    f("max_pool3d", VOLUME, 2).upto(1),
    f("avg_pool1d", SIGNAL, 3, 2, 1),
    f("avg_pool2d", IMAGE, 2),
    f("avg_pool2d", IMAGE, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    f("avg_pool3d", VOLUME, 2),
    f("lp_pool2d", X(2, 3, 6, 5, low=0.1), 2.0, 2),
    f("adaptive_avg_pool1d", SIGNAL, 3),
    f("adaptive_avg_pool2d", IMAGE, (3, 2)),
    f("adaptive_avg_pool2d", IMAGE, 1),
    f("adaptive_max_pool2d", IMAGE, (2, None)),
    f("interpolate", IMAGE, scale_factor=2, mode="nearest"),
    f("interpolate", IMAGE, size=(9, 4), mode="bilinear", align_corners=False),
    f("interpolate", IMAGE, size=(9, 4), mode="bilinear", align_corners=True),
    f("pixel_shuffle", X(2, 8, 3, 3), 2),
    f("pad", A, (1, 2)).on(*BASIC),
    f("pad", IMAGE, (1, 0, 2, 1), value=1.5),
    f("pad", A, (-1, 1)),
    f("pad", IMAGE, (1, 1, 2, 0), mode="reflect"),
    f("pad", IMAGE, (1, 1, 2, 0), mode="replicate"),
    f("pad", IMAGE, (1, 1, 2, 0), mode="circular"),
    f("one_hot", CLASSES).upto(0),
    f("one_hot", CLASSES, 6).upto(0),
    # normalisation
    f("batch_norm", IMAGE, None, None, X(3), X(3), training=True).near(4),
    f("batch_norm", IMAGE, X(3, grad=False), X(3, low=0.5, grad=False), X(3), X(3), training=False),
    f("batch_norm", X(5, 4), None, None, training=True, eps=1e-3).near(4),
    f("layer_norm", X(2, 3, 4), (4,), X(4), X(4)).near(4),
    f("layer_norm", X(2, 3, 4), (3, 4)).near(4),
    f("group_norm", X(2, 4, 3), 2, X(4), X(4)).near(4),
    f("instance_norm", IMAGE).near(4),
    f("rms_norm", X(2, 3, 4), (4,), X(4)).near(4),
    f("local_response_norm", IMAGE, 3),
    # embedding
    f("embedding", I(2, 3, high=5), X(5, 4)),
    f("embedding", V([[1, 2], [0, 1]], "int64", grad=False), X(5, 4), padding_idx=1),
    f("embedding_bag", I(3, 2, high=5), X(5, 4), mode="sum").upto(1),
    # losses
    *_losses(),
    f("cross_entropy", A, CLASSES).on(*FLOATS, "bfloat16"),
    f("cross_entropy", A, CLASSES, reduction="sum", label_smoothing=0.1),
    f("cross_entropy", A, CLASSES, X(4, low=0.1, grad=False), reduction="mean"),
    f("cross_entropy", A, V([1, -100, 3], "int64", grad=False), reduction="none"),
    f("cross_entropy", A, V([1, 2, 3], "int64", grad=False), ignore_index=2),
    f("cross_entropy", A, X(3, 4, low=0, high=1)),
    f("cross_entropy", X(2, 4, 3), I(2, 3, high=4)),
    f("soft_margin_loss", A, V([[1.0, -1.0, 1.0, -1.0]] * 3, grad=False)),
    f("nll_loss", A, CLASSES),
    f("nll_loss", A, CLASSES, reduction="sum"),
    f("binary_cross_entropy", X(3, 4, low=0.1, high=0.9), X(3, 4, low=0, high=1, grad=False)),
    f("binary_cross_entropy_with_logits", A, X(3, 4, low=0, high=1), pos_weight=X(4, low=0.5, grad=False)),
    f("kl_div", A, X(3, 4, low=0.1, high=1), reduction="batchmean"),
    f("kl_div", A, X(3, 4), reduction="sum", log_target=True),
    f("poisson_nll_loss", A, X(3, 4, low=0, high=3, grad=False)),
    f("gaussian_nll_loss", A, X(3, 4), X(3, 4, low=0.5)),
    f("hinge_embedding_loss", A, V([[1.0, -1.0, 1.0, -1.0]] * 3, grad=False)),
    f("margin_ranking_loss", X(3), X(3), V([1.0, -1.0, 1.0], grad=False)),
    f("multi_margin_loss", A, CLASSES).upto(1),
    f("multilabel_soft_margin_loss", A, V([[1.0, 0.0, 1.0, 0.0]] * 3, grad=False)),
    f("triplet_margin_loss", A, X(3, 4), X(3, 4)),
    f("cosine_embedding_loss", A, X(3, 4), V([1.0, -1.0, 1.0], grad=False)),
    f("ctc_loss", X(6, 2, 4), V([[1, 2], [3, 1]], "int64", grad=False), (6, 6), (2, 2)).upto(1),
    # attention
    f("scaled_dot_product_attention", X(2, 2, 3, 4), X(2, 2, 3, 4), X(2, 2, 3, 4)).near(4).any_stride().upto(1),
    f("scaled_dot_product_attention", X(2, 3, 4), X(2, 3, 4), X(2, 3, 4), is_causal=True).near(4).any_stride().upto(1),
    f("scaled_dot_product_attention", X(1, 2, 3, 4), X(1, 2, 3, 4), X(1, 2, 3, 4), attn_mask=MASK3)
    .near(4)
    .any_stride()
    .upto(1),
    f("softmax", X(2, 0), dim=1),
    f("dropout", A, p=0.0),
    f("dropout", A, training=False),
    row("where", M(3, 4), A, 0.0),
]
