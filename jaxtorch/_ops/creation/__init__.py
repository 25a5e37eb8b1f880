"""Tensors from data, filled tensors, ranges and windows."""
