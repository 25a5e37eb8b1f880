"""`torch.ao.nn.quantizable`: names; jaxtorch has no layers that are quantised in parts."""

from ...._absent import absent as _absent

globals().update(_absent(f"{__name__}.modules", "LSTM LSTMCell MultiheadAttention", "jaxtorch quantises no such layer"))
