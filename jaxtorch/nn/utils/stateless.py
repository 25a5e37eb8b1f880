"""Modules with other parameters and buffers for a while: behind `torch.func.functional_call`, and that under its old name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


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
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call the module with other parameters and buffers."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What `torch.func.functional_call` does with one dictionary."""
    parameters_and_buffers.keys()  # AttributeError where there are none
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with holding(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Context in which the module has other parameters and buffers, by name; its own come back last replaced first.

    tie_weights, strict, errors: as `torch.func.functional_call`.
    """
    return holding(module, parameters_and_buffers, tie_weights, strict)
