"""What keeps sparse tensors out of the way of dense ones.

A sparse tensor is a `Tensor` without content of its own: whatever reads it meets `NO_MEMORY` in the place of its storage, or
`NO_PROGRAM` in that of the program that makes its value, and these raise `NoContent`. The generated functions catch that
and ask `answer`, so that operations on dense tensors pay nothing for sparse ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .. import PACKAGE
from ..types.stranger import Stranger
from ..types.value import Value
from .tensor import wrap


class NoContent(Stranger, NotImplementedError):
    """The dense content of a sparse tensor was asked for."""

    kind, way = "sparse", "to_dense"

    def __str__(self) -> str:
        return f"{operation(self.__traceback__)}(): there is no form of it for {self.kind} tensors; see Tensor.{self.way}()"


# What a program sees when it is told of one is the class that PyTorch raises.
NoContent.__name__ = NoContent.__qualname__ = "NotImplementedError"
NoContent.__module__ = "builtins"


class NoFloats(NoContent):
    """The same of a quantised tensor."""

    kind, way = "quantised", "dequantize"


NoFloats.__name__ = NoFloats.__qualname__ = "NotImplementedError"
NoFloats.__module__ = "builtins"


def operation(trace: Any) -> str:
    """The name of the outermost of jaxtorch's own functions that a traceback passes through."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith((PACKAGE, "<jaxtorch op")):
            return code.co_name.strip("_")
        trace = trace.tb_next
    return "this operation"


class _Nothing:
    """Stands where a storage or a program would; any use of it raises."""

    __slots__ = ("_error",)

    def __init__(self, error: type[NoContent] = NoContent) -> None:
        self._error = error

    def __getattr__(self, name: str) -> NoReturn:
        raise self._error


NO_MEMORY: Any = _Nothing()
NO_PROGRAM: Any = _Nothing()
NO_FLOATS: Any = _Nothing(NoFloats)
"""Where the storage and the program of a quantised tensor would be."""

answers: list[Callable[..., Any]] = []
"""answers[-1](public function, args, kwargs): what a generated function gives for sparse tensors, and for quantised ones."""


makers: dict[str, Callable[..., Any]] = {}
"""What makes sparse tensors, by name, for code that stands below them: 'empty' and 'embedding'."""


class SparseValue(Value):
    """A sparse gradient on its way through a backward pass."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor._value.aval)
        self.program = NO_PROGRAM
        self.tensor = tensor


def dense_value(v: Any) -> Any:
    """A gradient's value as a dense one."""
    return v.tensor.to_dense()._read() if type(v) is SparseValue else v


def add_values(a: Value, b: Value) -> Value:
    """The sum of two gradients of which one is sparse at least: sparse if both are."""
    x, y = (v.tensor if type(v) is SparseValue else wrap(v) for v in (a, b))
    total = x + y if type(a) is type(b) or type(b) is SparseValue else y + x
    return SparseValue(total) if is_sparse(total) else total._read()


def lacks_content(x: Any) -> bool:
    """Is it a tensor without dense content of its own: a sparse or a quantised one?"""
    return type(getattr(x, "_alias", None)) is _Nothing


def is_sparse(x: Any) -> bool:
    """Is it a sparse tensor?"""
    return getattr(x, "_alias", None) is NO_MEMORY


def refuse_compressed(tensors: Iterable[Any]) -> None:
    """RuntimeError for a CSR tensor or its like, which PyTorch's transformations cannot wrap."""
    for x in tensors:
        if is_sparse(x) and (kind := str(x.layout)[-3:].upper()) != "COO":
            raise RuntimeError(f"Sparse {kind} tensors do not have strides")
