"""Names that PyTorch gives: functions that `torch.overrides` ignores, types of schemas, implementations of attention."""

from __future__ import annotations

import importlib
import typing
import warnings
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from parity import attempt, parity_test

PLACES = ("", "nn.functional", "nn.init", "fft", "Tensor")


def _at(torch: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        torch = getattr(torch, name)
    return torch


@pytest.mark.parametrize("place", PLACES)
def test_ignored_functions_are_ignored_there_too(place: str) -> None:
    theirs = {id(f) for f in pytorch.overrides.get_ignored_functions()}
    names = [n for n in dir(_at(jaxtorch, place)) if n[0] != "_" and hasattr(_at(pytorch, place), n)]
    ours = jaxtorch.overrides.get_ignored_functions()
    mine = {n for n in names if any(getattr(_at(jaxtorch, place), n) is f for f in ours)}
    wanted = {n for n in names if id(getattr(_at(pytorch, place), n)) in theirs}
    assert mine and mine <= wanted
    few = "assert_int_or_pair boolean_dispatch cond broadcast_shapes fork wait".split()
    left = {n for n in wanted - mine if not isinstance(getattr(_at(jaxtorch, place), n), type) and n not in few}
    left = {
        n
        for n in left
        if not n.startswith(("has_torch", "handle_torch", "sym_", "is_vulkan")) and "grouped_mm" not in n
    }
    assert not {n for n in left if callable(getattr(_at(jaxtorch, place), n)) and "ipu" not in n and "xla" not in n}


BASES = ("Tensor", "int", "float", "bool", "str", "complex", "Number", "dtype", "device")
FORMS: dict[str, Any] = {
    "": lambda t: t,
    "optional": lambda t: typing.Optional[t],  # noqa: UP045
    "list": lambda t: list[t],
    "optional list": lambda t: typing.Optional[list[t]],  # noqa: UP045
    "list of optional": lambda t: list[typing.Optional[t]],  # noqa: UP045
    "sequence": lambda t: typing.Sequence[t],
    "tuple": lambda t: tuple[t, ...],
    "lists": lambda t: list[list[t]],
}


@pytest.mark.parametrize("base", BASES)
@parity_test
def test_types_in_schemas(torch: Any, base: str) -> Any:
    kinds = {"int": int, "float": float, "bool": bool, "str": str, "complex": complex, "Number": torch.types.Number}
    kind = kinds.get(base) or getattr(torch, base)

    def text(**annotations: Any) -> str:
        def function(x: Any) -> Any: ...

        function.__annotations__ = annotations
        try:
            return torch.library.infer_schema(function, mutates_args=())
        except ValueError:
            return "ValueError"

    found = []
    for form in FORMS.values():
        found += [text(x=form(kind), **{"return": torch.Tensor}), text(x=torch.Tensor, **{"return": form(kind)})]
    return found


@parity_test
def test_defaults_and_writes_in_schemas(torch: Any) -> Any:
    def text(default: Any, kind: Any = int, written: Any = ()) -> str:
        def function(x, y=default): ...

        function.__annotations__ = {"x": torch.Tensor, "y": kind, "return": torch.Tensor}
        try:
            return torch.library.infer_schema(function, mutates_args=written)
        except ValueError:
            return "ValueError"

    return [
        text(1), text([1], list[int]), text(torch.float32, torch.dtype), text("cpu", torch.device), text(None, torch.Tensor),
        text(1, written=("x",)), text(1, written=("y",)), text(1, written="x"), text(1, written="unknown"), text(1, written=("z",)),
    ]  # fmt: skip


@pytest.mark.parametrize("names", ["ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION",
                                   "EFFICIENT_ATTENTION MATH"])  # fmt: skip
@parity_test
def test_implementations_of_attention(torch: Any, names: str) -> Any:
    attention = importlib.import_module(f"{torch.__name__}.nn.attention")
    x = torch.arange(8.0).view(1, 1, 2, 4)

    def run() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    with attention.sdpa_kernel([getattr(attention.SDPBackend, name) for name in names.split()]):
        try:
            found = run()
        except RuntimeError as error:
            found = str(error)
    return found, run()


UPSAMPLING = {
    "upsample_nearest1d": (1, [((6,),), (None, [1.5])]),
    "upsample_nearest2d": (2, [((3, 3),), ((8, 8), 2.0, 2.0), (None, [2.0, 1.5])]),
    "_upsample_nearest_exact2d": (2, [((3, 3),)]),
    "upsample_linear1d": (1, [((6,), False), (None, True, [1.5])]),
    "upsample_bilinear2d": (2, [((4, 3), True), (None, False, [2.0, 1.5]), (None, False, None)]),
    "_upsample_bilinear2d_aa": (2, [((2, 3), False, None, None), (None, True, [0.5, 0.75])]),
    "_upsample_bicubic2d_aa": (2, [((2, 3), False), (None, False, [0.5, 0.75])]),
}


@pytest.mark.parametrize("name", UPSAMPLING)
@parity_test
def test_interpolation_by_private_names(torch: Any, name: str) -> Any:
    n, calls = UPSAMPLING[name]
    x = torch.arange(2.0 * 4**n).view(1, 2, *[4] * n)
    return [attempt(lambda call=call: getattr(torch._C._nn, name)(x, *call)) for call in calls]


@parity_test
def test_filling_with_a_complex_number_warns(torch: Any) -> Any:
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            x = torch.zeros(2).fill_(torch.tensor(1 + 2j))
    finally:
        torch.set_warn_always(False)
    return x, [str(w.message).partition(" (Trig")[0] for w in seen]
