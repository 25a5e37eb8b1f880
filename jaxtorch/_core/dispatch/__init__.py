"""From one definition to every public form, and who is asked before it runs."""

# the modules that other parts may import
__all__ = [
    "autocast",
    "class_attributes",
    "codegen",
    "number_limits",
    "operators",
    "recorder",
    "torch_dispatch",
    "torch_function",
]
