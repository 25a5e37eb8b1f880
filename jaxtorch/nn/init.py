"""Initial values for parameters: each function fills a tensor in place and returns it.

They draw from the generator exactly as PyTorch does, so the same seed gives the same weights. `uniform_`, `normal_`, `constant_`
and `kaiming_uniform_` ask `__torch_function__`, with all arguments by name: so programs leave out the filling of large models.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad
from .._ops.linalg.qr_and_cholesky import linalg_qr as _qr
from ..overrides import handle_torch_function, has_torch_function_unary

_LINEAR = frozenset("linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid".split())


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity. param: the slope of 'leaky_relu' below zero (0.01)."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with no_grad():
        return tensor.zero_()


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn evenly from [a, b)."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values drawn from a normal distribution."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator)
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with values drawn from a normal distribution, cut off outside [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )

    a, b = (float(x) if isinstance(x, int) else x for x in (a, b))  # however large

    def below(x: float) -> float:
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    with no_grad():
        if below(b) - below(a) > 0.3:
            _redraw_normal(tensor, mean, std, a, b, generator)
        else:
            _redraw_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _redraw_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """Draw normal numbers for the whole tensor until each element has had one inside."""
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < a) | (tensor > b)
        if not outside.any():
            return
        drawn = functions["empty_like"](tensor, requires_grad=False).normal_(mean, std, generator=generator)
        tensor.copy_(drawn.where(outside, tensor))


def _redraw_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """Draw even numbers in [a, b] for the whole tensor, and keep each as likely as the density makes it.

    Few normal numbers fall into a range that is narrow or far out, so drawing those would take many rounds.
    """
    peak = min(max(mean, a), b)
    highest = ((peak - mean) / std) ** 2 / 2
    kept = None
    while True:
        drawn = functions["empty_like"](tensor, requires_grad=False).uniform_(a, b, generator=generator)
        log_chance = highest - ((drawn - mean) / std) ** 2 / 2
        even = functions["empty_like"](tensor, requires_grad=False).uniform_(generator=generator)
        accepted = ~(even.log() > log_chance)  # where the chance is NaN too, or this would never end
        if kept is None:
            tensor.copy_(drawn)
            kept = accepted
        else:
            tensor.copy_(tensor.where(kept, drawn))
            kept = kept | accepted
        if kept.all():
            return


_no_grad_trunc_normal_ = trunc_normal_
"""What PyTorch calls inside, as `_no_grad_normal_`, and programs have copied."""


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return _no_grad_fill_(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return _no_grad_zero_(tensor)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(functions["eye"](*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that, in each group, it passes its input channels through.

    tensor: (out, in/groups, width), (..., height, width) or (..., depth, height, width).
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, channels, *kernel = tensor.shape
    if out % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = out // groups
    centre = tuple(size // 2 for size in kernel)
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, channels)):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs feed an output of the layer with this weight, and how many outputs an input feeds."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inside, *kernel = tensor.shape
    field = math.prod(kernel)
    return inside * field, out * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's initialisation: even in [-a, a], a = gain * sqrt(6 / (fan_in + fan_out)).

    Glorot & Bengio 2010.
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    a = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's initialisation: normal with std = gain * sqrt(2 / (fan_in + fan_out)).

    Glorot & Bengio 2010.
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return _no_grad_normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """He's initialisation: even in [-x, x], x = gain * sqrt(3 / fan) (He et al. 2015).

    a: the negative slope for 'leaky_relu'. mode: 'fan_in' keeps the variance forward, 'fan_out' backward.
    """
    if has_torch_function_unary(tensor):
        named = {"tensor": tensor, "a": a, "mode": mode, "nonlinearity": nonlinearity, "generator": generator}
        return handle_torch_function(kaiming_uniform_, (tensor,), **named)
    if _is_empty(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """He's initialisation: normal with std = gain / sqrt(fan) (He et al. 2015).

    Arguments as for `kaiming_uniform_`.
    """
    if _is_empty(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return _no_grad_normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a random (semi-)orthogonal matrix, trailing dimensions flattened (Saxe et al. 2013)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = _qr(flat.t() if rows < columns else flat)
        q = q * r.diagonal().sign()  # so that the result does not depend on the signs a QR routine picks
        if rows < columns:
            q = q.t()
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal values but a fraction `sparsity` of each column with zero (Martens 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # PyTorch, too, draws the order from the default generator whatever `generator` is.
            tensor[functions["randperm"](rows)[:zeros], column] = 0
    return tensor


def _deprecated(new: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its old name, without the underscore."""
    name = new.__name__[:-1]

    @functools.wraps(new)
    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"Deprecated name of `{name}_`."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
