"""`torch.export`: no export of programs. Its names can be imported; using one raises NotImplementedError."""
