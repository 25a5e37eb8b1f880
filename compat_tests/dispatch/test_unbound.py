"""Operations as attributes of classes: built-in functions in PyTorch, which are no methods."""

from __future__ import annotations

import builtins
from typing import Any

from jaxtorch._running import install
from parity import parity_test


@parity_test
def test_operations_as_attributes_of_a_module_class(torch: Any) -> Any:
    class Net(torch.nn.Module):
        act, fold = torch.tanh, staticmethod(torch.sum)
        conv = torch.conv2d
        named = torch.einsum  # written in Python, so a method there too

        def forward(self, x):
            return self.fold(self.act(self.conv(x, weight=torch.ones(1, 1, 2, 2), padding=1)))

    class Other(Net):
        act = torch.nn.functional.gelu

    x = torch.arange(9.0).view(1, 1, 3, 3) - 4
    return Net()(x), Other()(x), Net.act(x), type(Net().named).__name__, Net().act is Net.act


@parity_test
def test_operations_as_attributes_of_any_class(torch: Any) -> Any:
    if torch.__name__ == "jaxtorch":  # what `install()` does
        before, builtins.__build_class__ = builtins.__build_class__, install._build_class
    try:

        class Plain:
            act = torch.relu

            def call(self, x):
                return self.act(x)

    finally:
        if torch.__name__ == "jaxtorch":
            builtins.__build_class__ = before
    return Plain().call(torch.tensor([-1.0, 2.0]))


@parity_test
def test_a_class_made_where_no_module_has_a_name(torch: Any) -> Any:
    """Its `__module__` is None or missing, as with `exec` in an empty scope."""
    scope = {"Module": torch.nn.Module, "tanh": torch.tanh}
    exec("made = type('Made', (Module,), dict(act=tanh, forward=lambda self, x: self.act(x)))", scope)
    return scope["made"]()(torch.zeros(2))
