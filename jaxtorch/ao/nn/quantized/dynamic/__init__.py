"""`torch.ao.nn.quantized.dynamic`: layers with integer weights that round each input to integers of its own range."""

from ....._absent import absent as _absent
from .modules import Linear

__all__ = ["Linear"]

globals().update(
    _absent(__name__, "LSTM GRU LSTMCell RNNCell GRUCell Conv1d Conv2d Conv3d", "jaxtorch has Linear only")
)
