"""What a value is: element types, sizes, devices, values and their types, and the thread"s modes."""

# the modules that other parts may import
__all__ = [
    "device",
    "dtypes",
    "foreign_errors",
    "grad_mode",
    "reference_counts",
    "removable_handle",
    "size",
    "stranger",
    "structseq",
    "value",
    "warn_once",
]
