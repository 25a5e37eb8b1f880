"""`torch.__config__`: what this build is made of."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """One line for each library that computes."""
    import jax
    import jaxlib
    import numpy

    versions = [("jax", jax), ("jaxlib", jaxlib), ("numpy", numpy)]
    return "PyTorch, as jaxtorch, built with:\n" + "".join(
        f"  - {name} {module.__version__}\n" for name, module in versions
    )


def parallel_info() -> str:
    """Who decides over threads."""
    from ._switches import get_num_interop_threads, get_num_threads

    return (
        f"at::get_num_threads() : {get_num_threads()}\nat::get_num_interop_threads() : {get_num_interop_threads()}\n"
        "XLA schedules its own threads\n"
    )
