"""`torch._vmap_internals`: the first `vmap` of PyTorch, whose functions return tensors and nothing around them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .._functorch.vmap import _get_name
from ..func import vmap as _mapped

__all__ = ["vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Map a function that returns a tensor or a tuple of tensors; `torch.vmap` does more."""
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", category=FutureWarning, stacklevel=2
    )
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """`vmap` without its warning. allow_none_pass_through: None among the results stays as it is."""

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        kept: list[bool] = []
        several = False

        @functools.wraps(func)
        def tensors(*args: Any) -> Any:
            nonlocal several
            results = func(*args)
            several = isinstance(results, tuple)
            every = results if several else (results,)
            for i, result in enumerate(every):
                if not isinstance(result, Tensor) and not (allow_none_pass_through and result is None):
                    name = _get_name(func)
                    raise ValueError(
                        f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)} "
                        + (f"for return {i}." if several else "as the return.")
                    )
            kept[:] = [result is not None for result in every]
            return tuple(result for result in every if result is not None)

        found = list(
            _mapped(tensors, in_dims)(*args)
        )  # how many dimensions there are to move is known after the call only
        dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(kept)
        if len(dims) != len(kept):
            raise ValueError(
                f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got {len(kept)} "
                f"outputs) of {_get_name(func)}."
            )
        places = [dim for dim, keep in zip(dims, kept, strict=True) if keep]
        found = [result.movedim(0, place) for result, place in zip(found, places, strict=True)]
        every = tuple(found.pop(0) if keep else None for keep in kept)
        return every if several else every[0]

    return wrapped
