"""`torch.nested`: no nested tensors. Its names can be imported; using one raises NotImplementedError."""

from ._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "nested_tensor nested_tensor_from_jagged as_nested_tensor narrow to_padded_tensor masked_select",
        "jaxtorch has no nested tensors; pad them with torch.nn.utils.rnn.pad_sequence",
    )
)
