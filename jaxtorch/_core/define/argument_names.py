"""How the arguments of functions that PyTorch writes in Python reach `__torch_function__`, modes and graphs.

Such a function passes on what its parameters hold: those without a default by position, all others by name, given or not.
A function of its C++ part passes on what it got, and None where nothing was given by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

FUNCTIONAL = frozenset(
    """adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid alpha_dropout
    batch_norm binary_cross_entropy binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy ctc_loss dropout
    dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool3d
    gaussian_nll_loss glu grid_sample group_norm gumbel_softmax hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss
    instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear_cross_entropy local_response_norm log_softmax lp_pool1d
    lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d mish mse_loss
    multi_head_attention_forward multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize pad
    poisson_nll_loss relu relu6 rms_norm rrelu selu silu smooth_l1_loss soft_margin_loss softmax softmin threshold
    triplet_margin_loss triplet_margin_with_distance_loss unfold""".split()
)
"""Of `torch.nn.functional`."""
TOP = frozenset("cdist meshgrid norm split stft tensordot unique unique_consecutive".split())
"""Of `torch`."""
METHODS = frozenset("backward norm split stft unique unique_consecutive".split())
"""Of `Tensor`."""

_OURS = frozenset(["axis", "cudnn_enable"])
"""Parameters that a function has here because it is one with another function of PyTorch's."""
_LEFT_OUT = {"l1_loss": ("weight",)}
"""Parameters that PyTorch does not pass on where they are not given."""


def spelling(
    function: FunctionType,
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]:
    """What `(args, kwargs)` of a call look like to those who are asked."""
    signature = inspect.signature(function)
    left_out = _LEFT_OUT.get(function.__name__, ())
    parameters = [p for p in signature.parameters.values() if p.name not in _OURS and p.name not in left_out]
    by_position = [p for p in parameters if p.kind is p.VAR_POSITIONAL or p.default is p.empty]
    by_name = {p.name: p.default for p in parameters if p not in by_position}

    def spell(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return args, kwargs  # the function itself says what is wrong
        if any(name in given for name in (*_OURS, *left_out)):
            return args, kwargs
        placed: list[Any] = []
        for p in by_position:
            placed += given[p.name] if p.kind is p.VAR_POSITIONAL else [given[p.name]]
        return tuple(placed), {name: given.get(name, default) for name, default in by_name.items()}

    return spell
