"""Recurrent networks: `lstm`, `gru`, `rnn_tanh`, `rnn_relu` over sequences, and their cells over one step.

A layer in one direction is one operation, a loop inside the program: its compilation takes as long for 200 steps as for 20.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Arrays, function, inner_op, op
from ..._core.define.signature import form_of
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, from_host
from ..._core.types.size import kind_name
from ..common.product_primitives import times_and_plus
from ..common.rules import kind, refuse, scalar_name, to_float
from ..shapes.joining import cat, stack
from . import recurrent_loops as scans
from .dropout import dropout as _dropout
from .dropout import dropped_inside
from .linear import check_types
from .packed_sequences import data_of, padded_of, rows_of


def _name(operands: Any, statics: Any) -> str:
    mkldnn = len(operands) == 9 and operands[7] is None and operands[8] is None and operands[0].dtype.name == "float32"
    return "MkldnnRnnLayerBackward0" if mkldnn else "StackBackward0"


def _valid(input: Any, lengths: Any) -> Any:
    return None if lengths is None else (up_to(input.shape[0])[:, None] < lengths).astype(input.dtype)


def _affine(x: Any, w: Any, *biases: Any) -> Any:
    check_types(x, w, biases[0])
    return times_and_plus(x, w, *biases)


def _saved(operands: Any, statics: Any) -> tuple[str, ...]:
    return ("result",) if _name(operands, statics) == "MkldnnRnnLayerBackward0" else ()


@inner_op(grad=_name, saved=_saved)
def _lstm_layer(
    input: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    w_hr: Array | None,
    lengths: Array | None,
    reverse: bool,
):
    """(T, B, I) -> all hidden states (T, B, H), the last one, the last cell state."""
    xw = _affine(input, w_ih, b_ih, b_hh)
    check_types(h0, w_hh, b_hh)
    hs, c = scans.lstm_scan(xw, h0, c0, w_hh, w_hr, _valid(input, lengths), reverse)
    return jnp.copy(hs), scans.last(hs, reverse), c  # backward needs hs, and programs may write to the result


@inner_op(grad=_name)
def _gru_layer(
    input: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    lengths: Array | None,
    reverse: bool,
):
    """(T, B, I) -> all hidden states (T, B, H), the last one."""
    check_types(h0, w_hh, b_hh)
    bias = jnp.zeros(w_hh.shape[0], w_hh.dtype) if b_hh is None else b_hh
    hs = scans.gru_scan(_affine(input, w_ih, b_ih), h0, w_hh, bias, _valid(input, lengths), reverse)
    return jnp.copy(hs), scans.last(hs, reverse)


@inner_op(grad=_name)
def _rnn_layer(
    input: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    lengths: Array | None,
    nonlinearity: str,
    reverse: bool,
):
    """(T, B, I) -> all hidden states (T, B, H), the last one."""
    xw = _affine(input, w_ih, b_ih, b_hh)
    check_types(h0, w_hh, b_hh)
    hs = scans.rnn_scan(xw, h0, w_hh, _valid(input, lengths), nonlinearity, reverse)
    return jnp.copy(hs), scans.last(hs, reverse)


def _layer(kind: str, x: Tensor, states: list[Tensor], weights: Any, lengths: Any, reverse: bool) -> Any:
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if kind == "lstm":
        return _lstm_layer(x, *states, w_ih, w_hh, b_ih, b_hh, w_hr, lengths, reverse)
    if kind == "gru":
        return _gru_layer(x, *states, w_ih, w_hh, b_ih, b_hh, lengths, reverse)
    return _rnn_layer(x, *states, w_ih, w_hh, b_ih, b_hh, lengths, kind.removeprefix("rnn_"), reverse)


def _weights(params: Any, has_biases: bool, projected: bool) -> list[tuple[Any, ...]]:
    """(w_ih, w_hh, b_ih, b_hh, w_hr) of each layer and direction."""
    each = (4 if has_biases else 2) + projected
    if len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    found = []
    for k in range(0, len(params), each):
        some = list(params[k : k + each])
        w_hr = some.pop() if projected else None
        found.append((*some[:2], *(some[2:] if has_biases else (None, None)), w_hr))
    return found


def run_layers(
    kind: str,
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool = False,
    batch_sizes: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The output of the last layer, and the last states of all layers and directions.

    batch_sizes: those of packed data, which is given and returned padded, as (T, B, *).
    """
    x = input.transpose(0, 1) if batch_first else input
    if x.dim() and x.shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    initial = [hx] if isinstance(hx, Tensor) else list(hx)
    projected = kind == "lstm" and initial[0].shape[-1] != initial[1].shape[-1]
    weights = _weights(params, has_biases, projected)
    directions = 2 if bidirectional else 1
    if len(weights) != num_layers * directions:
        raise RuntimeError("got an incorrect number of RNN parameters")
    if kind != "lstm" and initial[0].shape[0] != len(weights):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    if x.dim() != 3 or any([s.dim() != 3 or s.shape[1] != x.shape[1] for s in initial]):  # noqa: C419
        states = " and ".join([str(list(s.shape)) for s in initial])
        raise RuntimeError(
            f"{kind}(): expected input and states of three dimensions with the same batch size, got {list(input.shape)} and {states}"
        )
    inside = None if batch_sizes is None else rows_of(batch_sizes.tolist())[1]
    lengths = None if inside is None else from_host(inside.sum(0, dtype=np.int64), x.device)
    last: list[Any] = []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            out, *states = _layer(kind, x, [s[k] for s in initial], weights[k], lengths, direction == 1)
            outs.append(out)
            last.append(states)
        x = outs[0] if directions == 1 else cat(outs, -1)
        if dropout and train and layer < num_layers - 1:
            x = _dropout(x, dropout) if inside is None else dropped_inside(x, dropout, inside)
    return (x.transpose(0, 1) if batch_first else x, *[stack(states) for states in zip(*last, strict=True)])


