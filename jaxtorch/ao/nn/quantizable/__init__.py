"""`torch.ao.nn.quantizable`: names; jaxtorch has no layers that are quantised in parts."""

from ...._private_names.absent import absent as _absent

for _module, _names in {"activation": "MultiheadAttention", "rnn": "LSTM LSTMCell"}.items():
    globals().update(_absent(f"{__name__}.modules.{_module}", _names, "jaxtorch quantises no such layer"))
