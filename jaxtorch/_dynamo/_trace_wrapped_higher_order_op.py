"""`torch._dynamo._trace_wrapped_higher_order_op`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "TransformGetItemToIndex",
        "nothing is captured, so there is nothing to transform",
    )
)
