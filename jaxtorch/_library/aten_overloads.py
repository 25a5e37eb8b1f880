"""Which ATen operation a call of a function is, where it is one: names, overloads and how their arguments are given.

One line for each function: its overloads in the order in which they are tried. A letter says what an argument must be: N a
number, T a tensor, L integers (one stands for a list), S the same, which may also come one by one, P a sequence of tensors. What is
left at its default is not shown to modes, as in PyTorch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import return_types
from .._core.dispatch import torch_dispatch
from .._core.tensor.tensor import Tensor
from .operators import namespace

_SAME = """abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac
    lgamma log log10 log1p log2 logical_not neg reciprocal relu rsqrt sgn sigmoid sign sin sinc sinh sqrt tan tanh trunc"""
"""Functions of one tensor, which all have an in-place form."""

_OTHERS = """
    add.Tensor(self, other, *, alpha=1)
    sub.Tensor(self: T, other, *, alpha=1)
    rsub.Tensor(self, other: T, *, alpha=1) | rsub.Scalar(self, other: N, alpha=1)
    mul.Tensor(self, other)
    div.Tensor(self, other) | div.Tensor_mode(self, other, *, rounding_mode)
    floor_divide(self, other)
    remainder.Scalar(self: T, other: N) | remainder.Tensor(self: T, other: T) | remainder.Scalar_Tensor(self: N, other: T)
    fmod.Scalar(self, other: N) | fmod.Tensor(self, other: T)
    pow.Tensor_Scalar(self: T, exponent: N) | pow.Tensor_Tensor(self: T, exponent: T) | pow.Scalar(self: N, exponent: T)
    eq.Scalar(self, other: N) | eq.Tensor(self, other: T)
    ne.Scalar(self, other: N) | ne.Tensor(self, other: T)
    lt.Scalar(self, other: N) | lt.Tensor(self, other: T)
    le.Scalar(self, other: N) | le.Tensor(self, other: T)
    gt.Scalar(self, other: N) | gt.Tensor(self, other: T)
    ge.Scalar(self, other: N) | ge.Tensor(self, other: T)
    bitwise_and.Scalar(self: T, other: N) | bitwise_and.Tensor(self: T, other: T)
    bitwise_or.Scalar(self: T, other: N) | bitwise_or.Tensor(self: T, other: T)
    bitwise_xor.Scalar(self: T, other: N) | bitwise_xor.Tensor(self: T, other: T)
    logical_and(self, other)
    logical_or(self, other)
    logical_xor(self, other)
    maximum(self, other)
    minimum(self, other)
    atan2(self, other)
    lerp.Scalar(self, end, weight: N) | lerp.Tensor(self, end, weight: T)
    addcmul(self, tensor1, tensor2, *, value=1)
    addcdiv(self, tensor1, tensor2, *, value=1)
    clamp(self, min: N = None, max: N = None) | clamp.Tensor(self, min: T = None, max: T = None)
    clamp_min(self, min: N) | clamp_min.Tensor(self, min: T)
    clamp_max(self, max: N) | clamp_max.Tensor(self, max: T)
    masked_fill.Scalar(self, mask, value: N) | masked_fill.Tensor(self, mask, value: T)
    isnan(self)
    isinf(self)
    round(self) | round.decimals(self, *, decimals: N)

    sum(self, *, dtype=None) | sum.dim_IntList(self, dim: L, keepdim=False, *, dtype=None)
    mean(self, *, dtype=None) | mean.dim(self, dim: L, keepdim=False, *, dtype=None)
    amax(self, dim: L = [], keepdim=False)
    amin(self, dim: L = [], keepdim=False)
    prod(self, *, dtype=None) | prod.dim_int(self, dim: N, keepdim=False, *, dtype=None)
    argmax(self, dim=None, keepdim=False)
    argmin(self, dim=None, keepdim=False)
    any(self) | any.dim(self, dim: N, keepdim=False)
    all(self) | all.dim(self, dim: N, keepdim=False)
    cumsum(self, dim: N, *, dtype=None)
    cumprod(self, dim: N, *, dtype=None)
    logsumexp(self, dim: L, keepdim=False)
    topk(self, k, dim=-1, largest=True, sorted=True)
    sort(self, dim=-1, descending=False) | sort.stable(self, *, stable, dim=-1, descending=False)

    mm(self, mat2)
    bmm(self, mat2)
    mv(self, vec)
    dot(self, tensor)
    addmm(self, mat1, mat2, *, beta=1, alpha=1)
    baddbmm(self, batch1, batch2, *, beta=1, alpha=1)

    t(self)
    transpose.int(self, dim0: N, dim1: N)
    permute(self, dims: S)
    unsqueeze(self, dim)
    squeeze(self) | squeeze.dim(self, dim: N) | squeeze.dims(self, dim: L)
    select.int(self, dim: N, index: N)
    expand(self, size: S, *, implicit=False)
    view(self, size: S)
    unbind.int(self, dim=0)
    diagonal(self, offset=0, dim1=0, dim2=1)
    detach(self)
    new_empty_strided(self, size: L, stride: L, *, dtype=None, layout=None, device=None)
    as_strided(self, size: L, stride: L, storage_offset=None)
    cat(tensors: P, dim=0)
    stack(tensors: P, dim=0)
    flip(self, dims: S)
    roll(self, shifts: L, dims: L = [])
    repeat(self, repeats: S)
    tril(self, diagonal=0)
    triu(self, diagonal=0)
    gather(self, dim: N, index, *, sparse_grad=False)
    index_select(self, dim: N, index)
    scatter.src(self, dim: N, index, src: T) | scatter.value(self, dim: N, index, value: N)
    scatter_add(self, dim: N, index, src)
    index_add(self, dim: N, index, source, *, alpha=1)
    nonzero(self)
    clone(self, *, memory_format=None)
    multinomial(self, num_samples, replacement=False)
    xlogy.Tensor(self: T, other: T)
    median(self) | median.dim(self, dim: N, keepdim=False)
    isin.Tensor_Tensor(elements: T, test_elements: T)
    aminmax(self)
    triu_(self, diagonal=0)
    tril_(self, diagonal=0)
    index_fill_.int_Scalar(self, dim: N, index, value: N)
    logical_or_(self, other)
    logical_and_(self, other)
    pixel_shuffle(self, upscale_factor)
    pixel_unshuffle(self, downscale_factor)

    gelu(self, *, approximate='none')
    silu(self)
    mish(self)
    hardswish(self)
    hardsigmoid(self)
    leaky_relu(self, negative_slope=0.01)
    elu(self, alpha=1, scale=1, input_scale=1)
    hardtanh(self, min_val=-1, max_val=1)
    softplus(self, beta=1, threshold=20)
    celu(self, alpha=1.0)
    glu(self, dim=-1)
    native_layer_norm(input, normalized_shape: L, weight, bias, eps)
    native_group_norm(input, weight, bias, N, C, HxW, group, eps)
    convolution(input, weight, bias, stride: L, padding: L, dilation: L, transposed, output_padding: L, groups)

    fill_.Scalar(self, value: N) | fill_.Tensor(self, value: T)
    zero_(self)
    copy_(self, src, non_blocking=False)
    relu_(self)
    add_.Tensor(self, other, *, alpha=1)
    sub_.Tensor(self, other, *, alpha=1)
    mul_.Tensor(self, other)
    div_.Tensor(self, other) | div_.Tensor_mode(self, other, *, rounding_mode)
    pow_.Scalar(self, exponent: N) | pow_.Tensor(self, exponent: T)
    lerp_.Scalar(self, end, weight: N) | lerp_.Tensor(self, end, weight: T)
    addcmul_(self, tensor1, tensor2, *, value=1)
    addcdiv_(self, tensor1, tensor2, *, value=1)
    clamp_(self, min: N = None, max: N = None)
    clamp_min_(self, min: N) | clamp_min_.Tensor(self, min: T)
    hardswish_(self)
    masked_fill_.Scalar(self, mask, value: N) | masked_fill_.Tensor(self, mask, value: T)
    index_add_(self, dim: N, index, source, *, alpha=1)
    scatter_add_(self, dim: N, index, src)
    silu_(self)
    leaky_relu_(self, negative_slope=0.01)
    hardtanh_(self, min_val=-1, max_val=1)
