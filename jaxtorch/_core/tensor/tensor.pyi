# Made by scripts/make_stub.py; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportRedeclaration=false
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from typing_extensions import TypeIs

from ..compile.kernel import Entry, Kernel
from ..graph import nodes
from ..graph.derivative import grad_form
from ..graph.nodes import HookedValues, entered_kinds
from ..record import module_depth
from ..record.program import emit, force
from ..run import capture, traced_kernels
from ..run.runner import is_tracer
from ..types import dtypes
from ..types.device import cpu, jax_devices
from ..types.device import device as _device
from ..types.grad_mode import Anomaly, finished, inferring, no_grad, state, watch
from ..types.structseq import of_out
from ..types.value import WHOLE, Mapped, Value, aval_of
from . import storage
from .storage import Alias, Version
from ... import return_types
from ..types.device import device as _Device
from ..random.generator import Generator
from ..types.size import Size

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

_new: Any
write_shared: Any
check_history: Any
check_place: Any
check_single: Any
store_out: Any
forward_mode: Any
journals: list[Any]
on_subclass: list[Any]
def version_of(t: Tensor) -> Version: ...
def count_write(t: Tensor) -> None: ...
def wrap(value: Value) -> Tensor: ...
def is_inference(t: Tensor) -> bool: ...
def need_tensor(x: Any, function: str, argument: str='input', position: int=1) -> Tensor: ...
def refuse_inference(t: Tensor) -> None: ...
def from_host(array: np.ndarray[Any, Any], device: Any=None) -> Tensor: ...
def from_array(array: Any) -> Tensor: ...
def _slot_of(array: Any) -> Any: ...
finish_in_c: Any
def finish(entry: Entry, mask: int, values: list[Value], operands: Any) -> Any: ...
def _emit_checked(kernel: Any, values: list[Value]) -> list[Value]: ...
def _graded(entry: Entry, mask: int, values: list[Value], operands: Any) -> Any: ...
def finish_watched_node(node: Any, operands: Any) -> None: ...
INFERENCE_SAVED: Any
def pack(values: Any, tensors: dict[int, Tensor]) -> HookedValues: ...
def apply_pack_hook(hook: Any, t: Tensor) -> Any: ...
def unpack_saved(packed: HookedValues) -> list[Value]: ...
def apply_entry(entry: Entry, operands: list[Any]) -> Any: ...
def finish_inplace(target: Tensor, result: Tensor) -> Tensor: ...
_copies: dict[Any, Any]
def kept_value(old: Value) -> Value: ...
def check_writable(t: Tensor) -> None: ...
strict_out: dict[str, Any]
def _plain(name: str) -> str: ...
def write_out(out: Any, result: Any, name: str, operands: Any=()) -> Any: ...


