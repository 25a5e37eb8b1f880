"""What the names of operations in a TorchScript archive mean: functions that take the arguments of PyTorch's schemas, by position."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import fft as _fft
from .. import linalg as _linalg
from .. import ops
from .. import special as _special
from .._core.define.op import functions, methods
from .._core.tensor.tensor import Tensor
from .._core.types.device import device
from .._core.types.grad_mode import state
from .._library import aten as _aten
from .._ops.types import constants
from ..amp._settings import settings
from ..nn import functional as F
from ._attention import Padded, encoder_layer, is_left_aligned, native_attention, padded
from ._same_names import SAME
from ._values import CONTAINERS, FORMATS, LAYOUTS, NUMBERS, PRIM, SHARED, kind, make_device

OWN: dict[str, Callable[..., Any]] = {}
"""Operations whose arguments are not those of the function of the same name."""

_REDUCTIONS = ("none", "mean", "sum")


def _own(fn: Any) -> Any:
    OWN[fn.__name__.removesuffix("__own")] = fn
    return fn


def _lists(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> list[Any]:
        return list(fn(*args, **kwargs))

    return call


def _spread(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of many tensors, given a list of them."""

    def call(tensors: Any) -> Any:
        found = fn(*tensors) if isinstance(tensors, (list, tuple)) else fn(tensors)
        return list(found) if isinstance(found, tuple) else found

    return call


for _name in ("split", "chunk", "unbind", "split_with_sizes", "tensor_split", "unsafe_split", "unsafe_chunk", "hsplit", "vsplit",
              "dsplit", "unsafe_split_with_sizes"):  # fmt: skip
    OWN[_name] = _lists(functions.get(_name) or methods[_name])
for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod"):
    OWN[_name] = _spread(functions[_name])
for _name in """
    addmm arange baddbmm bmm copy_ det empty expand gru inverse isin lstm matrix_exp max min mm new_empty new_ones new_zeros ones
    orgqr ormqr rand randint randn random_ repeat repeat_interleave result_type rnn_relu rnn_tanh scatter scatter_ std std_mean
    sum_to_size tensor uniform_ var var_mean view zeros einsum item requires_grad_ eq ne
    """.split():
    OWN[_name] = functions.get(_name) or methods.get(_name) or getattr(Tensor, _name)


def _with_alpha(name: str) -> Callable[..., Any]:
    fn = functions.get(name) or methods[name]

    def call(input: Any, other: Any, alpha: Any = 1) -> Any:
        return fn(input, other) if alpha == 1 else fn(input, other, alpha=alpha)

    return call


for _name in ("add", "add_", "sub", "sub_", "subtract", "subtract_", "rsub"):
    OWN[_name] = _with_alpha(_name)


@_own
def size(self: Tensor, dim: int | None = None) -> Any:
    return list(self.shape) if dim is None else self.size(dim)


@_own
def stride(self: Tensor, dim: int | None = None) -> Any:
    return list(self.stride()) if dim is None else self.stride(dim)


@_own
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    first, *rest = args if args else (None,)
    if isinstance(first, Tensor):
        return self.to(first, *rest[:2], **kwargs)
    if type(first) is bool:  # non_blocking, copy
        return self.to(self.device, self.dtype, *args[:2])
    if type(first) is int:
        where, rest = None, args
    else:
        where = first
    dtype = kind(rest[0]) if rest else kwargs.pop("dtype", None)
    if len(rest) > 3 and rest[3] is not None:
        kwargs["memory_format"] = memory_format(rest[3])
    where = kwargs.pop("device", None) or where
    return self.to(self.device if where is None else where, dtype or self.dtype, *rest[1:3], **kwargs)


