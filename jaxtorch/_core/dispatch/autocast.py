"""Autocast in the engine: entries that cast their operands.

Under autocast an operation of the lists below looks its entry up in a table of its own, whose entries convert the operands and
then run the operation, all in one kernel: nothing more is recorded than without autocast, and XLA shares the conversion of
a weight between its uses in a program, which is PyTorch's cache of casts. While no autocast region is open anywhere, the
generated functions look into the ordinary tables: there is nothing to check on the recording path.
"""

from __future__ import annotations

import threading
from typing import Any

from ..compile.kernel import Entry, Kernel
from ..define.op import registry
from ..types import dtypes
from ..types.grad_mode import state
from ..types.value import Aval, aval_of

# What PyTorch's dispatcher does under autocast (aten/src/ATen/autocast_mode), by the names of our operations.
_LOWER = """conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d bmm mm linalg_vecdot baddbmm addmm
    addbmm linear matmul prelu _attention linalg_multi_dot""".split()
_LOWER_CUDA = (
    """addmv addr mv _lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell _lstm_layer _gru_layer _rnn_layer""".split()
)
_LOSSES = """poisson_nll_loss cosine_embedding_loss nll_loss cross_entropy hinge_embedding_loss _kl_div l1_loss smooth_l1_loss
    huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits _cdist prod""".split()
_SINGLE_CUDA = """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan _pow _pow_number softplus
    layer_norm native_layer_norm group_norm rms_norm cosine_similarity dist pdist renorm logsumexp _upsample _matrix_norm _norm
    linalg_vector_norm pairwise_distance normalize softmax _softmin log_softmax cumprod cumsum sum""".split()
_SINGLE_CPU = """avg_pool3d binary_cross_entropy _grid_sample polar _quantile _stft trace cholesky cholesky_inverse cholesky_solve
    linalg_inv linalg_inv_ex lu_solve ormqr max_pool3d max_pool3d_with_indices _max_unpool2d _max_unpool3d adaptive_avg_pool3d
    adaptive_max_pool3d_with_indices _fractional_max_pool2d _fractional_max_pool3d _ctc fft_fft fft_fftn fft_hfft fft_hfftn
    fft_ifft fft_ifftn fft_ihfft fft_ihfftn fft_irfft fft_irfftn fft_rfft fft_rfftn linalg_solve linalg_solve_ex
    linalg_cholesky linalg_cholesky_ex linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_householder_product
    _tensor_inverse linalg_qr qr geqrf linalg_svd _older_svd linalg_eig linalg_eigh _linalg_lstsq _linalg_pinv
    triangular_solve linalg_lu_factor linalg_lu_factor_ex _rank _condition""".split()
_WIDEST_CUDA = "addcdiv addcmul atan2 bilinear cross dot vdot _grid_sample _index_put scatter_add".split()
_WIDEST_CPU = "_stack _cat index_copy".split()


def _table(*policies: tuple[str, Any]) -> dict[str, str]:
    return {name: policy for policy, names in policies for name in names}


_POLICIES = {
    "cpu": _table(
        ("lower", [*_LOWER, "_lstm_layer", "_rnn_layer", "rnn_tanh_cell", "rnn_relu_cell"]),
        ("single", _LOSSES + _SINGLE_CPU),
        ("widest", _WIDEST_CPU),
        ("input", ["_gru_layer", "gru_cell", "_lstm_cell"]),
    ),
    "cuda": _table(
        ("lower", _LOWER + _LOWER_CUDA),
        ("single", _LOSSES + _SINGLE_CUDA),
        ("widest", _WIDEST_CUDA + _WIDEST_CPU),
        ("banned", ["binary_cross_entropy"]),
    ),
}
_BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: combine the two layers with "
    "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, which are safe to autocast"
)
_AFFECTED = frozenset(name for table in _POLICIES.values() for name in table)

_lock = threading.Lock()
_open: list[bool] = []
"""One item for each thread's outermost open region."""
_swapped: list[tuple[dict[str, Any], Any]] = []


class _Entries:
    """Stands in for an operation's table of entries while some thread is under autocast."""

    __slots__ = ("op", "tables")

    def __init__(self, op: Any) -> None:
        self.op = op
        self.tables: dict[Any, dict[Any, Entry]] = {}

    def __getitem__(self, key: tuple[Any, ...]) -> Entry:
        casts = state.casts
        if casts is None:
            return self.op.entries[key]
        return self.tables[casts][key]


def set_casts(casts: tuple[tuple[str, dtypes.dtype], ...] | None) -> None:
    """Set this thread's pairs (kind of device, type to compute in); None where no autocast is on."""
    if casts == state.casts:
        return
    if (casts is None) is not (state.casts is None):
        with _lock:
            if casts is None:
                _open.pop()
                if not _open:
                    _swap_back()
            else:
                _open.append(True)
                if len(_open) == 1:
                    _swap()
    state.casts = casts


def _swap() -> None:
    for name in _AFFECTED:
        op = registry.get(name)
        if op is not None and op.public is not None and not op.view:
            namespace = op.public.__globals__
            if op.cast_entries is None:
                op.cast_entries = _Entries(op)
            _swapped.append((namespace, namespace["_ENTRIES"]))
            namespace["_ENTRIES"] = op.cast_entries