"""

_MISSING: Any = object()
_RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim"}


@dataclass
class Form:
    """One overload: its arguments by position, those by keyword alone, with defaults and letters."""

    packet: str
    overload: str
    positional: list[tuple[str, str, Any]] = field(default_factory=list)
    keyword: list[tuple[str, str, Any]] = field(default_factory=list)

    def operation(self) -> Any:
        """`torch.ops.aten.<packet>.<overload>`."""
        return getattr(getattr(namespace("aten"), self.packet), self.overload)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Arguments as PyTorch hands them to modes, (args, kwargs); None where they do not fit."""
        known = {n for n, _, _ in (*self.positional, *self.keyword)}
        named = {k if k in known else _RENAMED.get(k, k): v for k, v in kwargs.items()}
        star = next((i for i, (_, kind, _) in enumerate(self.positional) if kind == "S"), None)
        if star is not None and len(args) > star and not isinstance(args[star], (list, tuple)):
            args = (*args[:star], args[star:])
        if len(args) > len(self.positional):
            return None
        values = []
        for i, (name, kind, default) in enumerate(self.positional):
            x = args[i] if i < len(args) else named.pop(name, default)
            if x is _MISSING or (x is not default and not _fits(x, kind)):
                return None
            values.append(_listed(x) if x is not default else x)
        found = {}
        for name, kind, default in self.keyword:
            x = named.pop(name, default)
            if x is _MISSING or (x is not default and not _fits(x, kind)):
                return None
            if not _is_default(x, default):
                found[name] = _listed(x)
        if any(v is not None for v in named.values()):
            return None
        while values and _is_default(values[-1], self.positional[len(values) - 1][2]):
            values.pop()
        values = [
            [x] if self.positional[i][1] in ("L", "S") and isinstance(x, int) else x for i, x in enumerate(values)
        ]
        return tuple(values), found


