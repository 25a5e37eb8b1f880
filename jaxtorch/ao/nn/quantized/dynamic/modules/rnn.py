"""Recurrent layers with integer weights, whose products round each input to integers of its own range."""

from __future__ import annotations

from typing import Any

from ...... import _quantized
from ......_core.define.op import functions
from ......_core.types import dtypes
from ......_ops.quantized.quantize import _linear_dynamic
from ......_ops.types import constants
from ......nn import Module, ModuleList
from ......nn import functional as F
from ......nn.utils.rnn import PackedSequence
from .....quantization.observer import default_weight_observer

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


def _packed(mod: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    """A weight in integers, as the layer's `qconfig` observes it, and the bias."""
    config = getattr(mod, "qconfig", None)
    observer = (config.weight if config is not None else default_weight_observer)()
    if observer.dtype is not dtypes.qint8:
        raise NotImplementedError(f"quantize_dynamic(): jaxtorch has dtype=torch.qint8 only, not {observer.dtype}")
    observer(weight)
    scale, zero = observer.calculate_qparams()
    weight = weight.detach().float()
    if observer.qscheme in (constants.per_channel_affine, constants.per_channel_symmetric):
        held = _quantized.quantize_per_channel(weight, scale.double(), zero.long(), 0, dtypes.qint8)
    else:
        held = _quantized.quantize_per_tensor(weight, float(scale), int(zero), dtypes.qint8)
    return held, None if bias is None else bias.detach()


def _product(x: Any, packed: tuple[Any, Any]) -> Any:
    weight, bias = packed
    scale, zero = weight._scheme.arrays(2, x.device)
    return _linear_dynamic(x.detach(), weight._ints, scale, zero, bias, 127)


def _lstm_step(inner: Any, state: Any, hidden: Any) -> Any:
    h, c = state
    i, f, g, o = functions["chunk"](inner + _product(h, hidden), 4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(inner: Any, state: Any, hidden: Any) -> Any:
    (h,) = state
    r, z, n = functions["chunk"](inner, 3, 1)
    hr, hz, hn = functions["chunk"](_product(h, hidden), 3, 1)
    r, z = (r + hr).sigmoid(), (z + hz).sigmoid()
    n = (n + hn * r).tanh()
    return ((h - n) * z + n,)


def _draw(*shapes: Any) -> None:
    """Take the random numbers from the generator that PyTorch's constructor takes for weights it then replaces."""
    for shape in shapes:
        functions["randn"](*shape)


class _Weights(Module):
    """The packed weights of one layer in one direction: (of the input, of the state)."""

    param: Any

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local: Any, strict: bool, missing: Any, *args: Any
    ) -> None:
        if prefix + "param" in state_dict:
            self.param = state_dict.pop(prefix + "param")
        elif strict:
            missing.append(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, local, False, missing, *args)


class _Recurrent(Module):
    """What LSTM and GRU have in common; weights come from a float layer by `from_float`."""

    _step: Any = None
    _states = 1

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float,
        bidirectional: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.version, self.training = bidirectional, 2, False
        self._all_weight_values = ModuleList()

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += f", bias={self.bias}" if self.bias is not True else ""
        text += f", batch_first={self.batch_first}" if self.batch_first is not False else ""
        text += f", dropout={self.dropout}" if self.dropout != 0 else ""
        return text + (f", bidirectional={self.bidirectional}" if self.bidirectional is not False else "")

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """input (steps, batch, features), or with `batch_first` (batch, steps, features)."""
        if isinstance(input, PackedSequence):
            raise NotImplementedError(
                f"torch.ao.nn.quantized.dynamic.{type(self).__name__}: jaxtorch takes no PackedSequence"
            )
        if input.dim() != 3:
            raise RuntimeError(f"input must have 3 dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        x = input.transpose(0, 1) if self.batch_first else input
        ways = 2 if self.bidirectional else 1
        if hx is None:
            none = functions["zeros"](self.num_layers * ways, x.shape[1], self.hidden_size, device=x.device)
            given: tuple[Any, ...] = (none,) * self._states
        else:
            given = tuple(hx) if self._states == 2 else (hx,)
        last: list[Any] = []
        for layer in range(self.num_layers):
            outs = []
            for way in range(ways):
                k = layer * ways + way
                inner, hidden = self._all_weight_values[k].param
                products = _product(x, inner).unbind(0)
                state, seen = tuple(s[k] for s in given), []
                for product in reversed(products) if way else products:
                    state = type(self)._step(product, state, hidden)
                    seen.append(state[0])
                outs.append(functions["stack"](seen[::-1] if way else seen))
                last.append(state)
            x = outs[0] if ways == 1 else functions["cat"](outs, 2)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, True)
        found = tuple(functions["stack"](list(parts)) for parts in zip(*last, strict=True))
        x = x.transpose(0, 1) if self.batch_first else x
        return x, found if self._states == 2 else found[0]

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one."""
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError("quantize_dynamic(): jaxtorch has no dynamically quantised LSTM with proj_size")
        made = cls(
            mod.mode, mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional,
        )  # fmt: skip
        for layer in range(mod.num_layers):
            for suffix in ("", "_reverse")[: 2 if mod.bidirectional else 1]:
                biases = (
                    [] if not mod.bias else [getattr(mod, f"bias_{k}_l{layer}{suffix}").shape for k in ("ih", "hh")]
                )
                _draw(*[getattr(mod, f"weight_{k}_l{layer}{suffix}").shape for k in ("ih", "hh")], *biases)
                names = [f"{kind}_l{layer}{suffix}" for kind in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]
                w, b, v, c = (getattr(mod, n, None) for n in names)
                made._all_weight_values.append(_Weights((_packed(mod, w, b), _packed(mod, v, c))))
        return made


class LSTM(_Recurrent):
    """An LSTM with integer weights."""

    _step = staticmethod(_lstm_step)
    _states = 2


class GRU(_Recurrent):
    """A GRU with integer weights."""

    _step = staticmethod(_gru_step)


class _Cell(Module):
    """One step with integer weights."""

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = mod.input_size, mod.hidden_size, mod.bias
        self.nonlinearity = getattr(mod, "nonlinearity", "tanh")
        _draw(*[t.shape for t in (mod.bias_ih, mod.bias_hh, mod.weight_ih, mod.weight_hh) if t is not None])
        self._packed_weight_ih = _packed(mod, mod.weight_ih, mod.bias_ih)
        self._packed_weight_hh = _packed(mod, mod.weight_hh, mod.bias_hh)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + (f", bias={self.bias}" if self.bias is not True else "")
        return text + (f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else "")

    def _start(self, input: Any, hx: Any) -> Any:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")
        return functions["zeros"](input.shape[0], self.hidden_size, device=input.device) if hx is None else hx

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local: Any, strict: bool, missing: Any, *args: Any
    ) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            elif strict:
                missing.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local, False, missing, *args)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The cell of a float one."""
        return cls(mod)


class LSTMCell(_Cell):
    """One step of an LSTM with integer weights."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        state = (self._start(input, None),) * 2 if hx is None else hx
        self._start(input, state[0])
        return _lstm_step(_product(input, self._packed_weight_ih), state, self._packed_weight_hh)


class GRUCell(_Cell):
    """One step of a GRU with integer weights."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        state = self._start(input, hx)
        return _gru_step(_product(input, self._packed_weight_ih), (state,), self._packed_weight_hh)[0]


class RNNCell(_Cell):
    """One step of a plain recurrent layer with integer weights."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        state = self._start(input, hx)
        found = _product(input, self._packed_weight_ih) + _product(state, self._packed_weight_hh)
        return found.tanh() if self.nonlinearity == "tanh" else found.relu()
