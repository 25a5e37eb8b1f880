"""What torchaudio has in C++, in JAX: `torch.ops.torchaudio`.

torchaudio's wheel brings libraries that are compiled for PyTorch. Where it asks for them by `torch.ops.load_library`, these
operations take their place (`library.py`); nothing here is imported before.
"""
