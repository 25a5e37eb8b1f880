"""`torch.distributed.elastic`."""
