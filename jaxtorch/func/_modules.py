"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._core.op import functions
from .._core.tensor import Tensor
from ..nn.modules.module import Module


def _merged(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if isinstance(given, (list, tuple)):
        if not all([isinstance(d, dict) for d in given]):  # noqa: C419
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in given for k in d]
        repeated = [k for i, k in enumerate(keys) if k in keys[:i]]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        return {k: v for d in given for k, v in d.items()}
    raise ValueError(
        f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
    )


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is kept, by its full name; names of one tensor all appear."""
    found = {}
    for prefix, inner in module.named_modules(remove_duplicate=False):
        for table in (inner._parameters, inner._buffers):
            for name in table:
                found[f"{prefix}.{name}" if prefix else name] = (table, name)
    return found


def _with_ties(given: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    """A value for all names of a tensor that was given under one of them."""
    groups: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        if table[key] is not None:
            groups.setdefault(id(table[key]), []).append(name)
    full = dict(given)
    for names in groups.values():
        mine = [n for n in names if n in given]
        if len(mine) > 1 and any([given[n] is not given[mine[0]] for n in mine]):  # noqa: C419
            raise ValueError(
                f"functional_call got multiple values for keys {mine}, which are tied. Consider using tie_weights=False"
            )
        if mine:
            full.update(dict.fromkeys(names, given[mine[0]]))
    return full


_NOTHING: Any = object()


def _elsewhere(module: Module, name: str) -> tuple[dict[str, Any], str]:
    """Where a tensor goes that is no parameter or buffer: a plain attribute, which there need not be yet."""
    path, _, key = name.rpartition(".")
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    parts = path.split(".") if path else []
    for i, part in enumerate(parts):
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        inner = getattr(module, part)
        if not isinstance(inner, Module):
            raise TypeError(f"submodule `{'.'.join(parts[: i + 1])}`: {inner} is not an instance of torch.nn.Module")
        module = inner
    held = getattr(module, key, None)
    if held is not None and not isinstance(held, Tensor):
        raise TypeError(f"attribute `{key}`: {held} is not an instance of torch.Tensor")
    return module.__dict__, key


@contextmanager
def holding(module: Module, given: dict[str, Any], tie: bool, strict: bool) -> Iterator[None]:
    """Context in which the module has other parameters and buffers."""
    places = _places(module)
    full = _with_ties(given, places) if tie else given
    if strict:
        missing = [n for n in places if n not in full and places[n][0][places[n][1]] is not None]
        unexpected = [n for n in full if n not in places]
        problems = []
        for what, names in (("Unexpected", unexpected), ("Missing", missing)):
            if names:
                problems.append(f"{what} key(s): " + ", ".join([f"'{n}'" for n in sorted(names)]) + ".")
        if problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))
    before = []
    try:
        for name, value in full.items():
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            table, key = places[name] if name in places else _elsewhere(module, name)
            before.append((table, key, table.get(key, _NOTHING), name))
            table[key] = value
        yield
    finally:
        for table, key, value, name in reversed(before):
            now = table.get(key)
            if now is not full[name] and name in given:
                given[name] = now  # the module has put another tensor there: the caller gets it
            if value is _NOTHING:
                table.pop(key, None)
            else:
                table[key] = value


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, by name; those left out are its own.

    tie_weights: what is given for a tensor counts under all its names. strict: RuntimeError if a name is missing or unknown.
    """
    given = _merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with holding(module, given, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one class, stacked along a new first dimension, for `vmap` over them."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    tables = [[dict(m.named_parameters()) for m in models], [dict(m.named_buffers()) for m in models]]
    stacked = []
    for dicts in tables:
        made = {}
        for name in dicts[0]:
            held = [d[name] for d in dicts]
            wants = [t.requires_grad for t in held]
            if len(set(wants)) > 1:
                raise RuntimeError(
                    f"Expected {name} to have requires_grad={not wants[-1]} or {wants[-1]} in all models, got both"
                )
            made[name] = functions["stack"]([t.detach() for t in held]).requires_grad_(wants[0])
        stacked.append(made)
    return stacked[0], stacked[1]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """The module, with the running statistics of every batch normalisation in it given up: those are written in place, which
    `vmap` over samples cannot do."""
    from ..nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that does what `func` does.

    In PyTorch a program traced from it has no writes in place (nor views, with remove='mutations_and_views'). Here no recorded
    program has any: values never change, and a write is a new value under the old tensor. RuntimeError for another `remove`.
    """

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        if remove not in ("mutations", "mutations_and_views"):
            raise RuntimeError(
                f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
                "'mutations' and 'mutations_and_views'."
            )
        return func(*args, **kwargs)

    return functional


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor itself: within a transformation it already shows what the function sees of one sample."""
    if not isinstance(tensor, Tensor):
        raise RuntimeError(f"Expected Tensor, got {type(tensor)}")
    return tensor
