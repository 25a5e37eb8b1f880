"""`torch.__future__`: how modules put converted and loaded parameters in the place of their own."""

from __future__ import annotations

from .nn.modules._module.conversion import Replacing


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `Module.to` and its kin make new parameters instead of giving the old ones new data."""
    Replacing.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What `set_overwrite_module_params_on_conversion` has set; False at first."""
    return Replacing.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and `load_state_dict` exchange parameters with `torch.utils.swap_tensors`."""
    Replacing.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What `set_swap_module_params_on_conversion` has set; False at first."""
    return Replacing.swap
