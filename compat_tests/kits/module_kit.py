"""What the tests of modules share: a namespace of small modules, and cases that are Python run in it.

A case runs on both sides; what its last expression shows, the exception it raises and the warnings it gives
must be the same, to the letter.
"""

from __future__ import annotations

import collections
import copy
import importlib
import re
import warnings
from typing import Any

import pytest
import torch as reference

import jaxtorch as candidate

# What PyTorch appends to some messages says nothing about the program.
NOISE = re.compile(r"\(Triggered internally at [^)]*\)|Please file an issue[^']*|: define it in the subclass\.")


def kit(torch: Any) -> dict[str, Any]:
    """The names that cases use."""
    nn = torch.nn
    log: list[Any] = []

    class Linear(nn.Module):
        def __init__(self, i: int, o: int) -> None:
            super().__init__()
            self.i, self.o = i, o
            self.weight = nn.Parameter(torch.arange(float(i * o)).reshape(o, i) / 4)
            self.bias = nn.Parameter(torch.ones(o))

        def forward(self, x: Any) -> Any:
            return x @ self.weight.t() + self.bias

        def extra_repr(self) -> str:
            return f"{self.i}, {self.o}"

    class ReLU(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.clamp(min=0)

    class Norm(nn.Module):
        _version = 2

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_parameter("bias", None)
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("count", torch.tensor(0))
            self.register_buffer("cache", torch.zeros(1), persistent=False)

        def forward(self, x: Any) -> Any:
            return (x - self.mean) * self.weight

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Linear(2, 3)
            self.norm = Norm()
            self.scale = nn.Parameter(torch.ones(()))
            self.plain = None
            self.register_module("absent", None)

        def forward(self, x: Any) -> Any:
            return self.norm(self.first(x)) * self.scale

    class Bare(nn.Module):
        def __init__(self) -> None:
            pass

    class Extra(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = 1

        def get_extra_state(self) -> Any:
            return {"x": self.x}

        def set_extra_state(self, state: Any) -> None:
            self.x = state["x"]

    class Times(nn.Module):
        """Multiplies by a parameter, and returns what `form` makes of the product."""

        def __init__(self, form: Any = None) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2) * 3)
            self.form = form

        def forward(self, x: Any, y: Any = None, *, k: int = 1) -> Any:
            log.append("forward")
            return x * self.w if self.form is None else self.form(x * self.w, x)

    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("boom")

    class OldBuffers(nn.Module):
        def register_buffer(self, name: str, tensor: Any) -> None:
            super().register_buffer(name, tensor)

    def show(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return ("tensor", tuple(x.shape))
        if isinstance(x, tuple | list):
            return [show(item) for item in x]
        return x if isinstance(x, str | int | float | bool | None) else type(x).__name__

    def hook(name: str, result: Any = None) -> Any:
        def note(*args: Any) -> Any:
            log.append((name, *[show(a) for a in args]))
            return result

        return note

    def failure(fn: Any, *args: Any) -> str:
        """The exception that a call raises."""
        try:
            fn(*args)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        raise AssertionError("no exception")

    def fail(*args: Any) -> Any:
        raise KeyError("zip")

    def names(module: Any) -> Any:
        return [(name, type(m).__name__) for name, m in module._modules.items()]

    def held(module: Any) -> Any:
        return (
            list(module._parameters),
            list(module._buffers),
            list(module._modules),
            sorted(module._non_persistent_buffers_set),
            sorted(name for name in module.__dict__ if not name.startswith("_")),
        )

    def load(change: Any, strict: bool = True, assign: bool = False, cls: Any = Net) -> Any:
        state = cls().state_dict()
        change(state)
        return cls().load_state_dict(state, strict, assign)

    def backward(result: Any) -> Any:
        result.sum().backward()
        return log

    def drop(*keys: str) -> Any:
        return lambda state: [state.pop(key) for key in keys]

    def put(**entries: Any) -> Any:
        return lambda state: state.update({key.replace("__", "."): v for key, v in entries.items()})

    def grads(*values: Any) -> Any:
        made = []
        for value in values:
            p = nn.Parameter(torch.zeros(1 if value is None else len(value)))
            p.grad = None if value is None else torch.tensor(value)
            made.append(p)
        return made

    class SubParameter(nn.Parameter):
        pass

    class SubSequential(nn.Sequential):
        pass

    class SubList(nn.ModuleList):
        pass

    scope = dict(locals())
    scope.update(
        T=torch.ones, P=lambda *size: nn.Parameter(torch.ones(*size)), x=torch.ones(2, requires_grad=True),
        B=nn.Buffer, U=nn.UninitializedParameter, UB=nn.UninitializedBuffer, M=nn.Module, L=Linear, R=ReLU,
        S=nn.Sequential, ML=nn.ModuleList, MD=nn.ModuleDict, PL=nn.ParameterList, PD=nn.ParameterDict,
        init=nn.init, utils=nn.utils, hooks=importlib.import_module(f"{torch.__name__}.nn.modules.module"),
        OD=collections.OrderedDict, NT=collections.namedtuple("NT", "a b"), copy=copy,
    )  # fmt: skip
    return scope


def outcome(torch: Any, case: str) -> str:
    """What the case shows, raises and warns, as text."""
    scope = kit(torch)
    torch.manual_seed(0)
    *statements, expression = [part.strip() for part in case.split(";")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for statement in statements:
                exec(statement, scope)
            text = repr(eval(expression, scope))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    for name, table in vars(scope["hooks"]).items():
        if name.startswith("_global_") and isinstance(table, dict):
            table.clear()  # a case that failed half-way left its own
    lines = [text, *[f"{w.category.__name__}: {w.message}" for w in caught]]
    text = NOISE.sub("", "\n".join(lines)).strip()
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace("jaxtorch", "torch")


def lines(text: str) -> list[str]:
    """The cases of a table: one a line; a line that is indented further continues the one before."""
    rows = [line for line in text.splitlines() if line.strip()]
    margin = min(len(row) - len(row.lstrip()) for row in rows)
    found: list[str] = []
    for row in rows:
        if row[margin] == " ":
            found[-1] += " " + row.strip()
        else:
            found.append(row.strip())
    return found


def parity(prepare: str = "", **tables: list[str]) -> Any:
    """Parametrise a test with cases; `prepare` is a statement that goes before each."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(f"{prepare}; {case}" if prepare else case, id=f"{table}-{i}")
            for table, cases in tables.items()
            for i, case in enumerate(cases)
        ],
    )


def check(case: str) -> None:
    """The case comes out as on PyTorch."""
    expected, actual = outcome(reference, case), outcome(candidate, case)
    assert actual == expected, f"{case}\n--- PyTorch\n{expected}\n--- jaxtorch\n{actual}"
