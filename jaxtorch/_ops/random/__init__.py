"""Random tensors, and draws whose parameters are tensors."""
