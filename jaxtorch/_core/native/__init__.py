"""Kernels in C++ for what XLA's CPU backend does slowly, called from its programs through `jax.ffi`.

They are an option: built when jaxtorch is installed where there is a C++ compiler and the processor is an x86 with AVX2 or
AVX-512. Without them, or with `JAXTORCH_NATIVE=0`, everything runs as XLA's own operations. Float32 only, on the CPU only.
`JAXTORCH_NATIVE=avx2` or `avx512` leaves out what the processor has beyond that: for tests.
"""

from __future__ import annotations

import ctypes
import functools
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..tuning import KERNEL_ELEMENTS

VERSION = 19  # of the calls in handlers.cpp; a library built from another version is not used
_TARGETS = """convolve convolve_of_kernel product products linear sums lstm lstm_states lstm_back gru gru_states gru_back
    rnn rnn_back pick add_picked attention attention_back layer_norm layer_norm_back gelu gelu_back waves
    resample samples samples_back sort sort_long running""".split()


def available() -> bool:
    """Whether the kernels were built, fit this processor and jaxlib, and are not switched off."""
    return _library() is not None


def _library() -> Any:
    """The kernels, registered with XLA."""
    return _found()[0]


@functools.cache
def _found() -> tuple[Any, str]:
    """The kernels, registered with XLA; or None and the reason."""
    if os.environ.get("JAXTORCH_NATIVE", "") == "0":
        return None, "left out by JAXTORCH_NATIVE=0"
    path = Path(__file__).parent / f"kernels{EXTENSION_SUFFIXES[0]}"
    if not path.exists():
        return None, not_built("kernels")
    try:
        library = ctypes.CDLL(str(path))
        if library.jaxtorch_native_version() != VERSION:
            return None, "built from another version of jaxtorch: install it again"
        if not library.jaxtorch_native_supported():
            return None, "this processor has neither AVX-512 nor AVX2"
        for name in _TARGETS:
            handler = jax.ffi.pycapsule(getattr(library, f"jaxtorch_{name}"))
            jax.ffi.register_ffi_target(f"jaxtorch_{name}", handler, platform="cpu")
    except (OSError, AttributeError, jax.errors.JaxRuntimeError) as error:  # of another machine, or for another XLA
        return None, f"they cannot be loaded: {error}"
    return library, ""


def not_built(name: str) -> str:
    """Why an extension of this folder is not there."""
    found = sorted(p.name for p in Path(__file__).parent.glob(f"{name}*") if p.suffix in (".so", ".pyd"))
    if found:
        return f"built for another Python ({', '.join(found)}), not for this one: install jaxtorch again with it"
    return "not built: install jaxtorch again where there is a C++ compiler, and Python's headers"


def missing() -> str:
    """Why the kernels are not used; '' where they are."""
    return _found()[1]


@functools.cache
def matrix_units() -> bool:
    """Whether the processor has matrix units (AMX), on which `product` is much faster than what XLA has."""
    return available() and bool(_library().jaxtorch_native_matrix_units())


@functools.cache
def with_avx2_alone() -> bool:
    """Whether the kernels are those for processors without AVX-512."""
    return available() and bool(_library().jaxtorch_native_with_avx2_alone())


@functools.cache
def steps() -> Any:
    """`run(address, inputs, results)`: the small program at an address (host/native_code.py) on lists of host arrays and
    numbers; 0 where they are not what it was made for. None without the kernels."""
    if not available() or not hasattr(_library(), "jaxtorch_run_steps"):
        return None
    run = ctypes.PyDLL(_library()._name).jaxtorch_run_steps
    run.argtypes = ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    return run


def address_of(run: Any) -> int:
    """Where a function of the kernels is."""
    return ctypes.cast(run, ctypes.c_void_p).value or 0


def keep_memory(huge_pages: bool) -> bool:
    """Have XLA's large blocks come from memory that is kept (`memory.cpp`); False where that is not possible."""
    return available() and bool(_library().jaxtorch_native_keep_memory(huge_pages))


def release_memory() -> None:
    """Give what is free of that memory back to the system."""
    if hasattr(_library(), "jaxtorch_native_release_memory"):
        _library().jaxtorch_native_release_memory()


def largest_is_free(from_now: bool = False) -> bool:
    """Whether the largest block of that memory is gone which was taken since the last call with `from_now`."""
    library = _library()
    return not hasattr(library, "jaxtorch_native_largest_is_free") or library.jaxtorch_native_largest_is_free(from_now)


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


def fits(*arrays: Any) -> bool:
    """Whether the kernels are there and take these arrays."""
    return (
        all(a.dtype == jnp.float32 for a in arrays) and sum(a.size for a in arrays) >= KERNEL_ELEMENTS and available()
    )


def _call(name: str, *shapes: Any) -> Any:
    outs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return jax.ffi.ffi_call(f"jaxtorch_{name}", outs if len(outs) > 1 else outs[0])


