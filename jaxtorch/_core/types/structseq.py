"""The named tuples that operations with several results answer: the types of `torch.return_types`.

A body returns one, `types.max((values, indices))`; the operation then answers the same type, of tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from jax import tree_util

_FIELDS = """
aminmax: min max
cummax: values indices
cummin: values indices
frexp: mantissa exponent
geqrf: a tau
histogram: hist bin_edges
histogramdd: hist bin_edges
kthvalue: values indices
linalg_cholesky_ex: L info
linalg_eig: eigenvalues eigenvectors
linalg_eigh: eigenvalues eigenvectors
linalg_inv_ex: inverse info
linalg_ldl_factor: LD pivots
linalg_ldl_factor_ex: LD pivots info
linalg_lstsq: solution residuals rank singular_values
linalg_lu: P L U
linalg_lu_factor: LU pivots
linalg_lu_factor_ex: LU pivots info
linalg_qr: Q R
linalg_slogdet: sign logabsdet
linalg_solve_ex: result info
linalg_svd: U S Vh
lu_unpack: P L U
max: values indices
median: values indices
min: values indices
mode: values indices
nanmedian: values indices
qr: Q R
slogdet: sign logabsdet
sort: values indices
svd: U S V
topk: values indices
triangular_solve: solution cloned_coefficient
_unpack_dual: primal tangent
"""


class StructSequence(tuple):
    """A tuple whose items also have names; it prints as PyTorch's do."""

    __slots__ = ()
    fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, items: Iterable[Any], /) -> StructSequence:
        if not isinstance(items, Iterable):
            raise TypeError("constructor requires a sequence")
        made = tuple.__new__(cls, items)
        if len(made) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(made)}-sequence given)"
            )
        return made

    def __repr__(self) -> str:
        items = ",\n".join([f"{name}={item!r}" for name, item in zip(self.fields, self, strict=True)])
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self).__name__, tuple(self))


def _again(name: str, items: tuple[Any, ...]) -> StructSequence:
    return getattr(types, name)(items)


def struct(name: str, fields: tuple[str, ...]) -> type[StructSequence]:
    """A new named tuple type; its constructor takes one sequence. JAX sees through it as through a tuple."""
    body: dict[str, Any] = {f: property(itemgetter(i)) for i, f in enumerate(fields)}
    body |= {"__slots__": (), "__module__": "torch.return_types", "__match_args__": fields, "fields": fields}
    body |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    made = type(name, (StructSequence,), body)
    tree_util.register_pytree_node(made, lambda t: (tuple(t), None), lambda _, items: tuple.__new__(made, items))
    return made


types: Any = SimpleNamespace()
"""Every type by its name in `torch.return_types`; a result of `out=` tensors has the type of the name with `_out`."""

for _line in _FIELDS.split("\n")[1:-1]:
    _name, _fields = _line.split(": ")
    for _form in (_name, _name + "_out"):
        setattr(types, _form, struct(_form, tuple(_fields.split())))
for _name in ("histogramdd", "_unpack_dual"):
    delattr(types, _name + "_out")


def of_out(kind: type) -> type:
    """The type of a result that was written to `out=` tensors."""
    return getattr(types, kind.__name__ + "_out", kind)
