"""`torch.distributed.elastic.utils.distributed`: free ports."""

from __future__ import annotations

import socket
from contextlib import closing

__all__ = ["get_free_port", "get_socket_with_port"]


def get_free_port() -> int:
    """A port of this machine that nothing listens on; another process may take it meanwhile."""
    with closing(get_socket_with_port()) as found:
        return found.getsockname()[1]


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a free port of `localhost`. RuntimeError where there is none."""
    for family, kind, protocol, _, _ in socket.getaddrinfo("localhost", None, socket.AF_UNSPEC, socket.SOCK_STREAM):
        found = socket.socket(family, kind, protocol)
        try:
            found.bind(("localhost", 0))
            found.listen(0)
            return found
        except OSError:
            found.close()
    raise RuntimeError("Failed to create a socket")
