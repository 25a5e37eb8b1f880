"""Discrete distributions: of truth, classes and counts."""
