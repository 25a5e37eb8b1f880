"""Valid calls written as lines of Python (`bad_argument_calls.txt`), of whose arguments `bad_arguments.py` spoils one.

Every call within a line counts: of `nn.Dropout(0.5)(x)` both `0.5` and `x` are arguments, and so are the parameters of `Dropout`
that the line leaves out, with their defaults. What a name stands for is made anew for each run by `scope`.
"""

from __future__ import annotations

import ast
import collections
import copy
import functools
import importlib
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

LINES = (Path(__file__).parent / "tables" / "bad_argument_calls.txt").read_text().splitlines()
SPACES = {
    "nn": "nn", "F": "nn.functional", "init": "nn.init", "optim": "optim", "S": "optim.lr_scheduler", "swa": "optim.swa_utils",
    "D": "distributions", "T": "distributions.transforms", "C": "distributions.constraints", "data": "utils.data",
    "U": "nn.utils", "rnn": "nn.utils.rnn", "prune": "nn.utils.prune", "P": "nn.utils.parametrizations",
    "parametrize": "nn.utils.parametrize", "kl": "distributions.kl", "amp": "amp", "fusion": "nn.utils.fusion",
    "distributed": "utils.data.distributed",
}  # fmt: skip


class Scope(dict[str, Any]):
    """What the names of a line stand for on one side; objects are made when they are first asked for."""

    def __init__(self, torch_: Any) -> None:
        super().__init__(
            torch=torch_, np=np, nan=float("nan"), inf=float("inf"), abs=abs, list=list, len=len, sum=sum, float=float
        )
        self.torch = torch_

    def __missing__(self, name: str) -> Any:
        if name in SPACES:
            found = importlib.import_module(f"{self.torch.__name__}.{SPACES[name]}")
        elif name in TENSORS:
            found = TENSORS[name](self.torch)
        elif name in OBJECTS:
            found = OBJECTS[name](self.torch)
        else:
            raise KeyError(name)
        self[name] = found
        return found


def _ramp(torch_: Any, *sizes: int) -> Any:
    count = int(np.prod(sizes))
    return (torch_.arange(float(count)) * 0.37).sin().reshape(sizes) * 0.5 + 0.6


TENSORS: dict[str, Callable[[Any], Any]] = {
    "x": lambda t: _ramp(t, 4, 3), "v": lambda t: _ramp(t, 4), "s": lambda t: _ramp(t, 3, 3), "seq": lambda t: _ramp(t, 2, 4, 6),
    "im": lambda t: _ramp(t, 1, 4, 4, 4), "vol": lambda t: _ramp(t, 1, 4, 2, 4, 4), "i": lambda t: t.tensor([0, 1, 2, 1]),
    "n": lambda t: t.tensor(1.5), "cov": lambda t: t.eye(2) * 2, "tril": lambda t: t.tensor([[1.0, 0.0], [0.5, 2.0]]),
    "two": lambda t: t.tensor([0.25, 0.75]), "ids": lambda t: t.tensor([[0, 1], [2, 3]]), "mask": lambda t: t.ones(4, 4) > 0,
    "corr": lambda t: t.tensor([[1.0, 0.0], [0.6, 0.8]]), "bag": lambda t: t.tensor([0, 2]),
    "flags": lambda t: t.tensor([True, False]), "wm": lambda t: _ramp(t, 4, 3),
}  # fmt: skip


