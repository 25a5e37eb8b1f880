"""What an operator is called when it asks `__torch_function__`: that of a subclass, of a stranger, and of a mode."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from parity import attempt, candidate, parity_test

BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge".split()
CHANGING = "iadd isub imul ifloordiv imod ipow iand ior ixor ilshift irshift".split()
UNARY = "neg abs invert".split()


def stranger(answer: Any) -> Any:
    class Stranger:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return answer if answer is NotImplemented else (func.__name__, [type(a).__name__ for a in args])

        def __rfloordiv__(self, other: Any) -> str:
            return "mine"

    return Stranger()


def named(torch: Any, seen: list[Any]) -> Any:
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, [type(a).__name__ for a in args]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return torch.tensor([3, 5]).as_subclass(Named)


@pytest.mark.parametrize("name", [*BINARY, "matmul"])
@parity_test
def test_of_a_stranger(torch: Any, name: str) -> Any:
    apply, x = getattr(operator, name), torch.tensor([3, 5])
    return apply(x, stranger(1)), apply(stranger(1), x)


@pytest.mark.parametrize("name", CHANGING)
@parity_test
def test_of_a_stranger_in_place(torch: Any, name: str) -> Any:
    return getattr(operator, name)(torch.tensor([3, 5]), stranger(1))


@pytest.mark.parametrize("name", [*BINARY, "matmul", *CHANGING])
@parity_test
def test_of_a_stranger_that_has_no_answer(torch: Any, name: str) -> Any:
    found = attempt(lambda: getattr(operator, name)(torch.tensor([3, 5]), stranger(NotImplemented)))
    return getattr(found, "kind", found)


@pytest.mark.parametrize("name", BINARY)
@parity_test
def test_of_a_subclass(torch: Any, name: str) -> Any:
    seen: list[Any] = []
    apply, s, x = getattr(operator, name), named(torch, seen), torch.tensor([3, 5])
    found = [apply(s, x), apply(x, s), apply(s, 2), apply(2, s)]
    return seen, [(type(f).__name__, f.tolist()) for f in found]


@pytest.mark.parametrize("name", CHANGING + UNARY)
@parity_test
def test_of_a_subclass_alone(torch: Any, name: str) -> Any:
    seen: list[Any] = []
    s = named(torch, seen)
    found = getattr(operator, name)(s, *[2] * (name in CHANGING))
    return seen, type(found).__name__, found.tolist()


@parity_test
def test_of_iteration(torch: Any) -> Any:
    seen: list[Any] = []
    s = named(torch, seen)
    return [type(x).__name__ for x in s], seen


@parity_test
def test_of_a_mode(torch: Any) -> Any:
    seen: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.tensor([3, 5])
    with Mode():
        for name in BINARY:
            getattr(operator, name)(x, x)
            getattr(operator, name)(2, x)
    return seen


@parity_test
def test_redispatch_of_a_subclass(torch: Any) -> Any:
    seen: list[str] = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a: Any, b: Any) -> Any:
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    found = scaled(torch.tensor([3.0]).as_subclass(Logged), torch.tensor([4.0]))
    return found, type(found) is torch.Tensor, seen


@parity_test
def test_redispatch_in_a_mode(torch: Any) -> Any:
    seen: list[str] = []

    class Logged(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a: Any, b: Any) -> Any:
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b - 1

    with Logged():
        found = scaled(torch.tensor([3.0]), torch.tensor([4.0])), 2 - torch.ones(2)
    return found, seen


@parity_test
def test_gradients_of_a_subclass(torch: Any) -> Any:
    """`autograd.grad` and `backward` ask, so that gradients with respect to a subclass are of it."""
    seen: list[Any] = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (torch.autograd.grad, torch.autograd.backward):
                seen.append((func.__name__, types[0].__name__, [len(a) for a in args], sorted(kwargs)))
            return super().__torch_function__(func, types, args, kwargs or {})

    grad, found = torch.autograd.grad, []
    x = torch.ones(3).as_subclass(Logged).requires_grad_()
    found.append(grad((x * x).sum(), x)[0])
    found.append(grad([(x * x).sum()], [x], [torch.tensor(2.0)], create_graph=True)[0])
    plain = torch.ones(3, requires_grad=True)
    found.append(grad((plain * 2).as_subclass(Logged).sum(), plain)[0])
    found.append(grad((plain * 2).sum(), plain)[0])
    found.append(grad((plain * 2).sum(), x, materialize_grads=True)[0])
    torch.autograd.backward((x * 3).sum())
    with torch._C.DisableTorchFunctionSubclass():
        found.append(x.grad)
    return [(type(g).__name__, g.detach().as_subclass(torch.Tensor)) for g in found], seen


@parity_test
def test_gradients_in_a_mode(torch: Any) -> Any:
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, requires_grad=True)
    with Mode():
        y = (x * x).sum()
        found = torch.autograd.grad(y, x, retain_graph=True)
        torch.autograd.backward(y)
    return found, x.grad, seen


def test_no_function_is_both_overridable_and_ignored() -> None:
    """As in PyTorch: libraries that wrap every function check it."""
    overrides = candidate().overrides
    ignored = overrides.get_ignored_functions()
    assert ignored.isdisjoint(overrides.get_testing_overrides())
    assert ignored.isdisjoint(f for functions in overrides.get_overridable_functions().values() for f in functions)
