"""Public functions of operations, generated from their signatures.

Recording an operation must cost a few microseconds, so each operation gets straight-line Python made for its own parameters:
read the operands' values, look the entry up, emit. Everything else (checks, promotion, shapes) was settled when the entry was
built. A program uses some fifty of the six hundred: a function's text is written when it is first called.
"""

from __future__ import annotations

import itertools
import linecache
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..define import op as op_
from ..define import signature
from ..define.op import Op
from ..define.signature import Parameter, freeze, refuse_kind, refuse_sizes
from ..run import capture
from ..tensor import aliasing
from ..tensor import tensor as _tensor
from ..tensor.layouts import lay_channels, lay_like, lay_out
from ..tensor.out_tensors import ACCUMULATING, NAMED, PARTLY, SEPARATE, refuse_parts, refuse_shared
from ..tensor.sparse_value import NoContent, answers
from ..tensor.tensor import Tensor, finish
from ..tensor.views import finish_view
from ..types import grad_mode, warn_once
from ..types.dtypes import as_dtype
from ..types.foreign_errors import is_foreign, of_a_run, refuse_foreign
from ..types.size import LONG, check_long, kind_name
from ..types.stranger import Stranger
from ..types.value import COMPLEX, Value, python_number
from . import autocast
from .number_limits import check_number, computed_in
from .operands import bound, leading, missing, operand, scalar, tensor_list
from .torch_function import refuse_stranger

_FILLS = frozenset(("_fill", "_zero", "_index_fill_number", "_index_fill_tensor"))
"""Operations that write one value, so that their target may have several elements in one place."""
_NUMBERS_APART = frozenset(("clamp", "clamp_min", "clamp_max", "_pow", "addcmul", "addcdiv", "lerp", "_fill_number"))
"""Operations whose numbers PyTorch does not make tensors of, so that they have no say in the strides of the result."""

_BOUNDED = {"clamp": ("min", "max"), "clamp_min": ("min",), "clamp_max": ("max",), "lerp": ("weight",)}
"""Operands that, as numbers, must fit the type that the operation computes in."""

_TOLD_APART = {"bool": "bool", "bool | None": "bool", "int": "int", "int | None": "int"}
"""Annotations of arguments whose kind is looked at in every call, and the kind."""
_LOOKED_AT = frozenset(("float", "float | None", "Real", "Number", "Number | None"))
"""Annotations of arguments whose kind is looked at where an entry is built."""
_WORDS_APART = frozenset(("_embedding_bag",))
"""Operations whose PyTorch functions look their words up themselves."""
_REDUCTION_IN_TEXT = frozenset(("poisson_nll_loss", "multilabel_soft_margin_loss"))
"""Losses that write an unknown reduction into a text, which it must therefore be."""

_MISSING = signature.MISSING
_writing = threading.Lock()


