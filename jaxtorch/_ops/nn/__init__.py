"""`torch.nn.functional` but for losses: what the layers of a network compute."""
