"""The errors of `torch.distributed`.

RuntimeError
    DistError
        DistBackendError    of a backend
        DistNetworkError    a host that cannot be reached, a port that is taken
        DistStoreError      of a store: a key that does not come in time
            QueueEmptyError a queue of a store that has nothing
"""

from __future__ import annotations


class DistError(RuntimeError):
    """An error of `torch.distributed`."""

    __module__ = "jaxtorch.distributed"


class DistBackendError(DistError):
    """An error of a backend."""

    __module__ = "jaxtorch.distributed"


class DistNetworkError(DistError):
    """An error of the network."""

    __module__ = "jaxtorch.distributed"


class DistStoreError(DistError):
    """An error of a store."""

    __module__ = "jaxtorch.distributed"


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""

    __module__ = "jaxtorch.distributed"
