"""The schedulers of `torch.optim.lr_scheduler`: their base, those with a formula, cycles, plateaus."""
