"""`torch._subclasses.fake_tensor`: classes for `isinstance`; making one raises NotImplementedError."""

from typing import Any

from .._absent import absent as _absent

_names = _absent(__name__, "FakeTensor FakeTensorMode", "use tensors on the device 'meta'")
FakeTensor: Any = _names["FakeTensor"]
FakeTensorMode: Any = _names["FakeTensorMode"]


def is_fake(x: Any) -> bool:
    """Is it a tensor without content? Never."""
    return False
