"""Running small programs on the host, on NumPy and in C, before XLA's compilation would pay."""

# the modules that other parts may import
__all__ = [
    "forked",
    "numpy_pattern",
    "numpy_program",
    "sample_memory",
    "small_code",
    "tiering",
    "transfer",
    "writers",
]
