"""Functions of `torch` that few programs call: control flow as functions, files, names that PyTorch has removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import linalg
from .._core.define.op import functions
from .._core.define.overloads import signed
from .._core.define.signature import checked, need_kind, refusal
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types import dtypes
from .._core.types.grad_mode import Anomaly, no_grad, set_anomaly
from .._core.types.warn_once import warn
from .._ops.nn import embedding as _embedding
from .._ops.types.casting import as_dtype
from .._tensor.memory import shared_file
from .._tensor.storage_types import TypedStorage, UntypedStorage
from ..amp import GradScaler as GradScaler
from ..utils._pytree import tree_flatten


def set_vital(*args: Any) -> None:
    """Nothing to do, in PyTorch either."""
    warn("'set_vital' is deprecated, please do not call")


__all__ = [
    "GradScaler", "batch_norm_update_stats", "ccol_indices_copy", "col_indices_copy", "cond", "crow_indices_copy",
    "eig", "embedding_bag", "embedding_renorm_", "from_file", "indices_copy", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_distributed", "is_storage", "is_vulkan_available", "lobpcg", "lstsq", "matrix_rank",
    "native_norm", "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12", "resize_as_sparse_", "row_indices_copy",
    "set_anomaly_enabled", "slice_inverse", "solve", "sym_constrain_range", "sym_constrain_range_for_size", "symeig",
    "to_dlpack", "values_copy", "while_loop",
]  # fmt: skip

# -- control flow


def _operands(name: str, operands: Any) -> None:
    if not isinstance(operands, (tuple, list)) or any(not isinstance(x, Tensor) for x in tree_flatten(operands)[0]):
        raise RuntimeError(
            f"{name}: Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] | list[Any] = ()
) -> Any:
    """`true_fn(*operands)` if `pred`, else `false_fn(*operands)`.

    pred: bool, or a tensor of one element, which is read. Only the branch that is taken runs.
    """
    if isinstance(pred, Tensor):
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        pred = bool(pred.item())
    elif not isinstance(pred, bool):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    _operands("cond", operands)
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """`carried = body_fn(*carried)` while `cond_fn(*carried)`; the last `carried`. Each condition is read."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: expect carried_inputs to be a tuple, but got {type(carried_inputs)}")
    carried = tuple(carried_inputs)
    while True:
        going = cond_fn(*carried)
        if not isinstance(going, (bool, Tensor)) or (isinstance(going, Tensor) and going.numel() != 1):
            raise RuntimeError(f"while_loop: cond_fn must return a bool or a tensor of one element, but got {going}")
        if not going:
            return carried
        found = body_fn(*carried)
        if not isinstance(found, (tuple, list)) or len(found) != len(carried):
            raise RuntimeError(f"while_loop: body_fn must return a tuple of {len(carried)} items, but got {found}")
        carried = tuple(found)


# -- switches and questions


def is_anomaly_enabled() -> bool:
    """Is anomaly detection on?"""
    return Anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Does anomaly detection look for NaN?"""
    return Anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection."""
    need_kind("set_anomaly_enabled", "enabled", "bool", enabled)
    need_kind("set_anomaly_enabled", "check_nan", "bool", check_nan)
    set_anomaly(enabled, check_nan)


def is_storage(obj: Any, /) -> bool:
    """Is it a storage?"""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@signed("is_distributed")
def is_distributed(input: Tensor) -> bool:
    """False, as in PyTorch."""
    return False


