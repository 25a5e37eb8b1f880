"""How the processes of a group find each other: `env://`, `tcp://host:port` and `file:///path`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from .file_store import FileStore
from .store import PrefixStore, Store
from .tcp_store import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

DEFAULT = timedelta(minutes=30)
_met: dict[tuple[str, int], int] = {}
"""How often this process has met others at an address: each time they use keys of their own."""
_handlers: dict[str, Callable[..., Any]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Any]) -> None:
    """Have `handler(url, timeout=...)` answer for addresses `scheme://...`: it yields (store, rank, world size)."""
    if scheme in _handlers or scheme in ("env", "tcp", "file"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def _of_environment(name: str) -> str:
    found = os.environ.get(name)
    if found is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
        )
    return found


def _tcp(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """A store at the address, kept by the process of rank 0, or by the launcher where that has said so."""
    time = _met[host, port] = _met.get((host, port), 0) + 1
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(host, port, world_size, rank == 0 and not agents, timeout, False, multi_tenant=True)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if agents else "0"
    return PrefixStore(f"{attempt}/{time}", store)


def rendezvous_store(
    url: str | None, world_size: int, rank: int, timeout: timedelta
) -> tuple[Callable[[], Store], int, int]:
    """(what makes the store, the number of processes, this one's number). Given numbers count before those of the address."""
    parts = urlparse(url or "env://")
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.scheme in _handlers:
        store, rank, world_size = next(iter(_handlers[parts.scheme](url, timeout=timeout)))
        return lambda: store, world_size, rank
    if parts.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    environment = os.environ if parts.scheme == "env" else {}
    if world_size == -1:
        world_size = int(query.get("world_size", environment.get("WORLD_SIZE", "1" if environment else "-1")))
    if rank == -1:
        rank = int(query.get("rank", environment.get("RANK", "0" if environment else "-1")))
    for name, given in (("rank", rank), ("world size", world_size)):
        if given < 0:
            raise ValueError(
                f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: {name} parameter missing"
            )
    if parts.scheme == "file":
        if not parts.path:
            raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
        return lambda: FileStore(parts.path, world_size), world_size, rank
    if parts.scheme == "tcp":
        if parts.port is None:
            raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
        host, port = str(parts.hostname), int(parts.port)
        return lambda: _tcp(host, port, rank, world_size, timeout), world_size, rank

    def meet() -> Store:
        return _tcp(_of_environment("MASTER_ADDR"), int(_of_environment("MASTER_PORT")), rank, world_size, timeout)

    return meet, world_size, rank


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, number of processes) once, for an address as in `init_process_group`."""
    make, size, own = rendezvous_store(url, world_size, rank, kwargs.get("timeout", DEFAULT))
    yield make(), own, size
