"""`torch._logging.scribe`: notes that PyTorch's makers send to their own machines. Nothing is sent."""

from __future__ import annotations

from typing import Any


def open_source_signpost(*, subsystem: str, name: str, parameters: str) -> None:
    """Nothing to do."""


def make_scribe_logger(name: str, thrift_src: str) -> Any:
    """A function that does nothing."""
    return lambda *args, **kwargs: None
