"""Whether this process was forked (as DataLoader workers are), where JAX must not run.

JAX's runtime threads do not survive `fork()`: in a forked child the first `device_put` or compiled call waits
for ever, and replacing the client there aborts the process. In a forked child `active` is therefore set, and from
then on the engine computes with NumPy on host arrays or calls `refuse`; it never records and never calls JAX.
"""

from __future__ import annotations

from typing import NoReturn

active: bool = False
"""True in a forked process. Read it as `forked.active`, so that the change is seen."""


class HostModeError(RuntimeError):
    """An operation that needs JAX was called in a forked process."""


def refuse(operation: str) -> NoReturn:
    """Raises `HostModeError` naming `operation`, with the ways out."""
    raise HostModeError(
        f"{operation} needs the JAX runtime, which cannot run in a forked process such as a DataLoader worker. "
        'Pass multiprocessing_context="spawn" (or "forkserver") to the DataLoader, use num_workers=0, '
        "or do this step on NumPy arrays in the dataset."
    )