@_own
def slice__own(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return _aten.slice(self, dim, start, end, step)


@_own
def index__own(self: Tensor, indices: Any) -> Tensor:
    return _aten.index(self, indices)


@_own
def index_put_(self: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    if any(i is None for i in indices):
        if accumulate:
            raise NotImplementedError(
                "torch.index_put_ with accumulate and a whole dimension, in a TorchScript archive"
            )
        self[tuple(slice(None) if i is None else i for i in indices)] = values
        return self
    return methods["index_put_"](self, tuple(indices), values, accumulate)


@_own
def _convolution(input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                 output_padding: Any, groups: int, *switches: bool) -> Tensor:  # fmt: skip
    return functions["convolution"](input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@_own
def _convolution_mode(
    input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Tensor:
    return functions[f"conv{weight.dim() - 2}d"](input, weight, bias, stride, padding, dilation, groups)


def _pooling(name: str) -> Callable[..., Any]:
    fn = getattr(F, name)

    def call(input: Tensor, kernel_size: Any, stride: Any = None, *rest: Any) -> Any:
        return fn(input, kernel_size, stride or None, *rest)

    return call


for _name in ("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"):
    OWN[_name] = _pooling(_name)


def _with_indices(name: str) -> Callable[..., Any]:
    fn = getattr(F, name)

    def call(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil: bool = False
    ) -> Any:
        return fn(input, kernel_size, stride or None, padding, dilation, ceil, True)

    return call


for _name in ("max_pool1d", "max_pool2d", "max_pool3d"):
    OWN[_name + "_with_indices"] = _with_indices(_name)
for _name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "linear", "pad", "softshrink", "softplus",
              "glu", "one_hot", "scaled_dot_product_attention"):  # fmt: skip
    OWN[_name] = getattr(F, _name)


def _adaptive_max(name: str) -> Callable[..., Any]:
    fn = getattr(F, name)

    def call(input: Tensor, output_size: Any) -> Any:
        return fn(input, output_size, True)

    return call


for _name in ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"):
    OWN[_name] = _adaptive_max(_name)


def _activation(name: str, count: int = 0) -> None:
    """An activation of `count` numbers, and in place."""
    fn = getattr(F, name)

    def call(self: Tensor, *numbers: Any) -> Tensor:
        return fn(self, *numbers)

    def inplace(self: Tensor, *numbers: Any) -> Tensor:
        if len(numbers) > count:
            raise TypeError(f"torch.{name}_ takes {count} numbers, got {len(numbers)}")
        return fn(self, *numbers, inplace=True)

    OWN[name], OWN[name + "_"] = call, inplace


for _name, _count in {
    "silu": 0,
    "mish": 0,
    "hardswish": 0,
    "hardsigmoid": 0,
    "relu6": 0,
    "leaky_relu": 1,
    "hardtanh": 2,
}.items():
    _activation(_name, _count)


@_own
def elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    if scale == 1 and input_scale == 1:
        return F.elu(self, alpha)
    raise NotImplementedError("torch.elu with scales, in a TorchScript archive")


@_own
def elu_(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    if scale == 1 and input_scale == 1:
        return F.elu(self, alpha, inplace=True)
    raise NotImplementedError("torch.elu_ with scales, in a TorchScript archive")


@_own
def gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(self, approximate=approximate)


@_own
def log_sigmoid(self: Tensor) -> Tensor:
    return F.logsigmoid(self)


@_own
def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return F.dropout(self, p, train, inplace=True)


def _cast_position(name: str, at: int) -> None:
    fn = functions[name]

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) > at:
            args = (*args[:at], kind(args[at]), *args[at + 1 :])
        return fn(input, *args, **kwargs)

    OWN[name] = call


_cast_position("softmax", 1)
_cast_position("log_softmax", 1)


def _upsample(name: str) -> None:
    fn = _aten.find(name)
    aligned = "nearest" not in name

    def call(input: Tensor, output_size: Any, *rest: Any) -> Tensor:
        switches, scales = (rest[:1], rest[1:]) if aligned else ((), rest)
        if scales and isinstance(scales[0], list):  # the overload of one list of factors
            scales = tuple(scales[0])
        elif len(scales) == 1 and scales[0] is None and output_size is not None:
            scales = ()
        if output_size is None:
            output_size = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
        return fn(input, output_size, *switches, *scales)  # pyright: ignore[reportOptionalCall]

    OWN[name] = call


for _name in ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
              "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
              "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):  # fmt: skip
    if _aten.find(_name) is not None:
        _upsample(_name)


def _padding(name: str, mode: str) -> None:
    def call(self: Tensor, padding: Any) -> Tensor:
        return F.pad(self, padding, mode)

    OWN[name] = call


for _n in (1, 2, 3):
    _padding(f"reflection_pad{_n}d", "reflect")
    _padding(f"replication_pad{_n}d", "replicate")


# -- losses, whose reduction is a number


def _loss(name: str, *more: str) -> None:
    fn = getattr(F, name)

    def call(self: Tensor, target: Tensor, reduction: int = 1, *rest: Any) -> Tensor:
        return fn(self, target, reduction=_REDUCTIONS[reduction], **dict(zip(more, rest, strict=False)))

    OWN[name] = call


_loss("mse_loss")
_loss("l1_loss")
_loss("smooth_l1_loss", "beta")
_loss("huber_loss", "delta")
_loss("soft_margin_loss")


@_own
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1) -> Tensor:
    return F.binary_cross_entropy(self, target, weight, reduction=_REDUCTIONS[reduction])


def _nll_loss(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Tensor:
    return F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])


OWN["nll_loss"] = OWN["nll_loss_nd"] = OWN["nll_loss2d"] = _nll_loss


@_own
def cross_entropy_loss(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
                       label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    return F.cross_entropy(
        self,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_REDUCTIONS[reduction],
        label_smoothing=label_smoothing,
    )


# -- the rest


@_own
def tensordot(self: Tensor, other: Tensor, dims_self: Any, dims_other: Any) -> Tensor:
    return functions["tensordot"](self, other, (list(dims_self), list(dims_other)))


@_own
def meshgrid(tensors: Any, indexing: str = "ij") -> Any:
    return list(functions["meshgrid"](*tensors, indexing=indexing))


@_own
def sort(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    if args and type(args[0]) is bool:  # stable, dim, descending
        return functions["sort"](self, *args[1:], stable=args[0], **kwargs)
    return functions["sort"](self, *args, **kwargs)


@_own
def arange(*ends: Any, **kwargs: Any) -> Tensor:
    return functions["arange"](*ends, **kwargs)


for _name in ("and", "or", "xor"):
    OWN[f"__{_name}__"], OWN[f"__i{_name}__"] = functions[f"bitwise_{_name}"], methods[f"bitwise_{_name}_"]
OWN["__lshift__"], OWN["__rshift__"] = functions["bitwise_left_shift"], functions["bitwise_right_shift"]


def _transposed(name: str) -> Callable[[Tensor], Tensor]:
    def call(self: Tensor) -> Tensor:
        return getattr(self, name)

    return call


OWN |= {"numpy_T": _transposed("T"), "matrix_H": _transposed("H"), "mT": _transposed("mT"), "mH": _transposed("mH")}
OWN |= {"_transformer_encoder_layer_fwd": encoder_layer, "_native_multi_head_attention": native_attention}
OWN |= {
    "_nested_tensor_from_mask": Padded,
    "_nested_tensor_from_mask_left_aligned": is_left_aligned,
    "to_padded_tensor": padded,
}


def _asked(name: str) -> Callable[..., Any]:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    return call


for _name in (
    "dim",
    "numel",
    "is_contiguous",
    "storage_offset",
    "element_size",
    "is_coalesced",
    "get_device",
    "requires_grad_",
):
    OWN[_name] = _asked(_name)


@_own
def len__own(self: Tensor) -> int:
    return self.shape[0]


@_own
def copy__own(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return self.clone().copy_(src)


def _scalar(name: str, fn: Callable[[Any], Any]) -> None:
    def call(x: Any) -> Any:
        return fn(x.item() if isinstance(x, Tensor) else x)

    OWN[name] = call


for _name, _fn in {"Int": int, "Float": float, "Bool": bool, "IntImplicit": int, "FloatImplicit": float}.items():
    _scalar(_name, _fn)
_scalar("ScalarImplicit", lambda x: x)


@_own
def is_grad_enabled() -> bool:
    return state.grad


@_own
def set_grad_enabled(on: bool) -> None:
    state.grad = on


@_own
def is_autocast_enabled(kind: str = "cuda") -> bool:
    return kind in settings.enabled


@_own
def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


@_own
def is_scripting() -> bool:
    return True


@_own
def _unwrap_optional(x: Any) -> Any:
    if x is None:
        raise RuntimeError("Unwrapping null optional")
    return x


@_own
def device__own(name: Any, index: Any = None) -> device:
    return make_device(name, index)


def memory_format(code: Any) -> Any:
    """The memory format that a number stands for."""
    return getattr(constants, FORMATS[code]) if type(code) is int else code


def layout(code: Any) -> Any:
    """The layout that a number stands for; NotImplementedError for sparse ones."""
    if type(code) is int and code not in LAYOUTS:
        raise NotImplementedError("the TorchScript archive makes a tensor of a layout that is not strided")
    return LAYOUTS[code] if type(code) is int else code


KEYWORDS: dict[str, Callable[[Any], Any]] = {"dtype": kind, "memory_format": memory_format, "layout": layout}
"""Keyword arguments that archives give as numbers."""


def _number_to_tensor(x: Any) -> Tensor:
    return functions["tensor"](x, dtype=kind(11 if type(x) is bool else 4 if isinstance(x, int) else 7))


PRIM["NumToTensor"] = _number_to_tensor
_SPACES = {"fft_": _fft, "linalg_": _linalg, "special_": _special}


def _of_tensors(name: str) -> Callable[..., Any] | None:
    if name in OWN:
        return OWN[name]
    if name in SAME:
        return functions.get(name) or methods.get(name)
    for prefix, space in _SPACES.items():
        if name.startswith(prefix) and name.removeprefix(prefix) in space.__all__:
            return getattr(space, name.removeprefix(prefix))
    return None


def _either(first: Any, other: Callable[..., Any], kinds: Any = None) -> Callable[..., Any]:
    """`other` for containers (of these `kinds`), or for arguments with no tensor among the first two; else `first`."""
    if kinds is not None:

        def call(held: Any, *args: Any, **kwargs: Any) -> Any:
            return (other if isinstance(held, kinds) else first)(held, *args, **kwargs)

        return call

    def compute(a: Any, *rest: Any, **kwargs: Any) -> Any:
        if isinstance(a, Tensor) or (rest and isinstance(rest[0], Tensor)):
            return first(a, *rest, **kwargs)
        return other(a, *rest, **kwargs)

    return compute


def missing(name: str) -> Callable[..., Any]:
    """What raises NotImplementedError, which names the operation, when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the TorchScript archive calls {name}, which jaxtorch cannot run yet")

    return call


def _old_division(name: str) -> Callable[..., Any]:
    """Division as it was before PyTorch 1.6: of whole numbers, truncated."""
    fn = functions.get(name) or methods[name]

    def call(a: Tensor, b: Any, **kwargs: Any) -> Any:
        whole = not any(x.is_floating_point() if isinstance(x, Tensor) else isinstance(x, float) for x in (a, b))
        return fn(a, b, rounding_mode="trunc") if whole and not kwargs else fn(a, b, **kwargs)

    return call


def _old_full(size: Any, fill_value: Any, **kwargs: Any) -> Tensor:
    """`full` as it was before PyTorch 1.7: of floating point where no type is given."""
    return functions["full"](size, fill_value if kwargs.get("dtype") is not None else float(fill_value), **kwargs)


_OLD = {"div": (4, _old_division("div")), "div_": (4, _old_division("div_")), "full": (5, _old_full)}
"""Operations with another meaning in archives below a version."""


def operation(space: str, name: str, version: int = 10) -> Callable[..., Any]:
    """The function of `torch.NAME` (space 'aten') or `ops.SPACE.NAME` in the source of an archive of some version."""
    if space == "prim":
        return PRIM.get(name) or missing(f"ops.prim.{name}")
    if space != "aten":
        found = (
            getattr(getattr(ops, space), name, None) if space in ("torchvision", "quantized", "torchaudio") else None
        )
        return found or missing(f"ops.{space}.{name}")
    found = _of_tensors(name)
    if version < _OLD.get(name, (0,))[0]:
        found = _OLD[name][1]
    if name in NUMBERS:
        return _either(found or missing(f"torch.{name}"), NUMBERS[name])
    if name in SHARED:
        kinds, other = SHARED[name]
        return _either(found or missing(f"torch.{name}"), other, kinds)
    if name in CONTAINERS:
        return CONTAINERS[name]
    return found or missing(f"torch.{name}")
