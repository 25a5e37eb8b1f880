"""The handle that programs hold, and the memory that handles share."""

# the modules that other parts may import
__all__ = [
    "aliasing",
    "indexing",
    "layouts",
    "numpy_sharing",
    "out_tensors",
    "printing",
    "sparse_value",
    "storage",
    "strides",
    "tensor",
    "view_rules",
    "view_strides",
    "views",
]
