"""Arithmetic between layers as modules, so that its results can be observed and quantised."""

from __future__ import annotations

from typing import Any

from ....._core.define.op import functions
from ....._quantized import layers
from .....nn import Identity, Module
from .linear import number

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FloatFunctional(Module):
    """`add`, `mul`, `cat` and the like of float tensors, whose results go through `activation_post_process`."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _seen(self, found: Any) -> Any:
        return self.activation_post_process(found)

    def add(self, x: Any, y: Any) -> Any:
        """`x + y`."""
        return self._seen(functions["add"](x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """`x + y`, y a number; not observed."""
        return functions["add"](x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """`x * y`."""
        return self._seen(functions["mul"](x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """`x * y`, y a number; not observed."""
        return functions["mul"](x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors one after the other."""
        return self._seen(functions["cat"](x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """`relu(x + y)`."""
        return self._seen(functions["relu"](functions["add"](x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`."""
        return self._seen(functions["matmul"](x, y))


class FXFloatFunctional(FloatFunctional):
    """The same without observing."""

    def __init__(self) -> None:
        Module.__init__(self)

    def _seen(self, found: Any) -> Any:
        return found


class QFunctional(Module):
    """`add`, `mul`, `cat` and the like of quantised tensors; results have its `scale` and `zero_point`."""

    scale: Any
    zero_point: Any
    _extra_repr_names = ("scale", "zero_point")

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = number(self.scale)
        destination[prefix + "zero_point"] = number(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local: Any, strict: bool, missing: Any, *args: Any
    ) -> None:
        for name, kind in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                setattr(self, name, kind(state_dict.pop(prefix + name)))
            elif strict:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local, False, missing, *args)

    def forward(self, x: Any) -> Any:
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """`x + y`."""
        return self.activation_post_process(layers.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """`x + y`, y a number."""
        return layers.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """`x * y`."""
        return self.activation_post_process(layers.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """`x * y`, y a number."""
        return layers.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors one after the other."""
        return self.activation_post_process(layers.cat(x, dim, self.scale, self.zero_point))

    def add_relu(self, x: Any, y: Any) -> Any:
        """`relu(x + y)`."""
        return self.activation_post_process(layers.add(x, y, self.scale, self.zero_point, True))

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`."""
        return layers.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """That of an observed `FloatFunctional`."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        made = cls()
        scale, zero = mod.activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero)
        return made
