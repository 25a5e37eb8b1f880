"""`torch.utils.data.datapipes`: its names can be imported; using one raises NotImplementedError."""
