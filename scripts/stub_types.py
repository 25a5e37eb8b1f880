"""The types that the stubs of `make_stub.py` give to arguments and results."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator
from typing import Any

KINDS = {
    "array": "Tensor",
    "optional": "Tensor | None",
    "operand": "Tensor | _Number",
    "operand_optional": "Tensor | _Number | None",
    "arrays": "Sequence[Tensor]",
    "scalar": "Tensor | _Number | None",
    "number": "_Number | None",
}
BUILTIN = ("bool", "int", "float", "complex", "str", "type")
KNOWN = {f"_{name}" for name in BUILTIN} | set(
    """tuple list dict set Tensor Any None Sequence Iterable Callable Iterator Generator Size Self np.ndarray Literal
    TypeIs""".split()
)
HEADER = """\
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

{imports}

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
{aliases}
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex
"""
ALIASES = "\n".join(f"_{name}: TypeAlias = builtins.{name}" for name in BUILTIN)

ALONG = "dim: _int, keepdim: _bool = ..., *, out: Any = ..., axis: Any = ..., keepdims: Any = ..."
OVERLOADS = {
    **{
        name: [
            ("input: Tensor, *, out: Tensor | None = ...", "Tensor"),
            ("input: Tensor, other: Tensor, *, out: Tensor | None = ...", "Tensor"),
            (f"input: Tensor, {ALONG}", f"return_types.{name}"),
            ("input: Tensor, *, dim: _int = ..., keepdim: _bool = ..., out: Any = ..., axis: Any = ..., keepdims: Any = ...",
             f"return_types.{name}"),
        ]
        for name in ("max", "min")
    },
    **{
        name: [
            ("input: Tensor, *, out: Tensor | None = ...", "Tensor"),
            (f"input: Tensor, {ALONG}", f"return_types.{name}"),
            ("input: Tensor, *, axis: _int, keepdim: _bool = ..., out: Any = ..., keepdims: Any = ...", f"return_types.{name}"),
        ]
        for name in ("median", "nanmedian")
    },
    "nonzero": [
        ("input: Tensor, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...", "Tensor"),
        ("input: Tensor, *, as_tuple: Literal[True]", "tuple[Tensor, ...]"),
    ],
    **{
        name: [
            (f"input: Tensor{first}, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., "
             "dim: _int | None = ...", "Tensor"),
            (f"input: Tensor{first}, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...", "Any"),
        ]
        for name, first in (("unique", ", sorted: _bool = ..."), ("unique_consecutive", ""))
    },
}  # fmt: skip
"""Functions of a tensor, and methods with the same arguments, whose result depends on what they are given."""

FUNCTIONS = {
    "where": [
        ("condition: Tensor", "tuple[Tensor, ...]"),
        ("condition: Tensor, input: Any, other: Any, *, out: Tensor | None = ...", "Tensor"),
        ("condition: Tensor, *, input: Any = ..., self: Any = ..., other: Any, out: Tensor | None = ...", "Tensor"),
    ],
    **{
        f"atleast_{n}d": [("input: Tensor, /", "Tensor"), ("tensors: Sequence[Tensor], /", "tuple[Tensor, ...]"),
                          ("*tensors: Tensor", "tuple[Tensor, ...]")]
        for n in (1, 2, 3)
    },
}  # fmt: skip
METHODS = {
    "size": [("self, dim: None = ...", "Size"), ("self, dim: _int", "_int")],
    "stride": [("self, dim: None = ...", "tuple[_int, ...]"), ("self, dim: _int", "_int")],
    "type": [("self, dtype: None = ..., non_blocking: _bool = ...", "_str"),
             ("self, dtype: Any, non_blocking: _bool = ..., **kwargs: Any", "Tensor")],
}  # fmt: skip
RESULTS = {
    "item": "_int | _float | _bool", "tolist": "list[Any]", "is_tensor": "TypeIs[Tensor]", "numpy": "np.ndarray",
    "std": "Tensor", "var": "Tensor",
    "std_mean": "tuple[Tensor, Tensor]", "var_mean": "tuple[Tensor, Tensor]", "hsplit": "tuple[Tensor, ...]",
    "vsplit": "tuple[Tensor, ...]", "dsplit": "tuple[Tensor, ...]", "svd": "return_types.svd",
    "histogram": "return_types.histogram", "histogramdd": "return_types.histogramdd",
    "split_copy": "tuple[Tensor, ...]", "split_with_sizes_copy": "tuple[Tensor, ...]", "unbind_copy": "tuple[Tensor, ...]",
    "linalg_svd": "return_types.linalg_svd",
    "lu_unpack": "return_types.lu_unpack", "lu_factor": "return_types.linalg_lu_factor",
    "ldl_factor": "return_types.linalg_ldl_factor", "lstsq": "return_types.linalg_lstsq",
    "native_batch_norm": "tuple[Tensor, Tensor, Tensor]",
    "native_layer_norm": "tuple[Tensor, Tensor, Tensor]", "get_default_device": "_Device", "layout": "_layout",
    **dict.fromkeys("""get_default_dtype get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
        get_autocast_xla_dtype promote_types result_type""".split(), "_dtype"),
    **dict.fromkeys("""addbmm addmv alias_copy cholesky clamp clip conv_transpose1d cross diagonal_scatter expand_copy gru_cell
        index_reduce inverse lu_solve mv nonzero_static orgqr ormqr prelu scatter_reduce select select_scatter slice_copy unfold_copy
        view_copy householder_product inv ldl_solve solve solve_triangular fold multi_margin_loss multilabel_margin_loss nll_loss
        log_softmax logsumexp softmax coalesce indices values crow_indices col_indices ccol_indices row_indices narrow_copy
        int_repr to_padded_tensor to_mkldnn xpu ipu mtia""".split(), "Tensor"),
    **dict.fromkeys("is_coalesced".split(), "_bool"),
    **dict.fromkeys("_nnz q_zero_point".split(), "_int"),
}  # fmt: skip
"""Results of functions and methods that say less themselves."""
SEVERAL = frozenset(
    """split chunk unbind tensor_split unsafe_split unsafe_chunk split_with_sizes unsafe_split_with_sizes meshgrid
    broadcast_tensors align_tensors""".split()
)
"""Operations whose number of results depends on their arguments."""


def annotation(text: Any) -> str:
    """An annotation as a stub can say it; Any where it names what the stub does not import."""
    if text is inspect.Parameter.empty or text is None:
        return "Any"
    text = text if isinstance(text, str) else getattr(text, "__name__", "Any")
    text = text.replace("np.ndarray[Any, Any]", "np.ndarray")
    text = re.sub(rf"(?<![\w.])({'|'.join(BUILTIN)})(?!\w)", r"_\1", text)
    return text if set(re.findall(r"[A-Za-z_][\w.]*", text)) <= KNOWN else "Any"


def static_annotation(text: Any) -> str:
    """The type of a static parameter. Bodies receive settings in one form, callers may give them in several."""
    found = annotation(text)
    return found if found in ("_bool", "_bool | None", "_str", "_str | None") else "Any"


def kinds_of(op: Any) -> dict[str, str]:
    """The types of an operation's parameters."""
    body = inspect.signature(op.fn).parameters
    return {
        p.name: KINDS.get(p.kind) or static_annotation(body[p.name].annotation) for p in op.params if p.name in body
    }


