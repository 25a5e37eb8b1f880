"""`torch.__config__`: what this build is made of."""

from __future__ import annotations

import jax
import jaxlib
import numpy

from ._core.dispatch.recorder import parts
from ._namespace.switches import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """One line for each library that computes."""
    lines = [f"{module.__name__} {module.__version__}" for module in (jax, jaxlib, numpy)]
    lines += [f"{name}: {why or 'yes'}" for name, why in parts()]
    return "PyTorch, as jaxtorch, built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """Who decides over threads."""
    return (
        f"at::get_num_threads() : {get_num_threads()}\nat::get_num_interop_threads() : {get_num_interop_threads()}\n"
        "XLA schedules its own threads\n"
    )
