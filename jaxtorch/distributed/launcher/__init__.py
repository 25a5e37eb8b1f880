"""`torch.distributed.launcher`."""