class Tensor:
    """A multi-dimensional array of one element type, with PyTorch's interface."""
    _value: Value
    _alias: Alias | None
    _node: Any
    _index: _int
    _rg: _bool
    _grad: Any
    _layout: Any
    _ver: _int
    _hooks: Any
    _post_hooks: Any
    _inferred: _bool
    _written: Version
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def _read(self) -> Value: ...
    def _array(self) -> Any: ...
    def _write(self, value: Value) -> None: ...
    def _write_uncounted(self, value: Value) -> None: ...
    def _rebind(self, result: Tensor) -> Tensor: ...
    def _set_history(self, node: Any, index: _int) -> None: ...
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self, *, out: Any = ...) -> Tensor:
        """The magnitude of each element; real for complex tensors."""
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> np.ndarray: ...
    __array_priority__: Any
    def __array_wrap__(self, array: Any, context: Any = ..., return_scalar: _bool = ...) -> Any: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any) -> Tensor: ...
    def __delitem__(self, index: Any) -> None: ...
    def __div__(self, other: Any) -> Any: ...
    def __dlpack__(self, **kwargs: Any) -> Any:
        """A DLPack capsule of the content."""
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, spec: _str) -> _str: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor:
        """`x[index]`: integers, slices, None and `...` give views; index arrays and masks give copies."""
    def __gt__(self, other: Any) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, other: Any) -> Self: ...
    def __iand__(self, other: Any) -> Self: ...
    def __idiv__(self, other: Any) -> Any: ...
    def __ifloordiv__(self, other: Any) -> Self: ...
    def __ilshift__(self, other: Any) -> Self: ...
    def __imod__(self, other: Any) -> Self: ...
    def __imul__(self, other: Any) -> Self: ...
    def __index__(self) -> _int: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """A tensor is complete once it is made."""
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any) -> Self: ...
    def __ipow__(self, other: Any) -> Self: ...
    def __irshift__(self, other: Any) -> Self: ...
    def __isub__(self, other: Any) -> Self: ...
    def __iter__(self) -> Any: ...
    def __itruediv__(self, other: Any) -> Self: ...
    def __ixor__(self, other: Any) -> Self: ...
    def __jax_array__(self) -> Any: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __long__(self) -> _int:
        """`int(tensor)`."""
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self, *, out: Any = ...) -> Tensor:
        """`-input`; bools are refused."""
    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...
    def __nonzero__(self) -> _bool:
        """`bool(tensor)`."""
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """The tensor itself; bools are refused."""
    def __pow__(self, other: Any, modulo: Any = ...) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Any: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __repr__(self, *, tensor_contents: Any = ...) -> _str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        """`x[index] = value`: written through views for basic indices, scattered for index arrays and masks."""
    def __sub__(self, other: Any) -> Tensor: ...
    @classmethod
    def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def _abs_(self) -> Any:
        """In-place form of `abs`."""
    def _addmm_activation(self, mat1: Tensor, mat2: Tensor, *, beta: Any = ..., alpha: Any = ..., use_gelu: _bool = ...) -> Tensor:
        """The ReLU, or the GELU, of `addmm`."""
    @property
    def _backward_hooks(self) -> Any: ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _base(self) -> Tensor | None: ...
    @property
    def _cdata(self) -> _int: ...
    def _coalesced_(self, *args: Any, **kwargs: Any) -> Any:
        """Of sparse tensors; NotImplementedError for a dense one."""
    def _conj(self) -> Tensor:
        """`conj` of a complex tensor."""
    def _conj_physical(self) -> Tensor:
        """`conj_physical`."""
    def _cpu_array(self) -> np.ndarray | None:
        """As `_host_array`, and also what XLA has computed on the CPU, where it lies; None on other devices and in forked processes."""
    def _cumprod_(self, dim: Any, *, dtype: Any = ..., axis: Any = ...) -> Any:
        """In-place form of `cumprod`."""
    def _cumsum_(self, dim: Any, *, dtype: Any = ..., axis: Any = ...) -> Any:
        """In-place form of `cumsum`."""
    def _dimI(self) -> _int:
        """How many dimensions are sparse: 0."""
    def _dimV(self) -> _int:
        """How many dimensions are dense: all."""
    def _dropped_(self, keep: Any, p: Any) -> Any:
        """In-place form of `_dropped`."""
    def _fill_(self, value: Any) -> Any:
        """In-place form of `_fill`."""
    @property
    def _grad_fn(self) -> Any: ...
    @property
    def _has_symbolic_sizes_strides(self) -> _bool: ...
    def _host_array(self) -> np.ndarray | None:
        """The content where it lies in host memory as NumPy's already, else None. Nobody may write to it."""
    def _indices(self, *args: Any, **kwargs: Any) -> Any:
        """Of sparse tensors; NotImplementedError for a dense one."""
    def _is_all_true(self) -> Tensor:
        """`all` of bools."""
    def _is_any_true(self) -> Tensor:
        """`any` of bools."""
    def _is_view(self) -> _bool: ...
    def _is_zerotensor(self) -> _bool:
        """False: there are no tensors of zeros without memory."""
    def _lazy_clone(self) -> Tensor:
        """`clone`."""
    def _logical_and_(self, other: Any) -> Any:
        """In-place form of `logical_and`."""
    def _logical_not_(self) -> Any:
        """In-place form of `logical_not`."""
    def _logical_or_(self, other: Any) -> Any:
        """In-place form of `logical_or`."""
    def _logical_xor_(self, other: Any) -> Any:
        """In-place form of `logical_xor`."""
    @staticmethod
    def _make_subclass(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Any: ...
    def _nnz(self, *args: Any, **kwargs: Any) -> _int:
        """Of sparse tensors; NotImplementedError for a dense one."""
    @property
    def _post_accumulate_grad_hooks(self) -> Any: ...
    def _pow_(self, exponent: Any) -> Any:
        """In-place form of `_pow`."""
    def _pow_number_(self, exponent: Any) -> Any:
        """In-place form of `_pow_number`."""
    @property
    def _python_dispatch(self) -> _bool: ...
    def _to_dense(self, dtype: Any = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """The strided tensor; itself if it is one. A sparse tensor's gradient is always at its own places (`masked_grad`)."""
    def _to_sparse(self, *args: Any, sparse_dim: _int | None = ..., layout: Any = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Tensor:
        """The elements that are not zero as a sparse tensor of a layout, COO by default."""
    def _to_sparse_bsc(self, *args: Any, **kwargs: Any) -> Tensor:
        """`to_sparse_bsc`."""
    def _to_sparse_bsr(self, *args: Any, **kwargs: Any) -> Tensor:
        """`to_sparse_bsr`."""
    def _to_sparse_csc(self, *args: Any, **kwargs: Any) -> Tensor:
        """`to_sparse_csc`."""
    def _to_sparse_csr(self, *args: Any, **kwargs: Any) -> Tensor:
        """`to_sparse_csr`."""
    def _typed_storage(self) -> Any: ...
    def _values(self, *args: Any, **kwargs: Any) -> Any:
        """Of sparse tensors; NotImplementedError for a dense one."""
    @property
    def _version(self) -> _int: ...
    def _view_func(self, new_base: Tensor) -> Tensor | None:
        """This view of another base: the same sizes and strides, as far from its beginning."""
    def _view_func_unsafe(self, new_base: Tensor) -> Tensor | None:
        """`_view_func` that does not compare the bases."""
    def _zero_(self) -> Any:
        """In-place form of `_zero`."""
    def abs(self, *, out: Any = ...) -> Tensor:
        """The magnitude of each element; real for complex tensors."""
    def abs_(self) -> Self:
        """In-place form of `abs`; complex tensors are refused."""
    def absolute(self, *, out: Any = ...) -> Tensor:
        """The magnitude of each element; real for complex tensors."""
    def absolute_(self) -> Self:
        """In-place form of `abs`; complex tensors are refused."""
    def acos(self, *, out: Any = ...) -> Tensor:
        """The inverse cosine."""
    def acos_(self) -> Self:
        """In-place form of `acos`."""
    def acosh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> Self:
        """In-place form of `_acosh_in_place`."""
    def add(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`input + alpha * other`, broadcast."""
    def add_(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`beta * input + alpha * sum_i(batch1[i] @ batch2[i])`."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addbmm`."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`input + value * tensor1 / tensor2`, broadcast; two integer tensors are refused."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`input + value * tensor1 * tensor2`, broadcast."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addmv`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `addr`."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""
    def all(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """Are all elements true (not zero)? uint8 answers uint8."""
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """Are all elements within `atol + rtol * |other|` of each other? A Python bool."""
    def amax(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The largest element over dimensions; equal ones share the gradient evenly."""
    def amin(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The smallest element over dimensions; equal ones share the gradient evenly."""
    def aminmax(self, *, dim: Any = ..., keepdim: _bool = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.aminmax:
        """The smallest and the largest element, over one dimension or all."""
    def angle(self, *, out: Any = ...) -> Tensor:
        """The angle of each element in radians; for real numbers 0 or pi (NaN stays)."""
    def any(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """Is some element true (not zero)? uint8 answers uint8."""
    def apply_(self, callable: Any) -> Self:
        """Replace each element by what a Python function gives for it; slow, and for the CPU."""
    def arccos(self, *, out: Any = ...) -> Tensor:
        """The inverse cosine."""
    def arccos_(self) -> Self:
        """In-place form of `acos`."""
    def arccosh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> Self:
        """In-place form of `_acosh_in_place`."""
    def arcsin(self, *, out: Any = ...) -> Tensor:
        """The inverse sine."""
    def arcsin_(self) -> Self:
        """In-place form of `asin`."""
    def arcsinh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Self:
        """In-place form of `_asinh_in_place`."""
    def arctan(self, *, out: Any = ...) -> Tensor:
        """The inverse tangent."""
    def arctan2(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The angle of the points (other, input), in [-pi, pi]."""
    def arctan2_(self, other: Tensor) -> Self:
        """In-place form of `atan2`."""
    def arctan_(self) -> Self:
        """In-place form of `atan`."""
    def arctanh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> Self:
        """In-place form of `_atanh_in_place`."""
    def argmax(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The index of the largest element along a dimension, or of all flattened; NaN counts as largest."""
    def argmin(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The index of the smallest element along a dimension, or of all flattened; NaN counts as smallest."""
    def argsort(self, dim: Any = ..., descending: _bool = ..., *, stable: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """The indices that put a dimension in order; always stable."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero, as rows."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """A view of the tensor's memory with these sizes, strides and offset, counted in elements."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Self:
        """In-place form of `as_strided`."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """The input with the part that `as_strided` would view replaced."""
    def as_subclass(self, cls: _type) -> Any:
        """The tensor as an object of a subclass: same memory, same history."""
    def asin(self, *, out: Any = ...) -> Tensor:
        """The inverse sine."""
    def asin_(self) -> Self:
        """In-place form of `asin`."""
    def asinh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Self:
        """In-place form of `_asinh_in_place`."""
    def atan(self, *, out: Any = ...) -> Tensor:
        """The inverse tangent."""
    def atan2(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The angle of the points (other, input), in [-pi, pi]."""
    def atan2_(self, other: Tensor) -> Self:
        """In-place form of `atan2`."""
    def atan_(self) -> Self:
        """In-place form of `atan`."""
    def atanh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> Self:
        """In-place form of `_atanh_in_place`."""
    def backward(self, gradient: Any = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ...) -> None:
        """Add the gradients of this tensor to the `.grad` of the leaves it was computed from."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)` for each matrix of the batches."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `baddbmm`."""
    def bernoulli(self, p: _float | None = ..., *, generator: Generator | None = ..., _out: Any = ...) -> Tensor:
        """0 or 1 with the probabilities of `input`; with `p`, ones with that probability in a tensor like the input."""
    def bernoulli_(self, p: Any = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with 0 and 1, in place; `p` is the probability of 1: a number, or a tensor that broadcasts to this one."""
    def bfloat16(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.bfloat16; itself where it is already."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights; reads the data."""
    def bitwise_and(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input & other`, broadcast; integers and bools only."""
    def bitwise_and_(self, other: Tensor | _Number) -> Self:
        """In-place form of `bitwise_and`."""
    def bitwise_left_shift(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input << other`, broadcast; shifting by more bits than there are (or fewer than none) gives 0."""
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Self:
        """In-place form of `bitwise_left_shift`."""
    def bitwise_not(self, *, out: Any = ...) -> Tensor:
        """`~input`: the complement of integers, the negation of bools."""
    def bitwise_not_(self) -> Self:
        """In-place form of `bitwise_not`."""
    def bitwise_or(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input | other`, broadcast; integers and bools only."""
    def bitwise_or_(self, other: Tensor | _Number) -> Self:
        """In-place form of `bitwise_or`."""
    def bitwise_right_shift(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input >> other`, broadcast, keeping the sign; shifting by more bits than there are leaves the sign."""
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Self:
        """In-place form of `bitwise_right_shift`."""
    def bitwise_xor(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input ^ other`, broadcast; integers and bools only."""
    def bitwise_xor_(self, other: Tensor | _Number) -> Self:
        """In-place form of `bitwise_xor`."""
    def bmm(self, mat2: Tensor, *, out: Any = ...) -> Tensor:
        """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    def bool(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.bool; itself where it is already."""
    def broadcast_to(self, *items: Any, **size: Any) -> Tensor:
        """`torch.broadcast_to`, whose sizes may be given one by one."""
    def byte(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.uint8; itself where it is already."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with Cauchy numbers, in place."""
    def ccol_indices(self) -> Tensor:
        """A part of a sparse column compressed tensor; RuntimeError for a dense one."""
    def cdouble(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.complex128; itself where it is already."""
    def ceil(self, *, out: Any = ...) -> Tensor:
        """Rounded up."""
    def ceil_(self) -> Self:
        """In-place form of `ceil`."""
    def cfloat(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.complex64; itself where it is already."""
    def chalf(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.complex32; itself where it is already."""
    def char(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.int8; itself where it is already."""
    def cholesky(self, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """The Cholesky factor of positive-definite matrices."""
    def cholesky_inverse(self, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """The inverse of A from its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """X of A X = B from the Cholesky factor of A; shapes (..., n, k) and (..., n, n)."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """At most `chunks` parts of equal size along a dimension."""
    def clamp(self, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ..., *, out: Any = ...) -> Tensor:
        """Each element, but at least `min` and at most `max` (numbers or tensors); `max` wins if they cross."""
    def clamp_(self, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ...) -> Self:
        """In-place form of `clamp`."""
    def clamp_max(self, max: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """Each element, but at most `max`."""
    def clamp_max_(self, max: Tensor | _Number) -> Self:
        """In-place form of `clamp_max`."""
    def clamp_min(self, min: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """Each element, but at least `min`."""
    def clamp_min_(self, min: Tensor | _Number) -> Self:
        """In-place form of `clamp_min`."""
    def clip(self, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ..., *, out: Any = ...) -> Tensor:
        """Each element, but at least `min` and at most `max` (numbers or tensors); `max` wins if they cross."""
    def clip_(self, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ...) -> Self:
        """In-place form of `clamp`."""
    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """A copy with its own memory; gradients flow through it."""
    def coalesce(self) -> Tensor:
        """A part of a sparse coordinate tensor; RuntimeError for a dense one."""
    def col_indices(self) -> Tensor:
        """A part of a sparse row compressed tensor; RuntimeError for a dense one."""
    def conj(self) -> Tensor:
        """The complex conjugate as a view: writes to one show in the other. A real tensor is returned itself."""
    def conj_physical(self, *, _out: Any = ...) -> Tensor:
        """The complex conjugate, in memory of its own; a real tensor is returned itself."""
    def conj_physical_(self) -> Self:
        """In-place form of `_conj_physical_here`."""
    def const_data_ptr(self) -> _int:
        """`data_ptr`."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """The tensor in the order of a memory format; itself where it is in that order."""
    def copy_(self, other: Any, non_blocking: _bool = ...) -> Self:
        """Copy the elements of `other`, broadcast and converted, into this tensor."""
    def copysign(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """The magnitude of `input` with the sign of `other`, broadcast; the sign of -0.0 counts."""
    def copysign_(self, other: Tensor | _Number) -> Self:
        """In-place form of `copysign`."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables (rows) over observations (columns)."""
    def cos(self, *, out: Any = ...) -> Tensor:
        """The cosine."""
    def cos_(self) -> Self:
        """In-place form of `cos`."""
    def cosh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Self:
        """In-place form of `cosh`."""
    def count_nonzero(self, dim: Any = ..., *more: _int, **axis: Any) -> Tensor:
        """`torch.count_nonzero`, whose dimensions may be given one by one."""
    def cov(self, *, correction: Any = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """The covariance matrix of variables (rows) over observations (columns), with weights."""
    def cpu(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor on the CPU."""
    def cross(self, other: Tensor, dim: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The cross product along a dimension, by default the first of size 3."""
    def crow_indices(self) -> Tensor:
        """A part of a sparse row compressed tensor; RuntimeError for a dense one."""
    def cuda(self, device: Any = ..., non_blocking: _bool = ..., memory_format: Any = ...) -> Tensor:
        """The tensor on a GPU."""
    def cummax(self, dim: Any, *, axis: Any = ..., out: Any = ...) -> return_types.cummax:
        """The running maximum along a dimension, and where it is."""
    def cummin(self, dim: Any, *, axis: Any = ..., out: Any = ...) -> return_types.cummin:
        """The running minimum along a dimension, and where it is."""
    def cumprod(self, dim: Any, *, dtype: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """The running product along a dimension; the gradient is exact where there are zeros."""
    def cumprod_(self, dim: Any, *, dtype: Any = ...) -> Self:
        """In-place form of `cumprod`."""
    def cumsum(self, dim: Any, *, dtype: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """The running sum along a dimension; integers add up in int64."""
    def cumsum_(self, dim: Any, *, dtype: Any = ...) -> Self:
        """In-place form of `cumsum`."""
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Any) -> None: ...
    def data_ptr(self) -> _int:
        """Where the tensor begins in memory: equal for tensors that begin at the same place of the same memory."""
    def deg2rad(self, *, out: Any = ...) -> Tensor:
        """Degrees in radians."""
    def deg2rad_(self) -> Self:
        """In-place form of `deg2rad`."""
    def dense_dim(self) -> _int:
        """How many dimensions are dense: all."""
    def dequantize(self) -> Tensor:
        """The tensor in float32: jaxtorch has no quantised tensors."""
    def det(self, *, out: Any = ...) -> Tensor:
        """The determinant of square matrices; shapes (..., n, n) to (...)."""
    def detach(self) -> Tensor:
        """The same memory without its history."""
    def detach_(self) -> Self:
        """Forget this tensor's history, in place."""
    @property
    def device(self) -> _Device: ...
    def diag(self, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
        """A matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
    def diag_embed(self, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
        """The last dimension put on the diagonal of two new ones."""
    def diagflat(self, offset: Any = ...) -> Tensor:
        """A matrix with all elements on its diagonal."""
    def diagonal(self, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
        """The diagonal of two dimensions, as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
        """The input with a diagonal replaced."""
    def diff(self, n: Any = ..., dim: Any = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The n-th differences of neighbours along a dimension, with values put before and after it."""
    def digamma(self, *, out: Any = ...) -> Tensor:
        """The derivative of the logarithm of the gamma function."""
    def digamma_(self) -> Self:
        """In-place form of `digamma`."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """The dimensions from the largest stride to the smallest."""
    def dist(self, other: Tensor, p: _Number | None = ...) -> Tensor:
        """The p-norm of the difference of two tensors."""
    def div(self, other: Tensor | _Number, *, rounding_mode: _str | None = ..., out: Any = ...) -> Tensor:
        """`input / other`, broadcast: the true quotient, or rounded down ('floor') or towards zero ('trunc')."""
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None = ...) -> Self:
        """In-place form of `div`."""
    def divide(self, other: Tensor | _Number, *, rounding_mode: _str | None = ..., out: Any = ...) -> Tensor:
        """`input / other`, broadcast: the true quotient, or rounded down ('floor') or towards zero ('trunc')."""
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = ...) -> Self:
        """In-place form of `div`."""
    def dot(self, tensor: Tensor, *, out: Any = ...) -> Tensor:
        """The inner product of two vectors, without conjugation."""
    def double(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.float64; itself where it is already."""
    def dsplit(self, indices_or_sections: Any = ..., *more: _int, **named: Any) -> tuple[Tensor, ...]:
        """Equal parts of one dimension, or parts cut at indices."""
    @property
    def dtype(self) -> dtypes.dtype: ...
    def eig(self, **kwargs: Any) -> Any:
        """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.linalg.eig` returns complex tensors."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def eq(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input == other`, broadcast."""
    def eq_(self, other: Tensor | _Number) -> Self:
        """In-place form of `eq`."""
    def equal(self, other: Tensor) -> _bool:
        """Have both the same shape and equal elements? A Python bool; NaN equals nothing."""
    def erf(self, *, out: Any = ...) -> Tensor:
        """The error function."""
    def erf_(self) -> Self:
        """In-place form of `erf`."""
    def erfc(self, *, out: Any = ...) -> Tensor:
        """`1 - erf(input)`, exact for large inputs."""
    def erfc_(self) -> Self:
        """In-place form of `erfc`."""
    def erfinv(self, *, out: Any = ...) -> Tensor:
        """The inverse of `erf`."""
    def erfinv_(self) -> Self:
        """In-place form of `erfinv`."""
    def exp(self, *, out: Any = ...) -> Tensor:
        """The exponential."""
    def exp2(self, *, out: Any = ...) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Self:
        """In-place form of `exp2`."""
    def exp_(self) -> Self:
        """In-place form of `exp`."""
    def expand(self, *sizes: Any, size: Any = ..., implicit: _bool = ...) -> Tensor:
        """Dimensions of size 1 repeated to the given sizes, without memory; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Expanded to the other tensor's size."""
    def expm1(self, *, out: Any = ...) -> Tensor:
        """`exp(input) - 1`, exact near zero."""
    def expm1_(self) -> Self:
        """In-place form of `expm1`."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with exponential numbers of rate `lambd`, in place."""
    def fill_(self, value: Any) -> Self:
        """Fill with a number or a 0-dimensional tensor, in place."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = ...) -> Self:
        """Fill the main diagonal; `wrap` starts it again below in a tall matrix."""
    def fix(self, *, out: Any = ...) -> Tensor:
        """Rounded towards zero."""
    def fix_(self) -> Self:
        """In-place form of `trunc`."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """Dimensions start_dim to end_dim merged into one."""
    def flip(self, *dims_items: Any, dims: Any = ...) -> Tensor:
        """The order of the elements reversed along dimensions."""
    def fliplr(self) -> Tensor:
        """The order reversed along dimension 1."""
    def flipud(self) -> Tensor:
        """The order reversed along dimension 0."""
    def float(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.float32; itself where it is already."""
    def float_power(self, exponent: Any, *, _out: Any = ...) -> Tensor:
        """`input ** exponent` in double precision."""
    def float_power_(self, exponent: Any) -> Self:
        """In-place form of `float_power`; the tensor must be of double precision."""
    def floor(self, *, out: Any = ...) -> Tensor:
        """Rounded down."""
    def floor_(self) -> Self:
        """In-place form of `floor`."""
    def floor_divide(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input / other` rounded down, broadcast; integers by zero raise RuntimeError. Not differentiable."""
    def floor_divide_(self, other: Tensor | _Number) -> Self:
        """In-place form of `floor_divide`."""
    def fmax(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The larger of the two, broadcast; a number is preferred to NaN."""
    def fmin(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The smaller of the two, broadcast; a number is preferred to NaN."""
    def fmod(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """The rest of division rounded towards zero, of the dividend's sign. Integers by zero raise."""
    def fmod_(self, other: Tensor | _Number) -> Self:
        """In-place form of `fmod`."""
    def frac(self, *, out: Any = ...) -> Tensor:
        """What is left after rounding towards zero; its derivative is 1."""
    def frac_(self) -> Self:
        """In-place form of `frac`."""
    def frexp(self, *, out: Any = ...) -> return_types.frexp:
        """The mantissa in [0.5, 1) and the exponent (int32) of each number: `input = mantissa * 2^exponent`."""
    def gather(self, dim: Any, index: Tensor, *, sparse_grad: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """For each element of `index`, the input's element at its place but for `dim`, where the index says."""
    def gcd(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The greatest common divisor of integers, broadcast; negative at most where one is the smallest number of its type."""
    def gcd_(self, other: Tensor) -> Self:
        """In-place form of `gcd`."""
    def ge(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input >= other`, broadcast."""
    def ge_(self, other: Tensor | _Number) -> Self:
        """In-place form of `ge`."""
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Self:
        """Fill with the numbers of trials up to the first success of probability `p`, in place."""
    def geqrf(self, *, out: Any = ...) -> return_types.geqrf:
        """R above and on the diagonal, reflections below it, and their factors `tau`, as LAPACK has them."""
    def ger(self, vec2: Tensor, *, _out: Any = ...) -> Tensor:
        """The outer product of two vectors."""
    def get_device(self) -> _int:
        """The index of the device; -1 on the CPU."""
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_dtype(self) -> Any: ...
    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> Any: ...
    def greater(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input > other`, broadcast."""
    def greater_(self, other: Tensor | _Number) -> Self:
        """In-place form of `gt`."""
    def greater_equal(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input >= other`, broadcast."""
    def greater_equal_(self, other: Tensor | _Number) -> Self:
        """In-place form of `ge`."""
    def gt(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input > other`, broadcast."""
    def gt_(self, other: Tensor | _Number) -> Self:
        """In-place form of `gt`."""
    def half(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.float16; itself where it is already."""
    def hardshrink(self, lambd: Any = ..., *, out: Any = ...) -> Tensor:
        """The input outside [-lambd, lambd], 0 inside."""
    def hash_tensor(self, dim: Any = ..., *, keepdim: _bool = ..., mode: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The exclusive or of the elements' bits over dimensions, as uint64: floats by their double precision pattern."""
    def heaviside(self, values: Tensor, *, out: Any = ...) -> Tensor:
        """0 below zero, `values` at zero, 1 above. Not differentiable."""
    def heaviside_(self, values: Tensor) -> Self:
        """In-place form of `heaviside`."""
    def histc(self, bins: Any = ..., min: _Number | None = ..., max: _Number | None = ..., *, out: Any = ...) -> Tensor:
        """Counts of elements in `bins` equal intervals from min to max (the data's where they are equal)."""
    def histogram(self, bins: Any = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., _out: Any = ...) -> return_types.histogram:
        """How much lies between the edges `bins`, or in so many equal intervals of `range`; and the edges."""
    def hsplit(self, indices_or_sections: Any = ..., *more: _int, **named: Any) -> tuple[Tensor, ...]:
        """Equal parts of one dimension, or parts cut at indices."""
    def hypot(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """`sqrt(input^2 + other^2)`, broadcast, without overflow in between."""
    def hypot_(self, other: Tensor) -> Self:
        """In-place form of `hypot`."""
    def i0(self, *, out: Any = ...) -> Tensor:
        """The modified Bessel function of the first kind, order 0."""
    def i0_(self) -> Self:
        """In-place form of `i0`."""
    def igamma(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The regularised lower incomplete gamma function of order `input`; not differentiable in the order."""
    def igamma_(self, other: Tensor) -> Self:
        """In-place form of `igamma`."""
    def igammac(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The regularised upper incomplete gamma function of order `input`; not differentiable in the order."""
    def igammac_(self, other: Tensor) -> Self:
        """In-place form of `igammac`."""
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index(self, positions: Any, dims: Any) -> Tensor:
        """Indexing by first-class dimensions, which are not there: whatever is given for one is none, and a TypeError."""
    def index_add(self, dim: Any, index: Tensor, source: Tensor, *, alpha: Tensor | _Number | None = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """The input with `alpha * source` added to the slices at the indices; repeated indices add up."""
    def index_add_(self, dim: Any, index: Tensor, source: Tensor, *, alpha: Tensor | _Number | None = ..., axis: Any = ...) -> Self:
        """In-place form of `index_add`."""
    def index_copy(self, dim: Any, index: Tensor, source: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The input with the slices at the indices replaced by those of `source`."""
    def index_copy_(self, dim: Any, index: Tensor, source: Tensor, *, axis: Any = ...) -> Self:
        """In-place form of `index_copy`."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """The input with the slices at the indices filled with a number or 0-d tensor."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Self:
        """In-place form of `index_fill`."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
        """A copy with `values` at the places that a tuple of index arrays names."""
    def index_put_(self, indices: Any, values: Any, accumulate: _bool = ...) -> Self:
        """Write `values` at the places a tuple of index arrays names; `accumulate` adds, repeated or not."""
    def index_reduce(self, dim: Any, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """The slices of `source` reduced ('prod', 'mean', 'amax', 'amin') into the input's at the indices."""
    def index_reduce_(self, dim: Any, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ...) -> Self:
        """In-place form of `index_reduce`."""
    def index_select(self, dim: Any, index: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The slices of a dimension at the indices of a 1-d tensor."""
    def indices(self) -> Tensor:
        """A part of a sparse coordinate tensor; RuntimeError for a dense one."""
    def inner(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The inner product over the last dimension of both; the plain product where one is a scalar."""
    def int(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.int32; itself where it is already."""
    def int_repr(self, **kwargs: Any) -> Tensor:
        """NotImplementedError: Could not run 'aten::int_repr' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def inverse(self, *, out: Any = ...) -> Tensor:
        """The inverse of square matrices; LinAlgError where they are singular."""
    def ipu(self, **kwargs: Any) -> Tensor:
        """RuntimeError: PyTorch is not linked with support for ipu devices."""
    def is_coalesced(self) -> _bool:
        """A part of a sparse coordinate tensor; RuntimeError for a dense one."""
    def is_complex(self) -> _bool:
        """Is the element type complex?"""
    def is_conj(self) -> _bool:
        """Is the tensor a conjugating view of its memory?"""
    def is_contiguous(self, memory_format: Any = ...) -> _bool:
        """Does the layout follow the order of `memory_format` (row-major by default)?"""
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    def is_distributed(self) -> _bool:
        """False, as in PyTorch."""
    def is_floating_point(self) -> _bool:
        """Is the element type a floating-point one?"""
    @property
    def is_hpu(self) -> _bool: ...
    def is_inference(self) -> _bool:
        """Was the tensor made in inference mode?"""
    @property
    def is_ipu(self) -> _bool: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def is_maia(self) -> _bool: ...
    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_mtia(self) -> _bool: ...
    def is_neg(self) -> _bool:
        """Is the tensor a negating view of its memory? The imaginary part of a conjugating view is one."""
    @property
    def is_nested(self) -> _bool: ...
    def is_nonzero(self) -> _bool:
        """Is a tensor of one element not zero?"""
    def is_pinned(self, device: Any = ...) -> _bool:
        """Always False: XLA manages host memory for transfers itself."""
    @property
    def is_quantized(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Do the tensors have the same shape?"""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Do both tensors view the same memory in the same way?"""
    def is_shared(self) -> _bool:
        """Is the memory shared with other processes, after `share_memory_`? Tensors on a GPU always say True, as in PyTorch."""
    def is_signed(self) -> _bool:
        """Can the element type hold negative numbers?"""
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_vulkan(self) -> _bool: ...
    @property
    def is_xla(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    def isclose(self, other: Tensor, rtol: Any = ..., atol: Any = ..., equal_nan: _bool = ...) -> Tensor:
        """Is `|input - other| <= atol + rtol * |other|`? Both must have one element type."""
    def isfinite(self) -> Tensor:
        """Is the element neither infinite nor NaN?"""
    def isinf(self) -> Tensor:
        """Is the element (or either part of it) infinite?"""
    def isnan(self) -> Tensor:
        """Is the element (or either part of it) NaN?"""
    def isneginf(self, *, out: Any = ...) -> Tensor:
        """Is the element negative infinity? Complex tensors are refused."""
    def isposinf(self, *, out: Any = ...) -> Tensor:
        """Is the element positive infinity? Complex tensors are refused."""
    def isreal(self) -> Tensor:
        """Has the element no imaginary part?"""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signal whose short-time transform is nearest; shapes (..., frequencies, frames) to (..., length)."""
    def item(self) -> _int | _float | _bool:
        """The single element as a Python number."""
    @property
    def itemsize(self) -> _int: ...
    def jax(self) -> Any:
        """The content as a `jax.Array`, uncopied where JAX made it, without autograd history."""
    def kron(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The Kronecker product."""
    def kthvalue(self, k: Any, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and its index."""
    @property
    def layout(self) -> Any: ...
    def lcm(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The least common multiple of integers, broadcast; it wraps where the type does not hold it."""
    def lcm_(self, other: Tensor) -> Self:
        """In-place form of `lcm`."""
    def ldexp(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """`input * 2^other`, broadcast."""
    def ldexp_(self, other: Tensor) -> Self:
        """In-place form of `ldexp`."""
    def le(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input <= other`, broadcast."""
    def le_(self, other: Tensor | _Number) -> Self:
        """In-place form of `le`."""
    def lerp(self, end: Tensor, weight: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input + weight * (end - input)`; all of one element type."""
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Self:
        """In-place form of `lerp`."""
    def less(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input < other`, broadcast."""
    def less_(self, other: Tensor | _Number) -> Self:
        """In-place form of `lt`."""
    def less_equal(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input <= other`, broadcast."""
    def less_equal_(self, other: Tensor | _Number) -> Self:
        """In-place form of `le`."""
    def lgamma(self, *, out: Any = ...) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """In-place form of `lgamma`."""
    def log(self, *, out: Any = ...) -> Tensor:
        """The natural logarithm."""
    def log10(self, *, out: Any = ...) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Self:
        """In-place form of `log10`."""
    def log1p(self, *, out: Any = ...) -> Tensor:
        """`log(1 + input)`, exact near zero."""
    def log1p_(self) -> Self:
        """In-place form of `log1p`."""
    def log2(self, *, out: Any = ...) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Self:
        """In-place form of `log2`."""
    def log_(self) -> Self:
        """In-place form of `log`."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with the exponentials of normal numbers, in place."""
    def log_softmax(self, dim: Any, dtype: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The logarithm of `softmax`, computed stably."""
    def logaddexp(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """`log(exp(input) + exp(other))`, broadcast, without overflow in between."""
    def logaddexp2(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """`log2(2^input + 2^other)`, broadcast, without overflow in between."""
    def logcumsumexp(self, dim: Any, *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The logarithm of the running sum of exponentials along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN where it is negative."""
    def logical_and(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """Are both elements nonzero? Broadcast."""
    def logical_and_(self, other: Tensor) -> Self:
        """In-place form of `logical_and`; autograd takes no notice of it."""
    def logical_not(self, *, out: Any = ...) -> Tensor:
        """Is the element zero?"""
    def logical_not_(self) -> Self:
        """In-place form of `logical_not`; autograd takes no notice of it: history stays, and a leaf may be written to."""
    def logical_or(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """Is either element nonzero? Broadcast."""
    def logical_or_(self, other: Tensor) -> Self:
        """In-place form of `logical_or`; autograd takes no notice of it."""
    def logical_xor(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """Is exactly one of the elements nonzero? Broadcast."""
    def logical_xor_(self, other: Tensor) -> Self:
        """In-place form of `logical_xor`; autograd takes no notice of it."""
    def logit(self, eps: Any = ..., *, out: Any = ...) -> Tensor:
        """`log(input / (1 - input))`, of the input clamped to [eps, 1 - eps] where eps is given."""
    def logit_(self, eps: Any = ...) -> Self:
        """In-place form of `logit`."""
    def logsumexp(self, dim: Any, keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """`log(sum(exp(input)))` over dimensions, without overflow; integers become floating point."""
    def long(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.int64; itself where it is already."""
    def lstsq(self, **kwargs: Any) -> return_types.linalg_lstsq:
        """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed."""
    def lt(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input < other`, broadcast."""
    def lt_(self, other: Tensor | _Number) -> Self:
        """In-place form of `lt`."""
    def lu(self, pivot: _bool = ..., get_infos: _bool = ..., _out: Any = ...) -> tuple[Tensor, ...]:
        """L and U in one matrix, and the row swaps counted from 1; with `get_infos`, also the codes of `lu_factor_ex`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = ...) -> Tensor:
        """X of A X = B from what `lu_factor` answers."""
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Self:
        """Replace each element by `callable(element, other, third)`."""
    def map_(self, tensor: Tensor, callable: Any) -> Self:
        """Replace each element by `callable(element, other)`, the other from a tensor that broadcasts to this one."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """A copy with `value`, a number or 0-d tensor, where the mask holds."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """In-place form of `masked_fill`."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy with the elements of `source`, in order, at the places where the mask holds."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place form of `masked_scatter`."""
    def masked_select(self, mask: Tensor, *, _out: Any = ...) -> Tensor:
        """The elements where the mask holds, in one dimension."""
    def matmul(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The matrix product of two tensors: of vectors, matrices, or batches of matrices (broadcast)."""
    def matrix_exp(self) -> Tensor:
        """The exponential of square matrices."""
    def matrix_power(self, n: _int, *, out: Tensor | None = ...) -> Tensor:
        """A to an integer power; the inverse's where that is negative."""
    @overload
    def max(self, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.max: ...
    @overload
    def max(self, *, dim: _int = ..., keepdim: _bool = ..., out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.max: ...
    def maximum(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The larger of the two, broadcast; NaN where either is NaN."""
    def mean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The mean over dimensions (an int, a tuple, None for all) of floating-point or complex numbers."""
    @overload
    def median(self, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def median(self, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.median: ...
    @overload
    def median(self, *, axis: _int, keepdim: _bool = ..., out: Any = ..., keepdims: Any = ...) -> return_types.median: ...
    @overload
    def min(self, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.min: ...
    @overload
    def min(self, *, dim: _int = ..., keepdim: _bool = ..., out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.min: ...
    def minimum(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The smaller of the two, broadcast; NaN where either is NaN."""
    def mm(self, mat2: Tensor, *, out: Any = ...) -> Tensor:
        """The product of two matrices, (n, m) and (m, p)."""
    def mode(self, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.mode:
        """The most frequent element along a dimension (of several the smallest), and its last index."""
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor:
        """What `Module.load_state_dict` puts in this place: `other` if it is assigned, else this tensor with its content; detached."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """The dimensions at `source` moved to `destination`; the others keep their order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """The dimensions at `source` moved to `destination`; the others keep their order."""
    def msort(self, *, out: Any = ...) -> Tensor:
        """The elements in order along the first dimension."""
    def mtia(self, **kwargs: Any) -> Tensor:
        """AssertionError: Torch not compiled with MTIA enabled."""
    def mul(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input * other`, broadcast."""
    def mul_(self, other: Tensor | _Number) -> Self:
        """In-place form of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., _out: Any = ...) -> Tensor:
        """Indices drawn by weight along the last dimension: (n,) or (rows, n) -> int64 with n replaced by `num_samples`."""
    def multiply(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input * other`, broadcast."""
    def multiply_(self, other: Tensor | _Number) -> Self:
        """In-place form of `mul`."""
    def mv(self, vec: Tensor, *, out: Any = ...) -> Tensor:
        """The product of a matrix (n, m) and a vector (m)."""
    def mvlgamma(self, p: Any, *, out: Any = ...) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: Any) -> Self:
        """In-place form of `mvlgamma`."""
    @property
    def name(self) -> None: ...
    def nan_to_num(self, nan: Any = ..., posinf: Any = ..., neginf: Any = ..., *, out: Any = ...) -> Tensor:
        """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the outermost finite numbers)."""
    def nan_to_num_(self, nan: Any = ..., posinf: Any = ..., neginf: Any = ...) -> Self:
        """In-place form of `nan_to_num`."""
    def nanmean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The mean of what is not NaN; no integers, no complex numbers."""
    @overload
    def nanmedian(self, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self, *, axis: _int, keepdim: _bool = ..., out: Any = ..., keepdims: Any = ...) -> return_types.nanmedian: ...
    def nanquantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
        """The q-quantiles of what is not NaN, of all elements or along a dimension."""
    def nansum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The sum with NaN counted as zero; no complex inputs."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """`length` entries of a dimension from `start` on."""
    def narrow_copy(self, *args: Any, _out: Any = ..., **kwargs: Any) -> Tensor:
        """A copy of what `narrow` shows, contiguous and with its own memory."""
    @property
    def nbytes(self) -> _int: ...
    @property
    def ndim(self) -> _int: ...
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input != other`, broadcast."""
    def ne_(self, other: Tensor | _Number) -> Self:
        """In-place form of `ne`."""
    def neg(self, *, out: Any = ...) -> Tensor:
        """`-input`; bools are refused."""
    def neg_(self) -> Self:
        """In-place form of `neg`."""
    def negative(self, *, out: Any = ...) -> Tensor:
        """`-input`; bools are refused."""
    def negative_(self) -> Self:
        """In-place form of `neg`."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, device: Any = ..., **named: Any) -> Tensor:
        """A tensor of this one's type, made as by the old constructor."""
    def new_empty(self, *items: Any, size: Any = ..., dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given size with this one's type and device; filled with 0."""
    def new_empty_strided(self, size: Any, stride: Any, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
        """`empty_strided` with this tensor's type and device."""
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given size with this one's type and device, filled with `fill_value`."""
    def new_ones(self, *items: Any, size: Any = ..., dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given size with this one's type and device; filled with 1."""
    def new_tensor(self, data: Any, *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
        """A copy of `data` with this tensor's type and device."""
    def new_zeros(self, *items: Any, size: Any = ..., dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given size with this one's type and device; filled with 0."""
    def nextafter(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The floating-point number after `input` in the direction of `other`."""
    def nextafter_(self, other: Tensor) -> Self:
        """In-place form of `nextafter`."""
    @overload
    def nonzero(self, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: Any, fill_value: Any = ..., out: Any = ...) -> Tensor:
        """The indices of the first `size` elements that are not zero, as rows (size, dimensions); missing ones hold `fill_value`."""
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., _out: Any = ..., dtype: Any = ...) -> Tensor:
        """The p-norm over dimensions (all by default); 'fro' is the 2-norm, 'nuc' the sum of singular values."""
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with normal numbers, in place."""
    def not_equal(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input != other`, broadcast."""
    def not_equal_(self, other: Tensor | _Number) -> Self:
        """In-place form of `ne`."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = ...) -> np.ndarray:
        """A NumPy array that shares this tensor's memory (on the CPU): writing one changes the other."""
    def orgqr(self, tau: Tensor, *, out: Any = ...) -> Tensor:
        """The first columns of the product of the reflections that `geqrf` keeps; shapes (..., m, n), (..., k) to (..., m, n)."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor:
        """The product of `other` with the square Q of the reflections that `geqrf` keeps, or with its conjugate transpose."""
    def outer(self, vec2: Tensor, *, _out: Any = ...) -> Tensor:
        """The outer product of two vectors."""
    @property
    def output_nr(self) -> _int: ...
    def permute(self, *dims_items: Any, dims: Any = ...) -> Tensor:
        """The dimensions in the order `dims`."""
    def pin_memory(self, device: Any = ...) -> Tensor:
        """The tensor itself: XLA manages host memory for transfers itself."""
    def pinverse(self, rcond: Any = ...) -> Tensor:
        """The pseudo-inverse; singular values up to `rcond` times the largest count as 0."""
    def polygamma(self, n: Any) -> Tensor:
        """The n-th derivative of `digamma`."""
    def polygamma_(self, n: Any) -> Self:
        """In-place form of `_polygamma`."""
    def positive(self) -> Tensor:
        """The tensor itself; bools are refused."""
    def pow(self, exponent: Any, *, _out: Any = ...) -> Tensor:
        """`input ** exponent`, broadcast; integers to negative integer numbers raise RuntimeError."""
    def pow_(self, exponent: Any) -> Self:
        """In-place form of `pow`."""
    def prelu(self, weight: Tensor) -> Tensor:
        """The input where positive, `weight` times it elsewhere: one weight, or one a channel (dimension 1)."""
    def prod(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The product over one dimension or all; integers multiply in int64. Zeros have exact gradients."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """The input with the elements of `source` written (or added) at indices into the flattened input."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Self:
        """In-place form of `put`."""
    def q_per_channel_axis(self, **kwargs: Any) -> Any:
        """NotImplementedError: Could not run 'aten::q_per_channel_axis' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def q_per_channel_scales(self, **kwargs: Any) -> Any:
        """NotImplementedError: Could not run 'aten::q_per_channel_scales' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def q_per_channel_zero_points(self, **kwargs: Any) -> Any:
        """NotImplementedError: Could not run 'aten::q_per_channel_zero_points' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def q_scale(self, **kwargs: Any) -> Any:
        """NotImplementedError: Could not run 'aten::q_scale' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def q_zero_point(self, **kwargs: Any) -> _int:
        """NotImplementedError: Could not run 'aten::q_zero_point' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def qr(self, some: _bool = ..., *, out: Any = ...) -> return_types.qr:
        """Q and R of matrices; all of Q with `some=False`."""
    def qscheme(self, **kwargs: Any) -> Any:
        """NotImplementedError: Could not run 'aten::qscheme' with arguments from the 'CPU' backend: the tensor is not quantised."""
    def quantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
        """The q-quantiles of all elements or along a dimension; a dimension for q comes first."""
    def rad2deg(self, *, out: Any = ...) -> Tensor:
        """Radians in degrees."""
    def rad2deg_(self) -> Self:
        """In-place form of `rad2deg`."""
    def random_(self, *args: Any, generator: Generator | None = ..., **kwargs: Any) -> Self:
        """Fill with whole numbers, in place: `random_()`, `random_(to)` or `random_(from, to)`."""
    def ravel(self) -> Tensor:
        """All elements in one dimension."""
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, *, out: Any = ...) -> Tensor:
        """`1 / input`; integers give floating-point results."""
    def reciprocal_(self) -> Self:
        """In-place form of `reciprocal`."""
    def record_stream(self, stream: Any) -> None:
        """Nothing to do: XLA knows which streams use a buffer."""
    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` when this tensor's gradient is computed; what it returns, if anything, replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook(tensor)` after a gradient has been added to this leaf's `.grad`."""
    def reinforce(self, reward: Any) -> Any:
        """RuntimeError: PyTorch has removed it."""
    def relu(self) -> Tensor:
        """max(input, 0), elementwise."""
    def relu_(self) -> Self:
        """In-place form of `relu`."""
    def remainder(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """The rest of division rounded down; it has the divisor's sign. Integers by zero raise RuntimeError."""
    def remainder_(self, other: Tensor | _Number) -> Self:
        """In-place form of `remainder`."""
    def renorm(self, p: _Number | None, dim: Any, maxnorm: _Number | None, *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The slices along a dimension, those of a p-norm above `maxnorm` scaled down to it."""
    def renorm_(self, p: _Number | None, dim: Any, maxnorm: _Number | None, *, axis: Any = ...) -> Self:
        """In-place form of `renorm`."""
    def repeat(self, *repeats_items: Any, repeats: Any = ...) -> Tensor:
        """The tensor repeated so often along each dimension; more repeats than dimensions add leading ones."""
    def repeat_interleave(self, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Each element (or slice of a dimension) repeated so many times, one number for all or one for each."""
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Self:
        """Ask for a gradient, or stop asking; leaves only."""
    def reshape(self, *shape: Any, **kwargs: Any) -> Tensor:
        """The same elements in another shape: a view where the strides allow, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The elements in the other tensor's shape."""
    def resize(self, *sizes: Any) -> Tensor:
        """`view`, with a warning: use `resize_` or `view`."""
    def resize_(self, *items: Any, size: Any = ..., memory_format: Any = ...) -> Self:
        """Another shape on the same memory, which grows where it is too small. New elements are 0 here, undefined in PyTorch."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """`view_as`, with a warning: use `resize_as_` or `view_as`."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Self:
        """`resize_` to the shape of another tensor."""
    def resize_as_sparse_(self, *args: Any, **kwargs: Any) -> Self:
        """Of sparse tensors; NotImplementedError for a dense one."""
    def resolve_conj(self) -> Tensor:
        """A copy of a conjugating view; any other tensor itself."""
    def resolve_neg(self) -> Tensor:
        """A copy of a negating view; any other tensor itself."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad` during backward."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: Any, dims: Any = ...) -> Tensor:
        """The elements moved along dimensions, those that fall off the end coming back at the front."""
    def rot90(self, k: _int = ..., dims: Any = ...) -> Tensor:
        """The plane of two dimensions turned by 90 degrees, `k` times, from the first towards the second."""
    def round(self, *, decimals: Any = ..., out: Any = ...) -> Tensor:
        """Rounded to that many decimals (0); halves go to the even neighbour. Integers take no `decimals`."""
    def round_(self, *, decimals: Any = ...) -> Self:
        """In-place form of `round`."""
    def row_indices(self) -> Tensor:
        """A part of a sparse column compressed tensor; RuntimeError for a dense one."""
    def rsqrt(self, *, out: Any = ...) -> Tensor:
        """`1 / sqrt(input)`."""
    def rsqrt_(self) -> Self:
        """In-place form of `rsqrt`."""
    def scatter(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: Any = ..., out: Tensor | None = ...) -> Tensor:
        """The input with elements of `src` (or a number) written where `index` says along a dimension."""
    def scatter_(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: Any = ...) -> Self:
        """In-place form of `scatter`."""
    def scatter_add(self, dim: Any, index: Tensor, src: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The input with elements of `src` added where `index` says along a dimension."""
    def scatter_add_(self, dim: Any, index: Tensor, src: Tensor, *, axis: Any = ...) -> Self:
        """In-place form of `scatter_add`."""
    def scatter_reduce(self, dim: Any, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
        """Elements of `src` reduced ('sum', 'prod', 'mean', 'amax', 'amin') into where `index` says."""
    def scatter_reduce_(self, dim: Any, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ...) -> Self:
        """In-place form of `scatter_reduce`."""
    def select(self, dim: Any, index: Tensor | _Number | None, *, axis: Any = ...) -> Tensor:
        """The slice at one index of a dimension, which is dropped."""
    def select_scatter(self, src: Tensor, dim: Any, index: Any, *, axis: Any = ...) -> Tensor:
        """The input with one slice of a dimension replaced."""
    def set_(self, source: Any = ..., storage_offset: Any = ..., size: Any = ..., stride: Any = ...) -> Self:
        """Make the tensor use other memory: that of a tensor, or of a storage with an offset, size and strides in elements."""
    def sgn(self, *, out: Any = ...) -> Tensor:
        """The sign of a real number; of a complex one, the unit circle's point in its direction (0 for 0)."""
    def sgn_(self) -> Self:
        """In-place form of `sgn`."""
    @property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Self:
        """Move the tensor, and all on its storage, into memory shared with processes that are started from here on, by fork or with the tensor among their arguments; a no-op if it is there."""
    def short(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as torch.int16; itself where it is already."""
    def sigmoid(self, *, out: Any = ...) -> Tensor:
        """`1 / (1 + exp(-input))`."""
    def sigmoid_(self) -> Self:
        """In-place form of `sigmoid`."""
    def sign(self, *, out: Any = ...) -> Tensor:
        """-1, 0 or 1; NaN gives 0. Complex tensors are refused, `sgn` takes them."""
    def sign_(self) -> Self:
        """In-place form of `sign`."""
    def signbit(self, *, out: Any = ...) -> Tensor:
        """Is the sign bit set? True for -0.0; complex tensors are refused."""
    def sin(self, *, out: Any = ...) -> Tensor:
        """The sine."""
    def sin_(self) -> Self:
        """In-place form of `sin`."""
    def sinc(self, *, out: Any = ...) -> Tensor:
        """`sin(pi input) / (pi input)`, 1 at zero."""
    def sinc_(self) -> Self:
        """In-place form of `sinc`."""
    def sinh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Self:
        """In-place form of `sinh`."""
    @overload
    def size(self, dim: None = ...) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    def slice_inverse(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """This tensor's memory with the size, the strides and the offset of `src`, of which it is a slice; nothing else is looked at."""
    def slice_scatter(self, src: Tensor, dim: Any = ..., start: Any = ..., end: Any = ..., step: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
        """The input with `[start:end:step]` of a dimension replaced."""
    def slogdet(self, *, out: Any = ...) -> return_types.slogdet:
        """The sign and the logarithm of the absolute value of the determinant."""
    def smm(self, mat2: Tensor) -> Tensor:
        """A sparse matrix times a dense one, as a COO tensor."""
    def softmax(self, dim: Any, dtype: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
        """exp(input), normalised to sum 1 along `dim`; `dtype` converts the input first."""
    def solve(self, **kwargs: Any) -> Tensor:
        """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed."""
    def sort(self, dim: Any = ..., descending: _bool = ..., *, stable: _bool | None = ..., axis: Any = ..., out: Any = ...) -> return_types.sort:
        """The elements in order along a dimension, and their indices; always stable. NaN counts as largest."""
    def sparse_dim(self) -> _int:
        """How many dimensions are sparse: 0."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the places of a sparse tensor, as a tensor of its layout."""
    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Self:
        """Of sparse tensors; NotImplementedError for a dense one."""
    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Self:
        """Of sparse tensors; NotImplementedError for a dense one."""
    def split(self, split_size: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """`torch.split`, whose second parameter has another name there."""
    def split_with_sizes(self, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """Parts of the given sizes along a dimension."""
    def sqrt(self, *, out: Any = ...) -> Tensor:
        """The square root; NaN for negative numbers."""
    def sqrt_(self) -> Self:
        """In-place form of `sqrt`."""
    def square(self, *, out: Any = ...) -> Tensor:
        """`input * input`; bools count as integers."""
    def square_(self) -> Self:
        """In-place form of `square`."""
    def squeeze(self, dim: Any = ..., *more: _int, **axis: Any) -> Tensor:
        """`torch.squeeze`, whose dimensions may be given one by one."""
    def squeeze_(self, dim: Any = ..., *more: _int) -> Self:
        """In-place form of `squeeze`."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """beta self + alpha mat1 @ mat2 as a COO tensor."""
    def std(self, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., _out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The standard deviation over dimensions (an int, a tuple, None for all), divided by `n - correction`."""
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """The spectra of windows of a signal `hop_length` apart; shapes (T) or (B, T) to (..., frequencies, frames)."""
    def storage(self) -> Any:
        """The memory behind the tensor as elements of its type; deprecated, as in PyTorch."""
    def storage_offset(self) -> _int:
        """Where the tensor begins in its storage, in elements."""
    def storage_type(self) -> Any:
        """The class of the storage, such as torch.FloatStorage."""
    @overload
    def stride(self, dim: None = ...) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def sub(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`input - alpha * other`, broadcast; bools are refused."""
    def sub_(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `sub`."""
    def subtract(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
        """`input - alpha * other`, broadcast; bools are refused."""
    def subtract_(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ...) -> Self:
        """In-place form of `sub`."""
    def sum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
        """The sum over dimensions (an int, a tuple, None for all); integers add up in int64."""
    def sum_to_size(self, *sizes: Any, size: Any = ...) -> Tensor:
        """The sum over the dimensions that broadcasting from `size` would have added or stretched; without any, the tensor itself."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ..., *, _out: Any = ...) -> return_types.svd:
        """U, the singular values, and V, of A = U diag(S) V^H; zeros for U and V unless `compute_uv`."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two dimensions exchanged, as `transpose`."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """In-place form of `swapaxes`."""
    def swapdims(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: Any, dim1: Any) -> Self:
        """In-place form of `transpose`."""
    def symeig(self, **kwargs: Any) -> Any:
        """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.linalg.eigh` reads the lower triangle by default, not the upper one."""
    def t(self) -> Tensor:
        """The transposed matrix; tensors of fewer dimensions as they are."""
    def t_(self) -> Self:
        """In-place form of `t`."""
    def take(self, index: Tensor, *, out: Any = ...) -> Tensor:
        """The elements at indices into the flattened input."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """`gather` with the other dimensions broadcast; of the flattened input if no dimension is given."""
    def tan(self, *, out: Any = ...) -> Tensor:
        """The tangent."""
    def tan_(self) -> Self:
        """In-place form of `tan`."""
    def tanh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Self:
        """In-place form of `tanh`."""
    def tensor_split(self, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Any = ..., sections: Any = ..., tensor_indices_or_sections: Any = ...) -> tuple[Tensor, ...]:
        """Parts of a dimension, cut at indices or into so many sections."""
    def tile(self, *items: Any, dims: Any = ...) -> Tensor:
        """As `repeat`, but fewer repeats than dimensions are for the last ones."""
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """The tensor with another element type or on another device; itself where nothing changes (unless `copy`)."""
    def to_dense(self, dtype: Any = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """The strided tensor; itself if it is one. A sparse tensor's gradient is always at its own places (`masked_grad`)."""
    def to_mkldnn(self, **kwargs: Any) -> Tensor:
        """NotImplementedError: Tensor.to_mkldnn(): jaxtorch has no MKL-DNN layout; XLA lays tensors out itself."""
    def to_padded_tensor(self, **kwargs: Any) -> Tensor:
        """NotImplementedError: Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend: the tensor is not nested."""
    def to_sparse(self, *args: Any, sparse_dim: _int | None = ..., layout: Any = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Tensor:
        """The elements that are not zero as a sparse tensor of a layout, COO by default."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor:
        """As a BSC tensor: compressed columns of blocks of the size `blocksize`."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor:
        """As a BSR tensor: compressed rows of blocks of the size `blocksize`."""
    def to_sparse_coo(self) -> Tensor:
        """As a COO tensor."""
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor:
        """As a CSC tensor: compressed columns."""
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor:
        """As a CSR tensor: compressed rows."""
    def tolist(self) -> list[Any]:
        """The elements as nested Python lists; a number for a 0-dimensional tensor."""
    def topk(self, k: Any, dim: Any = ..., largest: _bool = ..., sorted: _bool = ..., *, axis: Any = ..., out: Any = ...) -> return_types.topk:
        """The k largest (or smallest) elements along a dimension, in order, with indices. NaN is largest."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: Any, dim1: Any) -> Self:
        """In-place form of `transpose`."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> return_types.triangular_solve:
        """X of A X = B with triangular A, and a copy of A."""
    def tril(self, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
        """The elements on and below a diagonal of the last two dimensions; zeros elsewhere."""
    def tril_(self, diagonal: Any = ...) -> Self:
        """In-place form of `tril`. Of several elements in one place, each that is to be zero clears it."""
    def triu(self, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
        """The elements on and above a diagonal of the last two dimensions; zeros elsewhere."""
    def triu_(self, diagonal: Any = ...) -> Self:
        """In-place form of `triu`. Of several elements in one place, each that is to be zero clears it."""
    def true_divide(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input / other`, broadcast; integers give floating-point results."""
    def true_divide_(self, other: Tensor | _Number) -> Self:
        """In-place form of `true_divide`."""
    def trunc(self, *, out: Any = ...) -> Tensor:
        """Rounded towards zero."""
    def trunc_(self) -> Self:
        """In-place form of `trunc`."""
    @overload
    def type(self, dtype: None = ..., non_blocking: _bool = ...) -> _str: ...
    @overload
    def type(self, dtype: Any, non_blocking: _bool = ..., **kwargs: Any) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the element type (and device) of another."""
    def unbind(self, dim: Any = ..., *, axis: Any = ...) -> tuple[Tensor, ...]:
        """All slices along a dimension, which is dropped."""
    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """One dimension split into several of the given sizes."""
    def unfold(self, dimension: Any, size: Any, step: Any) -> Tensor:
        """All windows of `size` entries along a dimension, `step` apart, as a new last dimension."""
    def uniform_(self, *args: _float, generator: Generator | None = ..., **kwargs: _float) -> Self:
        """Fill with uniform numbers in [from, to), in place; `from` is 0 and `to` is 1 unless given."""
    @overload
    def unique(self, sorted: _bool = ..., return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    def unsafe_chunk(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """`chunk` whose parts have memory of their own."""
    def unsafe_split(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """`split` whose parts have memory of their own."""
    def unsafe_split_with_sizes(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """`split_with_sizes` whose parts have memory of their own."""
    def unsqueeze(self, dim: Any, *, axis: Any = ...) -> Tensor:
        """With a dimension of size 1 at `dim`."""
    def unsqueeze_(self, dim: Any) -> Self:
        """In-place form of `unsqueeze`."""
    def untyped_storage(self) -> Any:
        """The memory behind the tensor, which its views share."""
    def values(self) -> Tensor:
        """A part of a sparse tensor; RuntimeError for a dense one."""
    def var(self, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., _out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The variance over dimensions (an int, a tuple, None for all), divided by `n - correction`."""
    def vdot(self, other: Tensor, *, out: Any = ...) -> Tensor:
        """The inner product of two vectors, the first conjugated."""
    def view(self, *shape: Any, dtype: Any = ..., size: Any = ...) -> Tensor:
        """The same elements in another shape (one size may be -1), or the same memory as another element type."""
    def view_as(self, other: Tensor) -> Tensor:
        """A view with the other tensor's shape."""
    @property
    def volatile(self) -> _bool: ...
    @volatile.setter
    def volatile(self, value: Any) -> None: ...
    def vsplit(self, indices_or_sections: Any = ..., *more: _int, **named: Any) -> tuple[Tensor, ...]:
        """Equal parts of one dimension, or parts cut at indices."""
    def where(self, condition: Tensor, other: Any) -> Tensor:
        """The tensor's elements where the condition holds, else those of `other`."""
    def xlogy(self, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
        """`input * log(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
    def xlogy_(self, other: Tensor | _Number) -> Self:
        """In-place form of `xlogy`."""
    def xpu(self, **kwargs: Any) -> Tensor:
        """AssertionError: Torch not compiled with XPU enabled."""
    def zero_(self) -> Self:
        """Fill with zeros, in place."""
