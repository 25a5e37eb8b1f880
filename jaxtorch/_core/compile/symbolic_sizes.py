"""Sizes that stand for others: functions are traced with them once, for many shapes (run/templates.py).

An `Extent` is a size in an expression of numbers that are not fixed, with the value that it has in one example. It computes as a
whole number does, and JAX takes it for one of its symbolic dimensions. Whatever is decided by it while a function is traced (`==`,
`<`, truth) is decided as in the example, and written down as a condition: the trace is right wherever all of them hold. What would
need the number itself (`int`, `range`, an index) is refused with `NotStatic`, so nothing can depend on it unnoticed.
"""

from __future__ import annotations

import math
import operator
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax
from jax._src import core as _core
from jax._src import dtypes as _dtypes
from jax._src.lax import utils as _lax_utils
from jax.extend import core as jex_core


def _code(module: Any, name: str) -> Any:
    """The code of one of JAX's own functions; None where it has no such function."""
    return getattr(getattr(module, name, None), "__code__", None)


_IS_CONSTANT = _code(_core, "is_constant_dim")
_COMPARING = {_code(_lax_utils, "int_dtype_for_dim"), _code(_lax_utils, "int_dtype_for_shape")}
_INTERNING = {f.__code__ for f in vars(_core.ShapedArray).values() if hasattr(f, "__code__")}
_INTERNING |= {f.__code__ for f in vars(type(_core.ShapedArray)).values() if hasattr(f, "__code__")}
"""JAX's functions that look types up in a table of them."""


