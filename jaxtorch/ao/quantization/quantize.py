"""Models whose layers compute on integers: `quantize_dynamic`, and `prepare`, `prepare_qat` and `convert`."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import nn
from ..._core.types import dtypes
from ..._core.types.warn_once import deprecated
from ..nn import quantized as nnq
from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase
from .qconfig import _checked, default_dynamic_qconfig
from .quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from .stubs import DeQuantStub, QuantWrapper

__all__ = ["add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic",
           "quantize_qat", "swap_module"]  # fmt: skip


_leaving = deprecated(
    "torch.ao.quantization is deprecated and will be removed in 2.10.  For migrations of users: 1. Eager mode quantization "
    "(torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to torchao's eager mode quantize_ API.",
    DeprecationWarning,
)
_ELSEWHERE = (nn.Embedding, nn.EmbeddingBag)


@_leaving
def quantize_dynamic(
    model: nn.Module, qconfig_spec: Any = None, dtype: Any = dtypes.qint8, mapping: Any = None, inplace: bool = False
) -> nn.Module:
    """The model, in evaluation, with its linear and recurrent layers computed on integers (`torch.ao.nn.quantized.dynamic`).

    qconfig_spec: a set of classes or of names of submodules (whose parts count too), or a dict of these with a `QConfig` each; by
    default all linear and recurrent layers. mapping: other classes to put in the places of classes. inplace: change this model, not a
    copy. NotImplementedError for embeddings among them, and for another `dtype` than `torch.qint8`.
    """
    if dtype is not dtypes.qint8:
        raise NotImplementedError(f"quantize_dynamic(): jaxtorch has dtype=torch.qint8 only, not {dtype}")
    if qconfig_spec is None:
        qconfig_spec = {nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell}
    if isinstance(qconfig_spec, set):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    mapping = DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping
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


def _prefixed(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give every submodule the `qconfig` of its own, of its name or type in the dict, or of what holds it."""
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Any, given: Any, inherited: Any, prefix: str) -> None:
    found = given.get(type(module), inherited)
    found = getattr(module, "qconfig", given.get(prefix, found))
    _checked(found, module)
    module.qconfig = found
    for name, child in module.named_children():
        _propagate(child, given, found, _prefixed(prefix, name))


def _fused(module: Any) -> bool:
    """Is a module several layers in one, of which only the last result is observed?"""
    return getattr(type(module), "_fused", False)


def _observed(module: Any) -> bool:
    return getattr(module, "qconfig", None) is not None


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _insert(module: Any, special: Any = None) -> None:
    """Observe what a module gives, as its `qconfig` says."""
    if not _observed(module) or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", (special or module.qconfig.activation)())
    handle = module.register_forward_hook(_observer_forward_hook)
    module._forward_hooks.move_to_end(handle.id, last=False)


def _add_observer_(module: Any, kinds: Any, non_leaf: Any) -> None:
    for child in module.children():
        kind = type(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (nnq.FloatFunctional, nnq.QFunctional)):
            if _observed(child):
                child.activation_post_process = child.qconfig.activation()
        elif _fused(child) or (non_leaf is not None and kind in non_leaf):
            _insert(child)
        elif child.training and kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            _insert(child, DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind])
        else:
            _add_observer_(child, kinds, non_leaf)
    leaf = not [n for n, _ in module.named_children() if n != "parametrizations"]
    if leaf and not isinstance(module, nn.Sequential) and type(module) in kinds:
        _insert(module)


@_leaving
def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The model with observers after each layer that has a `qconfig` (its own or that of what holds it), to be calibrated."""
    if (prepare_custom_config_dict or {}).get("float_to_observed_custom_module_class"):
        raise NotImplementedError("prepare(): jaxtorch has no custom observed modules (prepare_custom_config_dict)")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(_observed(m) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
            "assigning the `.qconfig` attribute directly on submodules",
            UserWarning,
            stacklevel=2,
        )
    _add_observer_(model, allow_list or get_default_qconfig_propagation_list(), observer_non_leaf_module_list)
    return model


@_leaving
def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """The model, in training, with layers that round their weights and modules that round what they give."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


@_leaving
def convert(
    module: Any, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
    convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """The calibrated model with layers on integers in place of those that have a `qconfig`."""
    if is_reference:
        raise NotImplementedError("convert(is_reference=True): jaxtorch has no reference layers")
    if (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class"):
        raise NotImplementedError("convert(): jaxtorch has no custom observed modules (convert_custom_config_dict)")
    module = module if inplace else copy.deepcopy(module)
    mapping = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping
    _swap_children(module, mapping, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _swap_children(module: Any, mapping: Any, precomputed: bool) -> None:
    made = {}
    for name, child in module.named_children():
        if not _fused(child):
            _swap_children(child, mapping, precomputed)
        made[name] = swap_module(child, mapping, {}, precomputed)
    module._modules.update(made)


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False
) -> Any:
    """What takes the place of a module that has a `qconfig`, with its hooks; other modules as they are."""
    if not _observed(mod) or type(mod) not in mapping:
        return mod
    kind = mapping[type(mod)]
    made = kind.from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    return made


def _remove_qconfig(module: Any) -> None:
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    observer = getattr(module, "activation_post_process", None)
    if isinstance(observer, (ObserverBase, FakeQuantizeBase)):
        del module.activation_post_process
    for hooks, hook in (
        (module._forward_hooks, _observer_forward_hook),
        (module._forward_pre_hooks, _observer_forward_pre_hook),
    ):
        for key in [k for k, found in hooks.items() if found is hook]:
            hooks.pop(key)


@_leaving
def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """The model prepared, calibrated by `run_fn(model, *run_args)`, and converted."""
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping or get_default_static_quant_module_mappings(), inplace=True)
    return model


@_leaving
def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """The model prepared, trained by `run_fn(model, *run_args)`, and converted."""
    model = model if inplace else copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


def add_quant_dequant(module: Any) -> Any:
    """The module with a `QuantWrapper` around each leaf that has a `qconfig`."""
    if not list(module.children()) and _observed(module):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module
