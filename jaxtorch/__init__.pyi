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

from . import return_types as return_types
from ._core.types.device import device as _Device
from ._core.types.dtypes import dtype as _dtype
from ._core.random.generator import Generator as Generator
from ._core.types.size import Size as Size
from ._core.tensor.tensor import Tensor as Tensor
from .cuda import AcceleratorError as AcceleratorError
from ._namespace.streams import Event as Event
from .testing._file_check import FileCheck as FileCheck
from .futures import Future as Future
from .amp.grad_scaler import GradScaler as GradScaler
from .cuda import OutOfMemoryError as OutOfMemoryError
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from ._tensor.storage_types import StorageBase as StorageBase
from ._namespace.streams import Stream as Stream
from ._namespace.symbols import SymBool as SymBool
from ._namespace.symbols import SymFloat as SymFloat
from ._namespace.symbols import SymInt as SymInt
from ._library.tags import Tag as Tag
from ._tensor.storage_types import TypedStorage as TypedStorage
from ._tensor.storage_types import UntypedStorage as UntypedStorage
from . import _C as _C
from . import __config__ as __config__
from . import __future__ as __future__
from .torch_version import __version__ as __version__
from ._private_names import _custom_ops as _custom_ops
from ._compile import _disable_dynamo as _disable_dynamo
from . import _dynamo as _dynamo
from ._quantized import _empty_affine_quantized as _empty_affine_quantized
from ._quantized import _empty_per_channel_affine_quantized as _empty_per_channel_affine_quantized
from . import _functorch as _functorch
from ._private_names import _guards as _guards
from . import _higher_order_ops as _higher_order_ops
from . import _inductor as _inductor
from . import _jit_internal as _jit_internal
from . import _logging as _logging
from ._quantized import _make_per_channel_quantized_tensor as _make_per_channel_quantized_tensor
from ._quantized import _make_per_tensor_quantized_tensor as _make_per_tensor_quantized_tensor
from ._private_names import _prims_common as _prims_common
from ._private_names.borrowed import _shape_as_tensor as _shape_as_tensor
from . import _subclasses as _subclasses
from ._private_names import _tensor_str as _tensor_str
from . import _utils as _utils
from ._private_names import _utils_internal as _utils_internal
from . import _vendor as _vendor
from ._private_names import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from .amp import autocast as autocast
from . import autograd as autograd
from . import backends as backends
from ._ops.types.constants import channels_last as channels_last
from ._ops.types.constants import channels_last_3d as channels_last_3d
from ._compile import compile as compile
from . import compiler as compiler
from ._namespace.rare import cond as cond
from ._ops.types.constants import contiguous_format as contiguous_format
from . import cpu as cpu
from . import cuda as cuda
from ._core.random.generator import default_generator as default_generator
from ._quantized import dequantize as dequantize
from ._core.types.device import device as device
from . import distributed as distributed
from . import distributions as distributions
from ._core.types.dtypes import dtype as dtype
from ._core.types.grad_mode import enable_grad as enable_grad
from ._core.run.log import explain_recompiles as explain_recompiles
from . import export as export
from . import fft as fft
from ._ops.types.typeinfo import finfo as finfo
from .jit import fork as fork
from . import func as func
from . import functional as functional
from .ao.quantization.fake_quantize import fused_moving_avg_obs_fake_quant as fused_moving_avg_obs_fake_quant
from . import futures as futures
from . import fx as fx
from ._namespace.small_functions import get_device_module as get_device_module
from ._core.random.generator import get_rng_state as get_rng_state
from . import hub as hub
from ._ops.types.typeinfo import iinfo as iinfo
from ._core.types.grad_mode import inference_mode as inference_mode
from . import info as info
from . import interop as interop
from ._ops.types.constants import jagged as jagged
from . import jit as jit
from . import library as library
from . import linalg as linalg
from .serialization import load as load
from . import masked as masked
from ._ops.types.constants import memory_format as memory_format
from . import monitor as monitor
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from ._core.types.grad_mode import no_grad as no_grad
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import package as package
from ._ops.types.constants import per_channel_affine as per_channel_affine
from ._ops.types.constants import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from ._ops.types.constants import per_channel_symmetric as per_channel_symmetric
from ._ops.types.constants import per_tensor_affine as per_tensor_affine
from ._ops.types.constants import per_tensor_symmetric as per_tensor_symmetric
from ._ops.types.constants import preserve_format as preserve_format
from . import profiler as profiler
from ._ops.types.constants import qscheme as qscheme
from ._quantized import quantize_per_channel as quantize_per_channel
from ._quantized import quantize_per_tensor as quantize_per_tensor
from ._quantized import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from . import quasirandom as quasirandom
from . import random as random
from . import serialization as serialization
from ._core.types.grad_mode import set_grad_enabled as set_grad_enabled
from . import signal as signal
from . import sparse as sparse
from ._ops.types.constants import sparse_bsc as sparse_bsc
from ._ops.types.constants import sparse_bsr as sparse_bsr
from .sparse._create import sparse_compressed_tensor as sparse_compressed_tensor
from ._ops.types.constants import sparse_coo as sparse_coo
from .sparse._create import sparse_coo_tensor as sparse_coo_tensor
from ._ops.types.constants import sparse_csc as sparse_csc
from ._ops.types.constants import sparse_csr as sparse_csr
from . import special as special
from . import storage as storage
from ._ops.types.constants import strided as strided
from ._namespace.symbols import sym_ite as sym_ite
from ._namespace.symbols import sym_max as sym_max
from ._namespace.symbols import sym_min as sym_min
from ._namespace.symbols import sym_sum as sym_sum
from . import testing as testing
from ._namespace.rare import to_dlpack as to_dlpack
# of another package
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from .jit import wait as wait
from ._namespace.rare import while_loop as while_loop
from . import xpu as xpu

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

BFloat16Storage: Any
class BFloat16Tensor(Tensor): ...
BoolStorage: Any
class BoolTensor(Tensor): ...
ByteStorage: Any
class ByteTensor(Tensor): ...
CharStorage: Any
class CharTensor(Tensor): ...
ComplexDoubleStorage: Any
ComplexFloatStorage: Any
DeviceObjType: Any
DisableTorchFunction: Any
DisableTorchFunctionSubclass: Any
DoubleStorage: Any
class DoubleTensor(Tensor): ...
FloatStorage: Any
class FloatTensor(Tensor): ...
HalfStorage: Any
class HalfTensor(Tensor): ...
IntStorage: Any
class IntTensor(Tensor): ...
LongStorage: Any
class LongTensor(Tensor): ...
PyTorchFileReader: Any
PyTorchFileWriter: Any
QInt32Storage: Any
QInt8Storage: Any
QUInt2x4Storage: Any
QUInt4x2Storage: Any
QUInt8Storage: Any
ShortStorage: Any
class ShortTensor(Tensor): ...
TensorType: Any
def _assert(condition: Any, message: Any) -> None:
    """AssertionError unless the condition, which may be a tensor, is true."""
def _assert_async(condition: Any, message: _str = ...) -> None:
    """RuntimeError unless the one element is not zero. Unlike in PyTorch it waits for the value."""
def _check(cond: Any, message: Any = ...) -> None:
    """RuntimeError unless the condition holds."""
def _check_index(cond: Any, message: Any = ...) -> None:
    """IndexError unless the condition holds."""
def _check_is_size(i: Any, message: Any = ..., *, max: Any = ...) -> None:
    """RuntimeError unless the number is not negative, nor larger than `max`."""
def _check_not_implemented(cond: Any, message: Any = ...) -> None:
    """NotImplementedError unless the condition holds."""
def _check_tensor_all(cond: Any, message: Any = ...) -> None:
    """RuntimeError unless all elements are true."""
def _check_tensor_all_with(error: Any, cond: Any, message: Any = ...) -> None:
    """An error of the given kind unless all elements are true."""
def _check_type(cond: Any, message: Any = ...) -> None:
    """TypeError unless the condition holds."""
def _check_value(cond: Any, message: Any = ...) -> None:
    """ValueError unless the condition holds."""
def _check_with(error: Any, cond: Any, message: Callable[[], Any] | _str | None) -> None:
    """An error of the given kind unless the condition holds. message: text, or a function that makes it."""
def _choose_qparams_per_tensor(input: Tensor, reduce_range: _bool = ...) -> tuple[_float, _int]:
    """(scale, zero_point) of 8 bits (of 7 with `reduce_range`) for a tensor's values."""
def _convert_indices_from_coo_to_csr(self: Tensor, size: _int, *, out_int32: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """(size + 1,) where each of `size` rows begins, from (n,) row numbers in order. RuntimeError for other than one dimension."""
def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: _bool = ..., transpose: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """(batch dimensions + 2, all values) places, from (*batch, rows + 1) beginnings of rows and (*batch, n) columns."""
def _sample_dirichlet(input: Tensor, generator: Any = ...) -> Tensor:
    """`torch._sample_dirichlet`: a sample for the concentrations in the last dimension."""
def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = ..., scale_result: Tensor | None = ..., out_dtype: Any = ..., use_fast_accum: _bool = ...) -> Tensor:
    """The product of two float8 matrices (m, k) and (k, n), each times its scale, plus a bias (n,), in float32 rounded once."""
