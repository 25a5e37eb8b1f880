"""The words of PyTorch's CPU generator, read ahead in blocks, with its seed and its state in PyTorch's format.

NumPy's MT19937 makes the words. A call to it costs microseconds whatever it asks for, so small draws take their words from a
buffer of whole blocks of 624. The state at any place is recovered from the block's own words, which invert to the key that
made them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..tuning import BULK_BLOCKS, REFILL_BLOCKS

DEFAULT_SEED = 67280421310721
_STATE_BYTES = 5056
_BLOCK_WORDS = 624
BULK = BULK_BLOCKS * _BLOCK_WORDS
# Where PyTorch's state bytes hold each field: (offset, dtype). The key is 624 words, each in 8 bytes.
_SEED, _LEFT, _SEEDED, _NEXT = (0, "<u8"), (8, "<i4"), (12, "<i4"), (16, "<u8")
_KEY_START, _KEY_STOP = 24, 24 + 8 * _BLOCK_WORDS
_CACHE, _CACHE_VALID = (5024, "<f8"), (5040, "<i4")
_FLOAT_CACHE = slice(5048, 5053)  # PyTorch keeps a float sample too; nothing on the CPU draws from it.

_MASK24 = np.uint32(2**24 - 1)
_MASK21 = np.uint32(2**21 - 1)
_SHIFT32 = np.uint64(32)
_NONE = np.empty(0, np.uint32)

Array = np.ndarray[Any, Any]


def require(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def _untemper(words: Array) -> Array:
    """The key of which these words are the tempered outputs."""
    y = words ^ (words >> np.uint32(18))
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    x = y
    for _ in range(4):  # each round settles seven more bits
        x = y ^ ((x << np.uint32(7)) & np.uint32(0x9D2C5680))
    y = x ^ (x >> np.uint32(11))
    return x ^ (y >> np.uint32(11))


class Words:
    """A stream of MT19937 words: its seed, its state, and the normal sample kept for the next call."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._bits = np.random.MT19937(0)
        self._seeder = np.random.RandomState(self._bits)
        self._integers: Callable[..., Array] = np.random.Generator(self._bits).integers
        self.manual_seed(seed)

    # -- seed and state

    def manual_seed(self, seed: int) -> Any:
        """Start the stream of `seed`, an int in [-2^63, 2^64); a negative one counts from 2^64 down."""
        if isinstance(seed, np.integer):
            raise TypeError("an integer is required")
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._seeder.seed(self._seed % 2**32)
        self._forget()
        self.cached_normal: float | None = None
        self._cached_float = np.zeros(5, np.uint8)
        return self

    def seed(self) -> int:
        """Start the stream of a seed taken from the operating system, and return that seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed last given, in [0, 2^64)."""
        return self._seed

    def _forget(self) -> None:
        """The generator was set: nothing is read ahead."""
        self._buffer = _NONE
        self._at = self._stop = 0
        self._blocks = 1
        self._uniforms: Array | None = None
        self._pairs: Array | None = None
        self._polar: tuple[Array, Array] | None = None

    def _key(self) -> tuple[Array, int]:
        """The key and the position in its block, as NumPy has them."""
        if self._at == 0:
            engine: Any = self._bits.state["state"]
            return engine["key"], int(engine["pos"])
        block = (self._at - 1) // _BLOCK_WORDS * _BLOCK_WORDS
        return _untemper(self._buffer[block : block + _BLOCK_WORDS]), self._at - block

    def get_state(self) -> Array:
        """The state as PyTorch's 5056 bytes (uint8)."""
        key, position = self._key()
        # At the end of a block the two libraries agree; only a seeded, unused PyTorch engine says "next = 0".
        unused = position == _BLOCK_WORDS and int(key[0]) == self._seed % 2**32
        state = np.zeros(_STATE_BYTES, np.uint8)

        def put(field: tuple[int, str], value: float) -> None:
            offset, kind = field
            raw = np.array([value], kind).view(np.uint8)
            state[offset : offset + raw.size] = raw

        put(_SEED, self._seed)
        put(_LEFT, 1 if unused else _BLOCK_WORDS + 1 - position)
        put(_SEEDED, 1)
        put(_NEXT, 0 if unused else position)
        state[_KEY_START:_KEY_STOP] = key.astype("<u8").view(np.uint8)
        if self.cached_normal is not None:
            put(_CACHE, self.cached_normal)
            put(_CACHE_VALID, 1)
        state[_FLOAT_CACHE] = self._cached_float
        return state

    def set_state(self, state: Array) -> None:
        """Take over a state of `get_state`, or of PyTorch's `get_rng_state`; 5056 bytes (uint8)."""
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        require(
            state.size == _STATE_BYTES,
            f"Expected a CPUGeneratorImplState of size {_STATE_BYTES} "
            f"but found the input RNG state size to be {state.size}",
        )
        raw = state.tobytes()

        def get(field: tuple[int, str]) -> Any:
            return np.frombuffer(raw, field[1], 1, field[0])[0]

        left, following = int(get(_LEFT)), int(get(_NEXT))
        valid = int(get(_SEEDED)) == 1 and 0 < left <= _BLOCK_WORDS and following <= _BLOCK_WORDS
        require(valid, "Invalid mt19937 state")
        key = np.frombuffer(raw, "<u8", _BLOCK_WORDS, _KEY_START).astype(np.uint32)
        self._seed = int(get(_SEED))
        self._go_to((key, _BLOCK_WORDS if left == 1 else following))
        self.cached_normal = float(get(_CACHE)) if get(_CACHE_VALID) else None
        self._cached_float = np.frombuffer(raw, np.uint8)[_FLOAT_CACHE].copy()

    def _go_to(self, place: tuple[Array, int]) -> None:
        key, position = place
        start = 0 if position < _BLOCK_WORDS else _BLOCK_WORDS  # a block begun is read again from its start
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": start}}
        self._forget()
        if 0 < position < _BLOCK_WORDS:
            self._refill()
            self._at = position

    def position(self) -> Any:
        """This place in the stream of words, for `rewind`."""
        return self._key()

    def rewind(self, position: Any, skip: int) -> None:
        """Go back to `position`, then pass over `skip` words."""
        self._go_to(position)
        for words in self.pieces(skip):
            del words

    # -- words

    def _refill(self) -> None:
        """Read the next blocks ahead. What was read before has been used up."""
        self._buffer = self._integers(0, 2**32, self._blocks * _BLOCK_WORDS, np.uint32)
        self._stop = self._blocks * _BLOCK_WORDS
        self._at = 0
        self._blocks = min(2 * self._blocks, REFILL_BLOCKS)
        self._uniforms = self._pairs = self._polar = None

    def look(self, count: int) -> Array:
        """The next `count` words, uint32, not to be written to."""
        start = self._at
        if start + count <= self._stop:
            self._at = start + count
            return self._buffer[start : self._at]
        return self._long(count)

    def words32(self, count: int) -> Array:
        """The next `count` words, uint32."""
        return self.look(count).copy() if self._at + count <= self._stop else self._long(count)

    def _long(self, count: int) -> Array:
        """More words than the buffer has left."""
        left = self._stop - self._at
        rest = count - left
        whole = rest - rest % _BLOCK_WORDS if rest >= 2 * _BLOCK_WORDS else 0
        if left == 0 and whole == rest and whole:
            words = self._whole_blocks(whole)
            return words
        words = np.empty(count, np.uint32)
        words[:left] = self._buffer[self._at : self._stop]
        if whole:
            words[left : left + whole] = self._whole_blocks(whole)
        done = left + whole
        while done < count:
            self._refill()
            take = min(count - done, self._stop)
            words[done : done + take] = self._buffer[:take]
            self._at = take
            done += take
        return words

    def _whole_blocks(self, count: int) -> Array:
        """Words straight from the generator, a multiple of a block, after the buffer is used up."""
        words = self._integers(0, 2**32, count, np.uint32)
        # The last block stays as the buffer, used up, so that the state can be told.
        self._buffer = words[-_BLOCK_WORDS:].copy()
        self._at = self._stop = _BLOCK_WORDS
        self._uniforms = self._pairs = self._polar = None
        return words

    def pieces(self, count: int) -> Iterator[Array]:
        """The next `count` words, as arrays that may be written to, one after another and none too large for the cache."""
        while count:
            left = self._stop - self._at
            if left:
                words = self.words32(min(left, count))
            elif count >= 2 * _BLOCK_WORDS:
                words = self._whole_blocks(min(BULK, count - count % _BLOCK_WORDS))
            else:
                words = self.words32(count)
            count -= len(words)
            yield words

    def words64(self, count: int) -> Array:
        """The next `count` pairs of words, uint64, the first word of a pair on top."""
        pairs = self.words32(2 * count).view("<u8")
        high = pairs << _SHIFT32
        pairs >>= _SHIFT32
        high |= pairs
        return high

    def ready(self, count: int) -> bool:
        """Are `count` words in the buffer? An empty one is filled if that helps."""
        if self._at + count <= self._stop:
            return True
        if self._at < self._stop or count > self._blocks * _BLOCK_WORDS:
            return False
        self._refill()
        return True

    def uniforms(self, count: int) -> Array:
        """The next `count` u24, float32, not to be written to, of words that are `ready`."""
        found = self._uniforms
        if found is None:
            found = self._uniforms = (self._buffer & _MASK24).astype(np.float32)
            found *= np.float32(2.0**-24)
        start = self._at
        self._at = start + count
        return found[start : self._at]

    def pairs(self, count: int) -> Array:
        """The next `count` u53 times 2^53, uint64, not to be written to, of words that are `ready`."""
        found = self._pairs
        if found is None:
            found = self._pairs = (self._buffer & _MASK21).astype(np.uint64)
            found <<= _SHIFT32
            found[:-1] |= self._buffer[1:]
        start = self._at
        self._at = start + 2 * count
        return found[start : self._at : 2]
