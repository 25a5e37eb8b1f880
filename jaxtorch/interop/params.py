"""A module's parameters as the nested dictionaries that Flax and optax work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad
from .._tensor.interop import from_jax, to_jax
from ..func import functional_call
from ..nn.modules.module import Module


def params_of(module: Module, *, buffers: bool = False) -> dict[str, Any]:
    """The parameters (with `buffers`, those too) as {'layer': {'weight': jax.Array}}."""
    if not isinstance(module, Module):
        raise TypeError(f"params_of(): argument 'module' must be Module, not {type(module).__name__}")
    tree: dict[str, Any] = {}
    named = [*module.named_parameters(), *(module.named_buffers() if buffers else ())]
    for name, t in named:
        *path, last = name.split(".")
        inner = tree
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = to_jax(t)
    return tree


def load_params(module: Module, tree: dict[str, Any]) -> None:
    """Write the arrays of a tree like that of `params_of` into the module. KeyError, before anything is written, for a name
    that the module does not have; RuntimeError for a shape that differs."""
    known: dict[str, Tensor] = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    found = list(_flat(tree, ""))
    for name, array in found:
        if name not in known:
            raise KeyError(f"load_params: the module has no parameter or buffer '{name}'")
        if tuple(array.shape) != tuple(known[name].shape):
            raise RuntimeError(
                f"load_params: '{name}' has shape {tuple(known[name].shape)}, but the tree has {tuple(array.shape)}"
            )
    with no_grad():
        for name, array in found:
            known[name].copy_(from_jax(array))


def apply(module: Module, params: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """Call a module with the parameters of a tree like that of `params_of`: a pure function of them, for `jax.grad`, `jax.jit`.

    Arrays among the arguments become tensors; KeyError for a name that the module does not have.
    """
    known = {n for n, _ in (*module.named_parameters(), *module.named_buffers())}
    given = {}
    for name, array in _flat(params, ""):
        if name not in known:
            raise KeyError(f"apply: the module has no parameter or buffer '{name}'")
        given[name] = array if isinstance(array, Tensor) else from_jax(array)
    args = tuple([from_jax(a) if _is_array(a) else a for a in args])
    kwargs = {k: from_jax(v) if _is_array(v) else v for k, v in kwargs.items()}
    return functional_call(module, given, args, kwargs)


def _is_array(x: Any) -> bool:
    return not isinstance(x, Tensor) and hasattr(x, "shape") and hasattr(x, "dtype")


def _flat(tree: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
