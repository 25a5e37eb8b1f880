"""Errors of calls that `torch.compile(fullgraph=True)` refuses, under `torch._dynamo.exc` in PyTorch."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """Any of them."""


class Unsupported(TorchDynamoException):
    """The call does what cannot be captured."""


class UserError(TorchDynamoException):
    """The call does what the user should change."""


for _error in (TorchDynamoException, Unsupported, UserError):
    _error.__module__ = "jaxtorch._dynamo.exc"
