"""Flax modules as jaxtorch modules."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import numpy as np

from .._core.random.generator import draw
from .._core.tensor.tensor import Tensor, from_array
from .._tensor.interop import from_jax, to_jax
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .functions import jax_function


class Tree(Module):
    """Nested dictionaries of arrays, as parameters or buffers with the names of the dictionaries' keys."""

    def __init__(self, tree: Any, parameters: bool) -> None:
        super().__init__()
        self._keys = list(tree)
        for key, item in tree.items():
            if isinstance(item, dict):
                self._modules[str(key)] = Tree(item, parameters)
                continue
            t = from_jax(item)
            if parameters:
                self._parameters[str(key)] = Parameter(t, t.is_floating_point() or t.is_complex())
            else:
                self._buffers[str(key)] = t

    def tree(self) -> dict[Any, Any]:
        """The dictionaries, with the parameters, or with copies of the buffers: backward may need them as they are now."""
        found = {}
        for key in self._keys:
            name = str(key)
            inner: Any = self._modules.get(name)
            if inner is not None:
                found[key] = inner.tree()
            elif name in self._parameters:
                found[key] = self._parameters[name]
            else:
                held: Any = self._buffers[name]
                found[key] = held.clone()
        return found

    def update(self, tree: dict[Any, Any]) -> None:
        """Store new content in the tensors."""
        for key, item in tree.items():
            inner: Any = self._modules.get(str(key))
            if inner is not None:
                inner.update(item)
            else:
                held: Any = self._parameters.get(str(key), self._buffers.get(str(key)))
                held._write(item._read())


def _words() -> Tensor:
    """Data of a new JAX key, from the default generator, so that `manual_seed` fixes it."""
    return from_array((draw(None, "random_", (2,), np.int64) & 0xFFFFFFFF).astype(np.uint32))


_MODE = {"train": False, "training": False, "is_training": False, "deterministic": True, "use_running_average": True}
"""Arguments by which Flax modules learn whether they train; True where it is the opposite."""


class LinenModule(Module):
    """A Flax linen module with its variables: 'params' are parameters, other collections (batch statistics) buffers.

    In training mode the other collections are mutable and updated by each call, and random keys for 'dropout' are drawn from
    the default generator. `train()` and `eval()` reach the module through an argument of its `__call__` named train, training,
    is_training, deterministic or use_running_average, unless the caller passes it.
    """

    def __init__(self, module: Any, variables: Any, **call: Any) -> None:
        from flax.core import meta, unfreeze

        super().__init__()
        self.module = module
        variables = meta.unbox(unfreeze(variables))
        rest = {k: v for k, v in variables.items() if k != "params"}
        self.params = Tree(variables.get("params", {}), True)
        self.collections = Tree(rest, False)
        self._call = call
        self._modes = [n for n in inspect.signature(type(module).__call__).parameters if n in _MODE]
        self._functions = {mutable: jax_function(self._apply(mutable), name="flax_linen") for mutable in (False, True)}
        self._needs_key: dict[Any, bool] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        mode = {n: not self.training if _MODE[n] else self.training for n in self._modes}
        kwargs = {**mode, **self._call, **kwargs}
        mutable = self.training and bool(self.collections._keys)
        key = _words() if self._wants_key(mutable, args, kwargs) else None
        out, changed = self._functions[mutable](self.params.tree(), self.collections.tree(), key, *args, **kwargs)
        if mutable:
            self.collections.update(changed)
        return out

    def _wants_key(self, mutable: bool, args: Any, kwargs: Any) -> bool:
        """Does a call with these arguments draw random numbers?"""
        about = (mutable, tuple([(k, v) for k, v in sorted(kwargs.items()) if isinstance(v, (bool, int, str))]))
        found = self._needs_key.get(about)
        if found is None:
            from flax.errors import InvalidRngError

            try:
                shapes = jax.tree.map(_shape, (self.params.tree(), self.collections.tree(), args), is_leaf=_is_tensor)
                jax.eval_shape(lambda p, c, a: self._apply(mutable)(p, c, None, *a, **kwargs), *shapes)
                found = False
            except InvalidRngError:
                found = True
            self._needs_key[about] = found
        return found

    def _apply(self, mutable: bool) -> Any:
        def apply(params: Any, rest: Any, words: Any, *args: Any, **kwargs: Any) -> Any:
            rngs = None if words is None else {"dropout": jax.random.wrap_key_data(words)}
            names = list(rest) if mutable else False
            out = self.module.apply({"params": params, **rest}, *args, rngs=rngs, mutable=names, **kwargs)
            if mutable:
                return out[0], {k: out[1].get(k, rest[k]) for k in rest}
            return out, {}

        return apply

    def extra_repr(self) -> str:
        return type(self.module).__name__


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _shape(x: Any) -> Any:
    return x._read().aval.struct if isinstance(x, Tensor) else x


def from_linen(module: Any, *example: Any, variables: Any = None, seed: int = 0, **call: Any) -> LinenModule:
    """A Flax linen module as a `torch.nn.Module`.

    example: arguments to initialise with (tensors or arrays), unless `variables` are given. call: keyword arguments that each
    call passes on.
    """
    if variables is None:
        arrays = [to_jax(x) if isinstance(x, Tensor) else x for x in example]
        key = jax.random.key(seed)
        variables = module.init({"params": key, "dropout": jax.random.fold_in(key, 1)}, *arrays, **call)
    return LinenModule(module, variables, **call)


class NNXModule(Module):
    """A Flax NNX module: its `Param`s are parameters, its other variables buffers that each call updates.

    `train()` and `eval()` switch the NNX module as its own methods do.
    """

    def __init__(self, module: Any) -> None:
        from flax import nnx

        super().__init__()
        copy = nnx.clone(module)
        self._functions = {}
        params: Any = None
        rest: Any = None
        for training in (False, True):
            copy.train() if training else copy.eval()
            graph, params, rest = nnx.split(copy, nnx.Param, ...)
            self._functions[training] = jax_function(_run_nnx(nnx, graph, params, rest), name="flax_nnx")
        self.params = Tree(nnx.to_pure_dict(params), True)
        self.variables = Tree(_raw(nnx.to_pure_dict(rest)), False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        function = self._functions[self.training]
        out, changed = function(self.params.tree(), self.variables.tree(), args, kwargs)
        self.variables.update(changed)
        return out


def _run_nnx(nnx: Any, graph: Any, params_state: Any, rest_state: Any) -> Any:
    def run(params: Any, rest: Any, args: Any, kwargs: Any) -> Any:
        own = jax.tree.unflatten(jax.tree.structure(params_state), jax.tree.leaves(params))
        old = jax.tree.leaves(rest_state)
        leaves = [_like_key(new, o) for new, o in zip(jax.tree.leaves(rest), old, strict=True)]
        module = nnx.merge(graph, own, jax.tree.unflatten(jax.tree.structure(rest_state), leaves))
        out = module(*args, **kwargs)
        changed = nnx.split(module, nnx.Param, ...)[2]
        return out, _raw(nnx.to_pure_dict(changed))

    return run


def _raw(tree: Any) -> Any:
    """Random keys as their data: tensors hold numbers only."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if _is_key(x) else x, tree)


def _is_key(x: Any) -> bool:
    return jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)  # pyright: ignore[reportPrivateImportUsage]


def _like_key(new: Any, old: Any) -> Any:
    return jax.random.wrap_key_data(new, impl=str(jax.random.key_impl(old))) if _is_key(old) else new


def from_nnx(module: Any) -> NNXModule:
    """A Flax NNX module, with a copy of its state, as a `torch.nn.Module`."""
    return NNXModule(module)