def parameters(function: Any, *, method: bool, kinds: dict[str, str]) -> str:
    """The parameters of a function; of a method, whose first one is `self`."""
    parts: list[str] = ["self"] if method else []
    seen_star = False
    found = list(inspect.signature(function).parameters.values())
    for i, p in enumerate(found[1:] if method else found):
        kind = kinds.get(p.name) or annotation(p.annotation)
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: {kind}")
            seen_star = True
            continue
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: {kind}")
            continue
        if p.kind is p.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        parts.append(f"{p.name}: {kind}" + ("" if p.default is p.empty else " = ..."))
        if p.kind is p.POSITIONAL_ONLY and (i + method + 1 == len(found) or found[i + method + 1].kind is not p.kind):
            parts.append("/")
    return ", ".join(parts)


def type_of(result: Any, name: str) -> str:
    """The type of a result, as a stub says it."""
    import jaxtorch as torch
    from jaxtorch._core.types.structseq import StructSequence

    if isinstance(result, torch.Tensor):
        return "Tensor"
    if isinstance(result, StructSequence):
        return f"return_types.{type(result).__name__}"
    if isinstance(result, (tuple, list)) and result and all(isinstance(x, torch.Tensor) for x in result):
        if isinstance(result, list):
            return "list[Tensor]"
        return f"tuple[{'Tensor, ...' if name in SEVERAL else ', '.join(['Tensor'] * len(result))}]"
    return f"_{type(result).__name__}" if type(result) in (bool, int, float) else "Any"


_trials: dict[tuple[Any, str], str] = {}


def tried(call: Any, op: Any, name: str) -> str:
    """What an operation answers with, found by calling it with arguments that may fit; Any where none did."""
    key = op.fn, name
    if key not in _trials:
        _trials[key] = "Any"
        for arguments in guesses(op):
            try:
                _trials[key] = type_of(call(*arguments), name)
                break
            except Exception:  # not these arguments
                continue
    return _trials[key]


def guesses(op: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments that may fit an operation: by what its parameters are, of some shapes and types of tensors and some numbers."""
    import jaxtorch as torch

    needed = [p for p in op.params if p.default is inspect.Parameter.empty and not p.keyword_only]
    tensors = [
        torch.ones(2, 2), torch.ones(2), torch.ones(1, 2, 2), torch.ones(1, 1, 4, 4), torch.ones(1, 1, 4, 4, 4),
        torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.complex64), torch.ones(2, dtype=torch.int64),
        torch.ones(2, 2, dtype=torch.bool),
    ]  # fmt: skip
    for x, number in itertools.product(tensors, (1, 0, 2, 1.0, (1,), (0, 1), (2, 2), (2, 2, 2), torch.int64, "mean")):
        index = torch.zeros_like(x).long()
        by_kind = {
            "arrays": [x, x],
            "operand": x,
            "array": x,
            "scalar": 1,
            "number": 1,
            "optional": None,
            "operand_optional": None,
        }
        yield tuple(index if p.name in ("index", "indices") else by_kind.get(p.kind, number) for p in needed)


def overloaded(indent: str, name: str, forms: list[tuple[str, str]]) -> list[str]:
    """The lines for a function of several forms."""
    return [
        line
        for given, result in forms
        for line in (f"{indent}@overload", f"{indent}def {name}({given}) -> {result}: ...")
    ]


def doc_line(function: Any) -> str:
    """The first paragraph of a docstring, as a line of a stub; '' where there is none that fits."""
    doc = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").strip()
    if not doc or '"""' in doc or "\\" in doc:
        return ""
    return f'"""{doc}{" " if doc.endswith(chr(34)) else ""}"""'
