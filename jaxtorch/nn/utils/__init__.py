"""`torch.nn.utils`: gradient clipping, parametrizations, packed sequences, pruning, parameter vectors.

The layers use `rnn`, and most of the rest uses the layers: `_complete` imports that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from . import parametrizations, parametrize, prune, stateless
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init
    from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
    from .spectral_norm import remove_spectral_norm, spectral_norm
    from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
    "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters",
    "weight_norm",
]  # fmt: skip

_NEED_LAYERS = {
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",),
    "memory_format": ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
    "parametrize": (),
    "parametrizations": (),
    "prune": (),
    "spectral_norm": ("spectral_norm", "remove_spectral_norm"),
    "stateless": (),
    "weight_norm": ("weight_norm", "remove_weight_norm"),
}


def _complete() -> None:
    """Import what is built on the layers, which are built on `rnn`. `torch.nn` calls this once it has them.

    A function hides the module of its own name, as in PyTorch.
    """
    for name, functions in _NEED_LAYERS.items():
        module = importlib.import_module(f"{__name__}.{name}")
        globals().update({function: getattr(module, function) for function in functions})
