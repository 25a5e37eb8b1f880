"""Messages between the processes of a group: a connection for each two of them, and a box for what has arrived.

A message has a source, a *channel* (of a group, for collectives or for single messages) and a *tag*. Messages of the same three
arrive in the order in which they were sent. A thread for each connection takes in whatever comes, so that sending never waits
for the other's receiving, and sends and receives in any order do not block one another.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import socket
import struct
import threading
import time
from typing import Any

import numpy as np

from .errors import DistBackendError, DistNetworkError, DistStoreError
from .store import Store, seconds
from .tcp_store import TCPStore, read_exactly

_HEADER = struct.Struct("<QqQ")  # channel, tag, number of bytes
_HELLO = struct.Struct("<16sI")  # of which mesh, and whose connection
_SMALL = 1 << 16

Box = tuple[int, int]


class Slot:
    """A message that is awaited: from `source`, or from any process where that is None."""

    __slots__ = ("source", "payload", "error", "_arrived")

    def __init__(self, source: int | None) -> None:
        self.source = source
        self.payload: Any = None
        self.error: str | None = None
        self._arrived = threading.Event()

    def give(self, source: int, payload: Any) -> None:
        """It has come."""
        self.source, self.payload = source, payload
        self._arrived.set()

    def fail(self, error: str) -> None:
        """It will not come."""
        self.error = error
        self._arrived.set()

    def done(self) -> bool:
        """Has it come, or failed?"""
        return self._arrived.is_set()

    def wait(self, timeout: float, limit: float | None = None) -> Any:
        """Its bytes. DistBackendError when the time is over, which says `limit`, and where the connection has ended."""
        if not self._arrived.wait(timeout):
            shown = round((timeout if limit is None else limit) * 1000)
            whose = "" if self.source is None else f" from rank {self.source}"
            raise DistBackendError(f"Timed out waiting {shown}ms for recv operation to complete{whose}")
        if self.error is not None:
            raise DistBackendError(self.error)
        return self.payload


class _Peer:
    """The connection to one other process."""

    __slots__ = ("connection", "lock", "error")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.lock = threading.Lock()
        self.error: str | None = None


class Mesh:
    """The connections of this process, number `rank` of `size`, to all the others.

    Made by all processes at once; they find each other through the store. DistNetworkError or DistStoreError where one does not
    come before the time is over.
    """

    def __init__(self, store: Store, rank: int, size: int, timeout: Any) -> None:
        self.rank, self.size = rank, size
        self.process = os.getpid()
        self.peers: dict[int, _Peer] = {}
        self._lock = threading.Lock()
        self._slots: dict[Box, list[Slot]] = {}
        self._messages: dict[Box, list[tuple[int, Any]]] = {}
        self._closed = False
        self._connect(store, seconds(timeout))
        for source in self.peers:
            _thread.start_new_thread(self._take_in, (source,))

    # -- making connections

    def _connect(self, store: Store, limit: float) -> None:
        """Connect to the processes of lower numbers, and let those of higher numbers connect."""
        end = time.monotonic() + limit
        host = _address(store)
        if self.rank == 0:
            store.set("mesh", os.urandom(16))
        name = store.get("mesh")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, 0), family=family, backlog=self.size) as listener:
            store.set(f"address/{self.rank}", f"{host} {listener.getsockname()[1]}")
            for other in range(self.rank):
                address, port = store.get(f"address/{other}").decode().split()
                connection = _reach(address, int(port), end)
                connection.sendall(_HELLO.pack(name, self.rank))
                self._keep(other, connection)
            while len(self.peers) < self.size - 1:
                listener.settimeout(max(end - time.monotonic(), 0.001))
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    raise DistStoreError(
                        f"Timed out after {round(limit) + 1} seconds waiting for clients. "
                        f"{len(self.peers) + 1}/{self.size} clients joined."
                    ) from None
                connection.settimeout(10.0)
                with contextlib.suppress(OSError):
                    found, other = _HELLO.unpack(bytes(read_exactly(connection, _HELLO.size)))
                    if found == name and self.rank < other < self.size and other not in self.peers:
                        self._keep(other, connection)
                        continue
                connection.close()  # none of ours

    def _keep(self, other: int, connection: socket.socket) -> None:
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[other] = _Peer(connection)

    # -- receiving

    def _take_in(self, source: int) -> None:
        """The thread of a connection. It touches nothing but bytes and boxes."""
        connection = self.peers[source].connection
        try:
            while True:
                channel, tag, count = _HEADER.unpack(read_exactly(connection, _HEADER.size))
                self._arrive(source, (channel, tag), read_exactly(connection, count))
        except Exception as error:
            self._lost(source, f"Connection closed by peer: rank {source} has gone ({error})")
        finally:
            connection.close()

    def _arrive(self, source: int, box: Box, payload: Any) -> None:
        with self._lock:
            slots = self._slots.get(box, [])
            for slot in slots:
                if slot.source is None or slot.source == source:
                    slots.remove(slot)
                    if not slots:
                        del self._slots[box]
                    slot.give(source, payload)
                    return
            self._messages.setdefault(box, []).append((source, payload))

    def _lost(self, source: int, error: str) -> None:
        """A connection has ended: what is awaited from there fails, and what is awaited from anybody once nobody is left."""
        with self._lock:
            self.peers[source].error = error
            nobody = all(peer.error is not None for peer in self.peers.values())
            for box, slots in list(self._slots.items()):
                for slot in list(slots):
                    if slot.source == source or (slot.source is None and nobody):
                        slots.remove(slot)
                        slot.fail(error)
                if not slots:
                    del self._slots[box]

    def receive(self, source: int | None, channel: int, tag: int) -> Slot:
        """The place for the next message of this channel and tag from `source`, or from anybody."""
        self.check()
        slot, box = Slot(source), (channel, tag)
        with self._lock:
            messages = self._messages.get(box, [])
            for k, (sender, payload) in enumerate(messages):
                if source is None or sender == source:
                    del messages[k]
                    if not messages:
                        del self._messages[box]
                    slot.give(sender, payload)
                    return slot
            errors = [self.peers[source].error] if source in self.peers else [p.error for p in self.peers.values()]
            if source != self.rank and all(error is not None for error in errors):
                slot.fail(errors[0] or "")
            else:
                self._slots.setdefault(box, []).append(slot)
        return slot

    def take(self, source: int | None, channel: int, tag: int, timeout: float, limit: float | None = None) -> Slot:
        """Wait for the next message (see `receive`, `Slot.wait`). One that comes too late is there for whoever asks next."""
        slot = self.receive(source, channel, tag)
        try:
            slot.wait(timeout, limit)
        except BaseException:
            with self._lock:
                slots = self._slots.get((channel, tag), [])
                if slot in slots:
                    slots.remove(slot)
            raise
        return slot

    # -- sending

    def send(self, to: int, channel: int, tag: int, payload: Any) -> None:
        """Send bytes, or the elements of a NumPy array. DistBackendError where the other has gone."""
        self.check()
        data = as_buffer(payload)
        if to == self.rank:
            self._arrive(to, (channel, tag), bytearray(data))
            return
        peer = self.peers[to]
        header = _HEADER.pack(channel, tag, data.nbytes)
        try:
            with peer.lock:
                if data.nbytes < _SMALL:
                    peer.connection.sendall(header + bytes(data))
                else:
                    peer.connection.sendall(header)
                    peer.connection.sendall(data)
        except OSError as error:
            raise DistBackendError(peer.error or f"Connection closed by peer: rank {to} has gone ({error})") from None

    def check(self) -> None:
        """RuntimeError in a process that was forked from the one that has the connections, or after they were closed."""
        if self.process != os.getpid():
            raise RuntimeError(
                "the process group belongs to the process that this one was forked from; make one after fork()"
            )
        if self._closed:
            raise DistBackendError("the process group has been destroyed")

    def close(self) -> None:
        """End all connections. The others still get what has been sent."""
        if self._closed or self.process != os.getpid():
            return
        self._closed = True
        for peer in self.peers.values():
            with contextlib.suppress(OSError):
                peer.connection.shutdown(socket.SHUT_WR)


def as_buffer(payload: Any) -> memoryview:
    """The bytes of a NumPy array's elements in C order, without a copy where they lie so; bytes as they are."""
    if isinstance(payload, np.ndarray):
        flat: Any = np.ascontiguousarray(payload).reshape(-1).view(np.uint8)
        return memoryview(flat)
    return memoryview(payload)


def _address(store: Store) -> str:
    """The address under which the others reach this process: that in the network of a `TCPStore`, else that of one machine."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store  # pyright: ignore[reportAttributeAccessIssue]
    return store.address if isinstance(store, TCPStore) else "127.0.0.1"


def _reach(address: str, port: int, end: float) -> socket.socket:
    try:
        return socket.create_connection((address, port), max(end - time.monotonic(), 0.1))
    except OSError as error:
        raise DistNetworkError(
            f"a process of the group that should be at {address}:{port} does not answer ({error})"
        ) from None
