"""PyTorch's CPU random numbers from NumPy's MT19937: same seed, same numbers, same place in the stream.

Only NumPy is needed; dtypes are NumPy's (`ml_dtypes.bfloat16` works too). Every method that draws takes
exactly the 32-bit words PyTorch takes, so calls of different kinds stay in step. Below, W is one word,
u24 is (W mod 2^24) / 2^24, and u53 is ((W1 * 2^32 + W2) mod 2^53) / 2^53.
"""

from __future__ import annotations

import functools
import math
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ..tuning import DRAW_CHUNK, DRAW_ON_TWO_THREADS, RANDPERM_LOOP
from .mersenne_words import DEFAULT_SEED as DEFAULT_SEED
from .mersenne_words import Array, Words, require

_MASK24 = np.uint32(2**24 - 1)
_MASK53 = np.uint64(2**53 - 1)
_BLOCK = np.dtype("V32")  # 8 float32: moved as one item, a Box-Muller half block copies three times faster
_WIDE_RANGE = 2**28  # from this range on, integers come from two words
_FIRST_OF_16 = np.tile(np.arange(16) < 8, 16 * 624 // 16)  # as long as the buffer grows
_FLOAT32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
# From 2^32 // 20 elements on, PyTorch draws randperm from 64-bit words.
_RANDPERM_LIMIT = (2**32 - 1) // 20
SIGNIFICAND = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int"}
_C_NAMES |= {"uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "unsigned long"}
_C_NAMES |= {"int64": "long", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float"}
_C_NAMES |= {"float64": "double"}


def _size(shape: Sequence[int]) -> int:
    return math.prod(shape)


def _chunks(count: int) -> Iterator[slice]:
    for start in range(0, count, DRAW_CHUNK):
        yield slice(start, min(start + DRAW_CHUNK, count))


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Doubles as `dtype`; the 16-bit types round by way of float32, as PyTorch does."""
    if dtype.itemsize == 2 and _limits(dtype)[1]:
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(dtype)
    if dtype.kind in "iu" and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            return values.astype(np.int64).astype(dtype)
    return values.astype(dtype, copy=False)


def in_memory_order(values: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """`values`, drawn one after another, placed in `shape` as PyTorch fills a tensor with these strides.

    PyTorch fills a tensor in the order of its memory, so a transposed tensor is filled by columns.
    """
    order = sorted(range(len(shape)), key=lambda dim: -strides[dim] if shape[dim] != 1 else 0)
    inverse = sorted(range(len(shape)), key=order.__getitem__)
    return values.reshape([shape[dim] for dim in order]).transpose(inverse)


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[str, int, int, int]:
    """(C++ name, significand bits of a float or 0, smallest, largest whole number drawn) of a dtype."""
    name = dtype.name
    if name in SIGNIFICAND:
        return _C_NAMES[name], SIGNIFICAND[name], -(2 ** SIGNIFICAND[name]), 2 ** SIGNIFICAND[name]
    if dtype.kind == "b":
        return _C_NAMES[name], 0, 0, 1
    info = np.iinfo(dtype)
    return _C_NAMES[name], 0, int(info.min), int(info.max)


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """The thread that helps with large draws; each process has its own, for threads do not survive a fork."""
    found = _pools.get(os.getpid())
    if found is None:
        _pools.clear()
        found = _pools[os.getpid()] = ThreadPoolExecutor(1, "jaxtorch-random")
    return found


class MersenneTwister(Words):
    """PyTorch's CPU generator: every kind of draw from its words."""

    def _uniform24(self, count: int) -> Array:
        if self._at + count <= self._stop or self.ready(count):
            return self.uniforms(count).copy()
        result = np.empty(count, np.float32)
        done = 0
        for words in self.pieces(count):
            words &= _MASK24
            np.multiply(
                words.view(np.int32), np.float32(2.0**-24), out=result[done : done + len(words)], casting="unsafe"
            )
            done += len(words)
        return result

    def _uniform53(self, count: int) -> Array:
        if self.ready(2 * count):
            return self.pairs(count) * 2.0**-53
        words = self.words64(count)
        words &= _MASK53
        uniform = words.view(np.float64)
        np.copyto(uniform, words.view(np.int64), casting="unsafe")
        uniform *= 2.0**-53
        return uniform

    def _map53(self, shape: Sequence[int], dtype: Any, function: Callable[[Array], Array]) -> Array:
        """`function` of one u53 an element, worked out in double precision."""
        dtype = np.dtype(dtype)
        count = _size(shape)
        if count <= DRAW_CHUNK:
            return _cast(function(self._uniform53(count)), dtype).reshape(shape)
        result = np.empty(count, dtype)
        for part in _chunks(count):
            result[part] = _cast(function(self._uniform53(part.stop - part.start)), dtype)
        return result.reshape(shape)

    # -- uniform and normal

    def uniform(self, shape: Sequence[int], dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
        """Uniform numbers in [low, high), as `rand` and `uniform_` draw them."""
        if dtype is _FLOAT32 and low == 0.0 and high == 1.0:
            values = self._uniform24(_size(shape))
            return values if len(shape) == 1 else values.reshape(shape)
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            real = self.uniform((*shape, 2), np.float32 if dtype.itemsize == 8 else np.float64, low, high)
            return real.view(dtype).reshape(shape)
        if not low <= high:
            bounds = f"found from={low:g} > to={high:g}"
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but {bounds}")
        count = _size(shape)
        if low == 0.0 and high == 1.0:
            if dtype == np.float64:
                return self._uniform53(count).reshape(shape)
            uniform = self._uniform24(count)
            if dtype == np.float32:
                return uniform.reshape(shape)
            return self._half_open(uniform, shape, dtype, low, high)
        if dtype == np.float64:
            # PyTorch multiplies and adds with one rounding; long double keeps the product's lower bits.
            result = self._uniform53(count)
            span, start = np.longdouble(high - low), np.longdouble(low)
            for part in _chunks(count):
                result[part] = result[part] * span + start
            np.copyto(result, low, where=result == high)
            return result.reshape(shape)
        start, stop = np.float32(low), np.float32(high)
        span = np.float64(stop - start)
        result = self._uniform24(count)
        for part in _chunks(count):
            wide = result[part].astype(np.float64)  # exact product: one rounding, as in a fused multiply-add
            wide *= span
            wide += np.float64(start)
            result[part] = wide
        return self._half_open(result, shape, dtype, low, high)

    @staticmethod
    def _half_open(values: Array, shape: Sequence[int], dtype: np.dtype[Any], low: float, high: float) -> Array:
        """`values` rounded to `dtype`; one that rounding lifts to `high` becomes `low`."""
        rounded = values.astype(dtype, copy=False)
        np.copyto(rounded, np.asarray(low, dtype), where=rounded == np.asarray(high, dtype))
        return rounded.reshape(shape)

    def normal(
        self,
        shape: Sequence[int],
        dtype: Any = np.float32,
        mean: float = 0.0,
        std: float = 1.0,
        contiguous: bool = True,
    ) -> Array:
        """Normal numbers, as `randn` and `normal_` draw them.

        PyTorch has another recipe for a tensor that is not contiguous: pass `contiguous=False`, and
        place the result with `in_memory_order`.
        """
        count = math.prod(shape)
        if dtype is _FLOAT32 and contiguous and std >= 0 and count >= 16 and self.ready(count + 16):
            return self._ready_normal(count, mean, std).reshape(shape)
        dtype = np.dtype(dtype)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype.kind == "c":
            part = np.float32 if dtype.itemsize == 8 else np.float64
            real = self.normal((*shape, 2), part, mean, std / math.sqrt(2), contiguous)
            return real.view(dtype).reshape(shape)
        if count < 16 or not contiguous:
            return _cast(self._normal_pairs(count, mean, std), dtype).reshape(shape)
        work = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        values = np.empty(count, work)
        whole = count - count % 16
        if whole >= DRAW_ON_TWO_THREADS:
            self._box_muller_by_two(values[:whole], mean, std)
        else:
            for part in _chunks(whole):
                self._box_muller(self._bits_of_uniforms(part.stop - part.start, work), values[part], mean, std)
        if count != whole:
            # The last 16 places are drawn anew. Wide types first draw the numbers this replaces.
            if dtype.itemsize != 2:
                self._bits_of_uniforms(count - whole, work)
            self._box_muller(self._bits_of_uniforms(16, work), values[-16:], mean, std)
        return values.astype(dtype, copy=False).reshape(shape)

    def _ready_normal(self, count: int, mean: float, std: float) -> Array:
        """Normal float32 of words in the buffer, for all of which radii, cosines and sines are worked out together."""
        polar = self._polar
        if polar is None:
            ready = (self._buffer & _MASK24).astype(np.float32)
            ready *= np.float32(2.0**-24)
            radius = np.log(np.float32(1) - ready)
            radius *= np.float32(-2)
            np.sqrt(radius, out=radius)
            ready *= np.float32(2 * np.pi)
            first, second = np.cos(ready), np.sin(ready)
            # Place k of a block of 16 is radius k times the cosine of angle k + 8; place k + 8, times its sine.
            first[:-8] = radius[:-8] * first[8:]
            second[8:] *= radius[:-8]
            polar = self._polar = first, second
        first, second = polar
        whole = count & ~15
        start, stop = self._at, self._at + whole
        values = np.where(_FIRST_OF_16[:whole], first[start:stop], second[start:stop])
        self._at = stop
        if whole != count:
            start += count
            last = np.where(_FIRST_OF_16[:16], first[start : start + 16], second[start : start + 16])
            values = np.concatenate((values[: count - 16], last))
            self._at = start + 16
        if std != 1:
            values *= np.float32(std)
        if mean != 0:
            values += np.float32(mean)
        return values

    def _box_muller_by_two(self, values: Array, mean: float, std: float) -> None:
        """Words from this thread, normal numbers from this and another one: whichever is free."""
        pool = _pool()
        running: deque[Future[None]] = deque()
        for part in _chunks(len(values)):
            words = self._bits_of_uniforms(part.stop - part.start, values.dtype)
            while running and running[0].done():
                running.popleft().result()
            if len(running) < 2:
                running.append(pool.submit(self._box_muller, words, values[part], mean, std))
            else:
                self._box_muller(words, values[part], mean, std)
        for job in running:
            job.result()

    def _bits_of_uniforms(self, count: int, dtype: np.dtype[Any]) -> Array:
        if dtype == np.float64:
            words = self.words64(count)
            words &= _MASK53
        else:
            words = self.words32(count)
            words &= _MASK24
        return words

    @staticmethod
    def _box_muller(words: Array, out: Array, mean: float, std: float) -> None:
        """Normal numbers into `out`: in each 16 places, 8 radii and 8 angles make 8 cosines, then 8 sines."""
        kind: Any = out.dtype.type
        bits = 53 if kind is np.float64 else 24
        signed = np.int64 if bits == 53 else np.int32
        block = np.dtype(("V", 64)) if bits == 53 else _BLOCK
        blocks = words.view(block)
        first = blocks[0::2].copy().view(signed)
        np.subtract(signed(2**bits), first, out=first)
        radius = first.astype(kind)
        radius *= kind(2.0**-bits)
        np.log(radius, out=radius)
        radius *= kind(-2)
        np.sqrt(radius, out=radius)
        sine = blocks[1::2].copy().view(signed).astype(kind)
        sine *= kind(2 * np.pi) * kind(2.0**-bits)  # a power of two: rounds as 2 pi times the uniform does
        cosine = np.cos(sine)
        np.sin(sine, out=sine)
        cosine *= radius
        sine *= radius
        for half in (cosine, sine):
            if std != 1:
                half *= kind(std)
            if mean != 0:
                half += kind(mean)
        target = out.view(block)
        target[0::2] = cosine.view(block)
        target[1::2] = sine.view(block)

    def _normal_pairs(self, count: int, mean: float, std: float) -> Array:
        """Normal doubles made two at a time; an odd one out waits for the next call."""
        values = np.empty(count)
        start = 0
        if count and self.cached_normal is not None:
            values[0] = self.cached_normal
            self.cached_normal = None
            start = 1
        need = count - start
        if 0 < need < 16:
            self._few_pairs(values, start)
        elif need:
            uniform = self._uniform53(need + need % 2)
            radius = np.sqrt(-2.0 * np.log1p(-uniform[1::2]))
            angle = (2.0 * np.pi) * uniform[0::2]
            values[start::2] = radius * np.cos(angle)
            sine = radius * np.sin(angle)
            values[start + 1 :: 2] = sine[: need // 2]
            if need % 2:
                self.cached_normal = float(sine[-1])
        if std != 1:
            values *= std
        if mean != 0:
            values += mean
        return values

    def _few_pairs(self, values: Array, start: int) -> None:
        """`_normal_pairs` without arrays, which a few numbers are not worth."""
        need = len(values) - start
        words = self.look(4 * ((need + 1) // 2)).tolist()
        made: list[float] = []
        for k in range(0, len(words), 4):
            turn = (words[k] << 32 | words[k + 1]) & (2**53 - 1)
            length = (words[k + 2] << 32 | words[k + 3]) & (2**53 - 1)
            radius = math.sqrt(-2.0 * math.log1p(-length * 2.0**-53))
            angle = 2.0 * math.pi * (turn * 2.0**-53)
            made += (radius * math.cos(angle), radius * math.sin(angle))
        if need % 2:
            self.cached_normal = made.pop()
        values[start:] = made

    def normal_tensor(self, mean: Any, std: Any) -> Array:
        """`torch.normal(mean, std)` where one or both are arrays; the dtype is that of the first array."""
        dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
        if isinstance(std, np.ndarray):
            require(not (std < 0).any(), "normal expects all elements of std >= 0.0")
        else:
            require(std >= 0, f"normal expects std >= 0.0, but found std {std:g}")
        values = self.normal(np.broadcast_shapes(np.shape(mean), np.shape(std)), dtype)
        values *= np.asarray(std, dtype)
        values += np.asarray(mean, dtype)
        return values

    def log_normal(self, shape: Sequence[int], dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        """exp of normal numbers, as `log_normal_` draws them."""
        require(std > 0, f"log_normal_ expects std > 0.0, but found std={std:g}")
        with np.errstate(over="ignore"):
            return _cast(np.exp(self._normal_pairs(_size(shape), mean, std)), np.dtype(dtype)).reshape(shape)

    # -- integers

    def _below(self, limit: int, count: int, wide: bool, start: int = 0) -> Array:
        """`start` + (word mod limit), int64; words of 64 bits if `wide`."""
        if wide:
            words = self.words64(count)
            if limit & (limit - 1) == 0:
                words &= np.uint64(limit - 1)
            else:
                words %= np.uint64(limit)
            words += np.uint64(start % 2**64)  # wraps, as two's complement does
            return words.view(np.int64)
        if count <= 1000 and self.ready(count):
            result = np.remainder(self.look(count), limit, dtype=np.int64)
            if start:
                result += start
            return result
        result = np.empty(count, np.int64)
        done = 0
        for words in self.pieces(count):
            if limit & (limit - 1) == 0:
                words &= np.uint32(limit - 1)
            else:
                quotient = words // np.uint32(limit)  # NumPy's quotients are far faster than its remainders
                quotient *= np.uint32(limit)
                words -= quotient
            result[done : done + len(words)] = words
            done += len(words)
        if start:
            result += start
        return result

    def randint(self, low: int, high: int | None, shape: Sequence[int], dtype: Any = np.int64) -> Array:
        """Whole numbers in [low, high), as `randint` and `random_(from, to)` draw them.

        `high=None` means up to the largest the dtype holds, that one included.
        """
        if dtype is _INT64 and high is not None and -(2**62) <= low < high < low + _WIDE_RANGE:
            return self._below(high - low, _size(shape), False, low).reshape(shape)
        dtype = np.dtype(dtype)
        name, digits, smallest, largest = _limits(dtype)
        stop = largest + 1 if high is None else high
        if low >= stop:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={stop}")
        for label, value in (("from", low), ("to - 1", stop - 1)):
            if not smallest <= value <= largest:
                held = digits > 0 and abs(value) <= (65504 if dtype == np.float16 else 2**64)
                require(held, f"{label} is out of bounds for {name}")
                warnings.warn(
                    f"{label} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                    f"{name} can support discrete uniform distribution only within this range.",
                    UserWarning,
                    stacklevel=2,
                )
        if digits and high is not None:
            # A bound that the type rounds outwards moves in by one step, so that no draw leaves the range.
            above, below = int(np.asarray(stop - 1).astype(dtype)), int(np.asarray(low + 1).astype(dtype))
            if above >= stop:
                stop = above - (1 << max((stop - 1).bit_length() - digits, 0))
            if below < low:
                low = below + (1 << max((low + 1).bit_length() - digits, 0))
        limit = stop - low
        count = _size(shape)
        if limit == 2**64:
            values = self.words64(count).view(np.int64)
        else:
            values = self._below(limit, count, limit >= _WIDE_RANGE, low)
        return self._as_dtype(values, dtype, shape)

    def random_(self, shape: Sequence[int], dtype: Any = np.int64) -> Array:
        """Whole numbers as `random_()` draws them: [0, max] of an integer type, [0, 2^digits] of a float."""
        dtype = np.dtype(dtype)
        limit = _limits(dtype)[3] + 1
        values = self._below(limit, _size(shape), dtype.itemsize == 8)
        return self._as_dtype(values, dtype, shape)

    @staticmethod
    def _as_dtype(values: Array, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
        if dtype.itemsize == 2 and _limits(dtype)[1]:
            values = values.astype(np.float32)
        return values.astype(dtype, copy=False).reshape(shape)

    def randperm(self, n: int, dtype: Any = np.int64) -> Array:
        """A permutation of 0..n-1, as `randperm` draws it: at place i, swap with place i + W mod (n - i)."""
        require(n >= 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
        if n >= _RANDPERM_LIMIT:
            raise NotImplementedError(f"randperm: n must be below {_RANDPERM_LIMIT}, got {n}")
        if n < 2:
            return np.zeros(n, dtype)
        steps = self.words32(n - 1)
        steps %= np.arange(n, 1, -1, np.uint32)  # pyright: ignore[reportCallIssue]
        return self._apply_swaps(steps, n).astype(dtype, copy=False)

    @staticmethod
    def _apply_swaps(steps: Array, n: int) -> Array:
        if n <= RANDPERM_LOOP:
            order = list(range(n))
            for place, step in enumerate(steps.tolist()):
                other = place + step
                order[place], order[other] = order[other], order[place]
            return np.array(order)
        # Without a loop. Let t[i] be the place swap i reaches. Place k is reached only by swaps m <= k. So
        # what it holds just before swap k was put there by the last swap m < k with t[m] = k, and was what
        # place m held just before swap m; or, without such m, it is k itself: follow m = parent[k] to its
        # root. The result at i is what t[i] held just before swap i: found the same way, from the previous
        # swap to reach t[i].
        place = np.arange(n, dtype=np.int64)
        target = place.copy()
        target[:-1] += steps
        ordered = np.sort((target << 32) | place)
        by = ordered & (2**32 - 1)
        ordered >>= 32
        again = ordered[1:] == ordered[:-1]
        previous = np.full(n, -1)
        previous[by[1:][again]] = by[:-1][again]
        last = np.append(~again, True)
        parent = place.copy()
        parent[ordered[last]] = by[last]
        own = target == place  # a swap with itself brings nothing: look one further back
        parent[own] = np.where(previous[own] >= 0, previous[own], place[own])
        while True:
            further = parent[parent]
            if np.array_equal(further, parent):
                break
            parent = further
        return np.where(previous >= 0, parent[previous], target)

    # -- yes and no

    def bernoulli_scalar(self, p: float, shape: Sequence[int]) -> Array:
        """True with probability p, bool, as `bernoulli_(p)` draws: u53 < p."""
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        limit = np.uint64(math.ceil(p * 2.0**53))  # u53 < p, said of whole numbers
        count = _size(shape)
        if self.ready(2 * count):
            return (self.pairs(count) < limit).reshape(shape)
        result = np.empty(count, np.bool_)
        for part in _chunks(count):
            words = self.words64(part.stop - part.start)
            words &= _MASK53
            np.less(words, limit, out=result[part])
        return result.reshape(shape)

    def bernoulli_tensor(self, p: Array) -> Array:
        """True with probability p[i], bool, as `bernoulli(p)` draws: u53 < p for float64, else u24 < p."""
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        if p.dtype == np.float64:
            return self._uniform53(p.size).reshape(p.shape) < p
        return self._uniform24(p.size).reshape(p.shape) < p.astype(np.float32, copy=False)

    def dropout_mask(self, p: float, shape: Sequence[int]) -> Array:
        """The elements that dropout keeps, bool. Nothing is drawn for p = 0 or p = 1, as in PyTorch."""
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        if p in (0, 1):
            return np.full(tuple(shape), p == 0)
        return self.bernoulli_scalar(1.0 - p, shape)

    # -- other distributions, one u53 an element

    def exponential(self, shape: Sequence[int], dtype: Any = np.float32, lambd: float = 1.0) -> Array:
        """Exponential numbers of rate `lambd`, as `exponential_` draws them: -log1p(-u53) / lambd."""
        require(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        scale = -1.0 / lambd

        def convert(uniform: Array) -> Array:
            np.negative(uniform, out=uniform)
            np.log1p(uniform, out=uniform)
            uniform *= scale
            return uniform

        return self._map53(shape, dtype, convert)

    def geometric(self, shape: Sequence[int], p: float, dtype: Any = np.float32) -> Array:
        """Trials up to the first success, as `geometric_` draws them: ceil(log(u53) / log1p(-p))."""
        require(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        with np.errstate(divide="ignore"):
            return self._map53(shape, dtype, lambda uniform: np.ceil(np.log(uniform) / math.log1p(-p)))

    def cauchy(self, shape: Sequence[int], dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy numbers, as `cauchy_` draws them: median + sigma tan(pi (u53 - 1/2))."""
        require(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        return self._map53(shape, dtype, lambda uniform: median + sigma * np.tan(np.pi * (uniform - 0.5)))
