"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and joined; TypeError if they are on different devices."""
    where: Any = None
    flat = []
    for parameter in parameters:
        where = _same_place(parameter, where)
        flat.append(parameter.view(-1))
    return functions["cat"](flat)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let each parameter's data be its slice of the vector, which it then shares memory with."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_name(vec)}")
    where: Any = None
    start = 0
    for parameter in parameters:
        where = _same_place(parameter, where)
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count


def _name(x: Any) -> str:
    return type(x).__name__


def _same_place(parameter: Tensor, where: Any) -> Any:
    if where is not None and parameter.device != where:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported: "
            f"{where} and {parameter.device}"
        )
    return parameter.device
