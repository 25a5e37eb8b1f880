"""The layers of `torch.nn`."""

# ruff: noqa: F403, F405 - the names of these modules are the package's
from __future__ import annotations

from ._module.registry import own_constructors as _own_constructors
from .activation import *
from .adaptive import AdaptiveLogSoftmaxWithLoss
from .attention import MultiheadAttention
from .batchnorm import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import Bilinear, Identity, LazyLinear, Linear
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

__all__ = ["AdaptiveLogSoftmaxWithLoss", "Bilinear", "Identity", "LazyLinear", "Linear", "Module", "MultiheadAttention"]
__all__ += activation.__all__
__all__ += batchnorm.__all__
__all__ += container.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += flatten.__all__
__all__ += fold.__all__
__all__ += instancenorm.__all__
__all__ += loss.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += pixelshuffle.__all__
__all__ += pooling.__all__
__all__ += rnn.__all__
__all__ += sparse.__all__
__all__ += transformer.__all__
__all__ += upsampling.__all__

_own_constructors([globals()[name] for name in __all__])