class _Source:
    """The text of one generated function. `function` has its signature; the body comes with the first call."""

    def __init__(self, op: Op, inplace: bool, out: bool) -> None:
        self.op = op
        self.inplace = inplace
        self.out = out
        self.filename = f"<jaxtorch op {op.name}{'_' * inplace}>"
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            "_OP": op, "_T": Tensor, "_ENTRIES": op.inplace_entries if inplace else op.entries,
            "_OPERAND": operand, "_BOUND": bound, "_SCALAR": scalar, "_FINISH": finish, "_LIST": tensor_list,
            "_BUILD": _build, "_VIEW": finish_view, "_LAY": lay_out, "_LIKE": lay_like, "_OUT": _tensor.write_out,
            "_CHANNELS": lay_channels, "_LEADING": leading, "_STAR": signature.star_items, "_INTO": _tensor.finish_inplace,
            "_MAY_WRITE": aliasing.check_fillable if op.name in _FILLS else _tensor.check_writable,
            "_OVERLAP": aliasing.check_overlap, "_WHOLLY": aliasing.check_apart, "_ONCE": aliasing.check_once,
            "_SIGNED": signature.refuse_beside, "_V": Value, "_STRANGER": Stranger, "_AGAIN": _again, "_BORDER": _border,
            "_KIND": refuse_kind, "_APART": refuse_shared, "_PARTS": refuse_parts,
            "_UNCAST": autocast.uncast, "_FIRST": self.write, "_METHOD": self.write_method, "_SIZES": refuse_sizes,
            "_FLOATS": signature.FLOATS, "_MARKED": signature.marked, "_RENAMED": signature.by_other_names,
        }  # fmt: skip
        self.named = not op.name.startswith("_")
        self.read = "read" if op.differentiable else "peek"
        taken, passed = self._signature()
        self.head = f"def {op.name}({taken}):"
        self.function = self._compile(f"{self.head}\n    return _FIRST()({passed})\n")
        self.first = self.function.__code__
        names = self.first.co_names
        self.first_of_methods = self.first.replace(co_names=tuple(["_METHOD" if n == "_FIRST" else n for n in names]))
        self.method = self.function
        self.written: set[bool] = set()
        """Which forms have their body: that of methods, that of functions."""
        self.text = self.renaming = self.out_text = ""
        self.leading: tuple[str, str] | None = None
        """How a method reads a first operand that may be a number, and how a function does."""
        self.forms = [self.function]
        """The functions that have this text: the public one, and the method where that is another object."""

    def _compile(self, text: str) -> Any:
        exec(compile(text, self.filename, "exec"), self.namespace)
        return self.namespace[self.op.name]

    def write(self) -> Any:
        """The function, with its body from now on, as its other forms have."""
        self._write_form(False)
        return self.function

    def write_method(self) -> Any:
        """The method, likewise; for the call that had it written, whose text still passes `out` on."""
        self._write_form(True)
        return self._called_first if self.out else self.method

    def _called_first(self, *args: Any, out: Any, **kwargs: Any) -> Any:
        return self.method(*args, **kwargs) if out is _MISSING else self.method(*args, **kwargs, out=out)

    def _write_form(self, of_methods: bool) -> None:
        with _writing:
            if of_methods in self.written:
                return
            if not self.text:
                self.lines.clear()  # an interrupt may have come the first time
                self._write_body()
            text = self.text
            if of_methods:  # which NumPy's names would cost more than they are worth, and whose results go nowhere else
                for part in (", **_named", self.renaming, self.out_text):
                    text = text.replace(part, "", 1)
                for part in ("*_more), out)", ", *, out=None)", ", out=None)"):
                    text = text.replace(part, "*_more))" if "more" in part else ")", 1)
                text = text.replace(", out, False)", ", None, False)", 1)
            elif self.leading is not None:  # a function takes a number in the first place too, as PyTorch's do
                text = text.replace(*self.leading)
            made = self._compile(text)
            self.namespace[self.op.name] = self.namespace["_PUBLIC"] = self.function
            if of_methods:
                self.method = made
            for form in self.forms:
                if form.__code__ is (self.first_of_methods if of_methods else self.first):
                    form.__code__ = made.__code__
            self.written.add(of_methods)

    def _write_body(self) -> None:
        op = self.op
        self._write()
        # A stranger that wants to be asked (see torch_function.py) makes every function ask: call this one again.
        self.lines[1:] = ["    try:", *["    " + line for line in self.lines[1:]], "    except _STRANGER as _error:"]
        given = f"({''.join(p.name + ', ' for p in op.params)})"
        self.add(f"return _AGAIN(_error, _OP, _PUBLIC, {given})", 2)
        self.add("except Exception as _error:")
        self.add(f"_BORDER(_error, _OP, {given}, {'out' if self.out else None}, {self.inplace})", 2)
        self.add("raise", 2)
        text = "\n".join(self.lines) + "\n"
        linecache.cache[self.filename] = (len(text), None, text.splitlines(True), self.filename)
        self.text = text

    def _given(self) -> str:
        """The parameters, as a call passes them on."""
        return ", ".join(p.name if not (p.keyword_only or p.star) else f"{p.name}={p.name}" for p in self.op.params)

    def add(self, text: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + text)

    def _signature(self) -> tuple[str, str]:
        """The parameters as the function has them, and as it passes them on."""
        self.namespace["_MISSING"] = _MISSING
        parts, passed, keyword = [], [], False
        renamed = ["input", *[n for _, n in self._other_names()]]
        open_end = False  # from a required parameter on that may come under another name, all have a default
        for p in self.op.params:
            open_end = open_end or (p.required and p.name in renamed)
            if p.star or (p.keyword_only and not keyword):
                rest = f"*{p.name}_items" if p.star else "*_more" if self.op.numbers_first else "*"
                parts.append(rest)
                passed.extend([rest] if rest != "*" else [])
                keyword = True
            if not p.required:
                self.namespace[f"_default_{p.name}"] = p.default
                parts.append(f"{p.name}=_default_{p.name}")
            else:
                parts.append(f"{p.name}=_MISSING" if p.star or open_end else p.name)
            passed.append(f"{p.name}={p.name}" if keyword else p.name)
        extra = [(alias, "_MISSING") for alias, _ in self._other_names()] + [("out", "None")] * self.out
        if extra and not keyword:
            parts.append("*")
        parts.extend([f"{name}={default}" for name, default in extra])
        passed.extend([f"{name}={name}" for name, _ in extra])
        if self.named:
            parts.append("**_named")
            passed.append("**_named")
        return ", ".join(parts), ", ".join(passed)

    def _other_names(self) -> list[tuple[str, str]]:
        """Other names for parameters, with their own: NumPy's, which PyTorch takes as well, and those of aliases."""
        known = {p.name for p in self.op.params if not p.star and p.kind == "static"}
        return [(a, n) for a, n in (("axis", "dim"), ("keepdims", "keepdim")) if n in known] + [*self.op.also.items()]

    def _write(self) -> None:
        op = self.op
        self._write_arguments()
        if self.out:
            self._write_out()
        if self.inplace:
            self._write_permission()
        first = len([*itertools.takewhile(lambda p: p.kind in ("array", "operand"), op.operands)])  # always there
        fixed = first == op.n_operands
        self.add("_m = 0")
        if op.elementwise or op.like_input or op.channels:
            self.add("_l = None")
        self._read_first(first)
        if not fixed:
            self._read_others(first)
        names = self._operand_names()
        operands = f"({''.join(n + ', ' for n in names)})" if fixed else "_ops"
        keys = [f"_v{i}.aval" if i < first else f"_k{i}" for i in range(op.n_operands)]
        self.add(f"_key = ({', '.join([*keys, *[signature.key_part(p) for p in op.statics]])},)")
        self.add("try:")
        self.add("_e = _ENTRIES[_key]", 2)
        self.add("except (KeyError, TypeError):")
        self.add(f"_e, _key = _BUILD(_OP, _key, {self.inplace}, {operands} if _m else ())", 2)
        self._write_result(operands)

    def _write_arguments(self) -> None:
        """The head of the function, and the forms of arguments that only some calls use."""
        op = self.op
        self.add(self.head, 0)
        given = [f"{p.name!r}: {p.name}_items or {p.name}" if p.star else f"{p.name!r}: {p.name}" for p in op.params]
        given += [f"{alias!r}: {alias}" for alias, _ in self._other_names()] + ["'out': out"] * self.out
        if self.named:
            line = f"if _named: return _RENAMED(_OP, _PUBLIC, _named, {{{', '.join(given)}}})"
            self.add(line)
            self.renaming = f"        {line}\n"
        if op.numbers_first:
            first = "".join([p.name + ", " for p in op.params if not p.keyword_only])
            self.namespace["_OLD"] = _numbers_first
            self.add(f"if _more: return _OLD(_OP, {op.name}, ({first}*_more){', out' * self.out})")
        for p in op.params:
            if p.star:
                self.add(f"{p.name} = _STAR({p.name}_items, {p.name}, {op.name!r}, {p.name!r})")
        others = self._other_names()
        for i, (alias, torch_name) in enumerate(others):
            default = next(
                (f"_default_{p.name}" for p in op.params if p.name == torch_name and not p.required), "_MISSING"
            )
            self.namespace["_ONCE_GIVEN"] = signature.once_given
            given = f"_ONCE_GIVEN({op.name!r}, {torch_name!r}, {torch_name}, {default}, {alias})"
            beside = [p.name for p in op.params if not p.star] + [later for later, _ in others[i + 1 :]]
            names = ", ".join([f"{name!r}: {name}" for name in beside])
            signed = f"_SIGNED(_OP, {{{names}}}, {alias!r}, {alias})"
            self.add(f"if {alias} is not _MISSING: {signed}; {torch_name} = {given}")
        for p in op.statics:  # 1, 1.0 and True are one key; what is none of them is refused where the entry is built
            n, wanted = p.name, _TOLD_APART.get(p.note)
            if wanted is not None and not p.star:
                test = f"{n} is not True and {n} is not False" if wanted == "bool" else f"{n}.__class__ is not int"
                optional = f"{n} is not None and " * ("|" in p.note)
                self.namespace[f"_p_{n}"] = p
                self.add(f"if {optional}{test} and {n} is not _MISSING: _KIND({op.name!r}, _p_{n}, {n})")
            elif p.note.startswith(("Ints", "Sizes")) and not p.star:  # the items of a tuple: where the entry is built
                test = (
                    f"{n} is not None and " * p.note.endswith(" | None")
                    + f"({n}.__class__ is not tuple or {n} and {n}[0].__class__ is not int)"
                    + f" and {n}.__class__ is not int" * p.note.startswith("Ints")
                )
                self.namespace[f"_p_{n}"] = p
                self.add(f"if {test} and {n} is not _MISSING: _SIZES({op.name!r}, _p_{n}, {n})")

    def _write_out(self) -> None:
        op, first = self.op, len(self.lines)
        self.add("if out is not None:")
        tensors = ", ".join([p.name for p in op.operands])
        if op.name in SEPARATE:
            self.add(f"_APART(out, ({tensors},))", 2)
        elif op.elementwise:
            self.add(f"if getattr(out, '_alias', None) is not None: _OVERLAP(out, ({tensors},))", 2)
        elif op.name in PARTLY:
            self.add(f"_PARTS(out, ({tensors},), {op.name!r})", 2)
        if op.name in ACCUMULATING:
            self.add("if dtype is None: dtype = getattr(out, 'dtype', None)", 2)
        given, named = self._given(), NAMED.get(op.name, repr(op.name))
        operands = f", ({tensors},)" * op.elementwise
        self.add(f"return _OUT(out, _UNCAST({op.name}{', ' * bool(given)}{given}), {named}{operands})", 2)
        self.out_text = "".join(["    " + line + "\n" for line in self.lines[first:]])

    def _write_permission(self) -> None:
        """May the first operand be written to?"""
        op = self.op
        first = op.params[0].name
        self.add(f"if {first}._rg or {first}._alias is not None: _MAY_WRITE({first})")
        others = [p.name for p in op.operands[1:] if p.kind in ("array", "operand", "optional", "operand_optional")]
        if others:
            self.add(aliasing.overlap_test(op.name, first, ", ".join(others)))
        if op.name not in _FILLS:
            self.add(f"if {first}._layout is not None: _ONCE({first})")

    def _write_result(self, operands: str) -> None:
        op = self.op
        first = op.params[0].name if op.params else ""
        made = f"_FINISH(_e, _m, _vals, {operands})"
        if op.view:
            self.add(f"return _VIEW(_e, _m, _vals, ({', '.join(self._operand_names())},), {first}, _OP)")
        elif self.inplace:
            self.add(f"return _INTO({first}, {made})")
        elif op.elementwise:
            given = f"[x for x in {operands} if isinstance(x, _T)]" if op.name in _NUMBERS_APART else operands
            self.add(f"return {made} if _l is None else _LAY({made}, {given})")
        elif op.like_input:
            self.add(f"return {made} if _l is None else _LIKE({made}, {first})")
        elif op.channels:
            asked = ", ".join(self._operand_names()[: op.channels])
            self.add(f"return {made} if _l is None else _CHANNELS({made}, ({asked},))")
        else:
            self.add(f"return {made}")

    def _gives_strides(self, i: int) -> bool:
        """Do the results' strides depend on those of operand i?"""
        return self.op.elementwise or (self.op.like_input and not i) or i < self.op.channels

    def _operand_names(self) -> list[str]:
        return [p.name for p in self.op.operands]

    def _read_first(self, count: int) -> None:
        """So many operands, which are always there."""
        for i, p in enumerate(self.op.operands[:count]):
            n = p.name
            self.add(f"if isinstance({n}, _T):")
            self.add(f"_a = {n}._alias", 2)
            self.add(f"_v{i} = {n}._value if _a is None else _a.{self.read}({n})", 2)
            self.add(f"if {n}._rg: _m |= {1 << i}", 2)
            if self._gives_strides(i):
                self.add(f"if {n}._layout is not None: _l = True", 2)
            self.add("else:")
            self.add(f"_v{i} = {self._other_value(p)}", 2)
        self.add(f"_vals = [{', '.join(f'_v{i}' for i in range(count))}]")

    def _read_others(self, first: int) -> None:
        """The operands from this one on, of which some may be left out, or be several."""
        self.add(f"_ops = [{', '.join(self._operand_names()[:first])}]")
        for i, p in enumerate(self.op.operands[first:], first):
            n = p.name
            if p.kind == "arrays":
                self.add(f"_k{i}, _m = _LIST(_OP, {n!r}, {n}, _vals, _ops, _m)")
                continue
            if p.kind == "scalar":
                if p.required:
                    self._read_scalar(i, n, 1)
                else:
                    same = f"{n} is _default_{n} or ({n}.__class__ is _default_{n}.__class__ and {n} == _default_{n})"
                    self.add(f"if {same}: _k{i} = None")
                    self.add("else:")
                    self._read_scalar(i, n, 2)
                continue
            depth = 1
            if p.kind in ("optional", "operand_optional"):
                self.add(f"if {n} is None: _k{i} = None")
                self.add("else:")
                depth = 2
            self.add(f"if isinstance({n}, _T):", depth)
            self.add(f"_a = {n}._alias", depth + 1)
            self.add(f"_v = {n}._value if _a is None else _a.{self.read}({n})", depth + 1)
            self.add(f"if {n}._rg: _m |= {1 << first if i == first else '1 << len(_vals)'}", depth + 1)
            if self._gives_strides(i):
                self.add(f"if {n}._layout is not None: _l = True", depth + 1)
            self.add("else:", depth)
            self.add(f"_v = {self._other_value(p)}", depth + 1)
            self.add(f"_vals.append(_v); _ops.append({n}); _k{i} = _v.aval", depth)

    def _other_value(self, p: Parameter) -> str:
        """The expression for the value of an operand that is no tensor."""
        if p.name in _BOUNDED.get(self.op.name, ()):
            return f"_BOUND(_OP, {p.name!r}, {p.name}, {p.kind!r}, ({', '.join(self._operand_names())},))"
        given = f"_OP, {p.name!r}, {p.name}, {p.kind!r}"
        others = [o for o in self.op.operands[1:] if o.kind != "scalar"]
        if p is self.op.operands[0] and others and all(o.kind.startswith("operand") for o in others):
            rest = "".join([o.name + ", " for o in others])
            self.leading = f"_LEADING({given}, ({rest}))", f"_OPERAND({given})"
            return self.leading[0]
        return f"_OPERAND({given})"

    def _read_scalar(self, i: int, n: str, depth: int) -> None:
        factor = n in ("alpha", "beta") or (n == "value" and self.op.promote is not None)
        others = [p.name for p in self.op.operands if p.kind in ("array", "operand", "optional", "operand_optional")]
        self.add(f"_v = _SCALAR(_OP, {n!r}, {n}, ({''.join(o + ', ' for o in others * factor)}))", depth)
        self.add(f"_vals.append(_v); _ops.append(None); _k{i} = _v.aval", depth)


