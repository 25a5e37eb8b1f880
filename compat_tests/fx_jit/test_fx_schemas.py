"""Arguments under the names of parameters, as `torch.fx.operator_schemas` gives them."""

from __future__ import annotations

import importlib
import inspect
import itertools
import numbers
import operator
import typing
import warnings
from typing import Any

import pytest
import torch

from parity import candidate


def _f(a: Any, b: int = 2, *, c: Any = None) -> Any:
    return a


def _two(t: Any) -> Any:
    return (t.Tensor, t.Tensor)


CALLS: dict[str, Any] = {
    "add of two": lambda t, x: {"target": t.add, "args": (x, x), "arg_types": _two(t)},
    "add by names": lambda t, x: {"target": t.add, "args": (x,), "kwargs": {"other": x}, "arg_types": (t.Tensor,),
                                      "kwarg_types": {"other": t.Tensor}, "normalize_to_only_use_kwargs": True},
    "add of a name that is none": lambda t, x: {"target": t.add, "args": (x,), "kwargs": {"nope": 3}},
    "relu": lambda t, x: {"target": t.relu, "args": (x,)},
    "functional.relu": lambda t, x: {"target": t.nn.functional.relu, "args": (x,), "normalize_to_only_use_kwargs": True},
    "functional.relu of no tensor": lambda t, x: {"target": t.nn.functional.relu, "args": ()},
    "functional.relu of a name that is none": lambda t, x: {"target": t.nn.functional.relu, "args": (x,), "kwargs": {"n": 3}},
    "pooling": lambda t, x: {"target": t.nn.functional.max_pool2d, "args": (x, 2), "kwargs": {"stride": 1}},
    "pooling by names": lambda t, x: {"target": t.nn.functional.max_pool2d, "args": (x, 2), "normalize_to_only_use_kwargs": True},
    "linear": lambda t, x: {"target": t.nn.functional.linear, "args": (x, x)},
    "dropout": lambda t, x: {"target": t.nn.functional.dropout, "args": (x,), "kwargs": {"p": 0.3}},
    "gelu": lambda t, x: {"target": t.nn.functional.gelu, "args": (x,)},
    "embedding": lambda t, x: {"target": t.nn.functional.embedding, "args": (x, x)},
    "softmax": lambda t, x: {"target": t.softmax, "args": (x,), "kwargs": {"dim": 1}},
    "cat": lambda t, x: {"target": t.cat, "args": ([x, x],), "normalize_to_only_use_kwargs": True},
    "mm": lambda t, x: {"target": t.mm, "args": (x, x), "normalize_to_only_use_kwargs": True},
    "flatten": lambda t, x: {"target": t.flatten, "args": (x, 1), "arg_types": (t.Tensor, int)},
    "split": lambda t, x: {"target": t.split, "args": (x, 1)},
    "einsum": lambda t, x: {"target": t.einsum, "args": ("i", x)},
    "an operator": lambda t, x: {"target": operator.add, "args": (x, x)},
    "a function of the program": lambda t, x: {"target": _f, "args": (x,)},
    "a function of the program by names": lambda t, x: {"target": _f, "args": (x, 3), "normalize_to_only_use_kwargs": True},
    "a method": lambda t, x: {"target": t.Tensor.add, "args": (x, x)},
    "no function": lambda t, x: {"target": 3, "args": ()},
}  # fmt: skip
MODULES: dict[str, Any] = {
    "by position": lambda x: {"target": "l", "args": (x,)},
    "by names": lambda x: {"target": "l", "args": (x,), "kwargs": {}, "normalize_to_only_use_kwargs": True},
    "of defaults": lambda x: {"target": "c", "args": (x, x, x), "kwargs": {"need_weights": False}},
    "a name that is none": lambda x: {"target": "l", "args": (x,), "kwargs": {"z": 3}},
    "no module": lambda x: {"target": "z", "args": (x,)},
}


def _shown(t: Any, call: Any) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(v) for v in value]
        return "tensor" if isinstance(value, t.Tensor) else value

    try:
        found = call(importlib.import_module(f"{t.__name__}.fx.operator_schemas"))
    except Exception as error:
        return type(error).__name__, str(error)[:60]
    if found is None:
        return None
    return type(found).__name__, tuple(map(plain, found.args)), {k: plain(v) for k, v in found.kwargs.items()}


@pytest.mark.parametrize("name", CALLS)
def test_function(name: str):
    theirs, ours = (
        _shown(t, lambda schemas, t=t: schemas.normalize_function(**CALLS[name](t, t.ones(2, 2))))
        for t in (torch, candidate())
    )
    assert theirs == ours


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str):
    def root(t: Any) -> Any:
        return t.nn.ModuleDict({"l": t.nn.Linear(1, 1), "c": t.nn.MultiheadAttention(2, 1)})

    theirs, ours = (
        _shown(t, lambda schemas, t=t: schemas.normalize_module(root(t), **MODULES[name](t.ones(1))))
        for t in (torch, candidate())
    )
    assert theirs == ours


TYPES = """
int; bool; float; complex; str; X; P; t.dtype; t.Size; Any; None; type(None); numbers.Number; list; tuple; List[int]; List[bool]
List[X]; List[P]; List[Any]; Tuple[int, int]; Tuple[int, ...]; Tuple[X, ...]; Tuple[int, str]; Tuple[()]; Union[int, str]
Optional[int]; Optional[List[int]]; List[Tuple[int, int]]; list[int]; tuple[int, int]; Dict[str, int]; 5; "a"; List[Optional[X]]
"""


def _types(t: Any) -> list[Any]:
    scope = {**vars(typing), "t": t, "X": t.Tensor, "P": t.nn.Parameter, "numbers": numbers}
    return [eval(text, scope) for text in TYPES.strip().replace("\n", "; ").split("; ")]


def test_types() -> None:
    """Which types fit a signature's, and the type that stands for several, for all pairs of some thirty."""

    def found(t: Any) -> list[str]:
        schemas, kinds = importlib.import_module(f"{t.__name__}.fx.operator_schemas"), _types(t)
        calls: list[Any] = [lambda p=p: schemas.type_matches(*p) for p in itertools.product(kinds, repeat=2)]
        for n, make in itertools.product((0, 1, 2), (list, tuple)):
            calls += [lambda p=p, m=make: schemas.create_type_hint(m(p)) for p in itertools.product(kinds, repeat=n)]
        return [_text(call) for call in calls]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found(torch) == found(candidate())


def _text(call: Any) -> str:
    try:
        return repr(call()).replace("jaxtorch", "torch")
    except TypeError:
        return "TypeError"


def test_signatures_are_shown_also_once_functions_ask_classes():
    """After a class with a `__torch_function__` was met every function asks it first, and shows its own parameters still."""
    t = candidate()

    class Asked:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__

    assert t.flatten(Asked()) == "flatten"
    assert list(inspect.signature(t.flatten).parameters) == ["input", "start_dim", "end_dim"]
    assert list(inspect.signature(t.relu).parameters)[:1] == ["input"]