class NotStatic(TypeError):
    """The number itself was asked for, of a size that stands for others. `text`: which."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the size {text} has no fixed number here")
        self.text = text


def let_go(error: BaseException) -> None:
    """Clear the frames of an exception that nobody will see: in circles with it they would keep their callers, and so the user's
    tensors, until the garbage collector comes."""
    seen: list[BaseException] = []
    rest: list[BaseException | None] = [error]
    while rest:
        found = rest.pop()
        if found is None or any(found is e for e in seen):
            continue
        seen.append(found)
        traceback.clear_frames(found.__traceback__)
        rest += [found.__cause__, found.__context__]
        found.__traceback__ = None


class Scope:
    """What has been decided by the sizes of one trace, as conditions in Python; `refused`: those whose number was asked for."""

    def __init__(self) -> None:
        self.conditions: dict[str, None] = {}
        self.refused: dict[str, None] = {}
        self.raised: list[NotStatic] = []
        self.open = True

    def extent(self, text: str, example: int) -> Extent:
        return Extent(self, text, example)

    def not_static(self, text: str) -> NotStatic:
        """The exception for a number that was asked for. JAX catches some, in frames that then keep it."""
        self.raised.append(NotStatic(text))
        return self.raised[-1]

    def let_go(self) -> None:
        """Nobody looks at the exceptions any more."""
        while self.raised:
            let_go(self.raised.pop())

    def decided(self, text: str, is_so: bool) -> bool:
        """Note that a condition is true or false in this trace."""
        if self.open:
            self.conditions[text if is_so else f"not ({text})"] = None
        return is_so


def _number(x: Any) -> Any:
    """The value in the example; None for what is no real number."""
    if type(x) is Extent:
        return x.example
    return x if isinstance(x, (int, float, np.integer, np.floating)) else None


def _text(x: Any) -> str:
    return x.text if type(x) is Extent else repr(x.item() if isinstance(x, np.generic) else x)


def _binary(sign: str, fn: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
    def run(self: Extent, other: Any) -> Any:
        number = _number(other)
        if number is None or not isinstance(number, (int, np.integer)):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        return Extent(self.scope, f"({_text(left)} {sign} {_text(right)})", int(fn(_number(left), _number(right))))

    return run


def _neutral(run: Any, neutral: int) -> Any:
    def simpler(self: Extent, other: Any) -> Any:
        return self if type(other) is int and other == neutral else run(self, other)

    return simpler


def _comparison(sign: str, fn: Callable[[Any, Any], bool]) -> Any:
    def run(self: Extent, other: Any) -> Any:
        number = _number(other)
        if number is None:
            return NotImplemented
        if type(other) is Extent and other.text == self.text and other.scope is self.scope:
            return fn(0, 0)
        alien = type(other) is not Extent or other.scope is not self.scope
        if not self.scope.open or (type(other) is Extent and alien):
            return sign == "!="  # left of a trace that has ended: it equals itself alone
        if sys._getframe(1).f_code in _INTERNING and (alien or number != self.example):
            return False  # another in the table, which has been come upon by chance
        return self.scope.decided(f"{self.text} {sign} {_text(other)}", bool(fn(self.example, number)))

    return run


def _function(name: str, fn: Callable[[Any, Any], Any]) -> Any:
    def run(self: Extent, other: Any) -> Any:
        number = _number(other)
        if number is None or not isinstance(number, (int, np.integer)):
            return NotImplemented
        return Extent(self.scope, f"{name}({self.text}, {_text(other)})", int(fn(self.example, number)))

    return run


class Extent:
    """A size of a trace in a scope: its expression, and its value in the example."""

    __slots__ = ("scope", "text", "example")

    def __init__(self, scope: Scope, text: str, example: int) -> None:
        self.scope = scope
        self.text = text
        self.example = example

    __add__ = _neutral(_binary("+", operator.add), 0)
    __radd__ = _neutral(_binary("+", operator.add, True), 0)
    __sub__ = _neutral(_binary("-", operator.sub), 0)
    __rsub__ = _binary("-", operator.sub, True)
    __mul__ = _neutral(_binary("*", operator.mul), 1)
    __rmul__ = _neutral(_binary("*", operator.mul, True), 1)
    __floordiv__ = _neutral(_binary("//", operator.floordiv), 1)
    __rfloordiv__ = _binary("//", operator.floordiv, True)
    __mod__ = _binary("%", operator.mod)
    __rmod__ = _binary("%", operator.mod, True)
    __eq__ = _comparison("==", operator.eq)
    __ne__ = _comparison("!=", operator.ne)
    __lt__ = _comparison("<", operator.lt)
    __le__ = _comparison("<=", operator.le)
    __gt__ = _comparison(">", operator.gt)
    __ge__ = _comparison(">=", operator.ge)
    max = rmax = _function("max", max)  # as JAX calls them
    min = rmin = _function("min", min)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Extent:
        return Extent(self.scope, f"(-{self.text})", -self.example)

    def __pos__(self) -> Extent:
        return self

    __ceil__ = __floor__ = __trunc__ = __pos__

    def __hash__(self) -> int:
        return hash(
            (Extent, self.example)
        )  # found among others of its value, so that they are compared, and never for an int

    def __bool__(self) -> bool:
        return self != 0

    def _refuse(self) -> Any:
        self.scope.refused[self.text] = None
        raise self.scope.not_static(self.text)

    def __index__(self) -> int:
        asking = sys._getframe(1)
        if asking.f_code is _IS_CONSTANT and asking.f_back is not None and asking.f_back.f_code in _COMPARING:
            return self.example  # what asks only compares the size itself then
        raise self.scope.not_static(self.text)  # elsewhere JAX asks whether it is a plain number

    def __int__(self) -> int:
        return self._refuse()

    def __float__(self) -> float:
        return self._refuse()

    def __repr__(self) -> str:
        return f"Extent({self.text}, {self.example})"

    def dimension_as_value(self) -> Any:
        """As an array of JAX's: a weak whole number."""
        return extent_p.bind(extent=self)

    __jax_array__ = dimension_as_value

    @property
    def __class__(self) -> type:
        return int  # to the bodies of operations it is a whole number


def scalar(n: Any, dtype: Any) -> Any:
    """A number that may come of sizes as an array without dimensions."""
    if type(n) is not Extent:
        return np.array(n, dtype)
    return lax.convert_element_type(n.dimension_as_value(), dtype)


def up_to(n: Any, dtype: Any = np.int64) -> Any:
    """0, 1, ..., n - 1; n may come of sizes."""
    return lax.broadcasted_iota(dtype, (n,), 0)


extent_p = jex_core.Primitive("jaxtorch_extent")
"""The value of an `Extent`, as a number in a jaxpr."""


@extent_p.def_abstract_eval
def _aval(*, extent: Any) -> Any:
    return _core.dim_value_aval()


def register() -> bool:
    """Tell JAX of `Extent`, a type that it knows as it knows its own symbolic dimensions; False where it is not as it was."""
    if _IS_CONSTANT is None or None in _COMPARING:
        return False
    try:
        _core.pytype_aval_mappings[Extent] = lambda _: _core.dim_value_aval()
        _dtypes.python_scalar_types.add(Extent)
        _dtypes.python_scalar_types_to_dtypes[Extent] = _dtypes.python_scalar_types_to_dtypes[int]
        _dtypes.register_weak_scalar_type(Extent)
        _dtypes.register_canonicalize_value_handler(Extent, None)
    except (AttributeError, KeyError, TypeError):
        return False
    return math.prod((2, 3)) == 6
