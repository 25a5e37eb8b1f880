"""`torch.ao.quantization.quantize_fx`: names; jaxtorch quantises in eager mode."""

from ..._absent import absent as _absent
from .observer import _REASON

globals().update(
    _absent(
        __name__,
        "convert_fx convert_to_reference_fx fuse_fx prepare_fx prepare_qat_fx attach_preserved_attrs_to_model",
        _REASON,
    )
)
