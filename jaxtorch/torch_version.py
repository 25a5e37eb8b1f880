"""`torch.torch_version`: version texts that compare as versions."""

from __future__ import annotations

import re
from typing import Any

from ._running.install import TORCH_VERSION

__all__ = ["TorchVersion"]


def _parts(version: Any) -> tuple[Any, ...]:
    """What decides the order: the release, without trailing zeros, then whether it is a pre-release."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    match = re.match(r"v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|dev|post)[a-z]*\.?(\d*))?", str(version))
    if match is None:
        raise ValueError(f"Invalid version: {version!r}")
    release = [int(n) for n in match.group(1).split(".")]
    while release and release[-1] == 0:
        release.pop()
    kind = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}[match.group(2)]
    return tuple(release), kind, int(match.group(3) or 0)


class TorchVersion(str):
    """A version that compares with texts and with tuples of numbers: `torch.__version__ >= (2, 1)`."""

    def __eq__(self, other: object) -> bool:
        try:
            return _parts(str(self)) == _parts(other)
        except ValueError:
            return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return _parts(str(self)) < _parts(other)

    def __le__(self, other: Any) -> bool:
        return _parts(str(self)) <= _parts(other)

    def __gt__(self, other: Any) -> bool:
        return _parts(str(self)) > _parts(other)

    def __ge__(self, other: Any) -> bool:
        return _parts(str(self)) >= _parts(other)

    __hash__ = str.__hash__


__version__ = TorchVersion(TORCH_VERSION)
