"""The backward pass."""

# the modules that other parts may import
__all__ = ["backward", "hook_results", "node_hooks", "saved_tensors", "targets"]