def _sparse_coo_tensor_unsafe(indices: Any = ..., values: Any = ..., size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ..., is_coalesced: _bool | None = ...) -> Any:
    """A COO tensor: `values` (n, *dense) at `indices` (sparse dimensions, n); values at one place add up."""
_storage_classes: Any
def abs(input: Tensor, *, out: Any = ...) -> Tensor:
    """The magnitude of each element; real for complex tensors."""
def abs_(input: Tensor) -> Tensor:
    """In-place form of `abs`; complex tensors are refused."""
def absolute(input: Tensor, *, out: Any = ...) -> Tensor:
    """The magnitude of each element; real for complex tensors."""
def acos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse cosine."""
def acos_(input: Any) -> Tensor:
    """In-place form of `acos`."""
def acosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: Any) -> Tensor:
    """In-place form of `_acosh_in_place`."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last dimension into `output_size` parts."""
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Maxima, and their flat positions, of windows dividing the last 1 dimensions."""
def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`input + alpha * other`, broadcast."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`beta * input + alpha * sum_i(batch1[i] @ batch2[i])`."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`input + value * tensor1 / tensor2`, broadcast; two integer tensors are refused."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`input + value * tensor1 * tensor2`, broadcast."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: Any, mat: Any, vec: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
    """In-place form of `addmv`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
def affine_grid_generator(theta: Tensor, size: Any, align_corners: _bool) -> Tensor:
    """The grid of an affine map, for `grid_sampler`."""
