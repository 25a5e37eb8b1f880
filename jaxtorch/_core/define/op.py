"""`@op`: one definition of an operation, from which its function, method, operator, in-place and `out=` forms come.

    @op(promote=True, inplace=True, operator="add")
    def add(input: Array, other: Operand, *, alpha: Scalar = 1):
        return input + alpha * other

The body is a pure function on JAX arrays. It runs only while an entry is built, once for each set of input types and static
arguments, so it may check and normalise its arguments at leisure. How a parameter is annotated says how it is passed:

    Array          a tensor                      Array | None   a tensor or None
    Operand        a tensor or a Python number   Arrays         a sequence of tensors
    Scalar         a number that may vary without a new program; it reaches the body as a 0-dimensional array,
                   or as the plain default where the default was given
    Number         a number that is part of the program; it reaches the body as it is
    Real           a float beside tensors; one that is complex or too large for the first tensor's type is a RuntimeError
    Sizes          a tuple or list of ints; Ints: or one int
    (others)       static: sizes, dimensions, flags, dtypes; hashable, or lists thereof
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..compile.kernel import Entry, Kernel, device_of
from ..graph.nodes import node_type
from ..record.value_checks import guards
from ..run import templates
from ..types import dtypes
from ..types.device import default_device, resolve
from ..types.foreign_errors import is_foreign
from ..types.value import Aval
from . import missing_dtypes
from .bodies import Body, flat_types, into_self
from .signature import MISSING, OPERAND_KINDS, Parameter, numpy_names, parse, plain, refuse_sizes

Array = jax.Array
Operand = Any
Arrays = Sequence[Any]
Scalar = Any
Number = Any
Real = Any
Sizes = Any
Ints = Any


@dataclass(eq=False)
class Op:
    """An operation: its pure function, how it is called, and the entries built so far.

    promote: None, True (operands are converted to PyTorch's common type) or 'float' (integers to the default float type
             instead); or a function of the static arguments that gives one of these.
    view:    the result shares its input's memory; `layout` gives its strides (see tensor/views.py).
    """

    name: str
    fn: Callable[..., Any]
    params: list[Parameter]
    promote: bool | str | Callable[..., Any] | None = None
    view: Any = None
    differentiable: bool = True
    grad_name: str | Callable[..., str] = ""
    elementwise: bool = False
    like_input: bool = False
    channels: int = 0
    opmath: str = ""
    broadcast: bool = False
    check: Callable[..., None] | None = None
    unsaved: Any = ()  # names, names with conditions, or a function that gives them
    saved: Any = ()
    numbers_first: tuple[str, ...] = ()
    also: dict[str, str] = field(default_factory=dict)
    entries: dict[Any, Entry] = field(default_factory=dict)
    inplace_entries: dict[Any, Entry] = field(default_factory=dict)
    public: Any = None
    cast_entries: Any = None  # see dispatch/autocast.py

    def __post_init__(self) -> None:
        self.operands = [p for p in self.params if p.kind in OPERAND_KINDS]
        self.statics = [p for p in self.params if p.kind not in OPERAND_KINDS]
        self.n_operands = len(self.operands)
        dtypes._Defaults.on_change.append(self.forget)

    def forget(self) -> None:
        """Drop the entries: something their bodies read (the default type) has changed."""
        self.entries.clear()
        self.inplace_entries.clear()
        if self.cast_entries is not None:
            self.cast_entries.tables.clear()

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def build(self, key: tuple[Any, ...], inplace: bool = False) -> Entry:
        """The entry for a key: the operands' types (None where left out), then the static arguments."""
        operand_keys, statics = key[: self.n_operands], tuple(map(plain, key[self.n_operands :]))
        flat = flat_types(operand_keys)
        slot = self._slot(flat, statics)
        if inplace and slot is not flat[0].slot:  # one element on the CPU, which fits anywhere, stays where it is
            raise RuntimeError(
                f"Attempting to copy from device {slot.name} to device {flat[0].slot.name}, but cross-device copies are not "
                f"allowed! (in {self.name}_)"
            )
        if self.check is not None:
            self.check(*operand_keys)
        settings = {p.name: s for p, s in zip(self.statics, statics, strict=True)}
        for p, s in zip(self.statics, statics, strict=True):
            if p.note.startswith(("Ints", "Sizes")):
                refuse_sizes(self.name, p, s)
        body = Body(self, key, inplace)
        met = templates.met(self, key, inplace)
        if met is not None and met.template is not None:
            kernel = met.template.kernel(self.name, body, tuple(flat), slot, met.v)
        else:
            try:
                kernel = Kernel(self.name, body.fn, tuple(flat), slot, body.makers)
            except Exception as error:
                if is_foreign(error) or isinstance(error, NotImplementedError):
                    missing_dtypes.refuse(self.name, flat, settings, self._promoted(flat, operand_keys, statics))
                raise
            missing_dtypes.refuse(self.name, flat, settings, self._promoted(flat, operand_keys, statics))
            if met is not None:
                met.learn(kernel, lambda key: Body(self, key, inplace))
        kind = body.kind
        parts = zip(self.operands, operand_keys, strict=True)
        names = [p.name for p, k in parts if k is not None for _ in (k if isinstance(k, tuple) else (k,))]
        if kernel.checks:
            kernel.guards = guards(body.raised, names)
        entry = Entry(self, kernel, None if kind is None else _packer(kind), statics)
        entry.inplace = inplace
        if not self.differentiable and not inplace:
            entry.out_float = (False,) * entry.n_out
        elif self.name in _APART:
            entry.out_float = tuple([k in _APART[self.name] for k in range(entry.n_out)])
        elif self.name in _ACCUMULATED and not entry.out_float[0] and dtypes.category(flat[0].dtype) > 1:
            entry.out_float = (True,)  # as its gradient is asked for: PyTorch refuses that (`grad_form`)
        entry.operand_names = tuple(names)
        if self.saved or self.unsaved:
            entry.saved = _named(self.saved, operand_keys, statics)
            if (of := entry.saved.pop("written", None)) is not None and inplace:
                entry.saved["result"] = of
            entry.unsaved = frozenset(_named(self.unsaved, operand_keys, statics))
        name = self.grad_name
        entry.grad_name = name if isinstance(name, str) else name(operand_keys, statics)
        if inplace and self.name in _COUNTED_ON:
            entry.grad_name = entry.grad_name[:-1] + "1"
        (self.inplace_entries if inplace else self.entries)[key] = entry
        return entry

    def need_kernel(self, operands: tuple[Any, ...], inplace: bool) -> None:
        """NotImplementedError where there is no kernel for operands of these types, whatever the numbers beside them."""
        try:
            self.build((*operands, *[1 if p.note == "Real" else p.default for p in self.statics]), inplace)
        except NotImplementedError:
            raise
        except RuntimeError:
            return

    def _slot(self, flat: list[Aval], statics: tuple[Any, ...]) -> Any:
        for p, s in zip(self.statics, statics, strict=True):
            if p.name == "device" and (s is not None or not flat):
                return resolve(s)
        return device_of(list(flat), default_device().slot, self.name)

    def _bind(
        self, operand_keys: tuple[Any, ...], statics: tuple[Any, ...], flat: list[Aval], inplace: bool
    ) -> Callable[..., Any]:
        """The body as a function of the flat operand arrays alone."""
        fixed = {
            p.name: s[1]
            if p.kind == "number" and isinstance(s, tuple) and len(s) == 2 and isinstance(s[0], type)
            else s
            for p, s in zip(self.statics, statics, strict=True)
        }
        plan = list(zip(self.operands, operand_keys, strict=True))
        fn = self.fn
        promote = self.promote(statics) if callable(self.promote) else self.promote
        targets = self._targets(plan, flat, promote) if promote and flat else None
        common = targets[0] if targets else None
        first = None if targets is None else self._rounded_first(plan, flat, promote)
        shape = _broadcast_shape(flat) if self.broadcast else None
        halves = targets is not None and any(t in _HALVES for t in targets)
        spread = shape if halves and shape is not None and any(a.shape != shape for a in flat) else None

        def bound(*arrays: Any) -> Any:
            if targets is not None:
                if first is not None:
                    arrays = tuple(a if t is None else a.astype(t) for a, t in zip(arrays, first, strict=True))
                arrays = tuple(a if a.dtype == t else a.astype(t) for a, t in zip(arrays, targets, strict=True))
            if spread is not None:
                arrays = tuple(_spread(a, spread) for a in arrays)
            rest = iter(arrays)
            given: dict[str, Any] = dict(fixed)
            for p, k in plan:
                if isinstance(k, tuple):
                    given[p.name] = [next(rest) for _ in k]
                elif k is not None:
                    given[p.name] = next(rest)
                else:
                    given[p.name] = None if p.required else p.default
            return fn(**given)

        if targets is not None and self.opmath:
            bound = self._in_single(bound, plan, flat, promote)
        return (
            into_self(bound, self.name, flat, common, _broadcast_shape if self.elementwise else None)
            if inplace
            else bound
        )

    def _promoted(self, flat: list[Aval], keys: Any, statics: tuple[Any, ...]) -> dtypes.dtype | None:
        """The common type of several operands of which one is of a rare type, where they are converted to it."""
        if len(flat) < 2 or not any([missing_dtypes.is_rare(a.dtype) for a in flat]):  # noqa: C419
            return None
        promote = self.promote(statics) if callable(self.promote) else self.promote
        scalar = _are_scalars([*zip(self.operands, keys, strict=True)])
        return common_type([a for a, s in zip(flat, scalar, strict=True) if not s]) if promote else None

    def _targets(self, plan: list[tuple[Parameter, Any]], flat: list[Aval], promote: Any) -> list[Any]:
        """The type each operand array is converted to. A `Scalar` takes no part in promotion, and keeps its own type where
        the common one is of a lower category, so that the body can refuse it."""
        scalar = _are_scalars(plan)
        common = self._common([a for a, s in zip(flat, scalar, strict=True) if not s], promote)
        if any(self._kept(common, flat, scalar)):
            common = dtypes.float32
        return [
            a.dtype.np
            if s and (a.dtype is dtypes.bool_ or dtypes.category(a.dtype) > dtypes.category(common))
            else common.np
            for a, s in zip(flat, scalar, strict=True)
        ]

    def _in_single(
        self, bound: Callable[..., Any], plan: list[tuple[Parameter, Any]], flat: list[Aval], promote: Any
    ) -> Callable[..., Any]:
        """`bound` with its float32 results stored in the half precision type the operation answers in."""
        scalar = _are_scalars(plan)
        common = self._common([a for a, s in zip(flat, scalar, strict=True) if not s], promote)
        if not any(self._kept(common, flat, scalar)):
            return bound

        def rounded(*arrays: Any) -> Any:
            out = bound(*arrays)
            return out.astype(common.np) if out.dtype == np.float32 else out

        return rounded

    def _kept(self, common: dtypes.dtype, flat: list[Aval], scalar: list[bool]) -> list[bool]:
        """Which operands are numbers that meet half precision tensors and are not rounded to half precision themselves."""
        if not self.opmath or common not in (dtypes.float16, dtypes.bfloat16):
            return [False] * len(flat)
        last = len(flat) - 1 if self.opmath == "last" else -1
        return [
            a.dtype is not common and a.ndim == 0 and (s or i == last)
            for i, (a, s) in enumerate(zip(flat, scalar, strict=True))
        ]

    def _rounded_first(self, plan: list[tuple[Parameter, Any]], flat: list[Aval], promote: Any) -> list[Any] | None:
        """The type that each operand is rounded to before the body computes in float32, for those that are."""
        scalar = _are_scalars(plan)
        common = self._common([a for a, s in zip(flat, scalar, strict=True) if not s], promote)
        kept = self._kept(common, flat, scalar)
        return [None if k else common.np for k in kept] if any(kept) else None

    def _common(self, flat: list[Aval], promote: Any) -> dtypes.dtype:
        common = common_type(flat)
        if promote == "float" and not (common.is_floating_point or common.is_complex):
            common = dtypes.default()
        if common.np is None:
            raise NotImplementedError(f"{self.name}: the result: {dtypes.no_storage(common)}")
        return common


