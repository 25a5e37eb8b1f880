"""`torch._subclasses.fake_tensor`: classes for `isinstance`; making one raises NotImplementedError."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._private_names.absent import absent as _absent

_names = _absent(__name__, "FakeTensor FakeTensorMode FakeTensorConverter", "use tensors on the device 'meta'")
FakeTensor: Any = _names["FakeTensor"]
FakeTensorMode: Any = _names["FakeTensorMode"]
FakeTensorConverter: Any = _names["FakeTensorConverter"]


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Without the mode that makes such tensors, which is what there always is."""
    yield None


def is_fake(x: Any) -> bool:
    """Is it a tensor without content? Never."""
    return False
