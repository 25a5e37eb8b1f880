"""`TCPStore`: a store that one process keeps, in a thread, and the others reach over the network."""

from __future__ import annotations

import _thread
import contextlib
import errno
import socket
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from .errors import DistNetworkError, DistStoreError
from .store import DEFAULT, Store, Table, milliseconds, seconds

_COUNT = struct.Struct("<I")
_HELLO = b"jaxtorch store 1"
WORKERS = "init/"
"""The key under which the processes of a store are counted."""


def read_exactly(connection: socket.socket, count: int) -> bytearray:
    """So many bytes from a connection. ConnectionError where it ends before."""
    received = bytearray(count)
    view, at = memoryview(received), 0
    while at < count:
        n = connection.recv_into(view[at:])
        if n == 0:
            raise ConnectionResetError("Connection closed by peer")
        at += n
    return received


def _send(connection: socket.socket, fields: Sequence[bytes]) -> None:
    """A message: the number of its fields, then each behind its length."""
    parts = [_COUNT.pack(len(fields))]
    for field in fields:
        parts += [_COUNT.pack(len(field)), field]
    connection.sendall(b"".join(parts))


def _receive(connection: socket.socket) -> list[bytes]:
    (count,) = _COUNT.unpack(read_exactly(connection, 4))
    fields = []
    for _ in range(count):
        (length,) = _COUNT.unpack(read_exactly(connection, 4))
        fields.append(bytes(read_exactly(connection, length)))
    return fields


def _answer(table: Table, request: list[bytes]) -> list[bytes]:
    """What the server answers to one request."""
    name, given = request[0].decode(), request[1:]
    if name == "wait":
        return [b"1" if table.wait([key.decode() for key in given[1:]], float(given[0])) else b"0"]
    if name == "check":
        return [b"1" if table.check([key.decode() for key in given]) else b"0"]
    if name == "get":
        return [table.items.get(key.decode(), b"") for key in given]
    if name == "count":
        return [str(table.count()).encode()]
    if name == "keys":
        return [key.encode() for key in table.names()]
    key, values = given[0].decode(), given[1:]
    if name == "add":
        return [str(table.add(key, int(values[0]))).encode()]
    if name == "delete":
        return [b"1" if table.delete(key) else b"0"]
    if name == "compare_set":
        return [table.compare_set(key, *values)]
    getattr(table, {"set": "set", "append": "append"}[name])(key, *values)
    return []


class _Server:
    """The process that keeps the store: a thread that accepts, and one for each process that has connected."""

    def __init__(self, host: str, port: int, listener: socket.socket | None = None) -> None:
        self.table = Table()
        if listener is None:
            listener = _listen("127.0.0.1" if host in ("localhost", "127.0.0.1") else "", port)
        self.listener = listener
        self.port: int = listener.getsockname()[1]
        self.open: set[socket.socket] = set()
        _thread.start_new_thread(self._accept, ())

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # closed
                return
            self.open.add(connection)
            _thread.start_new_thread(self._serve, (connection,))

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if read_exactly(connection, len(_HELLO)) != _HELLO:
                return
            while True:
                _send(connection, _answer(self.table, _receive(connection)))
        except Exception:  # the process has gone, or is none of ours
            pass
        finally:
            self.open.discard(connection)
            connection.close()

    def close(self) -> None:
        for connection in [self.listener, *self.open]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise DistNetworkError(
                f"The server socket cannot listen on {host or 'any address'}:{port}: {error}"
            ) from None
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
        ) from None


