"""`torch.device` over JAX's devices. Each device owns the program that is being recorded for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .size import check_long

_KINDS = {
    "cpu": "cpu", "cuda": "gpu", "xla": "tpu", "tpu": "tpu", "mps": "METAL", "meta": "meta", "xpu": "xpu", "hip": "rocm",
}  # fmt: skip
_KNOWN = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """Where a tensor lives: a type such as 'cpu' or 'cuda', and an index.

    `torch.device('cuda')` names the first GPU that JAX sees; programs run there through XLA.
    """

    __module__ = "jaxtorch"

    type: str
    index: int | None
    _slot: DeviceSlot | None

    def __new__(cls, type: Any = None, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, (int, np.integer)) and not isinstance(type, bool) and index is None:
            type = int(check_long(type))
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            if not jax_devices("cuda"):
                raise RuntimeError("Cannot access accelerator device when none is available.")
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name = type
        if ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            type, _, digits = type.partition(":")
            if not digits.isdigit() or (len(digits) > 1 and digits[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{name}'")
            index = int(digits)
        if not type:
            raise RuntimeError("Device string must not be empty")
        if not (type.isascii() and type.replace("_", "").isalpha()):
            raise RuntimeError(f"Invalid device string: '{name}'")
        if index is not None and index.__class__ is not int:
            if isinstance(index, (bool, np.ndarray)) or not hasattr(index, "__index__"):
                raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
            index = index.__index__()
        if index is not None and check_long(index) < 0:
            raise RuntimeError("Device index must not be negative")
        if type not in _KINDS:
            raise RuntimeError(f"Expected one of {_KNOWN} device type at start of device string: {name}")
        key = (type, index)
        found = _devices.get(key)
        if found is None:
            found = object.__new__(cls)
            found.type, found.index, found._slot = type, index, None
            _devices[key] = found
        return found

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: Any) -> device:
        return self

    def __enter__(self) -> device:
        _default.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _default.pop()

    @property
    def slot(self) -> DeviceSlot:
        """The engine's side of the device; 'cuda' and 'cuda:0' share one."""
        if self._slot is None:
            self._slot = _slot(self.type, self.index)
        return self._slot


class DeviceSlot:
    """One JAX device and the program being recorded for it."""

    __slots__ = ("name", "device", "program", "closing", "ran", "_jax", "is_meta")

    def __init__(self, name: str, public: device) -> None:
        self.name = name
        self.device = public
        self.program: Any = None
        self.closing: Any = None  # a complete program that has not been started yet (see program.close)
        self.ran: Any = None  # the structure of the program that ran last
        self._jax: Any = None
        self.is_meta = public.type == "meta"

    @property
    def jax(self) -> Any:
        """The JAX device; where JAX has none of this kind, RuntimeError (AssertionError for CUDA, as in PyTorch without it)."""
        if self._jax is None:
            self._jax = _jax_device(self.device)
        return self._jax

    def __repr__(self) -> str:
        return f"DeviceSlot({self.name})"


_devices: dict[tuple[str, int | None], device] = {}
_slots: dict[str, DeviceSlot] = {}


def _slot(kind: str, index: int | None) -> DeviceSlot:
    public = device(kind) if kind in ("cpu", "meta") else device(kind, index or 0)
    slot = _slots.get(str(public))
    if slot is None:
        slot = DeviceSlot(str(public), public)
        if kind not in ("cpu", "meta"):
            _ = slot.jax  # an absent accelerator is an error here, wherever the user names it
        _slots[str(public)] = slot
    return slot


def jax_devices(kind: str) -> list[Any]:
    """JAX's devices of a PyTorch type; empty where there are none."""
    import jax

    try:
        return jax.local_devices(backend=_KINDS[kind])
    except RuntimeError:
        return []


def _jax_device(d: device) -> Any:
    found = jax_devices(d.type)
    index = d.index or 0
    if not found:
        if d.type == "cuda":
            raise AssertionError(
                "Torch not compiled with CUDA enabled: JAX sees no GPU (jax.devices() lists what it sees)"
            )
        raise RuntimeError(f"device '{d}' is not available: JAX sees no device of this kind")
    if index >= len(found):
        raise RuntimeError(f"invalid device ordinal: '{d}', but JAX sees {len(found)} device(s) of this kind")
    return found[index]


cpu = device("cpu")
meta = device("meta")
_default: list[device] = [cpu]


def default_device() -> device:
    return _default[-1]


def set_default_device(d: Any) -> None:
    """`torch.set_default_device`: where factory functions put tensors when no device is named."""
    _default[0] = cpu if d is None else device(d)


def resolve(d: Any) -> DeviceSlot:
    """The slot of a device argument (None: the default device)."""
    return (_default[-1] if d is None else device(d)).slot
