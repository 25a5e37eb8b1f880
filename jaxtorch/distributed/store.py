"""Keys and values that processes share: `Store`, the stores in memory, and the part of another store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .errors import DistStoreError

DEFAULT = timedelta(seconds=300)


def seconds(timeout: Any) -> float:
    """The seconds of a `timedelta` or of a number of seconds."""
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)


def milliseconds(timeout: Any) -> int:
    """The whole milliseconds of a timeout, as messages say them."""
    return round(seconds(timeout) * 1000)


def as_bytes(value: Any) -> bytes:
    """What a store keeps of a value: bytes, or the text's."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"a store keeps text or bytes, not {type(value).__name__}")
    return value.encode()


class Table:
    """The keys of a store in the memory of this process; threads wait in it for keys that others set."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}
        self.changed = threading.Condition()

    def set(self, key: str, value: bytes) -> None:
        with self.changed:
            self.items[key] = value
            self.changed.notify_all()

    def wait(self, keys: Sequence[str], timeout: float) -> bool:
        """Wait until all the keys are there; False when the time is over."""
        with self.changed:
            return self.changed.wait_for(lambda: all(key in self.items for key in keys), timeout)

    def get(self, key: str) -> bytes:
        return self.items[key]

    def add(self, key: str, amount: int) -> int:
        with self.changed:
            count = int(self.items.get(key, b"0")) + amount
            self.items[key] = str(count).encode()
            self.changed.notify_all()
        return count

    def append(self, key: str, value: bytes) -> None:
        with self.changed:
            self.items[key] = self.items.get(key, b"") + value
            self.changed.notify_all()

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        with self.changed:
            now = self.items.get(key)
            if now is None and expected:
                return expected
            if now is None or now == expected:
                self.items[key] = now = desired
                self.changed.notify_all()
            return now

    def check(self, keys: Sequence[str]) -> bool:
        with self.changed:
            return all(key in self.items for key in keys)

    def delete(self, key: str) -> bool:
        with self.changed:
            return self.items.pop(key, None) is not None

    def count(self) -> int:
        return len(self.items)

    def names(self) -> list[str]:
        with self.changed:
            return list(self.items)


class Store:
    """Keys and values that processes share. `get` and `wait` wait for keys that are not there yet, for `timeout` at most."""

    __module__ = "jaxtorch.distributed"

    _table: Any

    def __init__(self) -> None:
        self._timeout: Any = DEFAULT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value."""
        self._table.set(key, as_bytes(value))

    def get(self, key: str) -> bytes:
        """A value; waits until it is there. DistStoreError when the time is over."""
        self.wait([key])
        return self._table.get(key)

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Wait until all the keys are there. DistStoreError when the time is over."""
        limit = self._timeout if timeout is None else timeout
        if not self._table.wait(list(keys), seconds(limit)):
            raise self._late(keys, milliseconds(limit))

    def _late(self, keys: Sequence[str], limit: int) -> Exception:
        """The error of a wait that took too long."""
        return DistStoreError(f"wait timeout after {limit}ms, keys: {', '.join('/' + key for key in keys)}")

    def add(self, key: str, amount: int) -> int:
        """Add to a counter, which begins at 0; the new count."""
        return self._table.add(key, amount)

    def append(self, key: str, value: str | bytes) -> None:
        """Put a value behind the one that is there."""
        self._table.append(key, as_bytes(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set the key where it has the value expected, or where there is none and '' was expected; what is there then."""
        return self._table.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

    def check(self, keys: Sequence[str]) -> bool:
        """Are all the keys there?"""
        return self._table.check(list(keys))

    def delete_key(self, key: str) -> bool:
        """Remove a key; was it there?"""
        return self._table.delete(key)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._table.count()

    def list_keys(self) -> list[str]:
        """The keys."""
        return self._table.names()

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys; waits for them."""
        self.wait(keys)
        return [self._table.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def clone(self) -> Store:
        """The store itself: threads may share it."""
        return self

    def has_extended_api(self) -> bool:
        """True: there are `append`, `multi_get` and `multi_set`."""
        return True


class HashStore(Store):
    """A store in the memory of this process, for its threads."""

    __module__ = "jaxtorch.distributed"

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _late(self, keys: Sequence[str], limit: int) -> Exception:
        return DistStoreError("Wait timeout")


class PrefixStore(Store):
    """The part of another store whose keys begin with `prefix/`."""

    __module__ = "jaxtorch.distributed"

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that this is a part of."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self._store
        while isinstance(store, PrefixStore):
            store = store._store
        return store

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._key(key))

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        self._store.wait([self._key(key) for key in keys], timeout)

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._key(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self._key(key), value)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._store.compare_set(self._key(key), expected_value, desired_value)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._key(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._key(key))

    def num_keys(self) -> int:
        """How many keys the whole store has."""
        return self._store.num_keys()

    def list_keys(self) -> list[str]:
        start = self._key("")
        return [key.removeprefix(start) for key in self._store.list_keys() if key.startswith(start)]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self._key(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._store.multi_set([self._key(key) for key in keys], values)

    def has_extended_api(self) -> bool:
        return self._store.has_extended_api()


def until(done: Callable[[], bool], timeout: float, pause: float = 0.005) -> bool:
    """Ask again and again until `done()` or the time is over."""
    end = time.monotonic() + timeout
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
    return True
