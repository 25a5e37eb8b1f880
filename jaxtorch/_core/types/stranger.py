"""The error that asks for a call to be repeated with `__torch_function__`."""

from __future__ import annotations


class Stranger(Exception):
    """An operand of a class with `__torch_function__` came before anything asked for those: the call is to be repeated."""
