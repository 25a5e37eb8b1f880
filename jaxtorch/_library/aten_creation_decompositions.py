"""The decompositions of functions that make tensors, and of random numbers (see `aten_decompositions.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.dispatch import torch_dispatch
from .._core.dispatch.torch_dispatch import refused, rules
from .._core.tensor.tensor import Tensor
from .._core.types.device import default_device
from .aten_decompositions import aten, made_of

# -- new tensors


def _kind(dtype: Any, device: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of an operation that makes a tensor."""
    for name in ("generator", "out", "layout", "names"):
        if given.pop(name, None) is not None:
            raise refused(f"a new tensor with {name}=")
    pinned = given.pop("pin_memory", False)
    given.pop("requires_grad", None)
    if any(v is not None for v in given.values()):
        raise refused(f"a new tensor with {next(iter(given))}=")
    found = {} if dtype is None else {"dtype": dtype}
    return found | {"device": default_device() if device is None else device, "pin_memory": pinned}


def _filled(name: str, overload: str = "") -> Callable[..., Any]:
    def rule(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **given: Any) -> Tensor:
        if "size" in given:
            size = (given.pop("size"),)
        shape = list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)
        return aten(name + overload)(shape, **_kind(dtype, device, given)).requires_grad_(requires_grad)

    return rule


for _name in ("zeros", "ones", "rand", "randn"):
    rules[_name] = _filled(_name)
rules["empty"] = _filled("empty", ".memory_format")


@made_of("full")
def _full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
    return aten("full")(list(size), fill_value, **_kind(dtype, device, given))


@made_of("arange")
def _arange(*ends: Any, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
    overload = ("", ".start", ".start_step")[len(ends) - 1]
    return aten(f"arange{overload}")(*ends, **_kind(dtype, device, given))


@made_of("randint")
def _randint(*args: Any, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
    *bounds, size = args if "size" not in given else (*args, given.pop("size"))
    return aten("randint.low" if len(bounds) == 2 else "randint")(*bounds, list(size), **_kind(dtype, device, given))


@made_of("scalar_tensor")
def _scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
    return aten("scalar_tensor")(s, **_kind(dtype, device, given))


def _like(name: str) -> Callable[..., Any]:
    def rule(
        input: Tensor, *args: Any, dtype: Any = None, device: Any = None, memory_format: Any = None, **given: Any
    ) -> Any:
        requires_grad = given.pop("requires_grad", False)
        found = _kind(dtype, device, given)
        if device is None:
            del found["device"]
        if memory_format is not None:
            found["memory_format"] = memory_format
        return aten(name)(input, *args, **found).requires_grad_(requires_grad)

    return rule


for _name in ("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like"):
    rules[_name] = _like(_name)


def _new(name: str) -> Callable[..., Any]:
    def rule(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
        if "size" in given:
            size = (given.pop("size"),)
        shape = list(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else list(size)
        found = _kind(dtype, device, given)
        if device is None:
            del found["device"]
        return aten(name)(self, shape, **found)

    return rule


for _name in ("new_zeros", "new_ones", "new_empty"):
    rules[_name] = _new(_name)


@made_of("new_full")
def _new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, **given: Any
) -> Tensor:
    found = _kind(dtype, device, given)
    if device is None:
        del found["device"]
    return aten("new_full")(self, list(size), fill_value, **found)


def _numbered(name: str) -> Callable[..., Any]:
    def rule(*args: Any, dtype: Any = None, device: Any = None, **given: Any) -> Tensor:
        if name == "eye" and len(args) == 2:
            return aten("eye.m")(*args, **_kind(dtype, device, given))
        return aten(name)(*args, **_kind(dtype, device, given))

    return rule


for _name in ("eye", "randperm", "linspace"):
    rules[_name] = _numbered(_name)


@made_of("bernoulli")
def _bernoulli(input: Tensor, *args: Any, generator: Any = None, **given: Any) -> Tensor:
    if args or given or generator is not None:
        raise refused("'bernoulli' with more than a tensor")
    return aten("bernoulli")(input)


@made_of("as_tensor")
def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(data.device if device is None else device, data.dtype if dtype is None else dtype)
    return _lifted("as_tensor")(data, dtype, device)


@made_of("from_numpy")
def _from_numpy(array: Any) -> Tensor:
    return _lifted("from_numpy")(array)


def _lifted(name: str) -> Callable[..., Any]:
    def rule(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Tensor:
        with torch_dispatch.hidden():
            made = functions[name](*args, **kwargs)
        return aten("lift_fresh")(made).requires_grad_(requires_grad)

    return rule


rules["tensor"] = _lifted("tensor")


@made_of("new_tensor")
def _new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    kind = self.dtype if dtype is None else dtype
    return rules["tensor"](
        data, dtype=kind, device=self.device if device is None else device, requires_grad=requires_grad
    )


@made_of("bernoulli_")
def bernoulli(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """`self.bernoulli_(p)`."""
    if generator is not None or not isinstance(p, float):
        raise refused("'bernoulli_' with a generator or a tensor")
    return aten("bernoulli_.float")(self, *[p] * (p != 0.5))


def _drawn(name: str, *defaults: float) -> Callable[..., Any]:
    def rule(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        if generator is not None:
            raise refused(f"'{name}' with a generator")
        given = [*args, *named.values()]
        while given and given[-1] == defaults[len(given) - 1]:
            given.pop()
        return aten(name)(self, *map(float, given))

    return rule


rules["uniform_"], rules["normal_"] = _drawn("uniform_", 0, 1), _drawn("normal_", 0, 1)
