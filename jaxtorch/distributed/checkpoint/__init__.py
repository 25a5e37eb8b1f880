"""`torch.distributed.checkpoint`: the states of models and optimizers, in `state_dict`; it writes no files."""
