"""What a mode with a `__torch_dispatch__` sees, as lines of text, of PyTorch and of jaxtorch."""

from __future__ import annotations

import importlib
from typing import Any


def text(t: Any, x: Any) -> str:
    """An argument or a result: the types and shapes of tensors, other things as they print."""
    if isinstance(x, t.Tensor):
        kind = "Parameter" if isinstance(x, t.nn.Parameter) else "Tensor"
        return f"{kind}{list(x.shape)}{x.dtype}"
    if isinstance(x, (list, tuple)):
        inside = ", ".join(text(t, y) for y in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside})"
    return f"{x:.5g}" if isinstance(x, float) else repr(x).replace("jaxtorch", "torch")


def log(t: Any) -> Any:
    """A mode that computes everything and keeps a line of each call in `lines`."""
    dispatch = importlib.import_module(f"{t.__name__}.utils._python_dispatch")

    class Log(dispatch.TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.lines: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            given = [*[text(t, x) for x in args], *[f"{k}={text(t, v)}" for k, v in (kwargs or {}).items()]]
            if not str(func).startswith("profiler."):
                self.lines.append(f"{func}({', '.join(given)}) -> {text(t, out)}")
            return out

    return Log()
