"""`torch.ao.nn.quantized`: layers that compute on integers; so far the dynamic ones."""

from ...._absent import absent as _absent
from ....nn.modules.pooling import MaxPool2d as MaxPool2d
from . import dynamic as dynamic

_LAYERS = {
    "": "DeQuantize Quantize",
    ".activation": "ELU Hardswish LeakyReLU MultiheadAttention PReLU ReLU6 Sigmoid Softmax",
    ".batchnorm": "BatchNorm2d BatchNorm3d",
    ".conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    ".dropout": "Dropout",
    ".embedding_ops": "Embedding EmbeddingBag",
    ".functional_modules": "FXFloatFunctional FloatFunctional QFunctional",
    ".linear": "Linear",
    ".normalization": "GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm",
    ".rnn": "LSTM",
}
for _module, _names in _LAYERS.items():
    globals().update(
        _absent(f"{__name__}.modules{_module}", _names, "jaxtorch quantises dynamically only, by quantize_dynamic")
    )
