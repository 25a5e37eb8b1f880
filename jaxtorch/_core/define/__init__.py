"""An operation and its parameters."""

# the modules that other parts may import
__all__ = ["argument_names", "bodies", "missing_dtypes", "op", "overloads", "signature"]
