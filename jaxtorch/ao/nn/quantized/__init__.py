"""`torch.ao.nn.quantized`: layers that compute on integers; so far the dynamic ones."""

from ...._absent import absent as _absent
from . import dynamic as dynamic

globals().update(
    _absent(
        __name__,
        "BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d "
        "ConvTranspose1d ConvTranspose2d ConvTranspose3d DeQuantize Dropout ELU "
        "Embedding EmbeddingBag FXFloatFunctional FloatFunctional GroupNorm "
        "Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LSTM "
        "LayerNorm LeakyReLU Linear MaxPool2d MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid Softmax",
        "jaxtorch quantises dynamically only, by quantize_dynamic",
    )
)
