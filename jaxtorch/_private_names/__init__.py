"""Names that exist because libraries import them; files that begin with `_` are PyTorch's modules of those names."""
