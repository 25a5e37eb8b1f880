"""`torch.quasirandom`: Sobol's points, which fill a cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core.define.op import functions as f
from ._core.random.generator import Generator
from ._core.tensor.tensor import Tensor
from ._core.types import dtypes

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of Sobol's sequence in [0, 1)^dimension, in Gray code order, with the direction numbers of Joe and Kuo (2008),
    which SciPy brings.

    scramble: a random linear scrambling and shift of the digits (Matousek 1998, Owen 1998), drawn from `seed`, or from the
    default generator where that is None.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        from scipy.stats import qmc  # takes long to import, and few programs come here

        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        directions = np.array(qmc.Sobol(dimension, scramble=False, bits=self.MAXBIT)._sv, np.int64)
        self.sobolstate = f["from_numpy"](directions)
        self.shift = f["zeros"](dimension, dtype=dtypes.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        shape = (self.dimension, self.MAXBIT)
        digits = f["randint"](2, shape, generator=generator).numpy()
        self.shift = f["from_numpy"](digits @ (1 << np.arange(self.MAXBIT)))
        mixing = np.tril(f["randint"](2, (*shape, self.MAXBIT), generator=generator).numpy())
        mixing[:, np.arange(self.MAXBIT), np.arange(self.MAXBIT)] = 1
        places = np.arange(self.MAXBIT)[::-1]  # the most significant digit first
        bits = self.sobolstate.numpy()[:, None, :] >> places[:, None] & 1
        self.sobolstate = f["from_numpy"](((mixing @ bits & 1) << places[:, None]).sum(1))

    def _advance(self, n: int, start: int) -> np.ndarray[Any, Any]:
        """The n points behind that of number `start`, as integers of shape (n, dimension)."""
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {self.dimension}]")
        number = np.arange(start, start + n)
        changed = np.log2(~number & (number + 1)).astype(int)  # the lowest digit that is 0: it flips next
        steps = self.sobolstate.numpy()[:, changed].T
        points = np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[None], steps]), 0)
        self.quasi = f["from_numpy"](points[-1].copy())
        return points[1:]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next n points: shape (n, dimension), of the default floating point type."""
        dtype = dtypes.default() if dtype is None else dtype
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"_sobol_engine_draw(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
        first = self.num_generated == 0
        points = self._advance(n - 1 if first else n, 0 if first else self.num_generated - 1)
        found = f["from_numpy"](points).to(dtype) * 2.0**-self.MAXBIT
        if first:
            found = f["cat"]((self._first_point.to(dtype), found), -2)
        self.num_generated += n
        return found if out is None else out.resize_as_(found).copy_(found)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2 ** m points; ValueError where the number of all points drawn is then no power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out n points."""
        first = self.num_generated == 0
        self._advance(n - 1 if first else n, 0 if first else self.num_generated - 1)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