def _is_default(x: Any, default: Any) -> bool:
    return default is not _MISSING and type(x) is type(default) and x == default


def _listed(x: Any) -> Any:
    return list(x) if isinstance(x, (tuple, list)) else x


def _fits(x: Any, kind: str) -> bool:
    if kind == "T":
        return isinstance(x, Tensor)
    if kind == "N":
        return isinstance(x, (int, float, complex))
    if kind in ("L", "S"):
        return isinstance(x, int) or (isinstance(x, (tuple, list)) and all(isinstance(i, int) for i in x))
    return kind != "P" or isinstance(x, (tuple, list))


def _form(text: str) -> Form:
    match = re.fullmatch(r"(\w+)(?:\.(\w+))?\((.*)\)", text.strip())
    assert match is not None, text
    made = Form(match[1], match[2] or "default")
    body: Any = ast.parse(f"def f({match[3]}): pass").body[0]
    given = body.args
    defaults = [_MISSING] * (len(given.args) - len(given.defaults)) + [ast.literal_eval(d) for d in given.defaults]
    made.positional = [(a.arg, _letter(a), d) for a, d in zip(given.args, defaults, strict=True)]
    made.keyword = [
        (a.arg, _letter(a), _MISSING if d is None else ast.literal_eval(d))
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return made


def _letter(a: Any) -> str:
    return a.annotation.id if a.annotation is not None else ""


_OUT = {
    "default": "out",
    "Tensor": "out",
    "Tensor_mode": "out_mode",
    "dim_IntList": "IntList_out",
    "dim_int": "int_out",
}
_OUT |= {"mean.default": "dtype_out", "any.default": "all_out", "all.default": "all_out", "xlogy.Tensor": "OutTensor"}
_OUT |= dict.fromkeys(("any.dim", "all.dim", "mean.dim"), "out")
_OUT |= {
    f"{name}.Tensor": "Tensor_out"
    for name in "rsub remainder fmod eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor lerp clamp clamp_min clamp_max".split()
}
_NO_OUT = """t transpose permute unsqueeze squeeze select expand view unbind diagonal detach new_empty_strided as_strided topk
    sort median aminmax""".split()


def _writing(form: Form) -> Any:
    """The overload of an operation that writes to `out=`; None where there is none, or one with several results."""
    if form.packet in _NO_OUT or form.packet.endswith("_"):
        return None
    overload = _OUT.get(f"{form.packet}.{form.overload}") or _OUT.get(form.overload, f"{form.overload}_out")
    return getattr(getattr(namespace("aten"), form.packet), overload)


forms: dict[str, list[Form]] = {}
"""The overloads of each function in the table."""


def _read() -> None:
    lines = [line.strip() for line in _OTHERS.splitlines() if line.strip()]
    lines += [f"{name}{end}(self)" for name in _SAME.split() for end in ("", "_") if name + end != "relu_"]
    for line in lines:
        found = [_form(part) for part in line.split(" | ")]
        forms[found[0].packet] = found


_read()


def show(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call the ATen operation that a function of the table is for these arguments."""
    out = kwargs.get("out")
    if out is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    for form in forms[name]:
        given = form.bound(args, kwargs)
        if given is not None and out is not None:
            overload = _writing(form)
            if overload is None or not isinstance(out, Tensor):
                break
            return torch_dispatch.call(overload, given[0], {**given[1], "out": out})
        if given is not None:
            return as_given(name, torch_dispatch.call(form.operation(), *given))
    raise torch_dispatch.refused(f"'{name}' of these arguments")


def as_given(name: str, result: Any) -> Any:
    """The result of an ATen operation as the public function gives it: lists as tuples, several results under their names."""
    if type(result) is list:
        return tuple(result)
    kind = getattr(return_types, name, None) if type(result) is tuple else None
    return result if kind is None else kind(result)


def rule(name: str) -> Callable[..., Any]:
    """The rule of a function that is an ATen operation."""

    def shown(*args: Any, **kwargs: Any) -> Any:
        given = {k: v for k, v in kwargs.items() if k != "out"}
        if all(form.bound(args, given) is None for form in forms[name]):
            return NotImplemented
        return show(name, *args, **kwargs)

    shown.of_table = True  # pyright: ignore[reportFunctionMemberAccess]
    return shown


for _name in forms:
    torch_dispatch.rules[_name] = rule(_name)