def _swap_back() -> None:
    while _swapped:
        namespace, entries = _swapped.pop()
        namespace["_ENTRIES"] = entries


def entry(op: Any, key: tuple[Any, ...]) -> Entry:
    """The entry for a key under this thread's autocast, made if it is new."""
    table = op.cast_entries.tables.setdefault(state.casts, {})
    found = table.get(key)
    if found is None:
        found = table[key] = _make(op, key)
    return found


def _make(op: Any, key: tuple[Any, ...]) -> Entry:
    plain = op.entries.get(key)
    casts = dict(state.casts)
    flat = [a for k in key[: op.n_operands] if k is not None for a in (k if isinstance(k, tuple) else (k,))]
    kind = next((a.slot.device.type for a in flat if not a.wrapped and a.slot.device.type in casts), None)
    policy = _POLICIES["cpu" if kind == "cpu" else "cuda"].get(op.name) if kind is not None else None
    statics = key[op.n_operands :]
    if any(p.name == "dtype" and s is not None for p, s in zip(op.statics, statics, strict=True)):
        policy = None  # the program has said which type it wants
    if policy == "banned":
        raise RuntimeError(_BANNED)
    target = _target(policy, flat, kind, casts)

    def cast(a: Aval) -> Aval:
        return aval_of(a.shape, target, a.slot) if _eligible(a, kind) else a

    if target is None or all(cast(a) is a for a in flat):
        return op.build(key) if plain is None else plain
    inner_key = tuple(
        tuple(map(cast, k)) if isinstance(k, tuple) else None if k is None else cast(k) for k in key[: op.n_operands]
    )
    inner = op.entries.get(inner_key + statics) or op.build(inner_key + statics)
    types = [cast(a).dtype.np if cast(a) is not a else None for a in flat]

    def run(*arrays: Any) -> tuple[Any, ...]:
        return inner.kernel.fn(*[x if t is None else x.astype(t) for x, t in zip(arrays, types, strict=True)])

    kernel = Kernel(inner.kernel.name, run, tuple(flat), inner.kernel.slot, list(inner.kernel.checks))
    made = Entry(op, kernel, inner.pack, statics)
    made.out_float = inner.out_float
    made.grad_name, made.operand_names = inner.grad_name, inner.operand_names
    made.saved, made.unsaved = inner.saved, inner.unsaved
    return made


def in_widest(composition: Any, a: Any, b: Any, *rest: Any) -> Any:
    """`composition(a, b, *rest)`; on an accelerator, autocast gives it the widest of its types and casts nothing inside."""
    casts, kind = state.casts, a.device.type
    if casts is None or kind == "cpu" or kind not in dict(casts):
        return composition(a, b, *rest)
    avals = [t._value.aval for t in (a, b)]
    target = _target("widest", avals, kind, dict(casts))
    if target is not None:
        a, b = (t.to(target) if _eligible(v, kind) else t for t, v in zip((a, b), avals, strict=True))
    return uncast(composition, a, b, *rest)


_IN_PARTS = ("_cell", "_layer")
"""Operations of ours that are several of PyTorch's, each of which casts."""


def target_of(name: str, tensors: list[Any], typed: bool) -> tuple[str | None, Any]:
    """The kind of device and the type that an operation's tensors are cast to; None where they stay.

    typed: whether the program has said which type it wants.
    """
    casts = dict(state.casts or ())
    avals = [t._value.aval for t in tensors]
    kind = next((a.slot.device.type for a in avals if not a.wrapped and a.slot.device.type in casts), None)
    if kind is None or typed or name.endswith(_IN_PARTS):
        return None, None
    table = _POLICIES["cpu" if kind == "cpu" else "cuda"]
    policy = table.get("_attention" if name == "scaled_dot_product_attention" else name) or table.get("_" + name)
    if policy == "banned":
        raise RuntimeError(_BANNED)
    return kind, _target(policy, avals, kind, casts)


def eligible(t: Any, kind: str | None) -> bool:
    """Is it a tensor that autocast on this kind of device casts?"""
    return _eligible(t._value.aval, kind)


def _eligible(a: Aval, kind: str | None) -> bool:
    return not a.wrapped and a.slot.device.type == kind and a.dtype.is_floating_point and a.dtype is not dtypes.float64


def uncast(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """`fn` without autocast: as PyTorch calls what writes to `out=`."""
    casts = state.casts
    if casts is None:
        return fn(*args, **kwargs)
    set_casts(None)
    try:
        return fn(*args, **kwargs)
    finally:
        set_casts(casts)


def _target(policy: str | None, flat: list[Aval], kind: Any, casts: dict[str, Any]) -> Any:
    if policy == "lower":
        return casts[kind]
    if policy == "input":  # half precision where the input is; these compute only their products in it
        return casts[kind] if flat[0].dtype in (dtypes.float16, dtypes.bfloat16) else None
    if policy == "single":
        return dtypes.float32
    if policy == "widest":
        single = any(_eligible(a, kind) and a.dtype is dtypes.float32 for a in flat)
        return dtypes.float32 if single else None
    return None
