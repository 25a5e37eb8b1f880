"""`Module`: named parameters, buffers and submodules, and a forward to call.

What a module holds is in `_registry.py`, calls with hooks are in `_calling.py`, hooks in `_hooks.py`, the
state_dict in `_state.py`, `.to()` in `_conversion.py`.
"""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Self, TypeVar

from ..._core.dispatch import recorder
from ..._core.dispatch.class_attributes import unbind
from ..._core.record import module_depth
from ..._core.tensor.tensor import Tensor  # noqa: F401
from ..._core.types.removable_handle import RemovableHandle
from ..parameter import Buffer, Parameter  # noqa: F401
from ._module import calling, conversion, pytree
from ._module import hooks as _hooks
from ._module import state as _state
from ._module.hooks import WrappedHook as _WrappedHook
from ._module.hooks import (  # noqa: F401
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._module.registry import Registry
from ._module.state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from ._module.state import IncompatibleKeys as _IncompatibleKeys

T = TypeVar("T", bound="Module")

_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Compute the module's result; every subclass defines its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _addindent(text: str, spaces: int) -> str:
    """`text` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


def _nested(text: str) -> str:
    """A child's text: every line but the first indented, one of blanks alone left empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


class Module(Registry):
    """Base class of all neural network modules: assigned parameters, buffers and modules become part of it.

    While no gradient is recorded, pending work runs when the outermost call returns.
    """

    _extra_repr_names: tuple[str, ...] = ()
    """The attributes that `extra_repr` shows, of layers of jaxtorch's own."""

    T_destination = TypeVar("T_destination", bound=dict[str, Any])  # the type of `state_dict(destination=)`
    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unbind(cls)
        pytree.register(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        for table in _HOOK_TABLES:
            own[table] = OrderedDict()
        own["_is_full_backward_hook"] = None
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # -- calls

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            listened = (
                own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
                or "_compiled_call_impl" in own
            )
        except KeyError as error:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {error}") from None
        if not module_depth.depth:
            module_depth.outermost_entered()
        module_depth.depth += 1
        try:
            if not listened:
                return self.forward(*args, **kwargs)
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            module_depth.depth -= 1
            if not module_depth.depth:
                module_depth.outermost_returned()

    __call__ = _wrapped_call_impl

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return calling.call(self, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Make calls of this module go through `torch.compile`, with these arguments."""
        torch = sys.modules[__name__.partition(".")[0]]  # the package: importing it would go upwards
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        found = dict(self.__dict__)
        found.pop("_compiled_call_impl", None)
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        for table in _HOOK_TABLES:  # pickles of older versions lack some
            own.setdefault(table, OrderedDict())
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        replica.__dict__ = dict(self.__dict__)
        replica._parameters = {}
        replica._buffers = dict(self._buffers)
        replica._modules = dict(self._modules)
        replica._is_replica = True
        return replica

    # -- hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args[, kwargs])` before forward; it may return other arguments."""
        hooks, flags = self._forward_pre_hooks, ((self._forward_pre_hooks_with_kwargs, with_kwargs),)
        return _hooks.add(hooks, hook, prepend=prepend, flags=flags)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args[, kwargs], output)` after forward; it may return another output.

        always_call: also when forward has raised, then with output None.
        """
        hooks = self._forward_hooks
        flags = (
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        )
        return _hooks.add(hooks, hook, prepend=prepend, flags=flags)

    def _claim_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` in backward; deprecated in favour of the full hook."""
        self._claim_backward_kind(full=False)
        return _hooks.add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after backward; it may return other gradients."""
        self._claim_backward_kind(full=True)
        return _hooks.add(self._backward_hooks, hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; it may return other gradients."""
        return _hooks.add(self._backward_pre_hooks, hook, prepend=prepend)

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        return calling.backward_hooks(self)

    def _get_backward_pre_hooks(self) -> list[Any]:
        return calling.backward_pre_hooks(self)

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
        calling.warn_plain(inputs, result, grad_fn)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after state_dict; it returns None."""
        hook._from_public_api = True
        return _hooks.add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state_dict is made."""
        return _hooks.add(self._state_dict_pre_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via "
                "register_state_dict_post_hook"
            )
        return _hooks.add(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return _hooks.add(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` first."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the keys in place."""
        return _hooks.add(self._load_state_dict_post_hooks, hook)

    # -- state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        has_extra = type(self).get_extra_state is not Module.get_extra_state
        _state.save_own(self, destination, prefix, keep_vars, has_extra)

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name, sharing memory with the module.

        keep_vars: the parameters themselves, rather than detached tensors.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
                "details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        return _state.save(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        has_extra = type(self).set_extra_state is not Module.set_extra_state
        _state.load_own(
            self,
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
            has_extra,
        )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from a state_dict; RuntimeError naming whatever does not fit.

        strict: keys must match exactly. assign: take the tensors themselves rather than copy them.
        """
        return _state.load(self, state_dict, strict, assign)

    # -- conversion

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        conversion.apply(self, fn, recurse)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, then on this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, a floating point type, or those of a tensor, in place."""
        return self._apply(conversion.converter(args, kwargs))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying: the content is arbitrary afterwards."""
        return self._apply(lambda t: conversion.empty_like(t, device), recurse=recurse)

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU, in place."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self) -> Self:
        """Move to the CPU, in place."""
        return self._apply(lambda t: t.cpu())

    def ipu(self, device: Any = None) -> Self:
        """Move to such a device, in place; there is none, so a module with tensors raises."""
        return self._apply(lambda t: t.ipu(device))

    def xpu(self, device: Any = None) -> Self:
        """Move to such a device, in place; there is none, so a module with tensors raises."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: Any = None) -> Self:
        """Move to such a device, in place; there is none, so a module with tensors raises."""
        return self._apply(lambda t: t.mtia(device))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integral ones too, to one type."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """Put all parameters and buffers into memory that other processes can see."""
        return self._apply(lambda t: t.share_memory_())

    # -- mode

    def train(self, mode: bool = True) -> Self:
        """Set training mode (or evaluation mode, if False) here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients of all parameters, or stop asking."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all parameters' gradients; set_to_none=False fills them with zeros instead."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The "
                "parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf "
                "nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, "
                "consider "
                "using autograd.grad instead.",
                stacklevel=2,
            )
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    # -- printing

    def extra_repr(self) -> str:
        """What a subclass wants shown between the parentheses of its `repr`."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._extra_repr_names)

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_nested(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"


pytree.register(Module)
if (_in_c := recorder.extension()) is not None:  # native/module.inc: the same for what is common, in less time
    _in_c.begin_modules(
        Module,
        Module._wrapped_call_impl,
        MethodType,
        vars(module_depth),
        (_global_backward_hooks, _global_backward_pre_hooks, _global_forward_hooks, _global_forward_pre_hooks),
    )
