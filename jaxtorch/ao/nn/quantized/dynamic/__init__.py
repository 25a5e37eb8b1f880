"""`torch.ao.nn.quantized.dynamic`: layers with integer weights that round each input to integers of its own range."""

from . import modules as modules
from .modules import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]
