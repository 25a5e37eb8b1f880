"""From calls to a program."""

# the modules that other parts may import
__all__ = ["deferred_errors", "kernel_hook", "module_depth", "program", "value_checks"]