def is_vulkan_available(*args: Any, **kwargs: Any) -> bool:
    """False: there is no such device."""
    return False


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """RuntimeError unless min <= size <= max."""
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """RuntimeError unless min <= size <= max, and size is not negative."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)


# -- files, other libraries


def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of `size` elements of a file. shared: writes go to the file, which is made or grown if need be."""
    dtype = dtypes.default() if dtype is None else as_dtype(dtype)
    size = size or 0
    needed = size * dtype.itemsize
    have = os.path.getsize(filename) if os.path.exists(filename) else 0
    if not shared and have < needed:
        if not os.path.exists(filename):
            raise RuntimeError(f"unable to open file <{filename}> in read-only mode: No such file or directory (2)")
        raise RuntimeError(f"file {filename} of {have} bytes is too small for {needed} bytes")
    if shared:
        found = functions["from_numpy"](shared_file(filename, dtype.np, size) if size else np.zeros(0, dtype.np))
    else:
        found = functions["from_numpy"](np.fromfile(filename, dtype.np, size))
    found = found if device is None else found.to(device)
    return found.requires_grad_(True) if requires_grad else found


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor as a DLPack capsule, once."""
    return tensor.__dlpack__()


# -- parts of sparse tensors, copied


def _copied(name: str) -> Callable[[Tensor], Tensor]:
    def copy(input: Tensor) -> Tensor:
        return getattr(need_tensor(input, f"{name}_copy"), name)().clone()

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"A copy of `input.{name}()`."
    return copy


indices_copy, values_copy = _copied("indices"), _copied("values")
crow_indices_copy, col_indices_copy = _copied("crow_indices"), _copied("col_indices")
ccol_indices_copy, row_indices_copy = _copied("ccol_indices"), _copied("row_indices")


# -- embeddings


@checked
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(bags, the bag of each index, sizes of the bags, indices of the maxima). mode: 0 sum, 1 mean, 2 max.

    Of the last three those are computed that PyTorch's backward needs; the others are empty or 0.
    """
    need_kind("embedding_bag", "mode", "int", mode)
    for name, argument, t, dims in (
        ("weight", "weight", weight, (2,)), ("input", "indices", indices, (1, 2)), ("offsets", "offsets", offsets, (1,)),
    ):  # fmt: skip
        if need_tensor(t, "embedding_bag", argument).ndim not in dims:
            raise RuntimeError(
                f"{name} has to be a {' or '.join([f'{d}D' for d in dims])} Tensor, but got Tensor of dimension {t.ndim}"
            )
    if per_sample_weights is not None and per_sample_weights.ndim != 1:
        raise RuntimeError("Expected per_sample_weights.value().dim() == 1 to be true, but got false.")
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and per_sample_weights.numel() != indices.numel():
        raise RuntimeError("Expected per_sample_weights.value().numel() == indices.numel() to be true, but got false.")
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if offsets.dtype is not indices.dtype:
        common = dtypes.promote(offsets.dtype, indices.dtype)
        offsets, indices = offsets.to(common), indices.to(common)
    name, indices = ("sum", "mean", "max")[mode], indices.reshape(-1)
    if mode == 2 and not weight.requires_grad:  # what concerns gradients alone
        scale_grad_by_freq = sparse = False
    bags = _embedding.embedding_bag(
        indices, weight, offsets, None, 2, scale_grad_by_freq, name, sparse, per_sample_weights, include_last_offset, padding_idx
    )  # fmt: skip
    if padding_idx is not None:
        padding_idx %= weight.shape[0]
    with no_grad():
        count = indices.shape[0]
        starts = offsets[:-1] if include_last_offset else offsets
        if mode == 0:
            fast = weight.dtype is not dtypes.float64 and padding_idx is None
            sizes = functions["zeros_like"](starts if weight.requires_grad else offsets)
            if fast or not starts.numel():
                return bags, functions["zeros_like"](indices[:0]), sizes, sizes
        if not starts.numel():
            raise RuntimeError("embedding_bag: no bags are begun")
        at = functions["arange"](count, device=indices.device)
        bag = functions["searchsorted"](starts.contiguous(), at, right=True) - 1
        counted = functions["ones_like"](bag) if padding_idx is None else (indices != padding_idx).long()
        if mode == 0:
            return bags, bag, sizes, sizes
        sizes = functions["zeros_like"](starts.long()).index_add(0, bag, counted)
        if mode == 1:
            return bags, bag, sizes, sizes
        rows = weight[indices]
        hit = (rows == bags[bag]) & (counted[:, None] != 0)
        order = functions["where"](hit, at[:, None], count)
        first = functions["full"]((starts.shape[0], weight.shape[1]), count, device=weight.device)
        first = first.scatter_reduce(0, bag[:, None].expand_as(order), order, "amin")
        best = indices.long()[first.clamp(max=max(count - 1, 0))]
        return bags, bag, sizes, functions["where"](first < count, best, 0)


@signed("embedding_renorm_")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shorten, in place, the rows that are looked up and are longer than `max_norm`."""
    _embedding._renormalise(input, indices, max_norm, norm_type)
    return input


# -- memory and statistics


@signed("slice_inverse")
def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The memory of `input` with the size, the strides and the offset of `src`, of which it is a slice."""
    return input.slice_inverse(src, dim, start, end, step)


@signed("resize_as_sparse_")
def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the size of another; NotImplementedError for a dense one."""
    return input.resize_as_sparse_(the_template)


_STATISTICS = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)


@signed("batch_norm_update_stats")
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel of `input` (N, C, *), each (C,); the running ones, where given, are moved towards them.

    The variance divides by the number of elements, the running one moves towards that which divides by one less.
    """
    if input.device.type == "meta":
        raise NotImplementedError("batch_norm_update_stats: there is no kernel for meta tensors")
    if input.dtype not in _STATISTICS:
        raise NotImplementedError(
            f"\"batch_norm_update_stats_cpu\" not implemented for '{dtypes.scalar_name(input.dtype)}'"
        )
    channels = input.size(1)
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    running = [x for x in (running_mean, running_var) if x is not None]
    if any(x.dtype is not input.dtype and (input.itemsize > 2 or x.dtype is not dtypes.float32) for x in running):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    kind = running[0].dtype if running else input.dtype
    with no_grad():
        x = (
            input.detach()
            .transpose(0, 1)
            .reshape(channels, -1)
            .to(dtypes.float32 if input.itemsize < 4 else input.dtype)
        )
        n = x.size(1)
        variance, mean = functions["var_mean"](x, 1, correction=0)
        if running_mean is not None:
            running_mean.copy_(momentum * mean + (1 - momentum) * running_mean)
        if running_var is not None:
            unbiased = variance * n / (n - 1) if n > 1 else variance * float("nan")
            running_var.copy_(momentum * unbiased + (1 - momentum) * running_var)
    return mean.to(kind), variance.to(kind)


