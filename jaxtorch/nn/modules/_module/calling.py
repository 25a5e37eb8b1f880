"""A module's call where something listens: hooks round its forward, and at both ends of its backward."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ...._core.tensor.tensor import Tensor
from . import hooks as _hooks


def backward_hooks(module: Any) -> tuple[list[Any], list[Any]]:
    """The module's full and its plain backward hooks, those on every module first."""
    full: list[Any] = []
    plain: list[Any] = []
    if _hooks.backward_kind[0] is True:
        full += _hooks._global_backward_hooks.values()
    if module._is_full_backward_hook is True:
        full += module._backward_hooks.values()
    if _hooks.backward_kind[0] is False:
        plain += _hooks._global_backward_hooks.values()
    if module._is_full_backward_hook is False:
        plain += module._backward_hooks.values()
    return full, plain


def backward_pre_hooks(module: Any) -> list[Any]:
    return [*_hooks._global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `module.forward` with every hook that applies."""
    called: set[int] = set()  # always_call hooks that have run
    progress: list[Any] = [args, kwargs, None]  # what hooks of a failing call are shown
    try:
        return _run(module, progress, called)
    except Exception:
        _run_always_called(module, progress, called)
        raise


def _run(module: Any, progress: list[Any], called: set[int]) -> Any:
    args, kwargs, _ = progress
    full: list[Any] = []
    plain: list[Any] = []
    before: list[Any] = []
    if module._backward_hooks or _hooks._global_backward_hooks:
        full, plain = backward_hooks(module)
    if module._backward_pre_hooks or _hooks._global_backward_pre_hooks:
        before = backward_pre_hooks(module)

    for key, hook in (*_hooks._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            found = hook(module, args, kwargs)
            if found is not None:
                if not (isinstance(found, tuple) and len(found) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
                    )
                args, kwargs = found
        else:
            found = hook(module, args)
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
        progress[:2] = args, kwargs

    boundary = None
    if full or before:
        boundary = _hooks.BackwardHook(module, full, before)
        args = progress[0] = boundary.mark_inputs(args)
    result = progress[2] = module.forward(*args, **kwargs)

    for key, hook in (*_hooks._global_forward_hooks.items(), *module._forward_hooks.items()):
        if key in module._forward_hooks_always_called or key in _hooks._global_forward_hooks_always_called:
            called.add(key)
        if key in module._forward_hooks_with_kwargs or key in _hooks._global_forward_hooks_with_kwargs:
            found = hook(module, args, kwargs, result)
        else:
            found = hook(module, args, result)
        if found is not None:
            result = progress[2] = found

    if boundary is not None:
        result = boundary.mark_outputs(result)
    if plain:
        _register_plain(module, plain, args, result)
    return result


def _run_always_called(module: Any, progress: list[Any], called: set[int]) -> None:
    """After a failure, run the always_call hooks that have not run; a failure of theirs becomes a warning."""
    args, kwargs, result = progress
    everywhere = (
        _hooks._global_forward_hooks,
        _hooks._global_forward_hooks_always_called,
        _hooks._global_forward_hooks_with_kwargs,
    )
    own = (module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs)
    for where, (hooks, always, wanting_kwargs) in (("global module", everywhere), ("module", own)):
        for key, hook in hooks.items():
            if key not in always or key in called:
                continue
            try:
                if key in wanting_kwargs:
                    found = hook(module, args, kwargs, result)
                else:
                    found = hook(module, args, result)
                if found is not None:
                    result = found
            except Exception as error:
                warnings.warn(
                    f"{where} forward hook with ``always_call=True`` raised an exception that was silenced "
                    "as another "
                    f"error was raised in forward: {error}",
                    stacklevel=4,
                )


def _register_plain(module: Any, hooks: Any, args: Any, result: Any) -> None:
    """Put non-full backward hooks on the node of the result's first tensor."""
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next(v for v in found.values() if isinstance(v, Tensor))
        else:
            found = found[0]
    node = found.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(functools.partial(hook, module))
        warn_plain(args, result, node)


_ADVICE = "Please use register_full_backward_hook to get the documented behavior."


def warn_plain(args: Any, result: Any, node: Any) -> None:
    """Warn where a non-full backward hook will not see all gradients."""

    def tensors(x: Any) -> list[Tensor] | None:
        x = (x,) if isinstance(x, Tensor) else x
        return list(x) if isinstance(x, tuple) and all(isinstance(t, Tensor) for t in x) else None

    outputs, inputs = tensors(result), tensors(args)
    if outputs is None:
        text = (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of "
            "Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_output. "
        )
    elif inputs is None:
        text = (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a "
            "tuple of Tensors "
            "is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_input. "
        )
    elif len({t.grad_fn for t in outputs if t.grad_fn is not None}) > 1:
        text = (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is "
            "deprecated and will "
            "be removed in future versions. This hook will be missing some grad_output. "
        )
    elif {n for n, _ in node.next_functions} != {t.grad_fn for t in inputs if t.grad_fn is not None}:
        text = (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated "
            "and will be "
            "removed in future versions. This hook will be missing some grad_input. "
        )
    else:
        return
    warnings.warn(text + _ADVICE, FutureWarning, stacklevel=6)
