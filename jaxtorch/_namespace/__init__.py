"""Names of `torch` that are no operations: one file a subject. `jaxtorch/__init__.py` shows them."""