def _named(names: Any, operands: Any, statics: Any) -> dict[str, frozenset[str]]:
    """Names with the operands on whose gradients they depend; none: on nothing."""
    if callable(names):
        names = names(operands, statics)
    if isinstance(names, dict):
        return {name: frozenset(of.split()) for name, of in names.items()}
    return dict.fromkeys(names, frozenset())


_COUNTED_ON = frozenset(("_polygamma",))
"""Operations whose in-place form is an overload of its own to autograd."""
_APART = {"lu_unpack": (1, 2), "linalg_lu": (1, 2), "native_layer_norm": (0,), "_native_batch_norm": (0,)}
"""The results of operations, by their places, that have a gradient where others have none: permutations, saved moments."""
_ACCUMULATED = frozenset(("sum", "nansum", "prod", "cumsum", "cumprod"))
"""Operations whose result has the type that `dtype=` says, also that of integers."""
_HALVES = (dtypes.float16.np, dtypes.bfloat16.np)


def _broadcast_shape(flat: list[Aval]) -> tuple[int, ...]:
    """The shape that operands broadcast to; PyTorch's error where they do not."""
    shape: tuple[int, ...] = ()
    for other in [a.shape for a in flat]:
        rank = max(len(shape), len(other))
        a, b = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(other)) + other
        for dim in reversed(range(rank)):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                raise RuntimeError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim}"
                )
        shape = tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))
    return shape


