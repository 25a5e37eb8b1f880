"""Hooks of modules: those on every module, and full backward hooks, which watch a module's boundary."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...._core.define.op import functions
from ...._core.tensor.tensor import Tensor
from ...._core.types import warn_once
from ...._core.types.grad_mode import state
from ...._core.types.removable_handle import RemovableHandle
from ....autograd.function import Function

_global_parameter_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_buffer_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()

# Are the hooks in `_global_backward_hooks` full ones? None while there have been none.
backward_kind: list[bool | None] = [None]


def add(hooks: Any, hook: Any, *, prepend: bool = False, flags: tuple[tuple[Any, bool], ...] = ()) -> RemovableHandle:
    """Put a hook into a dictionary of hooks. flags: dictionaries that mark its id, and whether to do so."""
    handle = RemovableHandle(hooks, extra_dict=[marks for marks, _ in flags])
    hooks[handle.id] = hook
    for marks, wanted in flags:
        if wanted:
            marks[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def replaced(hooks: Any, module: Any, name: str, item: Any) -> Any:
    """What registration hooks make of an item that is being registered."""
    for hook in hooks.values():
        result = hook(module, name, item)
        if result is not None:
            item = result
    return item


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered; it may return another one."""
    return add(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered; it may return another one."""
    return add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a submodule is registered; it may return another one."""
    return add(_global_module_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before every forward of every module; it may return other arguments."""
    return add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every forward of every module; it may return another output."""
    flags = (
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    )
    return add(_global_forward_hooks, hook, flags=flags)


def _claim_backward_kind(full: bool) -> None:
    if backward_kind[0] is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    backward_kind[0] = full


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` in every backward; deprecated in favour of full hooks."""
    _claim_backward_kind(full=False)
    return add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before every module's backward; it may return other gradients."""
    return add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after every backward; it may return other gradients."""
    _claim_backward_kind(full=True)
    return add(_global_backward_hooks, hook)


class WrappedHook:
    """A hook that is handed its module first; it holds the module weakly, and pickles with it."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self.module: Any = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        found = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            found["module"] = self.module()
        return found

    def __setstate__(self, found: dict[str, Any]) -> None:
        self.hook, self.with_module = found["hook"], found["with_module"]
        if self.with_module and found["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.module = weakref.ref(found["module"]) if self.with_module else None


class BackwardHookFunction(Function):
    """The identity: its node is the boundary of a module in the autograd graph."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHook:
    """One call of a module that has full backward hooks: marks its boundaries and runs the hooks there."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.n_outputs = -1
        self.output_places: list[int] = []
        self.n_inputs = -1
        self.input_places: list[int] | None = None  # None: no input requires a gradient
        self.without_grad: dict[int, Any] = {}  # inputs that require none: place to shape, dtype and device

    def mark_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, passed through the boundary."""
        self.n_inputs = len(args)
        self.without_grad = {
            i: (a.shape, a.dtype, a.device) for i, a in enumerate(args) if isinstance(a, Tensor) and not a.requires_grad
        }
        args, self.input_places = self._mark(args, lambda node: node.register_hook(self._at_inputs))
        return args

    def mark_outputs(self, result: Any) -> Any:
        """The module's result, passed through the boundary."""
        several = isinstance(result, tuple)
        if not several and not isinstance(result, Tensor):
            warn_once.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}"
            )
            return result
        outputs = result if several else (result,)
        self.n_outputs = len(outputs)
        outputs, places = self._mark(outputs, lambda node: node.register_prehook(self._at_outputs))
        self.output_places = places or []
        return outputs if several else outputs[0]

    def _mark(self, args: tuple[Any, ...], register: Any) -> tuple[tuple[Any, ...], list[int] | None]:
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not (state.grad and any(args[i].requires_grad for i in places)):
            return args, None
        marked = BackwardHookFunction.apply(*[args[i] for i in places])
        if isinstance(marked, Tensor):
            marked = (marked,)
        nodes = {id(t.grad_fn): t.grad_fn for t in marked if t.grad_fn is not None}
        if len(nodes) != 1:
            raise RuntimeError("Error while setting up backward hooks. Please open an issue with code to reproduce it.")
        register(nodes.popitem()[1])
        found = list(args)
        for i, t in zip(places, marked, strict=True):
            found[i] = t
        # A named tuple is made from its fields, a plain one from a sequence.
        return (type(args)(*found) if hasattr(args, "_fields") else tuple(found)), places

    @staticmethod
    def _spread(places: list[int], grads: Any, n: int) -> tuple[Any, ...]:
        """Gradients of the tensors, with None where the other values stand."""
        found = [None] * n
        for i, g in zip(places, grads, strict=True):
            found[i] = g
        return tuple(found)

    def _at_outputs(self, grads: Any) -> Any:
        grads = self._spread(self.output_places, grads, self.n_outputs)
        for hook in self.pre_hooks:
            found = hook(self.module, grads)
            if found is None:
                continue
            if len(found) != len(grads):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(found)}, but expected {len(grads)}"
                )
            grads = tuple(found)
        if self.input_places is not None:
            self.grad_outputs = grads
        else:
            self._without_inputs(grads)
        return tuple(grads[i] for i in self.output_places)

    def _without_inputs(self, grads: Any) -> None:
        """Run the hooks of a module none of whose inputs requires a gradient."""
        warn_once.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            "no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details."
        )
        for hook in self.hooks:
            found = hook(self.module, (None,) * self.n_inputs, grads)
            if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or "
                    "None for "
                    "all gradients."
                )

    def _at_inputs(self, grads: Any, _: Any) -> Any:
        if self.grad_outputs is None:  # backward did not pass through the module's outputs
            return None
        places: list[int] = self.input_places or []
        if len(grads) < len(places):
            # The engine computes no gradients that nothing takes; PyTorch shows hooks zeros for those.
            places = [i for i in places if i not in self.without_grad]
        taken = [g is not None for g in grads]
        found = list(self._spread(places, grads, self.n_inputs))
        for i, (shape, dtype, device) in self.without_grad.items():
            if found[i] is None:
                found[i] = functions["zeros"](shape, dtype=dtype, device=device)
        grads = tuple(found)
        for hook in self.hooks:
            found = hook(self.module, grads, self.grad_outputs)
            if found is None:
                continue
            if len(found) != len(grads):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(found)}, but expected {len(grads)}"
                )
            grads = tuple(found)
        self.grad_outputs = None
        return tuple(grads[i] if is_taken else None for i, is_taken in zip(places, taken, strict=True))
