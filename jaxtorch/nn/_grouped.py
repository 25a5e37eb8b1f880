"""Products of groups of matrices."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._private_names.absent import absent_function


class ScalingType(enum.Enum):
    """How many numbers of a matrix share a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """In which order scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


ScalingType.__module__ = SwizzleType.__module__ = "torch.nn.functional"
scaled_grouped_mm = absent_function(
    "torch.nn.functional.scaled_grouped_mm", "jaxtorch has no products of scaled matrices"
)


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """The products of groups of matrices. offs: where each group ends along the dimension that holds all groups; it is read.

    (g, m, k) and (g, k, n) give (g, m, n), without `offs`. (M, k) and (g, k, n) give (M, n): the rows are in groups. (g, m, k)
    and (k, N) give (m, N): the columns are. (m, K) and (K, n) give (g, m, n): the inner dimension is.
    """
    a, b = mat_a.dim(), mat_b.dim()
    if a not in (2, 3) or b not in (2, 3):
        raise RuntimeError(f"grouped_mm: expected tensors of 2 or 3 dimensions, but got {a} and {b}")
    if (offs is None) != (a == b == 3):
        raise RuntimeError("grouped_mm: offs has to be given unless both tensors have 3 dimensions, and only then")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(f"grouped_mm: expected tensors of one type, but got {mat_a.dtype} and {mat_b.dtype}")
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported, as in PyTorch")
    if offs is None:
        found = functions["bmm"](mat_a, mat_b)
    else:
        ends = np.asarray(offs.detach()._array()).tolist()
        spans = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        if a == 2 and b == 3:
            parts, dim = [mat_a[s] @ mat_b[i] for i, s in enumerate(spans)], 0
        elif a == 3:
            parts, dim = [mat_a[i] @ mat_b[:, s] for i, s in enumerate(spans)], 1
        else:
            return _typed(functions["stack"]([mat_a[:, s] @ mat_b[s] for s in spans]), out_dtype)
        found = functions["cat"](parts, dim)
    return _typed(found, out_dtype)


def _typed(t: Tensor, dtype: Any) -> Tensor:
    return t if dtype is None else t.to(dtype)


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """AssertionError unless `arg` is a number or two; `message` has a place for the name."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a factory function (device, dtype, memory_format) among those of a module.

    They may stand by themselves or in a dictionary 'factory_kwargs', not both; TypeError for others.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - (simple | {"factory_kwargs"})
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in found:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        found[key] = kwargs[key]
    return found


def scaled_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
    swizzle_a: Any = None, swizzle_b: Any = None, bias: Tensor | None = None, output_dtype: Any = dtypes.bfloat16,
    contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """The product of two float8 matrices (m, k) and (k, n), each times its scale, plus a bias (n,), in float32 rounded once.

    The recipes are ScalingType.TensorWise or RowWise; NotImplementedError for scales of blocks, `swizzle` and `contraction_dim`.
    """
    from .._namespace.rare import _scaled_mm  # rare, as its module says

    one: Any = lambda x: x[0] if isinstance(x, (list, tuple)) and len(x) == 1 else x  # noqa: E731
    recipes = one(scale_recipe_a), one(scale_recipe_b)
    plain = all(s is None or one(s) in (None, SwizzleType.NO_SWIZZLE) for s in (swizzle_a, swizzle_b))
    if not plain or contraction_dim or not all(r in (ScalingType.TensorWise, ScalingType.RowWise) for r in recipes):
        raise NotImplementedError(
            "torch.nn.functional.scaled_mm: jaxtorch has scales for whole tensors and for rows, without swizzle"
        )
    return _scaled_mm(
        mat_a, mat_b, one(scale_a), one(scale_b), bias, out_dtype=output_dtype, use_fast_accum=use_fast_accum
    )