def _spread(a: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast a half precision array by way of float32, in which its gradient is then summed, as PyTorch does."""
    if a.dtype not in _HALVES or a.shape == shape:
        return a
    return jnp.broadcast_to(a.astype(np.float32), shape).astype(a.dtype)


def _are_scalars(plan: list[tuple[Parameter, Any]]) -> list[bool]:
    """For each flat operand: does it take no part in promotion, as the argument of a `Scalar` parameter, or a condition?"""
    found: list[bool] = []
    for p, k in plan:
        if k is not None:
            found.extend([p.kind == "scalar" or p.name == "condition"] * (len(k) if isinstance(k, tuple) else 1))
    return found


def common_type(avals: Sequence[Aval]) -> dtypes.dtype:
    """PyTorch's result type for operands of these types."""
    dims: list[dtypes.dtype] = []
    zeros: list[dtypes.dtype] = []
    wrapped: list[dtypes.dtype] = []
    for a in avals:
        if a.wrapped:
            d = a.dtype
            wrapped.append(
                dtypes.default() if d is dtypes.float64 else dtypes.default().to_complex() if d.is_complex else d
            )
        else:
            (dims if a.ndim else zeros).append(a.dtype)
    return dtypes.result_type(dims, zeros, wrapped)


def _packer(kind: type) -> Callable[[list[Any]], Any]:
    if kind is tuple or kind is list:
        return kind
    return lambda outs: kind(*outs) if hasattr(kind, "_fields") else kind(outs)


def camel(name: str) -> str:
    """'log_softmax' -> 'LogSoftmax', 'log1p' -> 'Log1P', as autograd names nodes."""
    return "".join([c.upper() if i == 0 or name[i - 1] in "_0123456789" else c for i, c in enumerate(name) if c != "_"])


def grad_name_of(name: str) -> str:
    return camel(name) + "Backward0"


make_public: Any = None
make_inplace: Any = None
"""The functions of an operation: (op, out) and (op). Set by dispatch/codegen.py."""
install_operator: Any = None
"""(operator, function, methods): Python's operator that an operation stands for. Set by dispatch/operators.py."""

registry: dict[str, Op] = {}
"""Every operation by name; registering one twice is an error."""

functions: dict[str, Callable[..., Any]] = {}
"""What goes into the `torch` namespace."""

methods: dict[str, Callable[..., Any]] = {}
"""What `Tensor` gets, installed by `_ops/families.py`."""


def _claim(table: dict[str, Any], name: str, item: Any) -> None:
    if name in table:
        raise RuntimeError(f"jaxtorch: '{name}' is defined twice")
    table[name] = item


def _method_form(public: Any, name: str) -> Any:
    """The method of a function: a function of its own with the same code, since `__torch_function__` tells the two apart."""
    made = FunctionType(public.__code__, public.__globals__, public.__name__, public.__defaults__, public.__closure__)
    made.__kwdefaults__ = public.__kwdefaults__
    made.__dict__.update(public.__dict__)
    if hasattr(public, "source"):
        public.source.forms.append(made)
        if made.__code__ is public.source.first:
            made.__code__ = public.source.first_of_methods
            if public.source.out:
                made.__kwdefaults__ = {**public.__kwdefaults__, "out": MISSING}
    else:  # no method of PyTorch's has `out`
        names = tuple(["_out" if n == "out" else n for n in made.__code__.co_varnames])
        made.__code__ = made.__code__.replace(co_varnames=names)
        made.__kwdefaults__ = {"_out" if n == "out" else n: d for n, d in (public.__kwdefaults__ or {}).items()} or None
    made.__doc__, made.__annotations__ = public.__doc__, public.__annotations__
    made.__module__, made.__qualname__ = "jaxtorch", f"Tensor.{name}"  # where pickle finds it
    return made


def _alias_form(made: Any, name: str, module: str = "jaxtorch") -> Any:
    """A function under another name, which is another function to programs: `torch.concat` is not `torch.cat`.

    module: where pickle finds it.
    """
    again = _method_form(made, name)
    again.__code__, again.__kwdefaults__ = made.__code__, made.__kwdefaults__
    again.__module__ = module
    again.__qualname__ = f"Tensor.{name}" if made.__qualname__.startswith("Tensor.") else name
    again.__name__ = name
    again.alias_of = getattr(made, "alias_of", made.__name__)
    return again


def names_of_its_own(space: dict[str, Any], names: Sequence[str]) -> None:
    """Make functions of a module that `torch` or `Tensor` has as well its own: `torch.linalg.det` is not `torch.det`.

    The others can be pickled: they are found where they say.
    """
    shared = {id(f) for f in (*functions.values(), *methods.values())}
    for n in names:
        if type(space[n]) is FunctionType:
            if id(space[n]) in shared:
                space[n] = _alias_form(space[n], n, space["__name__"])
            else:
                vars(sys.modules[space[n].__module__]).setdefault(space[n].__qualname__, space[n])


def _offer_in_place(made: Op, names: Sequence[str], inplace: bool | str, function: bool, method: bool) -> Any:
    """Make the in-place form, and claim its name (a string: that one) and those of the operation's aliases for it."""
    changed = make_inplace(made)
    for n in names:
        own_name = n == made.name
        name_ = inplace if isinstance(inplace, str) and own_name else n + "_"
        if own_name:
            changed.__name__ = changed.__qualname__ = name_
        both = function and name_ in _FUNCTION_INPLACE
        form = changed if own_name else _alias_form(changed, name_)
        if method or isinstance(inplace, str):
            _claim(methods, name_, _method_form(form, name_) if both else form)
        if both:
            _claim(functions, name_, form)
    return changed


def op(
    *,
    name: str = "",
    function: bool | str = True,
    method: bool | str = True,
    inplace: bool | str = False,
    out: bool = True,
    operator: str = "",
    promote: bool | str | Callable[..., Any] | None = None,
    elementwise: bool = False,
    like_input: bool = False,
    channels: int = 0,
    opmath: str = "",
    broadcast: bool = False,
    check: Callable[..., None] | None = None,
    view: Any = None,
    differentiable: bool = True,
    grad: str | Callable[..., str] = "",
    star: str | None = None,
    aliases: Sequence[str] = (),
    unsaved: Sequence[str] | Callable[..., Sequence[str]] = (),
    saved: Sequence[str] | dict[str, str] | Callable[..., Any] = (),
    numbers_first: Sequence[str] = (),
    also: dict[str, str] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Define an operation from its pure body; the decorated name becomes the public function.

    function: put it into `torch` (a string: under that name). method: make it a method likewise.
    inplace:  make the `name_` form. out: accept `out=`. operator: 'add' makes `__add__`, `__radd__` and `__iadd__`.
    elementwise: the result takes its strides from the operands; `promote` implies it.
    like_input: each result of the first operand's shape takes its strides, as `empty_like` would.
    channels: results are channels-last where one of so many first operands is.
    opmath:   which numbers that meet half precision tensors are not rounded to half precision: the "last" operand, or none but the
              `Scalar` parameters ("scalars"). The body computes in float32 then, and the result is rounded (needs `promote`).
    broadcast: the operands are broadcast to one shape, or PyTorch's error is raised.
    check:    called with the operands' types (`Aval`, None where left out) before conversion, to raise PyTorch's errors.
    star:     the name of a static parameter that also takes its items as separate positional arguments.
    unsaved:  operands, or "result", that PyTorch's derivative does not keep: they may be overwritten before backward.
    saved:    operands, or "result", "result1", ..., that it keeps though ours does without: to overwrite them is an error.
              {"index": "src weight"}: that it keeps where a gradient of `src` or `weight` is wanted, and otherwise not.
              "written" is the result of the in-place form.
              Both may be functions of the operands' types and the static arguments, as `grad` may.
    numbers_first: keywords that old programs give as numbers between the tensors: `add(x, alpha, y)`.
    also:     other names that a call may give parameters by: {"input": "A"}.
    """

    def define(fn: Callable[..., Any]) -> Any:
        op_name = name or fn.__name__
        made = Op(
            op_name,
            fn,
            parse(fn, star),
            promote,
            view,
            differentiable,
            grad or grad_name_of(op_name),
            elementwise=elementwise or bool(promote),
            like_input=like_input,
            channels=channels,
            opmath=opmath,
            broadcast=broadcast,
            check=check,
            unsaved=unsaved,
            saved=saved,
            numbers_first=tuple(numbers_first),
            also=also or {},
        )
        if not callable(made.grad_name):
            node_type(made.grad_name)
        _claim(registry, op_name, made)
        may_write = out and not view and differentiable is not None and (bool(function) or not method)
        public = make_public(made, out=may_write)
        public.__doc__ = fn.__doc__
        public.__name__ = public.__qualname__ = op_name
        public.__module__ = fn.__module__
        public.op, made.public = made, public
        names = [op_name, *aliases]
        if inplace:
            public.inplace = _offer_in_place(made, names, inplace, bool(function), bool(method))
        own = _method_form(public, op_name) if function and (method or operator) else public
        for n in names:
            other = n != op_name
            if function:
                form = _alias_form(public, n) if other else public
                _claim(functions, function if isinstance(function, str) and not other else n, form)
            if method:
                form = _alias_form(own, n) if other else own
                _claim(methods, method if isinstance(method, str) and not other else n, form)
        if operator:
            install_operator(operator, own, methods)
        return public

    return define


inner_op = partial(op, function=False, method=False, out=False)
"""`op` for a part of other operations: neither a function of `torch` nor a method, and without `out=`."""

_FUNCTION_INPLACE = frozenset(
    """abs_ acos_ arccos_ acosh_ arccosh_ addmv_ alpha_dropout_ arctan_ arcsin_ arcsinh_ arctanh_ as_strided_ asin_ asinh_
    atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ dropout_ elu_
    erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_
    index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_
    round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_ tan_ tanh_ threshold_ trunc_ unsqueeze_
    xlogy_ zero_""".split()
)


def function(
    name: str = "", *, method: bool | str = False, function: bool = True, aliases: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Any]:
    """Register a plain Python function over operations (an overload, a composition) as public."""

    def define(fn: Callable[..., Any]) -> Any:
        public = name or fn.__name__
        if hasattr(fn, "op") and public != fn.__name__:
            fn = _alias_form(fn, public)
        if "<locals>" in fn.__qualname__:
            fn.__qualname__ = public  # as a message about its arguments calls it
        own = _method_form(fn, public) if function and method else fn
        if function and _takes_input(fn):
            fn = numpy_names(fn)
            fn.__name__ = fn.__qualname__ = public
            fn.__dict__["signature"] = public
        for n in (public, *aliases):
            other = n != public
            if function:
                _claim(functions, n, _alias_form(fn, n) if other else fn)
            if method:
                form = _alias_form(own, n) if other else own
                _claim(methods, method if isinstance(method, str) and not other else n, form)
        return fn

    return define


def _takes_input(fn: Callable[..., Any]) -> bool:
    code = getattr(fn, "__code__", None)
    return code is not None and not hasattr(fn, "op") and "input" in inspect.unwrap(fn).__code__.co_varnames[:1]


def method(name: str = "", *, aliases: Sequence[str] = ()) -> Callable[[Callable[..., Any]], Any]:
    """Register a function as a method of `Tensor` only. It takes the method's name, which `__torch_function__` is told."""
    register = function(name, method=True, function=False, aliases=aliases)

    def define(fn: Callable[..., Any]) -> Any:
        fn.__name__ = name or fn.__name__
        return register(fn)

    return define
