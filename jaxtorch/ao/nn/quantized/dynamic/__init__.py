"""`torch.ao.nn.quantized.dynamic`: layers with integer weights that round each input to integers of its own range."""

from ....._absent import absent as _absent
from . import modules as modules
from .modules import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]

globals().update(
    _absent(
        __name__,
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "jaxtorch has linear and recurrent layers only",
    )
)
