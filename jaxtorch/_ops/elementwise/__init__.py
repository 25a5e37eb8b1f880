"""Each element by itself: arithmetic, functions of one and of two tensors, bits, comparisons, complex numbers."""
