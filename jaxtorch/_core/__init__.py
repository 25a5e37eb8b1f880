"""The engine; README.md says what each file does."""

import gc

import jax  # noqa: F401

gc.freeze()  # what JAX has made stays: while the rest is imported, the collector does not look through it again and again
