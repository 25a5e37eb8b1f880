"""Run one piece of code on PyTorch and on jaxtorch, and demand the same outcome.

`observe` turns whatever the code returned into plain data (shape, dtype, stride, values, grad_fn name, or
the exception raised), `differences` compares two such observations, and the rest are ways of writing code:

- a `Case` is one row of a table (`row`, `code`, `bad`): `check` runs its function, method, operator, in-place
  and `out=` forms, its gradient and its double gradient;
- `parity_test` turns a test body that takes a module and returns observations into a pytest test.

The candidate is the module named by PARITY_CANDIDATE, `jaxtorch` by default: the harness is tested with
PyTorch on both sides, and with broken modules, that way.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import operator
import os
import re
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

INTS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
REAL = (*INTS, *HALVES, *FLOATS)
ALL = ("bool", *REAL, *COMPLEX)
BASIC = ("int64", *FLOATS)

# Relative and absolute tolerance, those of torch.testing.assert_close; exact for the other dtypes.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
UNCOUNTED = {"kron"}  # operations that write to `out=` by views, which PyTorch does not count
# A kernel that PyTorch's CPU build lacks is no semantics: there the candidate may answer.
MISSING_KERNEL = re.compile(r"not implemented for|is not implemented")
OPERATORS: dict[str, Callable] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "neg": operator.neg,
    "~": operator.invert, "abs": operator.abs,
}  # fmt: skip
IN_PLACE_OPERATORS: dict[str, Callable] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "&": operator.iand, "|": operator.ior,
    "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip


@functools.cache
def reference() -> Any:
    """PyTorch."""
    return importlib.import_module("torch")


@functools.cache
def candidate() -> Any:
    """The module under test."""
    return importlib.import_module(os.environ.get("PARITY_CANDIDATE", "jaxtorch"))


# -- observing ---


class Seen(NamedTuple):
    """What can be seen of a tensor."""

    kind: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    requires_grad: bool
    grad_fn: str | None
    values: np.ndarray


@dataclasses.dataclass(frozen=True)
class Raised:
    """An exception: two are equal when the types are, and the message matches where one was demanded."""

    kind: str
    message: str
    where: str = ""
    matched: bool = True


def attempt(function: Callable[[], Any], match: str | None = None) -> Any:
    """What `function()` returns, or the exception it raises as a `Raised`."""
    try:
        return function()
    except Exception as error:  # the exception is the observation
        matched = match is None or re.search(match, str(error)) is not None
        return Raised(
            type(error).__name__.lstrip("_"), str(error), "".join(traceback.format_exception(error)[-4:]), matched
        )


def grad_fn_name(tensor: Any) -> str | None:
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


def to_array(torch: Any, tensor: Any) -> np.ndarray:
    """A copy of the values; the clone keeps NumPy from sharing memory with the tensor under test."""
    tensor = tensor.detach().clone()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.to(torch.float32)
    if tensor.is_complex():
        tensor = tensor.resolve_conj()
    return np.array(tensor.numpy())


def observe(torch: Any, value: Any) -> Any:
    """`value` as plain data that can be compared across the two modules."""
    if isinstance(value, torch.Tensor):
        return Seen(
            type(value).__name__,
            tuple(value.shape),
            str(value.dtype),
            tuple(value.stride()),
            value.requires_grad,
            grad_fn_name(value),
            to_array(torch, value),
        )
    if isinstance(value, tuple | list):
        return (type(value).__name__, [observe(torch, item) for item in value])
    if isinstance(value, dict):
        return {key: observe(torch, item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if value is None or isinstance(value, bool | int | float | complex | str | np.ndarray | Raised):
        return value
    if isinstance(value, torch.dtype | torch.device):
        return str(value)
    if isinstance(value, type):
        return value.__name__
    return f"<{type(value).__name__}>"


def outcome(torch: Any, body: Callable[..., Any], *args: Any) -> Any:
    """Observe what `body(torch, *args)` returns or raises; values are read inside, so late errors count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return attempt(lambda: observe(torch, body(torch, *args)))


# -- comparing ---


