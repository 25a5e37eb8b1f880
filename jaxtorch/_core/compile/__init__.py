"""From a pure function of arrays to an executable of XLA"s."""

# the modules that other parts may import
__all__ = [
    "allocator",
    "channels_last",
    "context",
    "embedding_products",
    "jaxpr_patterns",
    "kernel",
    "symbolic_sizes",
    "tracing",
    "xla_options",
]
