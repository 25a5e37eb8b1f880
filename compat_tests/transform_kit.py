"""Tables of small programs that both modules run: what they return, or the type of what they raise, has to agree."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from fuzz_transforms import Raised, differs, plain
from parity import candidate, reference

Program = Callable[[Any], Any]


class Table(dict[str, Program]):
    """Programs by name; a decorator adds one."""

    def case(self, f: Program) -> Program:
        self[f.__name__] = f
        return f

    def check(self, name: str) -> None:
        """Run a program on both modules."""
        ours, theirs = _outcome(candidate(), self[name]), _outcome(reference(), self[name])
        assert not differs(ours, theirs), (ours, theirs)


def checkpoints(t: Any) -> Any:
    """The module of checkpoints."""
    return importlib.import_module(t.__name__ + ".utils.checkpoint")


def _outcome(t: Any, f: Program) -> Any:
    t.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(t, f(t))
        except Exception as error:
            return Raised(type(error).__name__, str(error))
