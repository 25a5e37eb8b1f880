"""Continuous distributions of vectors and matrices."""
