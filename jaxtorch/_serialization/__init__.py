"""Files of tensors: writing and reading them, for `torch.save`, `torch.load` and `torch.jit`."""
