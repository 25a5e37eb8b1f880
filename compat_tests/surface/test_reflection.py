"""Debuggers, `rich` and documentation look at every public object: what they do with PyTorch's can be done with jaxtorch's."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jaxtorch

SPACES = """. nn nn.functional nn.init nn.utils nn.utils.rnn nn.parameter linalg fft special sparse optim optim.lr_scheduler autograd
autograd.functional autograd.forward_ad autograd.graph distributions utils utils.data utils.checkpoint amp cuda cpu random func
masked overrides testing types storage backends fx jit export library hub nested signal.windows futures profiler return_types
quasirandom serialization Tensor""".split()


def members(space: str) -> Iterator[tuple[str, Any]]:
    """The public objects of a space."""
    found: Any = jaxtorch
    for part in space.split(".") if space != "." else ():
        found = getattr(found, part)
    for name in dir(found):
        x = getattr(found, name)
        if not name.startswith("_") and (callable(x) or inspect.ismodule(x)):
            yield name, x


def _doc(x: Any) -> None:
    assert isinstance(inspect.getdoc(x), (str, type(None)))


def _signature(x: Any) -> None:
    if callable(x):
        with contextlib.suppress(TypeError, ValueError):  # of what Python cannot know, as for most of PyTorch's
            str(inspect.signature(x))


def _members(x: Any) -> None:
    if inspect.isclass(x):
        inspect.getmembers(x)
        inspect.getmro(x)


def _copied(x: Any) -> None:
    if not inspect.ismodule(x):
        copy.copy(x)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "dir": dir,
    "vars": lambda x: dict(vars(x)) if hasattr(x, "__dict__") else None,
    "hash": hash,
    "doc": _doc,
    "signature": _signature,
    "members": _members,
    "copy": _copied,
    "equal": lambda x: x == 3,
    "attributes": lambda x: [
        hasattr(x, name) for name in ("an_attribute_that_nothing_has", "__rich_repr__", "_repr_html_")
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_every_public_object(space: str):
    failed = []
    for name, x in members(space):
        for kind, look in LOOKS.items():
            try:
                look(x)
            except Exception as error:
                failed.append(f"{space}.{name} {kind}: {error!r}")
    assert not failed, "\n".join(failed)


OBJECTS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: jaxtorch.ones(2, 2),
    "leaf": lambda: jaxtorch.ones(2, requires_grad=True),
    "result": lambda: jaxtorch.ones(2, requires_grad=True) * 2,
    "meta": lambda: jaxtorch.ones(2, device="meta"),
    "sparse": lambda: jaxtorch.eye(2).to_sparse(),
    "float8": lambda: jaxtorch.ones(2).to(jaxtorch.float8_e5m2),
    "node": lambda: (jaxtorch.ones(2, requires_grad=True) * 2).grad_fn,
    "module": lambda: jaxtorch.nn.Sequential(jaxtorch.nn.Linear(2, 2), jaxtorch.nn.LSTM(2, 2)),
    "transformer": lambda: jaxtorch.nn.TransformerEncoderLayer(4, 2, 4),
    "optimizer": lambda: jaxtorch.optim.Adam([jaxtorch.ones(2, requires_grad=True)]),
    "schedule": lambda: jaxtorch.optim.lr_scheduler.StepLR(jaxtorch.optim.SGD([jaxtorch.ones(1)], 0.1), 2),
    "distribution": lambda: jaxtorch.distributions.Normal(0.0, 1.0),
    "generator": lambda: jaxtorch.Generator(),
    "storage": lambda: jaxtorch.ones(2).untyped_storage(),
    "size": lambda: jaxtorch.Size([1, 2]),
    "named": lambda: jaxtorch.ones(2, 2).max(0),
    "packed": lambda: jaxtorch.nn.utils.rnn.pack_sequence([jaxtorch.ones(2)]),
    "compiled": lambda: jaxtorch.compile(jaxtorch.nn.Linear(2, 2)),
    "data": lambda: jaxtorch.utils.data.DataLoader([1, 2]),
    "dtype": lambda: jaxtorch.float32,
    "device": lambda: jaxtorch.device("cpu"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OBJECTS)
def test_every_attribute_of_an_object(name: str):
    """A debugger reads them all; an attribute that cannot be read is not there."""
    x = OBJECTS[name]()
    repr(x), dir(x), getattr(x, "__dict__", None)
    for attribute in dir(x):
        with contextlib.suppress(AttributeError, RuntimeError, TypeError, NotImplementedError):  # as PyTorch's
            repr(getattr(x, attribute))
    assert not hasattr(x, "an_attribute_that_nothing_has")
    if not hasattr(x, "_fields"):
        inspect.getmembers(type(x))
