"""`torch._vendor`: packages that PyTorch brings along."""