def alias_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `alias` shows, contiguous and with its own memory."""
def all(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """Are all elements true (not zero)? uint8 answers uint8."""
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Are all elements within `atol + rtol * |other|` of each other? A Python bool."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.alpha_dropout, with all arguments."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.alpha_dropout, with all arguments."""
def amax(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The largest element over dimensions; equal ones share the gradient evenly."""
def amin(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The smallest element over dimensions; equal ones share the gradient evenly."""
def aminmax(input: Tensor, *, dim: Any = ..., keepdim: _bool = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.aminmax:
    """The smallest and the largest element, over one dimension or all."""
def angle(input: Tensor, *, out: Any = ...) -> Tensor:
    """The angle of each element in radians; for real numbers 0 or pi (NaN stays)."""
def any(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """Is some element true (not zero)? uint8 answers uint8."""
def arange(*args: Any, start: Any = ..., end: Any = ..., step: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The numbers from `start` (0) up to but without `end`, by `step`: `arange(end)` or `arange(start, end, step)`."""
def arccos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse cosine."""
def arccos_(input: Any) -> Tensor:
    """In-place form of `acos`."""
def arccosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: Any) -> Tensor:
    """In-place form of `_acosh_in_place`."""
def arcsin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse sine."""
def arcsin_(input: Any) -> Tensor:
    """In-place form of `asin`."""
def arcsinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: Any) -> Tensor:
    """In-place form of `_asinh_in_place`."""
def arctan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse tangent."""
def arctan2(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The angle of the points (other, input), in [-pi, pi]."""
def arctan_(input: Any) -> Tensor:
    """In-place form of `atan`."""
def arctanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: Any) -> Tensor:
    """In-place form of `_atanh_in_place`."""
def are_deterministic_algorithms_enabled() -> _bool:
    """What `use_deterministic_algorithms` has set."""
def argmax(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The index of the largest element along a dimension, or of all flattened; NaN counts as largest."""
def argmin(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The index of the smallest element along a dimension, or of all flattened; NaN counts as smallest."""
def argsort(input: Tensor, dim: Any = ..., descending: _bool = ..., *, stable: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The indices that put a dimension in order; always stable."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, as rows."""
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """A view of the tensor's memory with these sizes, strides and offset, counted in elements."""
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """In-place form of `as_strided`."""
def as_strided_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `as_strided` shows, contiguous and with its own memory."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """The input with the part that `as_strided` would view replaced."""
def as_tensor(data: Any, *, dtype: Any = ..., device: Any = ...) -> Tensor:
    """`data` as a tensor, sharing its memory where possible."""
def asarray(obj: Any, *, dtype: Any = ..., device: Any = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """`obj` as a tensor: shares the memory of tensors, arrays and buffers unless `copy=True`; ValueError where `copy=False` cannot be met. Without `requires_grad`, a tensor keeps its history (with a warning); False detaches it."""
def asin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse sine."""
def asin_(input: Any) -> Tensor:
    """In-place form of `asin`."""
def asinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: Any) -> Tensor:
    """In-place form of `_asinh_in_place`."""
def atan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse tangent."""
def atan2(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The angle of the points (other, input), in [-pi, pi]."""
def atan_(input: Any) -> Tensor:
    """In-place form of `atan`."""
def atanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: Any) -> Tensor:
    """In-place form of `_atanh_in_place`."""
@overload
def atleast_1d(input: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
def autocast_decrement_nesting() -> _int:
    """Count a region that is left."""
def autocast_increment_nesting() -> _int:
    """Count a region that is entered."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The mean of each window of the last dimension."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | _Number | None = ..., alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for each matrix of the batches."""
def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The Bartlett window: a triangle."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """`nn.functional.batch_norm`, the parameters before the running moments."""
def batch_norm_update_stats(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: _float) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel of `input` (N, C, *), each (C,); the running ones, where given, are moved towards them."""
def bernoulli(input: Tensor, p: _float | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """0 or 1 with the probabilities of `input`; with `p`, ones with that probability in a tensor like the input."""
bfloat16: _dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """`out[..., k] = input1 @ weight[k] @ input2 + bias[k]`: weight is (out, in1, in2)."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`, the reduction as a number; the input is broadcast to the target."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights; reads the data."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = ...) -> Tensor:
    """Successes in `count` trials of probability `prob` each; the two broadcast. No gradient, as in PyTorch."""
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input & other`, broadcast; integers and bools only."""
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input << other`, broadcast; shifting by more bits than there are (or fewer than none) gives 0."""
def bitwise_not(input: Tensor, *, out: Any = ...) -> Tensor:
    """`~input`: the complement of integers, the negation of bools."""
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input | other`, broadcast; integers and bools only."""
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input >> other`, broadcast, keeping the sign; shifting by more bits than there are leaves the sign."""
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input ^ other`, broadcast; integers and bools only."""
def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The Blackman window."""
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal; vectors count as rows, numbers as (1, 1)."""
def bmm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
bool: _dtype
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes (tuples, or numbers for one dimension) broadcast."""
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to the given size."""
def bucketize(input: Any, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Which of the intervals between sorted boundaries each value lies in."""
def can_cast(from_: Any, to: Any) -> _bool:
    """May results of one element type be stored in another?"""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector: (n0 * n1 * ..., number of vectors)."""
def cat(tensors: Any, dim: _int = ..., *, out: Tensor | None = ..., axis: _int | None = ...) -> Tensor:
    """The tensors joined along an existing dimension; all other sizes must agree."""
def ccol_indices_copy(input: Tensor) -> Tensor:
    """A copy of `input.ccol_indices()`."""
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: _str = ...) -> Tensor:
    """The p-norm of the difference of each pair of rows; shapes (..., P, M) and (..., R, M) to (..., P, R)."""
cdouble: _dtype
def ceil(input: Tensor, *, out: Any = ...) -> Tensor:
    """Rounded up."""
def ceil_(input: Any) -> Tensor:
    """In-place form of `ceil`."""
def celu(input: Tensor, alpha: Any = ...) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
def celu_(input: Any, alpha: Any = ...) -> Tensor:
    """In-place form of `celu`."""
cfloat: _dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = ...) -> Tensor:
    """The product of matrices in the cheapest order."""
chalf: _dtype
def channel_shuffle(input: Tensor, groups: Any) -> Tensor:
    """Channels (dimension 1) of (N, C, *) interleaved from `groups` groups."""
def cholesky(input: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The Cholesky factor of positive-definite matrices."""
def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The inverse of A from its Cholesky factor."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """X of A X = B from the Cholesky factor of A; shapes (..., n, k) and (..., n, n)."""
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size along a dimension."""
def clamp(input: Tensor, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ..., *, out: Any = ...) -> Tensor:
    """Each element, but at least `min` and at most `max` (numbers or tensors); `max` wins if they cross."""
def clamp_(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """In-place form of `clamp`."""
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """Each element, but at most `max`."""
def clamp_max_(input: Any, max: Any) -> Tensor:
    """In-place form of `clamp_max`."""
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """Each element, but at least `min`."""
def clamp_min_(input: Any, min: Any) -> Tensor:
    """In-place form of `clamp_min`."""
classes: Any
def clear_autocast_cache() -> None:
    """Forget what was cast for modes with a `__torch_dispatch__`; there is no cache of casts beside that and XLA's sharing."""
def clip(input: Tensor, min: Tensor | _Number | None = ..., max: Tensor | _Number | None = ..., *, out: Any = ...) -> Tensor:
    """Each element, but at least `min` and at most `max` (numbers or tensors); `max` wins if they cross."""
def clip_(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """In-place form of `clamp`."""
def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor:
    """A copy with its own memory; gradients flow through it."""
def col_indices_copy(input: Tensor) -> Tensor:
    """A copy of `input.col_indices()`."""
def column_stack(tensors: Any, *, out: Tensor | None = ...) -> Tensor:
    """The tensors side by side, 1-d ones as columns."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """All combinations of `r` elements of a vector, in order: (number, r)."""
def compiled_with_cxx11_abi() -> _bool:
    """True, as for PyTorch's own builds; jaxtorch has no C++."""
def complex(real: Tensor, imag: Tensor, *, out: Any = ...) -> Tensor:
    """`real + 1j * imag`, broadcast; both float32 or both float64."""
complex128: _dtype
complex32: _dtype
complex64: _dtype
def concat(tensors: Any, dim: _int = ..., *, out: Tensor | None = ..., axis: _int | None = ...) -> Tensor:
    """The tensors joined along an existing dimension; all other sizes must agree."""
def concatenate(tensors: Any, dim: _int = ..., *, out: Tensor | None = ..., axis: _int | None = ...) -> Tensor:
    """The tensors joined along an existing dimension; all other sizes must agree."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate as a view: writes to one show in the other. A real tensor is returned itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The complex conjugate, in memory of its own; a real tensor is returned itself."""
def conj_physical_(input: Any) -> Tensor:
    """In-place form of `_conj_physical_here`."""
def constant_pad_nd(input: Tensor, pad: Any, value: _Number | None = ...) -> Tensor:
    """Add `value` at the ends of the last dimensions; negative sizes take elements away."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, L) with (O, C / groups, k). `padding` may be 'same' or 'valid'."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, H, W) with (O, C / groups, kH, kW). `padding` may be 'same' or 'valid'."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) with (O, C / groups, kD, kH, kW). `padding` may be 'same' or 'valid'."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: Any = ...) -> Any:
    """1-D convolution of (T, N, C) with (k, C, O)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv1d` with respect to its input: (N, C, L) with weight (C, O / groups, k)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv2d` with respect to its input: (N, C, H, W) with weight (C, O / groups, kH, kW)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The adjoint of `conv3d` with respect to its input: (N, C, D, H, W) with weight (C, O / groups, kD, kH, kW)."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: _bool, output_padding: Any, groups: _int) -> Tensor:
    """The convolution of 1, 2 or 3 dimensions, or its adjoint, that fits the weight."""
def copysign(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The magnitude of `input` with the sign of `other`, broadcast; the sign of -0.0 counts."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows) over observations (columns)."""
def cos(input: Tensor, *, out: Any = ...) -> Tensor:
    """The cosine."""
def cos_(input: Any) -> Tensor:
    """In-place form of `cos`."""
def cosh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Any) -> Tensor:
    """In-place form of `cosh`."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """`nn.functional.cosine_embedding_loss`, the reduction as a number."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Any = ..., eps: Any = ..., *, axis: Any = ...) -> Tensor:
    """The cosine of the angle between vectors along `dim`; the norms are taken to be at least `eps`."""
def count_nonzero(input: Tensor, dim: Any = ..., *, axis: Any = ...) -> Tensor:
    """How many elements are not zero, over dimensions (an int, a tuple, None for all)."""
def cov(input: Tensor, *, correction: Any = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """The covariance matrix of variables (rows) over observations (columns), with weights."""
def cross(input: Tensor, other: Tensor, dim: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The cross product along a dimension, by default the first of size 3."""
def crow_indices_copy(input: Tensor) -> Tensor:
    """A copy of `input.crow_indices()`."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """`nn.functional.ctc_loss`, the reduction as a number."""
def cummax(input: Tensor, dim: Any, *, axis: Any = ..., out: Any = ...) -> return_types.cummax:
    """The running maximum along a dimension, and where it is."""
def cummin(input: Tensor, dim: Any, *, axis: Any = ..., out: Any = ...) -> return_types.cummin:
    """The running minimum along a dimension, and where it is."""
def cumprod(input: Tensor, dim: Any, *, dtype: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The running product along a dimension; the gradient is exact where there are zeros."""
def cumsum(input: Tensor, dim: Any, *, dtype: Any = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The running sum along a dimension; integers add up in int64."""
def cumulative_trapezoid(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor:
    """The running integral along a dimension by the trapezoidal rule."""
def deg2rad(input: Tensor, *, out: Any = ...) -> Tensor:
    """Degrees in radians."""
def deg2rad_(input: Any) -> Tensor:
    """In-place form of `deg2rad`."""
def det(A: Tensor, *, out: Any = ...) -> Tensor:
    """The determinant of square matrices; shapes (..., n, n) to (...)."""
def detach(input: Tensor) -> Tensor:
    """The same memory without its history."""
def detach_(input: Tensor) -> Tensor:
    """Forget a tensor's history, in place."""
def detach_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `detach` shows, contiguous and with its own memory."""
def diag(input: Tensor, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
    """A matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
def diag_embed(input: Tensor, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
    """The last dimension put on the diagonal of two new ones."""
def diagflat(input: Tensor, offset: Any = ...) -> Tensor:
    """A matrix with all elements on its diagonal."""
def diagonal(input: Tensor, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
    """The diagonal of two dimensions, as the last dimension."""
def diagonal_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `diagonal` shows, contiguous and with its own memory."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
    """The input with a diagonal replaced."""
def diff(input: Tensor, n: Any = ..., dim: Any = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The n-th differences of neighbours along a dimension, with values put before and after it."""
def digamma(input: Tensor, *, out: Any = ...) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
def dist(input: Tensor, other: Tensor, p: _Number | None = ...) -> Tensor:
    """The p-norm of the difference of two tensors."""
def div(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = ..., out: Any = ...) -> Tensor:
    """`input / other`, broadcast: the true quotient, or rounded down ('floor') or towards zero ('trunc')."""
def divide(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = ..., out: Any = ...) -> Tensor:
    """`input / other`, broadcast: the true quotient, or rounded down ('floor') or towards zero ('trunc')."""
def dot(input: Tensor, tensor: Tensor, *, out: Any = ...) -> Tensor:
    """The inner product of two vectors, without conjugation."""
double: _dtype
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.dropout, with all arguments."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.dropout, with all arguments."""
def dsmm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor:
    """The product of two matrices, (n, m) and (m, p)."""
def dsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]:
    """Equal parts of one dimension, or parts cut at indices."""
def dstack(tensors: Any, *, out: Tensor | None = ...) -> Tensor:
    """The tensors joined in depth, along dimension 2."""
e: _float
def eig(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.linalg.eig` returns complex tensors."""
def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: `einsum('ij,jk->ik', a, b)`, or operands with lists of indices."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Rows of `weight`, with the arguments in the order of `torch.embedding`."""
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(bags, the bag of each index, sizes of the bags, indices of the maxima). mode: 0 sum, 1 mean, 2 max."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Shorten, in place, the rows that are looked up and are longer than `max_norm`."""
def empty(*items: Any, size: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A new tensor of the given size; filled with 0."""
def empty_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A tensor of the input's size and type; filled with 0."""
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A new tensor whose dimensions lie in memory in the order of `physical_layout`, outermost first."""
def empty_strided(size: Any, stride: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A new tensor of the given size and strides. Zeros, where PyTorch leaves whatever the memory held."""
def eq(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input == other`, broadcast."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Have both the same shape and equal elements? A Python bool; NaN equals nothing."""
def erf(input: Tensor, *, out: Any = ...) -> Tensor:
    """The error function."""
def erf_(input: Any) -> Tensor:
    """In-place form of `erf`."""
def erfc(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 - erf(input)`, exact for large inputs."""
def erfc_(input: Any) -> Tensor:
    """In-place form of `erfc`."""
def erfinv(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of `erf`."""
def exp(input: Tensor, *, out: Any = ...) -> Tensor:
    """The exponential."""
def exp2(input: Tensor, *, out: Any = ...) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Any) -> Tensor:
    """In-place form of `exp2`."""
def exp_(input: Any) -> Tensor:
    """In-place form of `exp`."""
def expand_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `expand` shows, contiguous and with its own memory."""
def expm1(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(input) - 1`, exact near zero."""
def expm1_(input: Any) -> Tensor:
    """In-place form of `expm1`."""
def eye(n: _int, m: Any = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A matrix (n, m) with ones on its diagonal and zeros elsewhere."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: Any, quant_min: Any, quant_max: Any) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point (n) for each index of the dimension `axis` of size n."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: _int, quant_max: _int) -> Tensor:
    """The input rounded to `(n - zero_point) * scale`, n from `quant_min` to `quant_max`. The scale and the zero point: two numbers, or two tensors of one element, which get no gradient."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.feature_alpha_dropout, with all arguments."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.feature_alpha_dropout, with all arguments."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.feature_dropout, with all arguments."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """The functional form of torch.nn.functional.feature_dropout, with all arguments."""
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the input's size and type, filled with a number or a 0-dimensional tensor."""
def fill_(input: Tensor, value: Any) -> Tensor:
    """Fill with a number or a 0-dimensional tensor, in place."""
def fix(input: Tensor, *, out: Any = ...) -> Tensor:
    """Rounded towards zero."""
def fix_(input: Any) -> Tensor:
    """In-place form of `trunc`."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """Dimensions start_dim to end_dim merged into one."""
def flip(input: Tensor, dims: Any) -> Tensor:
    """The order of the elements reversed along dimensions."""
def fliplr(input: Tensor) -> Tensor:
    """The order reversed along dimension 1."""
def flipud(input: Tensor) -> Tensor:
    """The order reversed along dimension 0."""
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def float_power(input: Any, exponent: Any, *, out: Tensor | None = ...) -> Tensor:
    """`input ** exponent` in double precision."""
def floor(input: Tensor, *, out: Any = ...) -> Tensor:
    """Rounded down."""
def floor_(input: Any) -> Tensor:
    """In-place form of `floor`."""
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input / other` rounded down, broadcast; integers by zero raise RuntimeError. Not differentiable."""
def fmax(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The larger of the two, broadcast; a number is preferred to NaN."""
def fmin(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The smaller of the two, broadcast; a number is preferred to NaN."""
def fmod(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The rest of division rounded towards zero, of the dividend's sign. Integers by zero raise."""
def frac(input: Tensor, *, out: Any = ...) -> Tensor:
    """What is left after rounding towards zero; its derivative is 1."""
def frac_(input: Any) -> Tensor:
    """In-place form of `frac`."""
def frexp(input: Tensor, *, out: Any = ...) -> return_types.frexp:
    """The mantissa in [0.5, 1) and the exponent (int32) of each number: `input = mantissa * 2^exponent`."""
def frobenius_norm(input: Tensor, dim: Any, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The root of the sum of the squared magnitudes over one or two dimensions."""
def from_dlpack(ext_tensor: Any, *, device: Any = ..., copy: _bool | None = ...) -> Tensor:
    """A tensor on memory that another library exports through DLPack; shared on the CPU, but for bfloat16 and float8, of which it is a copy."""
def from_file(filename: _str, shared: _bool | None = ..., size: _int | None = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of `size` elements of a file. shared: writes go to the file, which is made or grown if need be."""
def from_jax(array: Any) -> Tensor:
    """A tensor on a `jax.Array` or tracer, without a copy. The array never changes: in-place ones give the tensor another."""
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares its memory with the array: writing one changes the other. An array that cannot be written is copied."""
def frombuffer(buffer: Any, *, dtype: Any, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol."""
def full(size: Any, fill_value: Any, *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A new tensor filled with `fill_value`, whose type it has unless `dtype` says otherwise."""
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A tensor of the input's size and type, filled with `fill_value`."""
def gather(input: Tensor, dim: Any, index: Tensor, *, sparse_grad: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """For each element of `index`, the input's element at its place but for `dim`, where the index says."""
def gcd(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The greatest common divisor of integers, broadcast; negative at most where one is the smallest number of its type."""
def gcd_(input: Any, other: Any) -> Tensor:
    """In-place form of `gcd`."""
def ge(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input >= other`, broadcast."""
def geqrf(input: Tensor, *, out: Any = ...) -> return_types.geqrf:
    """R above and on the diagonal, reflections below it, and their factors `tau`, as LAPACK has them."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The outer product of two vectors."""
def get_autocast_cpu_dtype() -> _dtype:
    """Deprecated: `get_autocast_dtype` with 'cpu'."""
def get_autocast_dtype(device_type: _str) -> _dtype:
    """The type that autocast computes in on a kind of device."""
def get_autocast_gpu_dtype() -> _dtype:
    """Deprecated: `get_autocast_dtype` with 'cuda'."""
def get_autocast_ipu_dtype() -> _dtype:
    """Deprecated: `get_autocast_dtype` with 'ipu'."""
def get_autocast_xla_dtype() -> _dtype:
    """Deprecated: `get_autocast_dtype` with 'xla'."""
def get_default_device() -> _Device:
    """Where factories put tensors when no device is named."""
def get_default_dtype() -> _dtype:
    """The type of floating point factories, and of Python floats."""
def get_deterministic_debug_mode() -> _int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
def get_device(input: Tensor) -> _int:
    """The index of the tensor's device; -1 on the CPU."""
def get_float32_matmul_precision() -> _str:
    """'highest', 'high' or 'medium'. RuntimeError where `fp32_precision` says otherwise."""
def get_num_interop_threads() -> _int:
    """What `set_num_interop_threads` has set, or the number of CPUs."""
def get_num_threads() -> _int:
    """What `set_num_threads` has set, or the number of CPUs, which XLA uses."""
def gradient(input: Tensor, *, spacing: Any = ..., dim: Any = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """Slopes along each dimension from differences; `spacing` is one number, or one or coordinates each."""
def greater(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input > other`, broadcast."""
def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input >= other`, broadcast."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`grid_sample` with the modes as numbers."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`grid_sample` of a 4D input, with the modes as numbers."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`grid_sample` of a 5D input, with the modes as numbers."""
def group_norm(input: Tensor, num_groups: Any, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: Any = ..., cudnn_enabled: _bool = ...) -> Tensor:
    """Normalise groups of channels of each sample of (N, C, *) by their moments (Wu and He, 2018)."""
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """The function behind the module: gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or gru(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) for packed data. params: of each layer and direction w_ih, w_hh, b_ih, b_hh, and w_hr where projected."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of a GRU: (B, I) and the state (B, H) to the new state."""
def gt(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input > other`, broadcast."""
half: _dtype
def hamming_window(window_length: _int, periodic: _bool = ..., alpha: _float = ..., beta: _float = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The Hamming window: alpha - beta cos(2 pi n / period)."""
def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The Hann window; its period is the length, or one less if not `periodic`."""
def hardshrink(input: Tensor, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """The input outside [-lambd, lambd], 0 inside."""
def hash_tensor(input: Tensor, dim: Any = ..., *, keepdim: _bool = ..., mode: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The exclusive or of the elements' bits over dimensions, as uint64: floats by their double precision pattern."""
def heaviside(input: Tensor, values: Tensor, *, out: Any = ...) -> Tensor:
    """0 below zero, `values` at zero, 1 above. Not differentiable."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """`nn.functional.hinge_embedding_loss`, the reduction as a number."""
def histc(input: Tensor, bins: Any = ..., min: _Number | None = ..., max: _Number | None = ..., *, out: Any = ...) -> Tensor:
    """Counts of elements in `bins` equal intervals from min to max (the data's where they are equal)."""
def histogram(input: Tensor, bins: Any = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., out: Any = ...) -> return_types.histogram:
    """How much lies between the edges `bins`, or in so many equal intervals of `range`; and the edges."""
def histogramdd(input: Tensor, bins: Any, range: Any = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """How many of the points (..., D) lie in each cell of a grid: (hist, bin_edges)."""
def hsmm(mat1: Any, mat2: Any) -> Tensor:
    """Sparse times dense, as a COO tensor of one sparse and one dense dimension: the rows that are not empty."""
def hsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]:
    """Equal parts of one dimension, or parts cut at indices."""
def hspmm(mat1: Any, mat2: Any) -> Tensor:
    """Sparse times dense, as a COO tensor of one sparse and one dense dimension: the rows that are not empty."""
def hstack(tensors: Any, *, out: Tensor | None = ...) -> Tensor:
    """The tensors side by side, along dimension 1 (0 if 1-d)."""
def hypot(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """`sqrt(input^2 + other^2)`, broadcast, without overflow in between."""
def i0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def i0_(input: Any) -> Tensor:
    """In-place form of `i0`."""
def igamma(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The regularised lower incomplete gamma function of order `input`; not differentiable in the order."""
def igammac(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The regularised upper incomplete gamma function of order `input`; not differentiable in the order."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""
def index_add(input: Tensor, dim: Any, index: Tensor, source: Tensor, *, alpha: Tensor | _Number | None = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The input with `alpha * source` added to the slices at the indices; repeated indices add up."""
def index_copy(input: Tensor, dim: Any, index: Tensor, source: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The input with the slices at the indices replaced by those of `source`."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """The input with the slices at the indices filled with a number or 0-d tensor."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor:
    """A copy with `values` at the places that a tuple of index arrays names."""
def index_put_(input: Tensor, indices: Any, values: Any, accumulate: _bool = ...) -> Tensor:
    """Write `values` at the places a tuple of index arrays names; `accumulate` adds, repeated or not."""
def index_reduce(input: Tensor, dim: Any, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """The slices of `source` reduced ('prod', 'mean', 'amax', 'amin') into the input's at the indices."""
def index_select(input: Tensor, dim: Any, index: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The slices of a dimension at the indices of a 1-d tensor."""
def indices_copy(input: Tensor) -> Tensor:
    """A copy of `input.indices()`."""
inf: _float
def initial_seed() -> _int:
    """The seed of the default generator."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inner product over the last dimension of both; the plain product where one is a scalar."""
def install() -> None:
    """Make `import torch`, and every submodule of it, give jaxtorch, in this process and in those it spawns."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """`nn.functional.instance_norm`, the parameters before the running moments."""
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
def int_repr(input: Tensor) -> Tensor:
    """A copy of a quantised tensor's integers."""
def inverse(A: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of square matrices; LinAlgError where they are singular."""
def is_anomaly_check_nan_enabled() -> _bool:
    """Does anomaly detection look for NaN?"""
def is_anomaly_enabled() -> _bool:
    """Is anomaly detection on?"""
def is_autocast_cache_enabled() -> _bool:
    """What `cache_enabled` is set to. It changes nothing: XLA converts a weight once in a program."""
def is_autocast_cpu_enabled() -> _bool:
    """Deprecated: `is_autocast_enabled` with 'cpu'."""
def is_autocast_enabled(device_type: _str = ...) -> _bool:
    """Is autocast on, in this thread, for a kind of device?"""
def is_autocast_ipu_enabled() -> _bool:
    """Deprecated: `is_autocast_enabled` with 'ipu'."""
def is_autocast_xla_enabled() -> _bool:
    """Deprecated: `is_autocast_enabled` with 'xla'."""
def is_complex(input: Tensor) -> _bool:
    """Is the element type a complex one?"""
def is_conj(input: Tensor) -> _bool:
    """Is the tensor a conjugating view of its memory?"""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """What `use_deterministic_algorithms` has set for `warn_only`."""
def is_distributed(input: Tensor) -> _bool:
    """False, as in PyTorch."""
def is_floating_point(input: Tensor) -> _bool:
    """Is the element type a floating point one?"""
def is_grad_enabled() -> _bool: ...
def is_inference(input: Tensor) -> _bool:
    """Was the tensor made in inference mode?"""
def is_inference_mode_enabled() -> _bool: ...
def is_neg(input: Tensor) -> _bool:
    """Is the tensor a negating view of its memory? The imaginary part of a conjugating view is one."""
def is_nonzero(input: Tensor) -> _bool:
    """Is a tensor of one element not zero?"""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Do the tensors have the same shape?"""
def is_signed(input: Tensor) -> _bool:
    """Does the element type have negative numbers?"""
def is_storage(obj: Any, /) -> _bool:
    """Is it a storage?"""
def is_tensor(obj: Any) -> TypeIs[Tensor]:
    """Is it a tensor?"""
def is_vulkan_available(*args: Any, **kwargs: Any) -> _bool:
    """False: there is no such device."""
def is_warn_always_enabled() -> _bool:
    """What `set_warn_always` has set."""
def isclose(input: Tensor, other: Tensor, rtol: Any = ..., atol: Any = ..., equal_nan: _bool = ...) -> Tensor:
    """Is `|input - other| <= atol + rtol * |other|`? Both must have one element type."""
def isfinite(input: Tensor) -> Tensor:
    """Is the element neither infinite nor NaN?"""
def isin(elements: Any = ..., test_elements: Any = ..., *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ..., element: Any = ..., test_element: Any = ...) -> Tensor:
    """For each element: is it one of the test elements? One of the two may be a number."""
def isinf(input: Tensor) -> Tensor:
    """Is the element (or either part of it) infinite?"""
def isnan(input: Tensor) -> Tensor:
    """Is the element (or either part of it) NaN?"""
def isneginf(input: Tensor, *, out: Any = ...) -> Tensor:
    """Is the element negative infinity? Complex tensors are refused."""
def isposinf(input: Tensor, *, out: Any = ...) -> Tensor:
    """Is the element positive infinity? Complex tensors are refused."""
def isreal(input: Tensor) -> Tensor:
    """Has the element no imaginary part?"""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """The signal whose short-time transform is nearest; shapes (..., frequencies, frames) to (..., length)."""
def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The Kaiser window of shape `beta`."""
def kl_div(input: Tensor, target: Tensor, reduction: _int = ..., *, log_target: _bool = ...) -> Tensor:
    """`nn.functional.kl_div`, the reduction as a number."""
def kron(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The Kronecker product."""
def kthvalue(input: Tensor, k: Any, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.kthvalue:
    """The k-th smallest element along a dimension, counted from 1, and its index."""
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: Any = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Normalise over the last dimensions, which must be `normalized_shape`, by their moments (Ba et al., 2016)."""
layout: Any
def lcm(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The least common multiple of integers, broadcast; it wraps where the type does not hold it."""
def lcm_(input: Any, other: Any) -> Tensor:
    """In-place form of `lcm`."""
def ldexp(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """`input * 2^other`, broadcast."""
def ldexp_(input: Any, other: Any) -> Tensor:
    """In-place form of `ldexp`."""
def le(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input <= other`, broadcast."""
legacy_contiguous_format: Any
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input + weight * (end - input)`; all of one element type."""
def less(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input < other`, broadcast."""
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input <= other`, broadcast."""
def lgamma(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def linspace(start: Any, end: Any, steps: Any = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: _str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ...) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A x = v B x, for symmetric A and positive definite B, and the eigenvectors."""
def log(input: Tensor, *, out: Any = ...) -> Tensor:
    """The natural logarithm."""
def log10(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Any) -> Tensor:
    """In-place form of `log10`."""
def log1p(input: Tensor, *, out: Any = ...) -> Tensor:
    """`log(1 + input)`, exact near zero."""
def log1p_(input: Any) -> Tensor:
    """In-place form of `log1p`."""
def log2(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Any) -> Tensor:
    """In-place form of `log2`."""
def log_(input: Any) -> Tensor:
    """In-place form of `log`."""
def log_softmax(input: Tensor, dim: Any, dtype: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The logarithm of `softmax`, computed stably."""
def logaddexp(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """`log(exp(input) + exp(other))`, broadcast, without overflow in between."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """`log2(2^input + 2^other)`, broadcast, without overflow in between."""
def logcumsumexp(input: Tensor, dim: Any, *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative."""
def logical_and(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """Are both elements nonzero? Broadcast."""
def logical_not(input: Tensor, *, out: Any = ...) -> Tensor:
    """Is the element zero?"""
def logical_or(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """Is either element nonzero? Broadcast."""
def logical_xor(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """Is exactly one of the elements nonzero? Broadcast."""
def logit(input: Tensor, eps: Any = ..., *, out: Any = ...) -> Tensor:
    """`log(input / (1 - input))`, of the input clamped to [eps, 1 - eps] where eps is given."""
def logit_(input: Any, eps: Any = ...) -> Tensor:
    """In-place form of `logit`."""
def logspace(start: Any, end: Any, steps: Any = ..., base: _float = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """`steps` numbers from base**start to base**end, their exponents evenly spaced."""
def logsumexp(input: Tensor, dim: Any, keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """`log(sum(exp(input)))` over dimensions, without overflow; integers become floating point."""
long: _dtype
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """The function behind the module: lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) for packed data. params: of each layer and direction w_ih, w_hh, b_ih, b_hh, and w_hr where projected."""
def lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: (B, I) and the states (h, c), each (B, H), to the new states."""
def lstsq(*args: Any, **kwargs: Any) -> return_types.linalg_lstsq:
    """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed."""
def lt(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input < other`, broadcast."""
def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., out: tuple[Tensor, ...] | None = ...) -> tuple[Tensor, ...]:
    """L and U in one matrix, and the row swaps counted from 1; with `get_infos`, also the codes of `lu_factor_ex`."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = ...) -> Tensor:
    """X of A X = B from what `lu_factor` answers."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Any = ...) -> return_types.lu_unpack:
    """P, L and U from what `lu_factor` answers."""
def manual_seed(seed: Any) -> Generator:
    """Seed the default generators of all devices."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """`nn.functional.margin_ranking_loss`, the reduction as a number."""
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with `value`, a number or 0-d tensor, where the mask holds."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, in order, at the places where the mask holds."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements where the mask holds, in one dimension."""
def matmul(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The matrix product of two tensors: of vectors, matrices, or batches of matrices (broadcast)."""
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """A to an integer power; the inverse's where that is negative."""
def matrix_rank(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: This function was deprecated since version 1.9 and is now removed. See `torch.linalg.matrix_rank`."""
@overload
def max(input: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.max: ...
@overload
def max(input: Tensor, *, dim: _int = ..., keepdim: _bool = ..., out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.max: ...
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The largest element of each window of the last 1 dimensions."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ...) -> tuple[Tensor, Tensor]:
    """The largest element of each window of the last 1 dimensions. With its flat position."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The largest element of each window of the last 2 dimensions."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The largest element of each window of the last 3 dimensions."""
def maximum(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The larger of the two, broadcast; NaN where either is NaN."""
def mean(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The mean over dimensions (an int, a tuple, None for all) of floating-point or complex numbers."""
@overload
def median(input: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.median: ...
@overload
def median(input: Tensor, *, axis: _int, keepdim: _bool = ..., out: Any = ..., keepdims: Any = ...) -> return_types.median: ...
def meshgrid(*tensors: Any, indexing: _str | None = ...) -> tuple[Tensor, ...]:
    """Coordinate grids of vectors: views of shape (n0, n1, ...); with indexing='xy' the first two dimensions swap."""
@overload
def min(input: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.min: ...
@overload
def min(input: Tensor, *, dim: _int = ..., keepdim: _bool = ..., out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.min: ...
def minimum(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The smaller of the two, broadcast; NaN where either is NaN."""
def mm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor:
    """The product of two matrices, (n, m) and (m, p)."""
def mode(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> return_types.mode:
    """The most frequent element along a dimension (of several the smallest), and its last index."""
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions at `source` moved to `destination`; the others keep their order."""
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions at `source` moved to `destination`; the others keep their order."""
def msort(input: Tensor, *, out: Any = ...) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input * other`, broadcast."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Indices drawn by weight along the last dimension: (n,) or (rows, n) -> int64 with n replaced by `num_samples`."""
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input * other`, broadcast."""
def mv(input: Tensor, vec: Tensor, *, out: Any = ...) -> Tensor:
    """The product of a matrix (n, m) and a vector (m)."""
def mvlgamma(input: Tensor, p: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
nan: _float
def nan_to_num(input: Tensor, nan: Any = ..., posinf: Any = ..., neginf: Any = ..., *, out: Any = ...) -> Tensor:
    """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the outermost finite numbers)."""
def nan_to_num_(input: Any, nan: Any = ..., posinf: Any = ..., neginf: Any = ...) -> Tensor:
    """In-place form of `nan_to_num`."""
def nanmean(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The mean of what is not NaN; no integers, no complex numbers."""
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ...) -> return_types.nanmedian: ...
@overload
def nanmedian(input: Tensor, *, axis: _int, keepdim: _bool = ..., out: Any = ..., keepdims: Any = ...) -> return_types.nanmedian: ...
def nanquantile(input: Tensor, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """The q-quantiles of what is not NaN, of all elements or along a dimension."""
def nansum(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The sum with NaN counted as zero; no complex inputs."""
def narrow(input: Tensor, dim: _int, start: Any, length: _int) -> Tensor:
    """`length` entries of a dimension from `start` on."""
def narrow_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `narrow` shows, contiguous and with its own memory."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: Any = ...) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, with the mean and the inverse standard deviation used (empty in evaluation)."""
def native_channel_shuffle(input: Tensor, groups: Any) -> Tensor:
    """Channels (dimension 1) of (N, C, *) interleaved from `groups` groups."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of what was kept."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: Any, C: Any, HxW: Any, group: Any, eps: Any) -> Any:
    """`group_norm` of (N, C, *), with the mean and the inverse standard deviation of each group, of shape (N, group)."""
def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, with the mean and the inverse standard deviation of each row."""
def native_norm(input: Tensor, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: Any = ...) -> Tensor:
    """NotImplementedError for a dense tensor, as in PyTorch, which has it of sparse ones only."""
def ne(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input != other`, broadcast."""
def neg(input: Tensor, *, out: Any = ...) -> Tensor:
    """`-input`; bools are refused."""
def neg_(input: Any) -> Tensor:
    """In-place form of `neg`."""
def negative(input: Tensor, *, out: Any = ...) -> Tensor:
    """`-input`; bools are refused."""
def negative_(input: Any) -> Tensor:
    """In-place form of `neg`."""
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The floating-point number after `input` in the direction of `other`."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: Any, fill_value: Any = ..., out: Any = ...) -> Tensor:
    """The indices of the first `size` elements that are not zero, as rows (size, dimensions); missing ones hold `fill_value`."""
def norm(input: Tensor, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., out: Tensor | None = ..., dtype: Any = ...) -> Tensor:
    """The p-norm over dimensions (all by default); 'fro' is the 2-norm, 'nuc' the sum of singular values."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ...) -> Tensor:
    """The norm over all dimensions but one, which stays; over all of them for dim = -1."""
def normal(mean: Any, std: Any = ..., size: Any = ..., *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Normal numbers of the given means and standard deviations (one or both tensors), or of a `size` for numbers."""
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input != other`, broadcast."""
def nuclear_norm(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The sum of the singular values of matrices in two dimensions, the last ones where none are given."""
def numel(input: Tensor) -> _int:
    """How many elements the tensor has."""
def ones(*items: Any, size: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A new tensor of the given size; filled with 1."""
def ones_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A tensor of the input's size and type; filled with 1."""
def orgqr(A: Tensor, tau: Tensor, *, out: Any = ...) -> Tensor:
    """The first columns of the product of the reflections that `geqrf` keeps; shapes (..., m, n), (..., k) to (..., m, n)."""
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor:
    """The product of `other` with the square Q of the reflections that `geqrf` keeps, or with its conjugate transpose."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The outer product of two vectors."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: Any = ..., eps: Any = ..., keepdim: _bool = ..., *, keepdims: Any = ...) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of rows: `svd_lowrank` of A, whose columns' means are taken away unless `center` is False."""
def pdist(input: Tensor, p: Any = ...) -> Tensor:
    """The p-norms of the differences of all pairs of different rows: (N, M) to (N * (N - 1) / 2), row 0 with 1, 2, ... first."""
def permute(input: Tensor, dims: Any) -> Tensor:
    """The dimensions in the order `dims`."""
def permute_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `permute` shows, contiguous and with its own memory."""
pi: _float
def pinverse(input: Tensor, rcond: Any = ...) -> Tensor:
    """The pseudo-inverse; singular values up to `rcond` times the largest count as 0."""
def pixel_shuffle(input: Tensor, upscale_factor: Any) -> Tensor:
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: Any) -> Tensor:
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""
def poisson(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Poisson counts of the rates given, in their type."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """`nn.functional.poisson_nll_loss`, the reduction as a number."""
def polar(abs: Tensor, angle: Tensor, *, out: Any = ...) -> Tensor:
    """The complex number of that magnitude and angle, broadcast; both float32 or both float64."""
def polygamma(n: Any, input: Tensor, *, out: Any = ...) -> Tensor:
    """The n-th derivative of `digamma`."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself; bools are refused."""
def pow(input: Any, exponent: Any, *, out: Tensor | None = ...) -> Tensor:
    """`input ** exponent`, broadcast; integers to negative integer numbers raise RuntimeError."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where positive, `weight` times it elsewhere: one weight, or one a channel (dimension 1)."""
def prod(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The product over one dimension or all; integers multiply in int64. Zeros have exact gradients."""
def profiler_allow_cudagraph_cupti_lazy_reinit_cuda12() -> _bool:
    """True, as in PyTorch; nothing depends on it."""
def promote_types(type1: Any, type2: Any) -> _dtype:
    """The smallest element type both convert to without losing their category."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """The input with the elements of `source` written (or added) at indices into the flattened input."""
def q_per_channel_axis(input: Tensor) -> _int:
    """The dimension of the channels."""
def q_per_channel_scales(input: Tensor) -> Tensor:
    """(channels,) scales."""
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """(channels,) integers that stand for 0."""
def q_scale(input: Tensor) -> _float:
    """The scale of a tensor that is quantised per tensor."""
def q_zero_point(input: Tensor) -> _int:
    """The integer that stands for 0 in a tensor that is quantised per tensor."""
qint32: _dtype
qint8: _dtype
def qr(input: Tensor, some: _bool = ..., *, out: Any = ...) -> return_types.qr:
    """Q and R of matrices; all of Q with `some=False`."""
def quantile(input: Tensor, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """The q-quantiles of all elements or along a dimension; a dimension for q comes first."""
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
def rad2deg(input: Tensor, *, out: Any = ...) -> Tensor:
    """Radians in degrees."""
def rad2deg_(input: Any) -> Tensor:
    """In-place form of `rad2deg`."""
def rand(*items: Any, size: Any = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform numbers in [0, 1) of the given size; on the CPU those that PyTorch draws from the same seed."""
def rand_like(input: Tensor, *, generator: Generator | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """Uniform numbers in [0, 1) of the input's size and type."""
def randint(*args: Any, low: Any = ..., high: Any = ..., size: Any = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Whole numbers in [low, high) of the given size: `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: Tensor, low: Any = ..., high: Any = ..., *, generator: Generator | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """Whole numbers in [low, high) of the input's size and type: `randint_like(input, high)` or with `low` too."""
def randn(*items: Any, size: Any = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers of the given size; on the CPU those that PyTorch draws from the same seed."""
def randn_like(input: Tensor, *, generator: Generator | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """Standard normal numbers of the input's size and type."""
def randperm(n: _int, *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The numbers 0 to n-1 in random order; on the CPU the order that PyTorch draws from the same seed."""
def range(start: Any, end: Any, step: Any = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The numbers from `start` to `end`, `end` included. Deprecated in PyTorch: use `arange`."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 / input`; integers give floating-point results."""
def reciprocal_(input: Any) -> Tensor:
    """In-place form of `reciprocal`."""
def relu(input: Tensor) -> Tensor:
    """max(input, 0), elementwise."""
def relu_(input: Any) -> Tensor:
    """In-place form of `relu`."""
def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The rest of division rounded down; it has the divisor's sign. Integers by zero raise RuntimeError."""
def renorm(input: Tensor, p: _Number | None, dim: Any, maxnorm: _Number | None, *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The slices along a dimension, those of a p-norm above `maxnorm` scaled down to it."""
def repeat_interleave(input: Any = ..., repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Each element (or slice of a dimension) repeated so many times, one number for all or one for each."""
def reshape(input: Tensor, shape: Any) -> Tensor:
    """The same elements in another shape: a view where the strides allow, else a copy."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = ...) -> Tensor:
    """Give the tensor the shape of another, in place."""
def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the size of another; NotImplementedError for a dense one."""
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a conjugating view; any other tensor itself."""
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of a negating view; any other tensor itself."""
def result_type(tensor: Any, other: Any) -> _dtype:
    """The element type that arithmetic between these tensors or numbers gives."""
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = ..., eps: Any = ...) -> Tensor:
    """Divide by the root mean square over the last dimensions (Zhang and Sennrich, 2019). `eps=None`: the type's machine epsilon."""
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """The function behind the module: rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or rnn_relu(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) for packed data. params: of each layer and direction w_ih, w_hh, b_ih, b_hh, and w_hr where projected."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """relu(w_ih x + b_ih + w_hh h + b_hh): (B, I) and the state (B, H) to the new state."""
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """The function behind the module: rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or rnn_tanh(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) for packed data. params: of each layer and direction w_ih, w_hh, b_ih, b_hh, and w_hr where projected."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """tanh(w_ih x + b_ih + w_hh h + b_hh): (B, I) and the state (B, H) to the new state."""
def roll(input: Tensor, shifts: Any, dims: Any = ...) -> Tensor:
    """The elements moved along dimensions, those that fall off the end coming back at the front."""
def rot90(input: Tensor, k: _int = ..., dims: Any = ...) -> Tensor:
    """The plane of two dimensions turned by 90 degrees, `k` times, from the first towards the second."""
def round(input: Tensor, *, decimals: Any = ..., out: Any = ...) -> Tensor:
    """Rounded to that many decimals (0); halves go to the even neighbour. Integers take no `decimals`."""
def round_(input: Any, *, decimals: Any = ...) -> Tensor:
    """In-place form of `round`."""
def row_indices_copy(input: Tensor) -> Tensor:
    """A copy of `input.row_indices()`."""
def row_stack(tensors: Any, *, out: Tensor | None = ...) -> Tensor:
    """The tensors one below the other, 1-d ones as rows."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Any = ...) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper) where the input is not positive; their mean in evaluation."""
def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Any = ...) -> Tensor:
    """In-place form of `rrelu`."""
def rsqrt(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 / sqrt(input)`."""
def rsqrt_(input: Any) -> Tensor:
    """In-place form of `rsqrt`."""
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ...) -> Tensor:
    """`other - alpha * input`, broadcast; bools are refused."""
def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
    """beta input + alpha mat1 @ mat2 as a COO tensor, for a COO `input` and a dense `mat2`; not merged."""
def save(obj: Any, f: Any, pickle_module: Any = ..., pickle_protocol: _int = ..., _use_new_zipfile_serialization: _bool = ..., _disable_byteorder_record: _bool = ...) -> None:
    """Write an object to a file that PyTorch and jaxtorch load."""
def scalar_tensor(s: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """A 0-dimensional tensor of a number, of the default floating point type unless `dtype` says otherwise."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The input with elements of `src` (or a number) written where `index` says along a dimension."""
def scatter_add(input: Tensor, dim: Any, index: Tensor, src: Tensor, *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The input with elements of `src` added where `index` says along a dimension."""
def scatter_reduce(input: Tensor, dim: Any, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., axis: Any = ..., out: Any = ...) -> Tensor:
    """Elements of `src` reduced ('sum', 'prod', 'mean', 'amax', 'amin') into where `index` says."""
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: _bool = ..., right: _bool = ..., side: _str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where values would be inserted to keep the last dimension of `sorted_sequence` in order."""
def seed() -> _int:
    """Seed the default generators from the system's own randomness; the seed."""
def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: Any = ...) -> Tensor:
    """'sum', 'mean', 'max', 'min' or 'prod' of consecutive segments along `axis`."""
def select(input: Tensor, dim: Any, index: Tensor | _Number | None, *, axis: Any = ...) -> Tensor:
    """The slice at one index of a dimension, which is dropped."""
def select_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `select` shows, contiguous and with its own memory."""
def select_scatter(input: Tensor, src: Tensor, dim: Any, index: Any, *, axis: Any = ...) -> Tensor:
    """The input with one slice of a dimension replaced."""
def selu(input: Tensor) -> Tensor:
    """The self-normalising exponential unit of Klambauer et al. (2017)."""
def selu_(input: Any) -> Tensor:
    """In-place form of `selu`."""
def set_anomaly_enabled(enabled: _bool, check_nan: _bool = ...) -> None:
    """Switch anomaly detection."""
def set_autocast_cache_enabled(enabled: _bool) -> None:
    """Set what `is_autocast_cache_enabled` says."""
def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype` with 'cpu'."""
def set_autocast_cpu_enabled(enabled: _bool) -> None:
    """Deprecated: `set_autocast_enabled` with 'cpu'."""
def set_autocast_dtype(device_type: _str, dtype: Any) -> None:
    """Set the type that autocast computes in on a kind of device."""
def set_autocast_enabled(*args: Any) -> None:
    """(device_type, enabled), or (enabled) for 'cuda'."""
def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype` with 'cuda'."""
def set_autocast_ipu_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype` with 'ipu'."""
def set_autocast_ipu_enabled(enabled: _bool) -> None:
    """Deprecated: `set_autocast_enabled` with 'ipu'."""
def set_autocast_xla_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype` with 'xla'."""
def set_autocast_xla_enabled(enabled: _bool) -> None:
    """Deprecated: `set_autocast_enabled` with 'xla'."""
def set_default_device(device: Any) -> None:
    """Set where factories put tensors when no device is named; None is the CPU."""
def set_default_dtype(d: Any) -> None:
    """Set the type of floating point factories, and of Python floats."""
def set_default_tensor_type(t: Any) -> None:
    """Set the default type, and the default device, by the name of a legacy tensor type. Deprecated in PyTorch."""
def set_deterministic_debug_mode(debug_mode: _int | _str) -> None:
    """The same in one word or number: 'default' (0), 'warn' (1) or 'error' (2)."""
def set_float32_matmul_precision(precision: _str) -> None:
    """'highest' (float32, the default), 'high' (TF32 on GPUs) or 'medium' (JAX's fastest); programs are traced again."""
def set_flush_denormal(mode: _bool) -> _bool:
    """False: whether denormal numbers become zero is XLA's to decide."""
def set_num_interop_threads(int: _int) -> None:
    """Keeps the number for `get_num_interop_threads`; XLA's pool of threads stays as it is."""
def set_num_threads(int: _int) -> None:
    """Keeps the number for `get_num_threads`. XLA's pool of threads is made once and stays as it is."""
def set_printoptions(precision: _int | None = ..., threshold: _float | None = ..., edgeitems: _int | None = ..., linewidth: _int | None = ..., profile: _str | None = ..., sci_mode: _bool | None = ...) -> None:
    """Set how tensors print; `None` leaves an option as it is, but lets each tensor decide its `sci_mode`."""
def set_rng_state(new_state: Any) -> None:
    """Set the state of the default CPU generator."""
def set_warn_always(b: _bool, /) -> None:
    """Should warnings that come once a process come each time? Python's filters act as well."""
def sgn(input: Tensor, *, out: Any = ...) -> Tensor:
    """The sign of a real number; of a complex one, the unit circle's point in its direction (0 for 0)."""
short: _dtype
def sigmoid(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 / (1 + exp(-input))`."""
def sigmoid_(input: Any) -> Tensor:
    """In-place form of `sigmoid`."""
def sign(input: Tensor, *, out: Any = ...) -> Tensor:
    """-1, 0 or 1; NaN gives 0. Complex tensors are refused, `sgn` takes them."""
def signbit(input: Tensor, *, out: Any = ...) -> Tensor:
    """Is the sign bit set? True for -0.0; complex tensors are refused."""
def sin(input: Tensor, *, out: Any = ...) -> Tensor:
    """The sine."""
def sin_(input: Any) -> Tensor:
    """In-place form of `sin`."""
def sinc(input: Tensor, *, out: Any = ...) -> Tensor:
    """`sin(pi input) / (pi input)`, 1 at zero."""
def sinc_(input: Any) -> Tensor:
    """In-place form of `sinc`."""
def sinh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Any) -> Tensor:
    """In-place form of `sinh`."""
def slice_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `slice` shows, contiguous and with its own memory."""
def slice_inverse(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
    """The memory of `input` with the size, the strides and the offset of `src`, of which it is a slice."""
def slice_scatter(input: Tensor, src: Tensor, dim: Any = ..., start: Any = ..., end: Any = ..., step: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The input with `[start:end:step]` of a dimension replaced."""
def slogdet(input: Tensor, *, out: Any = ...) -> return_types.slogdet:
    """The sign and the logarithm of the absolute value of the determinant."""
def smm(input: Any, mat2: Any) -> Tensor:
    """Sparse times dense, as a COO tensor."""
def softmax(input: Tensor, dim: Any, dtype: Any = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """exp(input), normalised to sum 1 along `dim`; `dtype` converts the input first."""
def solve(*args: Any, **kwargs: Any) -> Tensor:
    """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed."""
def sort(input: Tensor, dim: Any = ..., descending: _bool = ..., *, stable: _bool | None = ..., axis: Any = ..., out: Any = ...) -> return_types.sort:
    """The elements in order along a dimension, and their indices; always stable. NaN counts as largest."""
def sparse_bsc_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor of layout torch.sparse_bsc: (ccol_indices, row_indices, values, size); see `sparse_compressed_tensor`."""
def sparse_bsr_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor of layout torch.sparse_bsr: (crow_indices, col_indices, values, size); see `sparse_compressed_tensor`."""
def sparse_csc_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor of layout torch.sparse_csc: (ccol_indices, row_indices, values, size); see `sparse_compressed_tensor`."""
def sparse_csr_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor of layout torch.sparse_csr: (crow_indices, col_indices, values, size); see `sparse_compressed_tensor`."""
def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """Parts of one size along a dimension (the last may be smaller), or of the sizes in a list."""
def split_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what `split` shows, contiguous and with its own memory."""
def split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """Parts of the given sizes along a dimension."""
def split_with_sizes_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what `split_with_sizes` shows, contiguous and with its own memory."""
def spmm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor:
    """The product of two matrices, (n, m) and (m, p)."""
def sqrt(input: Tensor, *, out: Any = ...) -> Tensor:
    """The square root; NaN for negative numbers."""
def sqrt_(input: Any) -> Tensor:
    """In-place form of `sqrt`."""
def square(input: Tensor, *, out: Any = ...) -> Tensor:
    """`input * input`; bools count as integers."""
def square_(input: Any) -> Tensor:
    """In-place form of `square`."""
def squeeze(input: Tensor, dim: Any = ..., *, axis: Any = ...) -> Tensor:
    """Without the dimensions of size 1, all of them or those in `dim`."""
def squeeze_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `squeeze` shows, contiguous and with its own memory."""
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
    """beta input + alpha mat1 @ mat2 as a COO tensor, for a COO `input` and a dense `mat2`; not merged."""
def stack(tensors: Any, dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The tensors, all of one shape, joined along a new dimension."""
def std(input: Tensor, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., out: Tensor | None = ..., axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The standard deviation over dimensions (an int, a tuple, None for all), divided by `n - correction`."""
def std_mean(input: Tensor, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., out: Tensor | None = ..., axis: Any = ..., keepdims: Any = ...) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over dimensions, divided by `n - correction`."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """The spectra of windows of a signal `hop_length` apart; shapes (T) or (B, T) to (..., frequencies, frames)."""
def sub(input: Tensor | _Number, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`input - alpha * other`, broadcast; bools are refused."""
def subtract(input: Tensor | _Number, other: Tensor | _Number, *, alpha: Tensor | _Number | None = ..., out: Any = ...) -> Tensor:
    """`input - alpha * other`, broadcast; bools are refused."""
def sum(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., axis: Any = ..., keepdims: Any = ..., out: Any = ...) -> Tensor:
    """The sum over dimensions (an int, a tuple, None for all); integers add up in int64."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: tuple[Tensor, ...] | None = ...) -> return_types.svd:
    """U, the singular values, and V, of A = U diag(S) V^H; zeros for U and V unless `compute_uv`."""
def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A (minus M) near U diag(S) V^H, of rank q, for A (*, m, n), by random projections; Halko et al. (2011)."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Two dimensions exchanged, as `transpose`."""
def swapdims(input: Tensor, dim0: Any, dim1: Any) -> Tensor:
    """Two dimensions exchanged."""
def sym_constrain_range(size: Any, *, min: _int | None = ..., max: _int | None = ...) -> None:
    """RuntimeError unless min <= size <= max."""
def sym_constrain_range_for_size(size: Any, *, min: _int | None = ..., max: _int | None = ...) -> None:
    """RuntimeError unless min <= size <= max, and size is not negative."""
def sym_float(a: Any) -> _float:
    """`float(a)`."""
def sym_int(a: Any) -> _int:
    """`int(a)`."""
def sym_not(a: Any) -> _bool:
    """`not a`."""
def sym_sqrt(a: Any) -> _float:
    """The square root."""
def symeig(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: This function was deprecated since version 1.9 and is now removed. `torch.linalg.eigh` reads the lower triangle by default, not the upper one."""
def t(input: Tensor) -> Tensor:
    """The transposed matrix; tensors of fewer dimensions as they are."""
def t_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `t` shows, contiguous and with its own memory."""
def take(input: Tensor, index: Tensor, *, out: Any = ...) -> Tensor:
    """The elements at indices into the flattened input."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`gather` with the other dimensions broadcast; of the flattened input if no dimension is given."""
def tan(input: Tensor, *, out: Any = ...) -> Tensor:
    """The tangent."""
def tan_(input: Any) -> Tensor:
    """In-place form of `tan`."""
def tanh(input: Tensor, *, out: Any = ...) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Any) -> Tensor:
    """In-place form of `tanh`."""
def tensor(data: Any, *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested sequences, arrays."""
def tensor_split(input: Tensor, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Any = ..., sections: Any = ..., tensor_indices_or_sections: Any = ...) -> tuple[Tensor, ...]:
    """Parts of a dimension, cut at indices or into so many sections."""
def tensordot(a: Tensor, b: Tensor, dims: Any = ..., out: Tensor | None = ...) -> Tensor:
    """The product of two tensors summed over `dims`: a number of dimensions, or two lists of them."""
def threshold(input: Tensor, threshold: Any, value: Any) -> Tensor:
    """The input where it is above `threshold`, `value` elsewhere."""
def threshold_(input: Any, threshold: Any, value: Any) -> Tensor:
    """In-place form of `threshold`."""
def tile(input: Tensor, dims: Any) -> Tensor:
    """As `repeat`, but fewer repeats than dimensions are for the last ones."""
def topk(input: Tensor, k: Any, dim: Any = ..., largest: _bool = ..., sorted: _bool = ..., *, axis: Any = ..., out: Any = ...) -> return_types.topk:
    """The k largest (or smallest) elements along a dimension, in order, with indices. NaN is largest."""
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Tensor, dim0: Any, dim1: Any) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `transpose` shows, contiguous and with its own memory."""
def trapezoid(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, for points `x` or a distance `dx` (1)."""
def trapz(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor:
    """`trapezoid`, by its old name."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> return_types.triangular_solve:
    """X of A X = B with triangular A, and a copy of A."""
def tril(input: Tensor, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
    """The elements on and below a diagonal of the last two dimensions; zeros elsewhere."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, as int64 (2, n)."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: _int = ...) -> Tensor:
    """`nn.functional.triplet_margin_loss`, the reduction as a number."""
def triu(input: Tensor, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
    """The elements on and above a diagonal of the last two dimensions; zeros elsewhere."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, as int64 (2, n)."""
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input / other`, broadcast; integers give floating-point results."""
def trunc(input: Tensor, *, out: Any = ...) -> Tensor:
    """Rounded towards zero."""
def trunc_(input: Any) -> Tensor:
    """In-place form of `trunc`."""
def typename(obj: Any, /) -> _str:
    """The name of an object's type, or of a class or function itself, with its module."""
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
def unbind(input: Tensor, dim: Any = ..., *, axis: Any = ...) -> tuple[Tensor, ...]:
    """All slices along a dimension, which is dropped."""
def unbind_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what `unbind` shows, contiguous and with its own memory."""
def unflatten(input: Tensor, dim: _int, sizes: Any) -> Tensor:
    """One dimension split into several of the given sizes."""
def unfold_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `unfold` shows, contiguous and with its own memory."""
def uninstall() -> None:
    """Undo `install()`: a later `import torch` looks for PyTorch again. Modules keep what they imported."""
@overload
def unique(input: Tensor, sorted: _bool = ..., return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices as one tensor of indices for each dimension of a shape."""
def unsafe_chunk(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """`chunk` whose parts have memory of their own."""
def unsafe_split(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """`split` whose parts have memory of their own."""
def unsafe_split_with_sizes(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose parts have memory of their own."""
def unsqueeze(input: Tensor, dim: Any, *, axis: Any = ...) -> Tensor:
    """With a dimension of size 1 at `dim`."""
def unsqueeze_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `unsqueeze` shows, contiguous and with its own memory."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = ...) -> None:
    """Keep the wish for deterministic algorithms; on the CPU there are no others. On GPUs, XLA's flag `--xla_gpu_deterministic_ops=true` in the environment variable XLA_FLAGS decides."""
def values_copy(input: Tensor) -> Tensor:
    """A copy of `input.values()`."""
def vander(x: Tensor, N: Any = ..., increasing: _bool = ...) -> Tensor:
    """Powers of a vector's elements in columns, highest first unless `increasing`."""
def var(input: Tensor, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., out: Tensor | None = ..., axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The variance over dimensions (an int, a tuple, None for all), divided by `n - correction`."""
def var_mean(input: Tensor, dim: Any = ..., unbiased: Any = ..., keepdim: Any = ..., *, correction: Any = ..., out: Tensor | None = ..., axis: Any = ..., keepdims: Any = ...) -> tuple[Tensor, Tensor]:
    """The variance and the mean over dimensions, divided by `n - correction`."""
def vdot(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The inner product of two vectors, the first conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor whose last dimension has size 2 as complex numbers."""
def view_as_complex_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `view_as_complex` shows, contiguous and with its own memory."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in a new last dimension."""
def view_as_real_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `view_as_real` shows, contiguous and with its own memory."""
def view_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Tensor:
    """A copy of what `view` shows, contiguous and with its own memory."""
def vmap(func: Callable[..., Any], in_dims: Any = ..., out_dims: Any = ..., randomness: _str = ..., *, chunk_size: _int | None = ...) -> Callable[..., Any]:
    """Map a function over a dimension of its positional tensor arguments; keyword arguments are the same for all examples."""
def vsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]:
    """Equal parts of one dimension, or parts cut at indices."""
def vstack(tensors: Any, *, out: Tensor | None = ...) -> Tensor:
    """The tensors one below the other, 1-d ones as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Any, other: Any, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def where(condition: Tensor, *, input: Any = ..., self: Any = ..., other: Any, out: Tensor | None = ...) -> Tensor: ...
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input * log(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
def xlogy_(input: Any, other: Any) -> Tensor:
    """In-place form of `xlogy`."""
def zero_(input: Tensor) -> Tensor:
    """Fill with zeros, in place."""
def zeros(*items: Any, size: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A new tensor of the given size; filled with 0."""
def zeros_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any = ...) -> Tensor:
    """A tensor of the input's size and type; filled with 0."""
