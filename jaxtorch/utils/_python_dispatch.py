"""`torch.utils._python_dispatch`: modes with a `__torch_dispatch__`, which see every ATen operation.

There is no `__torch_dispatch__` of tensors' classes: making an instance of a class that has one raises NotImplementedError.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._core.define import op as _op
from .._core.dispatch import torch_dispatch as _engine
from .._core.dispatch import torch_function as _overrides

_ready: list[bool] = []


def _prepare() -> None:
    """Have every operation's function tell modes of its calls, and load what they are made of."""
    if _ready:
        return
    # Heavy, and most programs have no modes. They fill the tables of decompositions and derivatives.
    from .._library import (  # noqa: F401
        aten_layer_decompositions,
        aten_layer_derivatives,
        aten_loss_decompositions,
        aten_product_decompositions,
        aten_resampling_decompositions,
    )

    _overrides.activate()
    public = [made.public for made in list(_op.registry.values())]
    public += [f.inplace for f in public if hasattr(f, "inplace")]
    _overrides.show([form for f in public for form in f.source.forms])
    _ready.append(True)


class TorchDispatchMode:
    """Context in which `__torch_dispatch__(func, types, args, kwargs)` is called for every operation of `torch.ops.aten`.

    func:   such as `torch.ops.aten.mm.default`; `func(*args, **kwargs)` computes. The mode is not in force in there.
    types:  empty, since there is no `__torch_dispatch__` of classes. args, kwargs: as PyTorch gives them, defaults left out.
    What the mode returns is the operation's result. It works beneath autograd: its results get their history afterwards, and
    backward passes consist of operations that it sees as well. NotImplementedError for what jaxtorch cannot show so (see
    `docs/differences.md`): nothing is computed behind a mode's back.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode: jaxtorch has no dispatch keys")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError("TorchDispatchMode.__torch_dispatch__: define it in the subclass")

    def __enter__(self) -> Any:
        _prepare()
        _engine.push(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _engine.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; the old way to write `with Mode():`."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Is it one of PyTorch's own? None is."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that lets every operation compute."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    return _engine.state.modes[-1] if _engine.state.modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(_engine.state.modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Is a mode in force?"""
    return bool(_engine.state.modes)


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Is a mode in force?"""
    return bool(_engine.state.modes)


def _pop_mode_temporarily(k: Any = None) -> AbstractContextManager[Any]:
    """Context without the innermost mode, which it gives."""
    return _engine.without()


def _disable_current_modes() -> AbstractContextManager[Any]:
    """Context without modes."""
    return _engine.without(-1)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Is it a tensor that is made of others? There are none."""
    return False


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    """Is it a class of such tensors? There are none."""
    return False
