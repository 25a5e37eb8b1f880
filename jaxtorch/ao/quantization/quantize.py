"""`quantize_dynamic`: models whose linear layers compute on integers."""

from __future__ import annotations

import copy
from typing import Any

from ... import nn
from ..._absent import absent
from ..._core import dtypes
from ..nn.quantized import dynamic as nnqd
from .qconfig import _REASON, default_dynamic_qconfig

__all__ = ["quantize_dynamic"]


_MAPPED = {nn.Linear: nnqd.Linear}
_ELSEWHERE = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell, nn.Embedding, nn.EmbeddingBag)


def quantize_dynamic(
    model: nn.Module, qconfig_spec: Any = None, dtype: Any = dtypes.qint8, mapping: Any = None, inplace: bool = False
) -> nn.Module:
    """The model, in evaluation, with its linear layers computed on integers (`torch.ao.nn.quantized.dynamic.Linear`).

    qconfig_spec: a set of classes or of names of submodules (whose parts count too), or a dict of these with a `QConfig` each; by
    default all linear and recurrent layers. mapping: other classes to put in the places of classes. inplace: change this model, not a
    copy. NotImplementedError for recurrent layers and embeddings among them, and for another `dtype` than `torch.qint8`.
    """
    if dtype is not dtypes.qint8:
        raise NotImplementedError(f"quantize_dynamic(): jaxtorch has dtype=torch.qint8 only, not {dtype}")
    if qconfig_spec is None:
        qconfig_spec = {nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell}
    if isinstance(qconfig_spec, set):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    mapping = _MAPPED if mapping is None else mapping
    _convert(model, qconfig_spec, mapping, "", qconfig_spec.get(""))
    return model


def _config(module: nn.Module, spec: Any, prefix: str, inherited: Any) -> Any:
    return getattr(module, "qconfig", spec.get(prefix, spec.get(type(module), inherited)))


def _convert(module: nn.Module, spec: Any, mapping: Any, prefix: str, inherited: Any) -> None:
    config = _config(module, spec, prefix, inherited)
    for name, child in module.named_children():
        path = f"{prefix}.{name}" if prefix else name
        found = _config(child, spec, path, config)
        if found is None or type(child) not in mapping:
            if found is not None and type(child) in _ELSEWHERE:
                raise NotImplementedError(
                    f"quantize_dynamic(): jaxtorch has no dynamically quantised {type(child).__name__}"
                )
            _convert(child, spec, mapping, path, config)
            continue
        child.qconfig = found
        made = mapping[type(child)].from_float(child)
        for hook in child._forward_pre_hooks.values():
            made.register_forward_pre_hook(hook)
        for hook in child._forward_hooks.values():
            made.register_forward_hook(hook)
        setattr(module, name, made.eval())


_ABSENT = absent(
    __name__,
    "add_quant_dequant convert prepare prepare_qat propagate_qconfig_ quantize quantize_qat swap_module",
    _REASON,
)
globals().update(_ABSENT)
