"""`torch.distributed.algorithms.join`: for processes with unequal numbers of batches. With one process there is nothing to do."""

from __future__ import annotations

from typing import Any

from ..process_group import get_world_size, is_initialized

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process does after its own batches while others still have some."""

    def main_hook(self) -> None:
        """Called for each batch of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all have finished."""


class Joinable:
    """Something that takes part in `Join`."""

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Its hook."""
        raise NotImplementedError("Joinable.join_hook(): define it in the subclass")


class Join:
    """Context for processes with unequal numbers of batches; with one process, all batches are equal."""

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        if enable and is_initialized() and get_world_size() > 1:
            raise NotImplementedError("Join: jaxtorch has it for one process only; give all processes as many batches")
        self._joinables = joinables
        self._kwargs = kwargs

    def __enter__(self) -> Join:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            for joinable in self._joinables:
                joinable.join_hook(**self._kwargs).post_hook(True)

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Nothing to say to other processes."""
