"""`torch.autograd.forward_ad`: its names, which say what to use instead."""

from __future__ import annotations

from .._absent import absent_class, absent_function

_REASON = "jaxtorch has no dual tensors yet: use torch.func.jvp, which computes the same derivatives"

dual_level = absent_class("torch.autograd.forward_ad.dual_level", _REASON)
make_dual = absent_function("torch.autograd.forward_ad.make_dual", _REASON)
unpack_dual = absent_function("torch.autograd.forward_ad.unpack_dual", _REASON)
enter_dual_level = absent_function("torch.autograd.forward_ad.enter_dual_level", _REASON)
exit_dual_level = absent_function("torch.autograd.forward_ad.exit_dual_level", _REASON)

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