class Rows:
    """A dataset of five numbers."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, place: int) -> float:
        return [0.5, 1.5, 2.5, 3.5, 4.5][place]


def _parameter(torch_: Any) -> Any:
    return torch_.nn.Parameter(torch_.arange(1.0, 5.0).reshape(2, 2))


def _stepped(torch_: Any) -> Callable[..., Any]:
    def stepped(optimizer: Any) -> Any:
        for _ in range(2):
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.grad = torch_.ones_like(p)
            optimizer.step()
        return [p.detach() for group in optimizer.param_groups for p in group["params"]]

    return stepped


def _rates(torch_: Any) -> Callable[..., Any]:
    def rates(schedule: Any, *given: Any) -> Any:
        found = []
        for _ in range(4):
            schedule.optimizer.step()
            schedule.step(*given)
            found.append([float(r) for r in schedule.get_last_lr()])
        return found

    return rates


def _sgd(torch_: Any) -> Any:
    return torch_.optim.SGD([_parameter(torch_)], lr=0.1, momentum=0.9)


def _with_grad(torch_: Any) -> Any:
    p = _parameter(torch_)
    p.grad = torch_.ones(2, 2)
    return p


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "lin": lambda t: t.nn.Linear(3, 2), "lin33": lambda t: t.nn.Linear(3, 3), "conv": lambda t: t.nn.Conv2d(4, 2, 1),
    "conv3": lambda t: t.nn.Conv3d(4, 2, 1), "bn": lambda t: t.nn.BatchNorm2d(2).eval(), "bn1": lambda t: t.nn.BatchNorm1d(2).eval(),
    "relu": lambda t: t.nn.ReLU(), "p": _parameter, "pg": _with_grad, "opt": _sgd, "stepped": _stepped, "rates": _rates,
    "rows": lambda t: Rows(), "tds": lambda t: t.utils.data.TensorDataset(t.arange(5)),
    "normal": lambda t: t.distributions.Normal(0.0, 1.0), "normals": lambda t: t.distributions.Normal(t.zeros(2), t.ones(2)),
    "cat2": lambda t: t.distributions.Categorical(t.tensor([0.25, 0.75])),
    "exp": lambda t: t.distributions.ExpTransform(), "aff": lambda t: t.distributions.AffineTransform(0.0, 2.0),
    "real": lambda t: t.distributions.constraints.real, "unit": lambda t: t.distributions.constraints.unit_interval,
    "enc": lambda t: t.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True),
    "dec": lambda t: t.nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True),
    "step": lambda t: (lambda o: t.optim.lr_scheduler.StepLR(o, 1)), "gen": lambda t: t.Generator(),
    "packed": lambda t: t.nn.utils.rnn.pack_sequence([t.ones(3), t.ones(2)]), "f": lambda t: (lambda *a: a[0]),
    "sched": lambda t: [t.optim.lr_scheduler.StepLR(o := _sgd(t), 1), t.optim.lr_scheduler.ExponentialLR(o, 0.5)],
    "scaler": lambda t: (s := t.amp.GradScaler("cpu", 4.0), s.scale(t.ones(2)))[0],
    "skew": lambda t: _skew(t), "relus": lambda t: t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh()),
    "state": lambda t: t.nn.Linear(3, 2).state_dict(), "ostate": lambda t: _sgd(t).state_dict(),
    "len0": lambda t: (lambda: 1.0), "stream": lambda t: _stream(t),
}  # fmt: skip


def _stream(torch_: Any) -> Any:
    class Stream(torch_.utils.data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter([3, 1])

    return Stream()


def _skew(torch_: Any) -> Any:
    class Skew(torch_.nn.Module):
        def forward(self, w: Any) -> Any:
            return w * 2

        def right_inverse(self, w: Any) -> Any:
            return w / 2

    return Skew()


class Own:
    """An argument that is an object of its side's, by name."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Places(ast.NodeTransformer):
    """Puts a name for each argument that holds no call, and notes what it was."""

    def __init__(self, left_out: dict[str, list[tuple[str, Any]]]) -> None:
        self.found: list[tuple[str, Any]] = []  # what it is called, expression or value
        self.left_out = left_out

    def visit_Call(self, node: ast.Call) -> Any:
        text = ast.unparse(node.func)
        node.func = self.visit(node.func)
        left_out = self.left_out.get(text, [])
        node.args = [self._argument(a, f"{text.rpartition(').')[2][-40:]}#{k}") for k, a in enumerate(node.args)]
        for k in node.keywords:
            k.value = self._argument(k.value, f"{text[-40:]} {k.arg}")
        for name, default in left_out:
            self.found.append((f"{text[-40:]} {name}", default))
            node.keywords.append(ast.keyword(name, ast.Name(f"_{len(self.found) - 1}", ast.Load())))
        return node

    def _argument(self, node: Any, name: str) -> Any:
        if isinstance(node, ast.Starred | ast.Lambda) or any(isinstance(n, ast.Call) for n in ast.walk(node)):
            return self.visit(node)
        self.found.append((name, ast.Expression(node)))
        return ast.Name(f"_{len(self.found) - 1}", ast.Load())


