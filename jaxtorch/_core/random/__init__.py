"""PyTorch"s random numbers."""

# the modules that other parts may import
__all__ = ["generator", "jax_draws", "mersenne", "sampling"]