def differences(expected: Any, actual: Any, scale: float = 1.0, strides: bool = True, at: str = "") -> list[str]:
    """Every way in which two observations differ, one line each; `scale` multiplies the tolerance."""
    if isinstance(expected, Raised) and not expected.matched:
        return [f"{at}: the reference's own message does not match: {expected.message!r}"]
    if isinstance(expected, Raised) or isinstance(actual, Raised):
        return _different_errors(expected, actual, at)
    if type(expected) is not type(actual):
        return [f"{at}: expected {_short(expected)}, got {_short(actual)}"]
    if isinstance(expected, Seen):
        found = [
            f"{at}.{name}: expected {want}, got {got}"
            for name, want, got in zip(Seen._fields[:-1], expected, actual, strict=False)
            if want != got and (strides or name != "stride")
        ]
        same_kind = expected.shape == actual.shape and expected.dtype == actual.dtype
        dtype = expected.dtype.removeprefix("torch.")
        return found + (_different_values(expected.values, actual.values, dtype, scale, at) if same_kind else [])
    if isinstance(expected, np.ndarray):
        if (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
            return [f"{at}: expected {_short(expected)}, got {_short(actual)}"]
        return _different_values(expected, actual, str(expected.dtype), scale, at)
    if isinstance(expected, tuple | list):
        if len(expected) != len(actual):
            return [f"{at}: expected {len(expected)} items, got {len(actual)}"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for i, (e, a) in pairs for line in differences(e, a, scale, strides, f"{at}[{i}]")]
    if isinstance(expected, dict):
        if list(expected) != list(actual):
            return [f"{at}: expected keys {list(expected)}, got {list(actual)}"]
        keys = list(expected)
        return [d for k in keys for d in differences(expected[k], actual[k], scale, strides, f"{at}[{k!r}]")]
    if isinstance(expected, float | complex):
        return _different_values(np.array(expected), np.array(actual), "float32", scale, at)
    return [] if expected == actual else [f"{at}: expected {expected!r}, got {actual!r}"]


def _short(value: Any) -> str:
    if isinstance(value, Seen):
        return f"{value.kind} {value.dtype} {value.shape}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape}"
    return repr(value)[:200]


def _different_errors(expected: Any, actual: Any, at: str) -> list[str]:
    if not isinstance(actual, Raised):
        if MISSING_KERNEL.search(expected.message):
            return []
        return [f"{at}: expected {expected.kind} ({expected.message[:160]}), got {_short(actual)}"]
    if not isinstance(expected, Raised):
        return [f"{at}: expected {_short(expected)}, got {actual.kind}: {actual.message}\n{actual.where}"]
    if expected.kind != actual.kind:
        want, got = f"{expected.kind} ({expected.message[:160]})", f"{actual.kind}: {actual.message}"
        return [f"{at}: expected {want}, got {got}\n{actual.where}"]
    if not actual.matched:
        return [f"{at}: message should be like {expected.message!r}, got {actual.message!r}"]
    return []


def _different_values(expected: np.ndarray, actual: np.ndarray, dtype: str, scale: float, at: str) -> list[str]:
    relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
    with np.errstate(all="ignore"):
        if relative:
            close = np.isclose(actual, expected, relative * scale, absolute * scale, equal_nan=True)
        else:
            close = np.asarray(actual == expected)
    if close.all():
        return []
    where = tuple(int(i) for i in np.argwhere(~close)[0])
    count = f"{np.count_nonzero(~close)} of {close.size}"
    return [f"{at}: {count} values differ, first at {where}: expected {expected[where]}, got {actual[where]}"]


# -- inputs ---


@dataclasses.dataclass(frozen=True)
class Input:
    """How to make one input tensor: random in [low, high), or `values`; no `dtype` means the one tested."""

    shape: tuple[int, ...] = ()
    low: float = -2
    high: float = 2
    dtype: str | None = None
    grad: bool = True
    values: Any = None

    def array(self, dtype: str, seed: int) -> np.ndarray:
        """The NumPy array, float32 where NumPy has no such dtype."""
        dtype = self.dtype or dtype
        numpy_dtype = np.dtype("float32" if dtype == "bfloat16" else dtype)
        if self.values is not None:
            return np.array(self.values, numpy_dtype)
        random = np.random.default_rng(seed)
        if dtype == "bool":
            return random.integers(0, 2, self.shape).astype(bool)
        if numpy_dtype.kind in "iu":
            low = max(0, self.low) if numpy_dtype.kind == "u" else self.low
            return random.integers(int(np.ceil(low)), max(int(self.high), int(low) + 1), self.shape, numpy_dtype)
        values = random.uniform(self.low, self.high, self.shape)
        if numpy_dtype.kind == "c":
            values = values + 1j * random.uniform(self.low, self.high, self.shape)
        return np.asarray(values).astype(numpy_dtype)


def X(*shape: int, low: float = -2, high: float = 2, dtype: str | None = None, grad: bool = True) -> Input:
    """A random tensor of the dtype under test, differentiated if that is a float."""
    return Input(shape, low, high, dtype, grad)


def I(*shape: int, high: int) -> Input:  # noqa: E743 - read as "index" in the tables
    """Random int64 indices below `high`."""
    return Input(shape, 0, high, "int64", False)


def M(*shape: int) -> Input:
    """A random mask."""
    return Input(shape, dtype="bool", grad=False)


def V(values: Any, dtype: str | None = None, grad: bool = True) -> Input:
    """These values."""
    return Input(values=values, dtype=dtype, grad=grad)


# -- cases ---


@dataclasses.dataclass(frozen=True)
class Case:
    """One row: a name under `torch` (or a lambda over the module), inputs, and what to expect of it."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    body: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = FLOATS
    symbol: str | None = None
    orders: int = 2
    raises: bool = False
    match: str | None = None
    scale: float = 1.0
    strides: bool = True
    follows_layout: bool = True
    names: bool = True

    def on(self, *dtypes: str) -> Case:
        """Test on these dtypes."""
        return dataclasses.replace(self, dtypes=dtypes)

    def op(self, symbol: str) -> Case:
        """Test this operator too, and its in-place form."""
        return dataclasses.replace(self, symbol=symbol)

    def upto(self, orders: int) -> Case:
        """Compare derivatives up to this order: 0, 1, or 2."""
        return dataclasses.replace(self, orders=orders)

    def near(self, scale: float) -> Case:
        """Multiply the tolerance."""
        return dataclasses.replace(self, scale=scale)

    def any_name(self) -> Case:
        """Do not compare grad_fn names: PyTorch composes the operation of others."""
        return dataclasses.replace(self, names=False)

    def any_stride(self) -> Case:
        """Do not compare strides: PyTorch's follow from its choice of kernel."""
        return dataclasses.replace(self, strides=False)

    def call(self, torch: Any, args: list[Any], **more: Any) -> Any:
        """The function form."""
        if self.body is not None:
            return self.body(torch, *args, **self.kwargs)
        return operator.attrgetter(self.name)(torch)(*args, **self.kwargs_for(torch), **more)

    def kwargs_for(self, torch: Any) -> dict[str, Any]:
        return {key: _materialise(torch, value, "float64", 0) for key, value in self.kwargs.items()}


def row(name: str, *args: Any, **kwargs: Any) -> Case:
    """The function `torch.<name>`, and every form of it that PyTorch has."""
    return Case(name, args, kwargs)


def code(name: str, body: Callable[..., Any], *args: Any) -> Case:
    """A piece of code over the module and the inputs."""
    return Case(name, args, {}, body)


def bad(name: str, *args: Any, match: str | None = None, body: Callable[..., Any] | None = None, **kwargs: Any) -> Case:
    """A call that must raise the same exception type, with a message that matches on both sides."""
    return Case(name, args, kwargs, body, raises=True, match=match)


class Dtype(str):
    """A dtype in a table, by name; becomes `torch.<name>`."""


def _materialise(torch: Any, spec: Any, dtype: str, seed: int, grad: bool = False, permuted: bool = False) -> Any:
    if isinstance(spec, list | tuple):
        return type(spec)(_materialise(torch, s, dtype, seed + i, grad, permuted) for i, s in enumerate(spec))
    if isinstance(spec, Dtype):
        return getattr(torch, spec)
    if not isinstance(spec, Input):
        return spec
    array = spec.array(dtype, seed)
    if permuted and array.ndim > 1:
        axes = tuple(reversed(range(array.ndim)))
        tensor = torch.tensor(np.ascontiguousarray(array.transpose(axes))).permute(axes)
    else:
        tensor = torch.tensor(array)
    if (spec.dtype or dtype) == "bfloat16":
        tensor = tensor.to(torch.bfloat16)
    wanted = grad and spec.grad and (tensor.is_floating_point() or tensor.is_complex())
    return tensor.requires_grad_() if wanted else tensor


def build(torch: Any, case: Case, dtype: str, grad: bool = False, permuted: bool = False) -> list[Any]:
    """The inputs of a case on one side."""
    seed = zlib.crc32(case.name.encode())
    return [_materialise(torch, a, dtype, seed + 31 * i, grad, permuted) for i, a in enumerate(case.args)]


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(torch, item)


# -- forms ---


def _function(torch: Any, case: Case, dtype: str) -> Any:
    return case.call(torch, build(torch, case, dtype))


def _permuted(torch: Any, case: Case, dtype: str) -> Any:
    return case.call(torch, build(torch, case, dtype, permuted=True))


def _method(torch: Any, case: Case, dtype: str) -> Any:
    first, *rest = build(torch, case, dtype)
    return getattr(first, case.name)(*rest, **case.kwargs_for(torch))


def _in_place(torch: Any, case: Case, dtype: str) -> Any:
    first, *rest = build(torch, case, dtype)
    alias = first.detach()
    result = getattr(first, case.name + "_")(*rest, **case.kwargs_for(torch))
    return result is first, first, alias, first._version


def _out(torch: Any, case: Case, dtype: str) -> Any:
    outs = [torch.full_like(t, 1) for t in _tensors(torch, _function(torch, case, dtype))]
    result = case.call(torch, build(torch, case, dtype), out=outs[0] if len(outs) == 1 else tuple(outs))
    returned = list(_tensors(torch, result))
    counted = [o._version > 0 for o in outs] if case.name not in UNCOUNTED else []
    return [r is o for r, o in zip(returned, outs, strict=True)], outs, counted


def _out_of_other_dtype(torch: Any, case: Case, dtype: str) -> Any:
    shape = _function(torch, case, dtype).shape
    # Some operations of PyTorch want the very dtype of the result in `out`; jaxtorch takes whatever it can be cast to.
    return attempt(lambda: case.call(torch, build(torch, case, dtype), out=torch.zeros(shape, dtype=torch.int64)))


def _operator(torch: Any, case: Case, dtype: str) -> Any:
    return OPERATORS[case.symbol or ""](*build(torch, case, dtype))


def _reflected(torch: Any, case: Case, dtype: str) -> Any:
    first = build(torch, case, dtype)[-1]
    symbol = OPERATORS[case.symbol or ""]
    return [attempt(lambda s=s: symbol(s, first)) for s in (True, 2, 1.5)]


def _in_place_operator(torch: Any, case: Case, dtype: str) -> Any:
    first, *rest = build(torch, case, dtype)
    result = IN_PLACE_OPERATORS[case.symbol or ""](first, *rest)
    return result is first, first, first._version


def _cotangents(torch: Any, outputs: list[Any], seed: int) -> list[Any]:
    made = []
    for i, output in enumerate(outputs):
        name = str(output.dtype).removeprefix("torch.")
        made.append(_materialise(torch, X(*output.shape), name, seed + i, grad=True))
    return made


def _derivatives(torch: Any, case: Case, dtype: str, apply: Callable[[list[Any]], Any]) -> Any:
    """Gradients for random cotangents, then the gradient of those, with respect to inputs and cotangents."""
    args = build(torch, case, dtype, grad=True)
    inputs = [t for t in _tensors(torch, args) if t.requires_grad]
    outputs = [t for t in _tensors(torch, apply(args)) if t.requires_grad]
    if not outputs:
        return "no output requires grad"
    twice = case.orders > 1 and dtype in ("float64", "complex128")
    cotangents = _cotangents(torch, outputs, 1)
    first = torch.autograd.grad(outputs, inputs, cotangents, create_graph=twice, allow_unused=True)
    # What a gradient was made with is no one's contract; its values, shape and dtype are.
    names = [grad_fn_name(o) if case.names else None for o in outputs]
    seen: list[Any] = [names, [None if g is None else g.detach() for g in first]]
    differentiable = [g for g in first if twice and g is not None and g.requires_grad]
    if differentiable:
        more = _cotangents(torch, differentiable, 100)
        second = torch.autograd.grad(differentiable, inputs + cotangents, more, allow_unused=True)
        # Zero and None both mean "does not depend": PyTorch's formulas mix the two.
        seen.append(
            [torch.zeros_like(i) if g is None else g.detach() for g, i in zip(second, inputs + cotangents, strict=True)]
        )
    return seen


def _gradient(torch: Any, case: Case, dtype: str) -> Any:
    return _derivatives(torch, case, dtype, lambda args: case.call(torch, args))


def _in_place_gradient(torch: Any, case: Case, dtype: str) -> Any:
    def apply(args: list[Any]) -> Any:
        return getattr(args[0].clone(), case.name + "_")(*args[1:], **case.kwargs_for(torch))

    return _derivatives(torch, case, dtype, apply)


def forms(torch: Any, case: Case, dtype: str) -> dict[str, Callable[[Any, Case, str], Any]]:
    """The ways in which PyTorch offers a case, by name."""
    found: dict[str, Callable[[Any, Case, str], Any]] = {"function": _function}
    differentiable = case.orders > 0 and not case.raises and dtype in (*HALVES, *FLOATS, *COMPLEX)
    if differentiable:
        found["gradient"] = _gradient
    if case.body is not None:
        return found
    if not case.raises and dtype == "float64":
        found["permuted inputs"] = _permuted
    on_tensor = "." not in case.name and bool(case.args) and isinstance(case.args[0], Input)
    if on_tensor and hasattr(torch.Tensor, case.name):
        found["method"] = _method
    if on_tensor and hasattr(torch.Tensor, case.name + "_"):
        found["in-place"] = _in_place
        if differentiable:
            found["in-place gradient"] = _in_place_gradient
    if not case.raises and "out" not in case.kwargs and "." not in case.name:
        found["out="] = _out
        if dtype == "float32" and case.follows_layout:
            found["out= of another dtype"] = _out_of_other_dtype
    if case.symbol:
        found["operator"] = _operator
        if len(case.args) == 2 and not case.raises:
            found["reflected operator"] = _reflected
        if case.symbol in IN_PLACE_OPERATORS:
            found["in-place operator"] = _in_place_operator
    return found


def check(case: Case, dtype: str, expected_from: Any, actual_from: Any) -> list[str]:
    """Run every form of a case on both modules and say what differs; empty when they agree."""
    lines: list[str] = []
    for name, form in forms(expected_from, case, dtype).items():
        expected = outcome(expected_from, form, case, dtype)
        if isinstance(expected, Raised):
            if case.match is not None and name == "function" and not re.search(case.match, expected.message):
                lines.append(f"{name}: the reference's own message does not match: {expected.message!r}")
            if name == "out=" and expected.kind == "TypeError" and not case.raises:
                continue  # PyTorch has no such overload; jaxtorch's answer hurts nobody
        elif case.raises and name == "function":
            lines.append(f"{name}: the row says bad, but the reference answers {_short(expected)}")
        actual = outcome(actual_from, form, case, dtype)
        strides = case.strides and "gradient" not in name and (case.follows_layout or name != "permuted inputs")
        scale = case.scale * (8 if "gradient" in name and dtype not in ("float64", "complex128") else 1)
        lines += differences(expected, actual, scale, strides, name)
        if case.raises and name == "function" and not isinstance(actual, Raised):
            lines.append(f"{name}: must raise, answered {_short(actual)}")
        answered = name != "function" or case.match is None or not isinstance(actual, Raised)
        if not answered and not re.search(case.match or "", actual.message):
            lines.append(f"{name}: message should match {case.match!r}, got {actual.message!r}")
    return lines


def parity_test(body: Callable[..., Any]) -> Callable[..., None]:
    """A pytest test from a body over the module: what it returns must be the same on both sides.

    The body may not raise on PyTorch (wrap what should raise in `attempt`) and has to return something.
    """

    def test(**arguments: Any) -> None:
        expected = outcome(reference(), functools.partial(body, **arguments))
        assert not isinstance(expected, Raised), f"the test itself fails on PyTorch: {expected}"
        assert expected is not None and expected != ("list", []), "the test observes nothing"
        found = differences(expected, outcome(candidate(), functools.partial(body, **arguments)))
        assert not found, "\n".join(found)

    test.__name__, test.__doc__, test.__module__ = body.__name__, body.__doc__, body.__module__
    parameters = list(inspect.signature(body).parameters.values())[1:]
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return test
