"""Recurrent layers over sequences, and their cells over one step."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ..._core.define.op import functions
from ..._core.define.signature import need_kind
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes, grad_mode
from ..._core.types.warn_once import deprecated, once
from ..._ops.creation.filled import empty, zeros
from ..._ops.nn.recurrent import run_layers
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


@deprecated("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead")
def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """`tensor.index_select(dim, permutation)`."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What the recurrent layers share: weights of all layers and directions, checks of input and state.

    mode: 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU'. Parameters are called weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
    weight_hr_l0 (projections), with the layer's number, and with `_reverse` for the second direction.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
    ]  # fmt: skip
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = hidden_size if _GATES[mode] == 1 else _GATES[mode] * hidden_size
        state = proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, input_size if layer == 0 else state * directions),
                    "weight_hh": (gates, state),
                }
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):  # pyright: ignore[reportOperatorIssue]
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if name != "num_layers" and not isinstance(getattr(self, name), int):
                raise TypeError(f"{name} should be of type int, got: {type(getattr(self, name)).__name__}")
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights as attributes hold them now: replaced ones (weight dropout, parametrizations) count."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _init_flat_weights(self) -> None:
        """Without effect: the weights are looked up by name."""

    def flatten_parameters(self) -> None:
        """Without effect: XLA lays weights out itself."""

    def reset_parameters(self) -> None:
        """Draw all weights uniformly from +-1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise where dtype, dimensions or features of the input do not fit."""
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and grad_mode.state.casts is None:  # autocast converts them
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        packed = batch_sizes is not None  # the data, (N, *), comes padded, (T, B, *)
        if input.dim() != 3:
            raise RuntimeError(f"input must have {3 - packed} dimensions, got {input.dim() - packed}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _expected_size(self, input: Tensor, batch_sizes: Tensor | None, features: int) -> tuple[int, int, int]:
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return (self.num_layers * (2 if self.bidirectional else 1), batch, features)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers * directions, B, hidden or projected size)."""
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError where the state has another size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise where input or state does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts += [f"{n}={getattr(self, n)}" for n, default in defaults.items() if getattr(self, n) != default]
        return ", ".join(parts)

    def _initial(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        size = self.get_expected_hidden_size(input, batch_sizes)
        return zeros(size, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        wanted = 3 if batched else 2
        if hx.dim() != wanted:
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be {wanted}-D but got "
                f"{hx.dim()}-D tensor"
            )

    def _each(self, hx: Any, change: Any) -> Any:
        return change(hx)

    def forward(self, input: Any, hx: Any = None) -> Any:
        for name in ("bias", "bidirectional", "batch_first"):
            if getattr(self, name).__class__ is not bool:
                need_kind(self._get_name().lower(), name, "bool", getattr(self, name))
        if self.num_layers.__class__ is not int:
            need_kind(self.mode.lower(), "num_layers", "int", self.num_layers)
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = self._get_name().removesuffix("Base")
            kind = "D tensor" if name == "RNN" else "D"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}{kind} instead")
        batched = input.dim() == 3
        dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(dim)
        if hx is None:
            hx = self._initial(input, None)
        else:
            self._check_state_dims(hx, batched)
            if not batched:
                hx = self._each(hx, lambda state: state.unsqueeze(1))
        self.check_forward_args(input, hx, None)
        if self.proj_size and input.device.type == "cpu" and input.dtype in (dtypes.float32, dtypes.bfloat16):
            once("LSTM with projections is not supported with oneDNN. Using default implementation.")
        output, *hidden = functions[self.mode.lower()](
            input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
        if batched:
            return output, self._packed(hidden)
        return output.squeeze(dim), self._each(self._packed(hidden), lambda state: state.squeeze(1))

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        sizes, order, back = input[1:]
        padded = input._as_padded()
        hx = self._initial(padded, sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(padded, hx, sizes)
        output, *hidden = run_layers(
            self.mode.lower(), padded, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, batch_sizes=sizes,
        )  # fmt: skip
        packed = PackedSequence._of_padded(output, sizes, order, back)
        return packed, self.permute_hidden(self._packed(hidden), back)

    def _packed(self, hidden: list[Tensor]) -> Any:
        return hidden[0]


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu (Elman, 1990).

    Input (T, B, I), (B, T, I) with batch_first, (T, I), or a PackedSequence; hx (layers * directions, B, H), zeros by default.
    Returns the last layer's states of all steps (T, B, directions * H), and the last states of all layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = (*args[:3], *args[4:])
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), with projections where proj_size > 0 (Sak et al., 2014).

    Input (T, B, I), (B, T, I) with batch_first, (T, I), or a PackedSequence; hx: the states (h_0, c_0), each
    (layers * directions, B, H), zeros by default. Returns the last layer's h of all steps (T, B, directions * H), and (h_n, c_n)
    of all layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers * directions, B, hidden size)."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise where input or states do not fit."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for k, size in enumerate(sizes):
            self.check_hidden_size(hidden[k], size, f"Expected hidden[{k}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states with their batch in another order."""
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _initial(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        return tuple(zeros(size, dtype=input.dtype, device=input.device) for size in sizes)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        wanted = 3 if batched else 2
        if hx[0].dim() != wanted or hx[1].dim() != wanted:
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also be {wanted}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _each(self, hx: Any, change: Any) -> Any:
        return tuple(change(state) for state in hx)

    def _packed(self, hidden: list[Tensor]) -> Any:
        return tuple(hidden)


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al., 2014), its reset gate applied after the matrix product.

    Input (T, B, I), (B, T, I) with batch_first, (T, I), or a PackedSequence; hx (layers * directions, B, H), zeros by default.
    Returns the last layer's states of all steps (T, B, directions * H), and the last states of all layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# -- cells ------------------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: the weights of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        """Draw all weights uniformly from +-1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check(self, input: Tensor, states: Any, named: str) -> None:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for k, state in enumerate(states):
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {named.format(k)} to be 1D or 2D, got {state.dim()}D instead")

    def _step(self, run: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        self._check(input, () if hx is None else (hx,), "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        out = run(input, hx, *self._weights())
        return out if batched else out.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of `RNN`: input (B, I) or (I), state (B, H) or (H), zeros by default; returns the new state."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            self._check(input, () if hx is None else (hx,), "hidden")
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[f"rnn_{self.nonlinearity}_cell"], input, hx)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: input (B, I) or (I), hx = (h, c), each (B, H) or (H), zeros by default; returns the new (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        self._check(input, () if hx is None else hx, "hx[{}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            state = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
            hx = (state, state)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = functions["lstm_cell"](input, hx, *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of `GRU`: input (B, I) or (I), state (B, H) or (H), zeros by default; returns the new state."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(functions["gru_cell"], input, hx)
