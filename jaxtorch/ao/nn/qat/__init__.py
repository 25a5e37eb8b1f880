"""`torch.ao.nn.qat`: layers whose weight is rounded as quantising would, in training."""

from ...._absent import absent as _absent
from . import modules as modules
from .modules import (
    Conv1d,
    Conv2d,
    Conv3d,
    Linear,
)

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]  # fmt: skip

globals().update(
    _absent(f"{__name__}.modules.embedding_ops", "Embedding EmbeddingBag", "jaxtorch quantises no embeddings")
)
