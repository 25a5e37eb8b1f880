"""`torch.fx.passes.infra`: passes over graphs, and what runs several of them."""