def _code(tree: Any) -> types.CodeType:
    return compile(ast.fix_missing_locations(tree), "<line>", "eval")


def signature_of(function: Any) -> Any:
    """The signature of what is called; of a module that of its `forward`."""
    if isinstance(function, torch.nn.Module):
        function = function.forward
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def calls_in(line: str) -> Iterator[tuple[ast.Call, Any]]:
    """Each call of a line, and what is called, on PyTorch's side."""
    for node in ast.walk(ast.parse(line, mode="eval")):
        if isinstance(node, ast.Call):
            torch.manual_seed(0)
            yield node, eval(_code(ast.Expression(node.func)), Scope(torch))


def by_name(line: str) -> str:
    """The line with its arguments, and those that it leaves out, given by PyTorch's names for them."""
    tree = ast.parse(line, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        torch.manual_seed(0)
        function = eval(_code(copy.deepcopy(ast.Expression(node.func))), Scope(torch))
        signature = signature_of(function)
        if signature is None or getattr(function, "__module__", "") == __name__:
            continue
        parameters = list(signature.parameters.values())
        taken = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][: len(node.args)]
        if len(taken) == len(node.args) and not any(
            p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) for p in parameters
        ):
            node.keywords[:0] = [ast.keyword(n, a) for n, a in zip(taken, node.args, strict=True)]
            node.args = []
        given = {k.arg for k in node.keywords} | {p.name for p in parameters[: len(node.args)]}
        for p in parameters:
            wanted = p.name not in given and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            if wanted and isinstance(p.default, bool | int | float | str | type(None)):
                node.keywords.append(ast.keyword(p.name, ast.Constant(p.default)))
    return ast.unparse(ast.fix_missing_locations(tree))


def left_out(line: str) -> dict[str, list[tuple[str, Any]]]:
    """By the text of what is called: the parameters that the line does not give, and their defaults."""
    found = {}
    for node, function in calls_in(line):
        signature = signature_of(function)
        if signature is None or (isinstance(function, types.FunctionType) and function.__module__ == __name__):
            continue
        named = {k.arg for k in node.keywords}
        rest = list(signature.parameters.values())[len(node.args) :]
        found[ast.unparse(node.func)] = [
            (p.name, p.default) for p in rest
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in named and p.default is not p.empty
            and isinstance(p.default, bool | int | float | str | tuple | type(None))
        ]  # fmt: skip
    return found


def made(line: str) -> tuple[Callable[[Any], Callable[..., Any]], dict[str, Any]]:
    """(for a side, the line as a function of its arguments; the arguments by name)."""
    tree = ast.parse(line, mode="eval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places = _Places(left_out(line))
    tree.body = places.visit(tree.body)
    code, scope, seen = _code(tree), Scope(torch), collections.Counter[str]()
    given: dict[str, Any] = {}
    for name, what in places.found:
        seen[name] += 1
        key = name if seen[name] == 1 else f"{name} ({seen[name]})"
        if isinstance(what, ast.Expression):
            torch.manual_seed(0)
            value = eval(_code(what), scope)
            given[key] = value if _plain(value) else Own(ast.unparse(what.body))
        else:
            given[key] = what

    def of(torch_: Any) -> Callable[..., Any]:
        def run(**kwargs: Any) -> Any:
            scope = Scope(torch_)
            for k, value in enumerate(kwargs.values()):
                scope[f"_{k}"] = eval(value.name, scope) if isinstance(value, Own) else value
            return eval(code, scope)

        return run

    return of, given


def _plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(_plain(v) for v in value)
    return (
        isinstance(value, bool | int | float | complex | str | type(None) | torch.dtype) or type(value) is torch.Tensor
    )


@functools.cache
def lines() -> list[str]:
    return [line for line in LINES if line and not line.startswith("#")]


def checked() -> Iterator[tuple[str, Exception]]:
    """Lines that PyTorch itself refuses."""
    for line in lines():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                of, given = made(line)
                of(torch)(**given)
        except Exception as error:
            yield line, error
