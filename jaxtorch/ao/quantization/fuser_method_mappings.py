"""How layers that follow one another become one."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic as nni

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]

_NORMED = {
    nn.Conv1d: (nni.ConvBn1d, nni.ConvBnReLU1d, nni.ConvReLU1d),
    nn.Conv2d: (nni.ConvBn2d, nni.ConvBnReLU2d, nni.ConvReLU2d),
    nn.Conv3d: (nni.ConvBn3d, nni.ConvBnReLU3d, nni.ConvReLU3d),
}


def _same_mode(*modules: Any) -> None:
    if len({m.training for m in modules}) > 1:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")


def _trainable(conv: Any, bn: Any) -> None:
    if bn.num_features != conv.out_channels:
        raise AssertionError("Output channel of Conv2d must match num_features of BatchNorm2d")
    if not bn.affine:
        raise AssertionError("Only support fusing BatchNorm2d with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError("Only support fusing BatchNorm2d with tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution that normalises too; with `is_qat` both in one module."""
    _same_mode(conv, bn)
    if is_qat:
        _trainable(conv, bn)
        return _NORMED[type(conv)][0](conv, bn)
    return fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """The same and `relu`."""
    _same_mode(conv, bn, relu)
    if is_qat:
        _trainable(conv, bn)
        return _NORMED[type(conv)][1](conv, bn, relu)
    return _NORMED[type(conv)][2](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer that normalises too; with `is_qat` both in one module."""
    if linear.training != bn.training:
        raise AssertionError("Linear and BN both must be in the same mode (train or eval).")
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution that normalises too, in evaluation."""
    if convt.training != bn.training:
        raise AssertionError("ConvTranspose and BN both must be in the same mode (train or eval).")
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _together(made: Any) -> Any:
    return lambda is_qat, *modules: made(*modules)


_METHODS: dict[tuple[Any, ...], Any] = {
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _together(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _together(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _together(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}
for _conv, _norm in zip(_NORMED, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), strict=True):
    _METHODS[_conv, _norm] = fuse_conv_bn
    _METHODS[_conv, _norm, nn.ReLU] = fuse_conv_bn_relu
    _METHODS[_conv, nn.ReLU] = _together(_NORMED[_conv][2])


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Any:
    """The function that makes one module of modules of these types; AssertionError where there is none."""
    found = {**_METHODS, **(additional_fuser_method_mapping or {})}.get(tuple(op_list))
    if found is None:
        raise AssertionError(f"did not find fuser method for: {tuple(op_list)} ")
    return found
