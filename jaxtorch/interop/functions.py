"""JAX functions as operations on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax._src import config as _config

from .._core.compile.kernel import Entry, Kernel, device_of
from .._core.tensor.tensor import Tensor, apply_entry
from .._core.types.device import default_device
from .._tensor.interop import from_jax


def jax_function(fn: Callable[..., Any], *, name: str = "") -> Callable[..., Any]:
    """Make a pure JAX function work on tensors, recorded and differentiable like a built-in operation.

    fn: takes and returns pytrees of arrays; it is traced once for each set of types and of other arguments, which must be
    hashable. Tensors in the arguments, at any depth, arrive as `jax.Array`s; arrays in the result come back as tensors. What
    `fn` closes over is part of the program, and its changes go unnoticed.

        softcap = jax_function(lambda x: 30 * jnp.tanh(x / 30))
        softcap(logits).sum().backward()
    """
    entries: dict[Any, tuple[Entry, Any]] = {}
    label = name or getattr(fn, "__name__", "jax_function").strip("<>")

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_util.tree_flatten((args, kwargs), is_leaf=_is_tensor)
        tensors: list[Tensor] = []
        static: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, (Tensor, jax.Array, np.ndarray)):
                tensors.append(leaf if isinstance(leaf, Tensor) else from_jax(leaf))
                static.append(_HERE)
            else:
                static.append(leaf)
        avals = tuple([t._read().aval for t in tensors])
        wide = _config.enable_x64.value
        key = (tree, tuple([(type(s), s) for s in static]), avals, wide)
        try:
            found = entries.get(key)
        except TypeError as error:
            raise TypeError(
                f"{label}: arguments that are neither tensors nor arrays are part of the program and must be hashable: {error}"
            ) from None
        if found is None:
            found = entries[key] = _build(fn, label, tree, static, avals, wide)
        entry, out_tree = found
        outs = apply_entry(entry, list(tensors))
        return tree_util.tree_unflatten(out_tree, list(outs))

    return call


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


class _Here:
    """Marks where a tensor stands among the arguments."""


_HERE = _Here()


def _build(fn: Any, label: str, tree: Any, static: list[Any], avals: Any, wide: bool) -> tuple[Entry, Any]:
    trees: list[Any] = []

    def flat(*arrays: Any) -> tuple[Any, ...]:
        rest = iter(arrays)
        leaves = [next(rest) if s is _HERE else s for s in static]
        args, kwargs = tree_util.tree_unflatten(tree, leaves)
        with jax.enable_x64(wide):  # the function is the user's, and so is the setting
            outs, out_tree = tree_util.tree_flatten(fn(*args, **kwargs))
            outs = tuple([jax.numpy.asarray(o) for o in outs])
        trees[:] = [out_tree]
        return outs

    slot = device_of(list(avals), default_device().slot, label)
    entry = Entry(None, Kernel(label, flat, avals, slot), tuple)
    entry.grad_name = "JaxFunctionBackward"
    return entry, trees[0]
