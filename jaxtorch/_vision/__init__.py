"""What torchvision has in C++, in JAX: `torch.ops.torchvision` and `torch.ops.image`.

torchvision's wheel brings two libraries that are compiled for PyTorch. Where it asks for them by `torch.ops.load_library`, these
operations take their place (`library.py`); nothing here is imported before.
"""