class _Client:
    """A connection to the process that keeps the store; it does what `Table` does."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self.lock = threading.Lock()
        self.socket = _connect(host, port, timeout)
        self.socket.sendall(_HELLO)

    def ask(self, name: str, *fields: bytes, wait: float = 60.0) -> list[bytes]:
        with self.lock:
            try:
                # the server itself heeds the time; this is for one that has died unseen
                self.socket.settimeout(wait + 60.0)
                _send(self.socket, [name.encode(), *fields])
                return _receive(self.socket)
            except BaseException as error:  # also an interrupt: the next question must not get this one's answer
                self.socket.close()
                if isinstance(error, OSError):
                    raise DistNetworkError(f"failed to talk to the store: {error}") from None
                raise

    def set(self, key: str, value: bytes) -> None:
        self.ask("set", key.encode(), value)

    def wait(self, keys: Sequence[str], timeout: float) -> bool:
        fields = [str(timeout).encode(), *[key.encode() for key in keys]]
        return self.ask("wait", *fields, wait=timeout) == [b"1"]

    def get(self, key: str) -> bytes:
        return self.ask("get", key.encode())[0]

    def add(self, key: str, amount: int) -> int:
        return int(self.ask("add", key.encode(), str(int(amount)).encode())[0])

    def append(self, key: str, value: bytes) -> None:
        self.ask("append", key.encode(), value)

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        return self.ask("compare_set", key.encode(), expected, desired)[0]

    def check(self, keys: Sequence[str]) -> bool:
        return self.ask("check", *[key.encode() for key in keys]) == [b"1"]

    def delete(self, key: str) -> bool:
        return self.ask("delete", key.encode()) == [b"1"]

    def count(self) -> int:
        return int(self.ask("count")[0])

    def names(self) -> list[str]:
        return [key.decode() for key in self.ask("keys")]


def _connect(host: str, port: int, timeout: float) -> socket.socket:
    """A connection to the server, which may not be there yet."""
    end, pause = time.monotonic() + timeout, 0.01
    while True:
        left = end - time.monotonic()
        try:
            connection = socket.create_connection((host, port), timeout=max(left, 0.1))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError:
            if left <= pause:
                raise DistNetworkError(
                    "The client socket has timed out after "
                    f"{milliseconds(timeout)}ms while trying to connect to ({host}, {port})."
                ) from None
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


class TCPStore(Store):
    """A store that the process with `is_master` keeps, and that the others reach at `host_name:port`.

    port: 0 has the master take a free one, which `.port` then says. world_size: how many processes use the store; with
    `wait_for_workers` the master waits for them, for `timeout` at most (DistStoreError). DistNetworkError where the port is taken or
    nobody answers in time. master_listen_fd: a socket that listens already.
    """

    __module__ = "jaxtorch.distributed"

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self._server: _Server | None = None
        self.host, self.libuvBackend = host_name, use_libuv
        if is_master:
            listener = None if master_listen_fd is None else socket.socket(fileno=master_listen_fd)
            self._server = _serving.get(port) if multi_tenant else None
            if self._server is None:
                self._server = _Server(host_name, port, listener)
                if multi_tenant:
                    _serving[self._server.port] = self._server
            port = self._server.port
        self.port = port
        self._table = _Client(host_name, port, seconds(timeout))
        count = self.add(WORKERS, 1)
        if is_master and wait_for_workers and world_size is not None and world_size > 1:
            self._wait_for_workers(count, world_size)

    def _wait_for_workers(self, count: int, world_size: int) -> None:
        end = time.monotonic() + seconds(self._timeout)
        while count < world_size:
            if time.monotonic() >= end:
                raise DistStoreError(
                    f"Timed out after {round(seconds(self._timeout)) + 1} seconds waiting for clients. "
                    f"{count}/{world_size} clients joined."
                )
            time.sleep(0.01)
            count = self.add(WORKERS, 0)

    def list_keys(self) -> list[str]:
        return [key for key in super().list_keys() if key != WORKERS]

    @property
    def address(self) -> str:
        """The address of this process in the network in which it reaches the store."""
        return self._table.socket.getsockname()[0]

    def __del__(self) -> None:
        client, server = getattr(self, "_table", None), getattr(self, "_server", None)
        if client is not None:
            client.socket.close()
        if server is not None and _serving.get(server.port) is not server:
            server.close()

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port})"


_serving: dict[int, _Server] = {}
"""Servers that several stores of this process share, by their ports; they stay."""
