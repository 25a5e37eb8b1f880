"""Functions of functions: inside `vmap`, forward mode, and functions traced whole."""

# the modules that other parts may import
__all__ = ["forward_mode", "staging", "vmap", "write_journal"]