def _again(error: Stranger, op: Op, public: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """The call that met a stranger or a sparse tensor, once more, with the arguments that are not the defaults."""
    args, kwargs = [], {}
    for p, value in zip(op.params, values, strict=True):
        if p.required and not p.keyword_only and not p.star:
            args.append(value)
        elif p.required or value is not p.default:
            kwargs[p.name] = value
    if not isinstance(error, NoContent):
        return public(*args, **kwargs)
    try:
        return answers[-1](public, args, kwargs)
    except Exception as other:
        _border(other, op, values, None, False)
        raise


def _border(error: Exception, op: Op, values: tuple[Any, ...], out: Any, inplace: bool) -> None:
    """Every error of an operation passes here on its way to the program.

    PyTorch looks at the kinds of all arguments before anything else, so that the first one of another kind is the TypeError; an
    error that no line of jaxtorch raises is made one of PyTorch's classes. Returns where the error is to be raised as it is.
    """
    told = of_a_run(error, "cpu")
    if told is not None:
        raise told from error
    signature.look_first(op.name, values)
    if isinstance(error, TypeError) and not is_foreign(error):
        return
    if inplace:  # whose first lines take it for granted that the first argument is a tensor
        _tensor.need_tensor(values[0], op.name + "_", op.params[0].name)
    signature.refuse_arguments(op.name + "_" * inplace, op.params, values)
    if out is not None and not isinstance(out, (Tensor, tuple, list)):
        refuse_stranger(out)
        raise TypeError(f"{op.name.strip('_')}(): argument 'out' must be Tensor, not {kind_name(out)}") from None
    signature.refuse_together(op, values, out)
    refuse_foreign(op.name, error)


def _numbers_first(op: Op, public: Callable[..., Any], given: tuple[Any, ...], out: Any = None) -> Any:
    name, keywords = public.__name__, op.numbers_first
    tensors: list[Any] = [x for x in given if isinstance(x, Tensor)]
    numbers = [x for x in given if isinstance(x, (int, float, complex, np.number, np.bool_))]
    n = op.n_operands - len(keywords)
    if n == 2 and len(tensors) == 1 and len(numbers) == 2:
        tensors.append(numbers.pop())  # add(x, alpha, 3)
    if len(tensors) != n or len(tensors) + len(numbers) != len(given) or not 0 < len(numbers) <= len(keywords):
        kinds = ", ".join([type(x).__name__ for x in given])
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds})")
    settings = dict(zip(keywords, numbers, strict=False))
    if not _Warned.numbers_first:
        _Warned.numbers_first = True
        old = ", ".join([f"Number {k}" for k in settings] + [f"Tensor {p.name}" for p in op.operands[1:n]])
        new = ", ".join([f"Tensor {p.name}" for p in op.operands[1:n]] + ["*"] + [f"Number {k}" for k in keywords])
        warn_once.warn(
            f"This overload of {name} is deprecated:\n\t{name}({old})\nConsider using one of the following signatures "
            f"instead:\n\t{name}({new})"
        )
    if out is not None:
        settings["out"] = out
    return public(*tensors, **settings)


