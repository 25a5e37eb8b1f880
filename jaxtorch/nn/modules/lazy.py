"""`LazyModuleMixin`: modules that learn the shape of their parameters from their first input."""

from __future__ import annotations

import itertools
from typing import Any

from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module lazy: parameters may be `UninitializedParameter`s until the first call.

    A subclass gives `initialize_parameters(self, *args, **kwargs)`, which is called with the arguments of the first `forward` and
    materializes them, and may give `cls_to_become`, the class that the module then takes.
    """

    cls_to_become: type | None = None
    _parameters: Any
    _buffers: Any
    _load_hook: Any
    _initialize_hook: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)  # pyright: ignore[reportAttributeAccessIssue]
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)  # pyright: ignore[reportAttributeAccessIssue]

    def _tensors(self) -> Any:
        return itertools.chain(self._parameters.items(), self._buffers.items())

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        """Give parameters without a shape the shape of what is about to be loaded."""
        for name, target in self._tensors():
            given = state_dict.get(prefix + name)
            if target is not None and given is not None and is_lazy(target) and not is_lazy(given):
                target.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for these arguments of `forward`."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Is any parameter or buffer of the module itself still without a shape?"""
        return any(is_lazy(t) for _, t in self._tensors())

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")  # pyright: ignore[reportAttributeAccessIssue]
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )
