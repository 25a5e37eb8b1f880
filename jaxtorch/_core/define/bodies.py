"""The body of an operation as a function of arrays alone, as kernels are traced from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..record.value_checks import collecting
from ..types import dtypes
from ..types.value import Aval
from .signature import plain


def flat_types(operand_keys: tuple[Any, ...]) -> list[Aval]:
    """The types of all operands that a key gives."""
    flat: list[Aval] = []
    for k in operand_keys:
        if isinstance(k, tuple):
            flat.extend(k)
        elif k is not None:
            flat.append(k)
    return flat


class Body:
    """An operation's body as a function of arrays alone, for the types and static arguments of a key.

    kind, makers, raised: once it has been traced, the type of its result where that is a tuple or list; its flags' makers, and flags.
    """

    def __init__(self, op: Any, key: tuple[Any, ...], inplace: bool) -> None:
        operand_keys, statics = key[: op.n_operands], tuple(map(plain, key[op.n_operands :]))
        self.name = op.name
        self.flat = flat_types(operand_keys)
        self.kind: Any = None
        self.makers: list[Any] = []
        self.raised: list[Any] = []
        self._bound = op._bind(operand_keys, statics, self.flat, inplace)
        self._default = dtypes.default()  # a body may be traced again later, when another default is set

    def fn(self, *arrays: Any) -> tuple[Any, ...]:
        with collecting() as flags, dtypes.default_as(self._default):
            try:
                out = self._bound(*arrays)
            except (TypeError, ValueError) as error:
                if "ncompatible shapes for broadcasting" not in str(error):
                    raise
                shapes = ", ".join([str(list(a.shape)) for a in self.flat])
                message = f"{self.name}(): the sizes of the tensors must match or be 1, got {shapes}"
                raise RuntimeError(message) from None
        self.raised[:] = flags
        self.makers[:] = [make for _, make, _ in flags]
        self.kind = type(out) if isinstance(out, (tuple, list)) else None
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        return (*[jnp.asarray(o) for o in outs], *[f for f, _, _ in flags])


def into_self(
    bound: Callable[..., Any], name: str, flat: list[Aval], common: Any, spread: Callable[..., Any] | None
) -> Callable[..., Any]:
    """The in-place form: the result must have the shape of the first operand, and is converted to its type.

    common: the type that the operands are promoted to, if they are. spread: what gives their common shape, if they are broadcast.
    That one of these does not fit is told before a missing kernel.
    """
    target = flat[0]

    def check(found: Any) -> None:
        source = dtypes.from_numpy(found)
        if not dtypes.can_cast(source, target.dtype):
            raise RuntimeError(
                f"result type {dtypes.scalar_name(source)} can't be cast to the desired output type "
                f"{dtypes.scalar_name(target.dtype)}"
            )

    def into(*arrays: Any) -> Any:
        try:
            out = bound(*arrays)
        except NotImplementedError:
            if spread is not None and (shape := spread(flat)) != target.shape:
                raise RuntimeError(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
                ) from None
            if common is not None:
                check(common)
            raise
        found = out.dtype
        if found != target.dtype.np:
            check(found)
            out = out.astype(target.dtype.np)
        if out.shape != target.shape:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(out.shape)}"
            )
        return out

    return into
