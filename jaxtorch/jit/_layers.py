"""The forward methods of PyTorch's layers as TorchScript's source, for archives of traced modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import fx, nn
from ._texts import of_functional, refused


def _own(m: Any, name: str) -> Any:
    return None if getattr(m, name) is None else f"self.{name}"


def _written(name: str, **given: Any) -> str:
    """A call of a function of `nn.functional`, of the input and of parameters whose source is given."""
    graph = fx.Graph()
    names: dict[str, str] = {}
    args: dict[str, Any] = {}
    for n, v in given.items():
        if isinstance(v, str) and (v == "input" or v.startswith("self.")):
            node = graph.placeholder(f"held_{len(names)}")
            names[node.name], args[n] = v, node
        else:
            args[n] = v
    text = of_functional(name, (), args)
    for node_name, source in names.items():
        text = text.replace(node_name, source)
    return text


def _conv(m: Any) -> str:
    n = len(m.kernel_size)
    if m.padding_mode != "zeros":
        raise refused(f"a convolution with padding_mode={m.padding_mode!r}")
    if isinstance(m, nn.modules.conv._ConvTransposeNd):
        return _written(f"conv_transpose{n}d", input="input", weight="self.weight", bias=_own(m, "bias"), stride=m.stride,
                        padding=m.padding, output_padding=m.output_padding, groups=m.groups, dilation=m.dilation)  # fmt: skip
    return _written(f"conv{n}d", input="input", weight="self.weight", bias=_own(m, "bias"), stride=m.stride, padding=m.padding,
                    dilation=m.dilation, groups=m.groups)  # fmt: skip


def _batch_norm(m: Any) -> str:
    training = m.training or m.running_mean is None
    if training and m.momentum is None:
        raise refused("batch normalisation with momentum=None in training")
    call = _written("batch_norm", input="input", running_mean=_own(m, "running_mean"), running_var=_own(m, "running_var"),
                    weight=_own(m, "weight"), bias=_own(m, "bias"), training=training, momentum=m.momentum or 0.0,
                    eps=m.eps)  # fmt: skip
    if m.training and m.num_batches_tracked is not None:
        return f"_0 = torch.add_(self.num_batches_tracked, 1)\n    return {call}"
    return call


def _pooled(name: str, *names: str) -> Callable[[Any], str]:
    def text(m: Any) -> str:
        if getattr(m, "return_indices", False):
            raise refused(f"{type(m).__name__} with return_indices")
        return _written(name, input="input", **{n: getattr(m, n) for n in names})

    return text


def _dropout(m: Any) -> str:
    return f"torch.dropout{'_' if m.inplace else ''}(input, {float(m.p)!r}, {m.training})"


def _embedding(m: Any) -> str:
    if m.max_norm is not None:
        raise refused("an embedding with max_norm")
    return _written("embedding", input="input", weight="self.weight", padding_idx=m.padding_idx,
                    scale_grad_by_freq=m.scale_grad_by_freq, sparse=m.sparse)  # fmt: skip


def _pointwise(name: str, *names: str) -> Callable[[Any], str]:
    def text(m: Any) -> str:
        inplace = {"inplace": True} if getattr(m, "inplace", False) else {}
        return _written(name, input="input", **{n: getattr(m, n) for n in names}, **inplace)

    return text


def _lstm(m: Any) -> str:
    if m.proj_size or m.bias is not True:
        raise refused("an LSTM with projections or without biases")
    weights = ", ".join(f"self.{n}" for names in m._all_weights for n in names)
    directions = m.num_layers * (2 if m.bidirectional else 1)
    batch = 0 if m.batch_first else 1
    size = f"[{directions}, torch.size(input, {batch}), {m.hidden_size}]"
    zeros = f"torch.zeros({size}, dtype=ops.prim.dtype(input), device=ops.prim.device(input))"
    rest = f"[{weights}], True, {m.num_layers}, {float(m.dropout)!r}, {m.training}, {m.bidirectional}, {m.batch_first}"
    if m.mode == "LSTM":
        return f"h = {zeros}\n    y, a, b = torch.lstm(input, [h, h], {rest})\n    return (y, (a, b))"
    return f"h = {zeros}\n    y, a = torch.gru(input, h, {rest})\n    return (y, a)"


_SLIDING = "kernel_size stride padding"
LAYERS: dict[type, Callable[[Any], str]] = {
    nn.Identity: lambda m: "input",
    nn.Linear: lambda m: _written("linear", input="input", weight="self.weight", bias=_own(m, "bias")),
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d), _conv),
    **dict.fromkeys((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), _batch_norm),
    **{getattr(nn, f"MaxPool{n}d"): _pooled(f"max_pool{n}d", *_SLIDING.split(), "dilation", "ceil_mode") for n in (1, 2, 3)},
    nn.AvgPool1d: _pooled("avg_pool1d", *_SLIDING.split(), "ceil_mode", "count_include_pad"),
    **{getattr(nn, f"AvgPool{n}d"): _pooled(f"avg_pool{n}d", *_SLIDING.split(), "ceil_mode", "count_include_pad",
                                            "divisor_override") for n in (2, 3)},
    **{getattr(nn, f"AdaptiveAvgPool{n}d"): _pooled(f"adaptive_avg_pool{n}d", "output_size") for n in (1, 2, 3)},
    **dict.fromkeys((nn.Dropout,), _dropout),
    nn.Embedding: _embedding,
    nn.LayerNorm: lambda m: _written("layer_norm", input="input", normalized_shape=m.normalized_shape,
                                     weight=_own(m, "weight"), bias=_own(m, "bias"), eps=m.eps),
    nn.GroupNorm: lambda m: _written("group_norm", input="input", num_groups=m.num_groups, weight=_own(m, "weight"),
                                     bias=_own(m, "bias"), eps=m.eps),
    nn.Flatten: lambda m: f"torch.flatten(input, {m.start_dim}, {m.end_dim})",
    **{getattr(nn, k): _pointwise(n) for k, n in {"ReLU": "relu", "SiLU": "silu", "Mish": "mish", "Hardswish": "hardswish",
        "Hardsigmoid": "hardsigmoid", "ReLU6": "relu6", "SELU": "selu", "Sigmoid": "sigmoid", "Tanh": "tanh",
        "LogSigmoid": "logsigmoid"}.items()},
    nn.LeakyReLU: _pointwise("leaky_relu", "negative_slope"), nn.ELU: _pointwise("elu", "alpha"),
    nn.Hardtanh: _pointwise("hardtanh", "min_val", "max_val"), nn.Softplus: _pointwise("softplus", "beta", "threshold"),
    nn.GELU: lambda m: f'torch.gelu(input, approximate="{m.approximate}")',
    nn.Softmax: lambda m: f"torch.softmax(input, {_dimension(m)})",
    nn.LogSoftmax: lambda m: f"torch.log_softmax(input, {_dimension(m)})",
    nn.LSTM: _lstm, nn.GRU: _lstm,
}  # fmt: skip
RESULTS = {nn.LSTM: "Tuple[Tensor, Tuple[Tensor, Tensor]]", nn.GRU: "Tuple[Tensor, Tensor]"}


def _dimension(m: Any) -> int:
    if m.dim is None:
        raise refused(f"{type(m).__name__} without a dimension")
    return m.dim


def forward_of(m: Any, values: list[Any]) -> str:
    """The forward method of a layer, called with these values. NotImplementedError, which names it, for layers it is not known of."""
    if type(m) not in LAYERS:
        raise refused(f"the layer {type(m).__name__}")
    if len(values) != 1 or (type(m) in RESULTS and values[0].dim() != 3):
        raise refused(f"the layer {type(m).__name__} called with other than one tensor (of a batch)")
    body = LAYERS[type(m)](m)
    body = body if "return " in body else f"return {body}"
    return f"  def forward(self, input: Tensor) -> {RESULTS.get(type(m), 'Tensor')}:\n    {body}\n"