# fmt: off
def _padded(
    input: Tensor, hx: Tensor, params: Arrays, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> None: ...
def _packed(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Arrays, has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> None: ...
def _padded_lstm(
    input: Tensor, hx: Arrays, params: Arrays, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> None: ...
def _packed_lstm(
    data: Tensor, batch_sizes: Tensor, hx: Arrays, params: Arrays, has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> None: ...
# fmt: on


def _sequence_function(kind: str) -> None:
    forms = (_padded_lstm, _packed_lstm) if kind == "lstm" else (_padded, _packed)

    def run(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        form, given = form_of(kind, forms, args, kwargs)
        if kind == "lstm" and len(given["hx"]) != 2:
            raise RuntimeError("lstm expects two hidden states")
        if form is forms[0]:
            return run_layers(kind, **given)
        data, batch_sizes = given.pop("data"), given["batch_sizes"]
        output, *states = run_layers(kind, padded_of(data, batch_sizes), **given)
        return (data_of(output, batch_sizes), *states)

    run.__name__ = run.__qualname__ = kind
    run.__doc__ = f"""The function behind the module: {kind}(input, hx, params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first), or {kind}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional) for packed data. params: of each layer and direction w_ih, w_hh, b_ih, b_hh, and w_hr where projected.
    """
    function(kind)(run)


for _kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _sequence_function(_kind)


# -- cells ------------------------------------------------------------------------------------------------------------------


def _check_cell(input: Any, states: list[Any], w_ih: Any, w_hh: Any, gated: bool = True) -> None:
    if not gated and w_ih.ndim == 1:
        raise RuntimeError(f"weight_ih first dim must be {w_hh.shape[:1]}, but got {w_ih.shape[0]}")
    for x in (w_ih, input, w_hh):
        strides.wrap_dim(1, x.ndim)
    if input.dtype == w_ih.dtype:
        refuse("addmm_impl_cpu_", input, "bool")
        if gated and kind(input) == "int":
            raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(input)}")
    if input.shape[-1] != w_ih.shape[-1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[-1]}")
    for k, state in enumerate(states):
        if state.shape[0] != input.shape[0]:
            raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{k} batch size {state.shape[0]}")
        strides.wrap_dim(1, state.ndim)
        if state.shape[-1] != w_hh.shape[-1]:
            raise RuntimeError(
                f"hidden{k} has inconsistent hidden_size: got {state.shape[-1]}, expected {w_hh.shape[-1]}"
            )


@inner_op(grad="MulBackward0")
def _lstm_cell(
    input: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    _check_cell(input, [h, c], w_ih, w_hh)
    i, f, g, o = scans.lstm_gates(_affine(input, w_ih, b_ih) + _affine(h, w_hh, b_hh))
    c = f * c + i * g
    return o * jnp.tanh(c), c


@function("lstm_cell")
def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: (B, I) and the states (h, c), each (B, H), to the new states."""
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {kind_name(hx)}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _lstm_cell(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


@op(method=False, out=False, grad="AddBackward0")
def gru_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None):
    """One step of a GRU: (B, I) and the state (B, H) to the new state."""
    _check_cell(input, [hx], w_ih, w_hh)
    _, z, n, _ = scans.gru_gates(_affine(input, w_ih, b_ih), _affine(hx, w_hh, b_hh))
    return n + z * (hx - n)


def _plain_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, nonlinearity: str) -> Any:
    _check_cell(input, [hx], w_ih, w_hh, gated=False)
    total = _affine(input, w_ih, b_ih) + _affine(hx, w_hh, b_hh)
    return scans.activation_of(nonlinearity)(total if nonlinearity == "relu" else to_float(total))


@op(method=False, out=False, grad="TanhBackward0")
def rnn_tanh_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    """tanh(w_ih x + b_ih + w_hh h + b_hh): (B, I) and the state (B, H) to the new state."""
    return _plain_cell(input, hx, w_ih, w_hh, b_ih, b_hh, "tanh")


@op(method=False, out=False, grad="ReluBackward0")
def rnn_relu_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    """relu(w_ih x + b_ih + w_hh h + b_hh): (B, I) and the state (B, H) to the new state."""
    return _plain_cell(input, hx, w_ih, w_hh, b_ih, b_hh, "relu")