class _Warned:
    numbers_first = False


@warn_once.alone
def _build(op: Op, key: tuple[Any, ...], inplace: bool, operands: Any = ()) -> tuple[Any, tuple[Any, ...]]:
    """The entry for a key met for the first time, or one whose static arguments were not hashable.

    operands: where a gradient may be recorded; a view that has lost its place in the graph is a worse error than a wrong argument.
    """
    n = op.n_operands
    statics = list(map(signature.plain, key[n:]))
    for i, (p, given) in enumerate(zip(op.statics, statics, strict=True)):
        if given is _MISSING:
            raise missing(op, p.name)
        if p.name == "dtype" and given is not None:
            statics[i] = as_dtype(given, op.name)
        number: Any = given[1] if p.kind == "number" and isinstance(given, tuple) else given
        if p.note in _LOOKED_AT:
            refuse_kind(op.name, p, number)
            if number.__class__ is int and not -LONG <= number < LONG:
                given = number = statics[i] = float(number)  # which JAX would not take
        if isinstance(given, tuple) and p.note.startswith(("Ints", "Sizes")):
            statics[i] = tuple([int(s) if j and s.__class__ is bool else s for j, s in enumerate(number)])
        if p.kind == "number":
            statics[i] = (number.__class__, python_number(number))
        elif p.note == "Real":
            try:
                check_number(given.item() if isinstance(given, Tensor) else given, computed_in(key[0].dtype))
            except RuntimeError:  # which PyTorch finds in a kernel, where there is one
                op.need_kernel(key[:n], inplace)
                raise
        elif p.note in ("int", "int | None"):
            check_long(number)
        elif p.name == "reduction" and not isinstance(given, str):
            old = [s for q, s in zip(op.statics, statics, strict=True) if q.name in ("size_average", "reduce")]
            if old.count(None) < len(old):
                statics[i] = "mean"  # which the older arguments replace
                continue
            kind = TypeError if op.name in _REDUCTION_IN_TEXT else ValueError
            raise kind(f"{given} is not a valid value for reduction")
        elif p.note in ("str", "str | None") and op.name not in _WORDS_APART and p.name != "reduction":
            refuse_kind(op.name, p, given)
    key = (*key[:n], *map(signature.marked, freeze(statics)))
    if grad_mode.state.casts is not None and not inplace and op.cast_entries is not None:
        return autocast.entry(op, key), key
    entry = (op.inplace_entries if inplace else op.entries).get(key)
    if entry is not None:
        return entry, key
    try:
        with capture.unobserved():
            return op.build(key, inplace), key
    except Exception as error:
        for x in operands if grad_mode.state.grad and isinstance(error, (RuntimeError, IndexError)) else ():
            aliasing.check_place(x)
        refuse_foreign(
            op.name,
            error,
            complex_number=COMPLEX in key or complex in [s[0] for s in statics if type(s) is tuple and s],
        )
        raise


def _shown(source: _Source) -> Callable[..., Any]:
    """The function of a text, which shows the signature that PyTorch documents."""
    made = source.function
    others = [alias for alias, _ in source._other_names() if alias not in source.op.also]
    made.__signature__ = signature.Signature(source.op, others, source.out)
    made.source = source
    return made


def make(op: Op, out: bool) -> Callable[..., Any]:
    """The public function of an operation."""
    return _shown(_Source(op, False, out))


def make_inplace(op: Op) -> Callable[..., Any]:
    """The `name_` form of an operation."""
    made: Any = _shown(_Source(op, True, False))
    made.__name__ = made.__qualname__ = op.name + "_"
    made.__doc__ = f"In-place form of `{op.name}`."
    return made


op_.make_public, op_.make_inplace = make, make_inplace