def profiler_allow_cudagraph_cupti_lazy_reinit_cuda12() -> bool:
    """True, as in PyTorch; nothing depends on it."""
    return True


# -- norms and eigenvectors


@signed("native_norm")
def native_norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """NotImplementedError for a dense tensor, as in PyTorch, which has it of sparse ones only."""
    if not input.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::native_norm' with arguments from the 'CPU' backend: use torch.norm"
        )
    return functions["norm"](input, p, dim, keepdim, dtype=dtype)


def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues of A x = v B x, for symmetric A and positive definite B, and the eigenvectors.

    A (*, m, m) -> (*, k) values from the outermost on, (*, m, k) vectors with x.T B x = 1. The whole spectrum is computed, so
    the result is exact, and the start `X`, `niter`, `tol` and `method` only say how many eigenvalues are wanted; PyTorch
    iterates, and its vectors may differ in sign.
    """
    m = A.shape[-1]
    if A.shape[-2] != m:  # IndexError for a vector, as in PyTorch
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if tracker is not None:
        raise NotImplementedError("lobpcg: jaxtorch does not iterate, so there is nothing for a tracker to see")
    count = (1 if X is None else X.shape[-1]) if k is None else k
    n = count if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
            f"eigenpairs (={n})"
        )
    A = A.to_dense()
    B = None if B is None else B.to_dense()
    if B is None:
        values, vectors = linalg.eigh(A)
    else:
        lower = linalg.cholesky(B)
        half = linalg.solve_triangular(lower, A, upper=False)
        inner = linalg.solve_triangular(lower, half.mT, upper=False).mT
        values, vectors = linalg.eigh((inner + inner.mT) / 2)
        vectors = linalg.solve_triangular(lower.mT, vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]


# -- removed by PyTorch


def _removed(name: str, instead: str, takes: Callable[..., None]) -> Callable[..., NoReturn]:
    message = f"This function was deprecated since version 1.9 and is now removed. {instead}"
    return refusal(name, RuntimeError, message, takes)


solve = _removed(
    "solve",
    "`torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed.",
    lambda input, A, *, out=None: None,
)
eig = _removed(
    "eig",
    "`torch.linalg.eig` returns complex tensors.",
    lambda self, eigenvectors=False, *, e=None, v=None: None,
)
symeig = _removed(
    "symeig",
    "`torch.linalg.eigh` reads the lower triangle by default, not the upper one.",
    lambda input, eigenvectors=False, upper=True, *, out=None: None,
)
lstsq = _removed(
    "lstsq",
    "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed.",
    lambda input, A, *, out=None: None,
)
matrix_rank = _removed(
    "matrix_rank", "See `torch.linalg.matrix_rank`.", lambda input, tol=None, symmetric=False, *, out=None: None
)


def _scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two float8 matrices (m, k) and (k, n), each times its scale, plus a bias (n,), in float32 rounded once.

    scale_a, scale_b: float32, one number each, or (m, 1) and (1, n). out_dtype: that of the result, by default the input's;
    a float8 one is divided by `scale_result`. ValueError for other types and scales.
    """
    if input.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(f"mat_a and mat_b must be matrices, got {input.dim()} and {mat2.dim()} dimensions")
    (m, k), (other, n) = input.shape, mat2.shape
    if k != other:
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({m}x{k} and {other}x{n})")
    single = scale_a.numel() == 1 and scale_b.numel() == 1
    by_row = tuple(scale_a.shape) == (m, 1) and tuple(scale_b.shape) == (1, n)
    eights = all(x.dtype.is_floating_point and x.dtype.itemsize == 1 for x in (input, mat2))
    if not eights or not (single or by_row) or any(s.dtype is not dtypes.float32 for s in (scale_a, scale_b)):
        raise ValueError(
            "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and "
            f"singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, scale_a ({m}, 1) and "
            f"scale_b (1, {n}).\nGot a.dtype()={input.dtype}, scale_a.dtype()={scale_a.dtype}, scale_a.size()="
            f"{list(scale_a.shape)}, b.dtype()={mat2.dtype}, scale_b.dtype()={scale_b.dtype}, scale_b.size()="
            f"{list(scale_b.shape)}"
        )
    kind = input.dtype if out_dtype is None else out_dtype
    with no_grad():
        if single:
            scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
        out = functions["matmul"](input.float(), mat2.float()) * (scale_a * scale_b)
        if bias is not None:
            out = out + bias.float()
        if scale_result is not None and kind.itemsize == 1:
            out = out / scale_result
        return out.to(kind)
