"""The autograd graph and the derivatives of operations."""

# the modules that other parts may import
__all__ = ["derivative", "nodes"]
