"""`x[index]` and `x[index] = y`, masks, and elements at places that index tensors name."""
