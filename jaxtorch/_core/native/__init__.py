"""Kernels in C++ for what XLA's CPU backend does slowly, called from its programs through `jax.ffi`.

They are an option: built when jaxtorch is installed where there is a C++ compiler and the processor is an x86 with AVX2 or
AVX-512. Without them, or with `JAXTORCH_NATIVE=0`, everything runs as XLA's own operations. Float32 only, on the CPU only.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

VERSION = 1  # of the calls in handlers.cpp; a library built from another version is not used
_TARGETS = ("convolve", "convolve_of_kernel")


@functools.cache
def available() -> bool:
    """Whether the kernels were built, fit this processor and jaxlib, and are not switched off. Registers them with XLA."""
    if os.environ.get("JAXTORCH_NATIVE", "") == "0":
        return False
    for path in sorted(Path(__file__).parent.glob("kernels*.so")):
        try:
            library = ctypes.CDLL(str(path))
            if library.jaxtorch_native_version() != VERSION or not library.jaxtorch_native_supported():
                continue
            for name in _TARGETS:
                handler = jax.ffi.pycapsule(getattr(library, f"jaxtorch_{name}"))
                jax.ffi.register_ffi_target(f"jaxtorch_{name}", handler, platform="cpu")
        except (OSError, AttributeError, jax.errors.JaxRuntimeError):
            continue  # of another machine, another version, or for another XLA
        return True
    return False


class Kernel(NamedTuple):
    """Where a convolution's kernel lies in an array of any shape: `sizes` of its spatial dimensions, how many elements apart
    neighbours are along them, along inputs and along outputs, and where the first one is."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    along_in: int
    along_out: int
    offset: int

    def layout(self) -> Any:
        steps = (0,) * (2 - len(self.steps)) + tuple(self.steps)
        return np.array([*steps, self.along_in, self.along_out, self.offset], np.int64)


def convolve(x: Any, w: Any, kernel: Kernel, outs: int, sizes: Any, window: Any, groups: int = 1) -> Any:
    """The convolution of x (N, *spatial, C), one or two spatial dimensions, with the kernel in `w`: (N, *sizes, outs).

    `window` has `stride`, `pads`, `dilation` and `spread` (the spacing of x), each with an entry for each spatial dimension.
    """
    shape = (x.shape[0], *sizes, outs)
    full = shape if len(sizes) == 2 else (shape[0], 1, *shape[1:])
    call = jax.ffi.ffi_call("jaxtorch_convolve", jax.ShapeDtypeStruct(full, jnp.float32))
    return call(_two_dimensional(x), w, **_attributes(kernel, window, groups)).reshape(shape)


def convolve_of_kernel(x: Any, g: Any, shape: Any, kernel: Kernel, window: Any, groups: int = 1) -> Any:
    """The gradient of the kernel where g is that of `convolve`: an array of this shape, in which it lies as `kernel` says."""
    call = jax.ffi.ffi_call("jaxtorch_convolve_of_kernel", jax.ShapeDtypeStruct(tuple(shape), jnp.float32))
    return call(_two_dimensional(x), _two_dimensional(g), **_attributes(kernel, window, groups))


def _attributes(kernel: Kernel, window: Any, groups: int) -> dict[str, Any]:
    across = zip(kernel.sizes, window.stride, window.pads, window.dilation, window.spread, strict=True)
    rows = [(size, stride, low, dilation, spread) for size, stride, (low, _), dilation, spread in across]
    numbers = np.array([(1, 1, 0, 1, 1)] * (2 - len(rows)) + rows, np.int64).reshape(-1)
    return {"groups": np.int64(groups), "window": numbers, "layout": kernel.layout()}


def _two_dimensional(x: Any) -> Any:
    return x if x.ndim == 4 else x.reshape(x.shape[0], 1, *x.shape[1:])