def product(a: Any, b: Any, a_turned: bool = False, b_turned: bool = False) -> Any:
    """`a @ b` for two matrices, or the product with one of them turned: `a.T @ b`, `a @ b.T`."""
    shape = a.shape[1 if a_turned else 0], b.shape[0 if b_turned else 1]
    return _call("product", shape)(a, b, a_turned=a_turned, b_turned=b_turned)


def products(a: Any, b: Any, a_turned: bool, b_turned: bool) -> Any:
    """The products of the matrices in a and b, one after the other; not both turned."""
    shape = a.shape[0], a.shape[2 if a_turned else 1], b.shape[1 if b_turned else 2]
    return _call("products", shape)(a, b, a_turned=a_turned, b_turned=b_turned)


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias`."""
    return _call("linear", (x.shape[0], weight.shape[0]))(x, weight, bias)


def pick(table: Any, index: Any) -> Any:
    """The rows of a table (size, columns) with these numbers (count), int32, all from 0 to below size."""
    return _call("pick", (*index.shape, table.shape[1]))(table, index)


def add_picked(g: Any, index: Any, size: int) -> Any:
    """For each number below size the sum of the rows of g (count, columns) that have it in index (count), int32; -1: none has."""
    return _call("add_picked", (size, g.shape[1]))(g, index)


# The loops of recurrent layers. xw (T, B, gates * H), states (B, H), w (gates * H, H); `valid`, which may be left out, is
# (T, B): where it is 0 the states stay as they were. With `index` (T, B), int32, xw is a table (rows, gates * H) and these its rows.


def _picked(xw: Any, index: Any) -> tuple[tuple[int, ...], Any, list[Any]]:
    """The shape of all inputs, what stands for them, and its index."""
    return (xw.shape, xw, []) if index is None else ((*index.shape, xw.shape[1]), xw[None], [index])


def lstm(xw: Any, h0: Any, c0: Any, w: Any, *valid: Any, reverse: bool, index: Any = None) -> Any:
    """All hidden states and cell states (T, B, H) and gates (T, B, 4 * H) of an LSTM layer."""
    shape, xw, rows = _picked(xw, index)
    states = (*shape[:2], w.shape[1])
    return _call("lstm", states, states, shape)(xw, h0, c0, w, *valid, *rows, reverse=reverse, picked=bool(rows))


def lstm_states(xw: Any, h0: Any, c0: Any, w: Any, *valid: Any, reverse: bool, index: Any = None) -> Any:
    """All hidden states (T, B, H) and the last cell state (B, H)."""
    shape, xw, rows = _picked(xw, index)
    call = _call("lstm_states", (*shape[:2], w.shape[1]), c0.shape)
    return call(xw, h0, c0, w, *valid, *rows, reverse=reverse, picked=bool(rows))


def lstm_back(g_hs: Any, g_c: Any, gates: Any, cs: Any, c0: Any, w: Any, *valid: Any, reverse: bool) -> Any:
    """The gradients of xw, h0 and c0 from those of the hidden states and of the last cell state."""
    call = _call("lstm_back", gates.shape, c0.shape, c0.shape)
    return call(g_hs, g_c, gates, cs, c0, w, *valid, reverse=reverse)


def gru(xw: Any, h0: Any, w: Any, b: Any, *valid: Any, reverse: bool, index: Any = None) -> Any:
    """All hidden states (T, B, H) of a GRU layer, and r, z, n and the product's part of n side by side (T, B, 4 * H)."""
    (steps, batch, _), xw, rows = _picked(xw, index)
    call = _call("gru", (steps, batch, w.shape[1]), (steps, batch, 4 * w.shape[1]))
    return call(xw, h0, w, b, *valid, *rows, reverse=reverse, picked=bool(rows))


def gru_states(xw: Any, h0: Any, w: Any, b: Any, *valid: Any, reverse: bool, index: Any = None) -> Any:
    """All hidden states (T, B, H)."""
    shape, xw, rows = _picked(xw, index)
    call = _call("gru_states", (*shape[:2], w.shape[1]))
    return call(xw, h0, w, b, *valid, *rows, reverse=reverse, picked=bool(rows))


def gru_back(g_hs: Any, gates: Any, hs: Any, h0: Any, w: Any, *valid: Any, reverse: bool) -> Any:
    """The gradients of xw, of the products with w and of h0."""
    shape = (*hs.shape[:2], w.shape[0])
    return _call("gru_back", shape, shape, h0.shape)(g_hs, gates, hs, h0, w, *valid, reverse=reverse)


def rnn(xw: Any, h0: Any, w: Any, *valid: Any, relu: bool, reverse: bool, index: Any = None) -> Any:
    """All hidden states (T, B, H) of an Elman network, with tanh or relu."""
    shape, xw, rows = _picked(xw, index)
    return _call("rnn", shape)(xw, h0, w, *valid, *rows, relu=relu, reverse=reverse, picked=bool(rows))


def rnn_back(g_hs: Any, hs: Any, w: Any, *valid: Any, relu: bool, reverse: bool) -> Any:
    """The gradients of xw and h0."""
    return _call("rnn_back", hs.shape, hs.shape[1:])(g_hs, hs, w, *valid, relu=relu, reverse=reverse)


def attention(q: Any, k: Any, v: Any, *mask: Any, causal: bool, inner: int) -> Any:
    """softmax(q @ k.T) @ v for q (N, heads, L, E), k (N, heads, S, E), v (N, heads, S, Ev); causal: row i sees the columns up to i.

    mask: none, or (masks, L or 1, S), of which head i of all has number i // inner % masks. A row that is masked entirely gives 0.
    In memory the heads of a row lie side by side, as linear layers give and take them.
    """
    call = _call("attention", _turned(q.shape[:3], v.shape[3]))
    return jnp.swapaxes(call(*_side_by_side(q, k, v), *mask, causal=causal, inner=np.int64(inner)), 1, 2)


def attention_back(g: Any, q: Any, k: Any, v: Any, *mask: Any, causal: bool, inner: int) -> Any:
    """The gradients of q, k and v."""
    call = _call("attention_back", *(_turned(x.shape[:3], x.shape[3]) for x in (q, k, v)))
    return _side_by_side(*call(*_side_by_side(g, q, k, v), *mask, causal=causal, inner=np.int64(inner)))


def _turned(shape: Any, width: int) -> tuple[int, ...]:
    return shape[0], shape[2], shape[1], width


def _side_by_side(*arrays: Any) -> list[Any]:
    return [jnp.swapaxes(x, 1, 2) for x in arrays]


def layer_norm(x: Any, weight: Any, bias: Any, eps: float, groups: int = 0) -> Any:
    """x (rows, columns) with rows of mean 0 and variance 1, times weight, plus bias.

    groups: so many rows are an example whose channels, each with the same number of neighbouring columns, have these weights.
    """
    return _call("layer_norm", x.shape)(x, weight, bias, eps=np.float32(eps), groups=np.int64(groups))


def layer_norm_back(g: Any, x: Any, weight: Any, eps: float, groups: int = 0) -> Any:
    """The gradients of x, weight and bias."""
    call = _call("layer_norm_back", x.shape, weight.shape, weight.shape)
    return call(g, x, weight, eps=np.float32(eps), groups=np.int64(groups))


def sums(x: Any) -> Any:
    """The sum of the rows of x (rows, columns)."""
    return _call("sums", x.shape[1:])(x)


def gelu(x: Any) -> Any:
    """x times the normal distribution function of x."""
    return _call("gelu", x.shape)(x)


def gelu_back(g: Any, x: Any) -> Any:
    """g times the derivative of `gelu` at x."""
    return _call("gelu_back", x.shape)(g, x)


def waves(x: Any, cosine: bool) -> Any:
    """The sine of x, or its cosine."""
    return _call("waves", x.shape)(x, cosine=cosine)


class Taps(NamedTuple):
    """The results along an axis: each is the sum of the elements `index[ends[i] : ends[i + 1]]` times their weights."""

    ends: Any  # int64, one more than there are results
    index: Any  # int64
    weight: Any  # float32


def resample(x: Any, rows: Taps | None, columns: Taps | None) -> Any:
    """x (planes, rows, columns) with these sums of its rows and of its columns in their places; None: they stay."""
    none = Taps(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    sizes = [n if t is None else len(t.ends) - 1 for n, t in zip(x.shape[1:], (rows, columns), strict=True)]
    found = [(name, none if t is None else t) for name, t in (("y", rows), ("x", columns))]
    parts = {f"{name}_{field}": getattr(t, field) for name, t in found for field in Taps._fields}
    return _call("resample", (x.shape[0], *sizes))(x, **parts)


def samples(x: Any, ys: Any, xs: Any) -> Any:
    """Bilinear samples (N, C, places) of x (N, C, rows, columns) at ys and xs (N, places), counted in elements; 0 outside."""
    return _call("samples", (*x.shape[:2], ys.shape[1]))(x, ys, xs)


def samples_back(g: Any, x: Any, ys: Any, xs: Any) -> Any:
    """The gradients of x, ys and xs."""
    return _call("samples_back", x.shape, ys.shape, xs.shape)(g, x, ys, xs)


def sort(x: Any, descending: bool) -> Any:
    """The rows of x (rows, columns), float32 or int64, in order, and where each number came from; stable, NaN is largest."""
    name = "sort" if x.dtype == jnp.float32 else "sort_long"
    outs = [jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(x.shape, jnp.int64)]
    return jax.ffi.ffi_call(f"jaxtorch_{name}", outs)(x, descending=descending)


RUNNING = ("sum", "product", "logsumexp")


def running(x: Any, kind: str, reverse: bool) -> Any:
    """Along the second dimension of x (outer, n, inner) what has come so far, added up in double precision."""
    return _call("running", x.shape)(x, kind=np.int64(RUNNING.index(kind)), reverse=reverse)
