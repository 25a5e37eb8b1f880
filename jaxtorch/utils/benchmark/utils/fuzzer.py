"""Parameters and tensors drawn at random, to time a statement over many shapes and layouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...._core.define.op import functions
from ...._core.random.generator import manual_seed
from ...._core.tensor.tensor import Tensor
from ...._core.types.dtypes import dtype as _dtype
from ...._core.types.dtypes import float32

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

_TRIES = 1000


class FuzzedParameter:
    """A number drawn from [minval, maxval].

    distribution: 'uniform' (whole numbers, where both ends are) or 'loguniform' (whole numbers within the ends), or a dictionary
    from values to their probabilities, which PyTorch 2.13 declares but refuses. strict: drawn once for a set of parameters,
    however often others of the set are drawn again.
    """

    def __init__(
        self, name: str, minval: float | None = None, maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None, strict: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(distribution, dict):
            if any(p < 0 for p in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._name = name
        self._minval: Any = minval
        self._maxval: Any = maxval
        self._distribution = distribution
        self.strict = strict

    @property
    def name(self) -> str:
        """What tensors call it in their sizes."""
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """The next value."""
        low, high = self._minval, self._maxval
        if isinstance(self._distribution, dict):
            values = list(self._distribution)
            return values[state.choice(len(values), p=list(self._distribution.values()))]
        if self._distribution == "loguniform":
            drawn = int(2 ** state.uniform(low=np.log2(low), high=np.log2(high)))
            return min(max(drawn, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class ParameterAlias:
    """Among the values of a parameter: the value of another parameter."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor whose sizes are parameters.

    size, steps: numbers, or names of parameters; a step of 2 leaves every second element of the memory out. probability_contiguous:
    how often the dimensions lie in memory in their order. min_elements, max_elements, max_allocation_bytes: what a draw must keep to.
    dim_parameter: the name of the parameter that says how many dimensions. tensor_constructor: called with size, dtype and all
    parameters; without one, floating-point numbers are from [0, 1) and others from [1, 127).
    """

    def __init__(
        self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None, probability_contiguous: float = 0.5,
        min_elements: int | None = None, max_elements: int | None = None, max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None, roll_parameter: str | None = None, dtype: _dtype = float32, cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:  # fmt: skip
        self._name = name
        self._size = size
        self._steps = steps or ()
        self._probability_contiguous = probability_contiguous
        self._bounds = (min_elements or 0, math.inf if max_elements is None else max_elements)
        self._max_bytes = math.inf if max_allocation_bytes is None else max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype = dtype
        self._cuda = cuda
        self._tensor_constructor = tensor_constructor

    @property
    def name(self) -> str:
        """The tensor's name among those drawn."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: _dtype, **kwargs: Any) -> Tensor:
        """Numbers from [0, 1), or whole ones from [1, 127)."""
        if dtype.is_floating_point or dtype.is_complex:
            return functions["rand"](size=size, dtype=dtype, device="cpu")
        return functions["randint"](1, 127, size=size, dtype=dtype, device="cpu")

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, steps = self._get_size_and_steps(params)
        make = self._tensor_constructor or self.default_tensor_constructor
        whole = make(size=tuple(n * s for n, s in zip(size, steps, strict=True)), dtype=self._dtype, **params)
        if self._cuda:
            whole = whole.cuda()
        natural = order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.all(order == natural):
                order = state.permutation(whole.dim())
            whole = whole.permute(tuple(order)).contiguous().permute(tuple(np.argsort(order)))
        tensor = whole[tuple(slice(0, n * s, s) for n, s in zip(size, steps, strict=True))]
        properties = {"numel": int(tensor.numel()), "order": order, "steps": steps,
                      "is_contiguous": tensor.is_contiguous(), "dtype": str(self._dtype)}  # fmt: skip
        return tensor, properties

    def _get_size_and_steps(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolve(values: tuple[Any, ...]) -> tuple[int, ...]:
            known = tuple(params.get(v, v) for v in values)[:dim]
            return known + (1,) * (dim - len(known))

        return resolve(self._size), resolve(self._steps)

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Is a tensor of these parameters neither too small nor too large?"""
        size, steps = self._get_size_and_steps(params)
        numel = math.prod(int(n) for n in size)
        taken = math.prod((int(n * s) for n, s in zip(size, steps, strict=True)), start=self._dtype.itemsize)
        return self._bounds[0] <= numel <= self._bounds[1] and taken <= self._max_bytes


class Fuzzer:
    """Draws sets of parameters, and tensors of these.

    parameters, tensors: in lists, or lists of lists. constraints: functions of the dictionary of parameters that say whether a set is
    wanted. ValueError for a parameter and a tensor of one name.
    """

    def __init__(
        self, parameters: list[FuzzedParameter | list[FuzzedParameter]], tensors: list[FuzzedTensor | list[FuzzedTensor]],
        constraints: list[Callable[..., bool]] | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        self._seed = np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64) if seed is None else seed
        self._parameters: list[FuzzedParameter] = _flat(parameters, FuzzedParameter)
        self._tensors: list[FuzzedTensor] = _flat(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        shared = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if shared:
            raise ValueError(f"Duplicate names in parameters and tensors: {shared}")
        self._rejections = self._generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """n times: the tensors, what is known of each, and the parameters. The same ones each time, for a seed."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {k: m[0] for k, m in made.items()}, {k: m[1] for k, m in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of the sets drawn so far that were not wanted."""
        return self._rejections / self._generated if self._generated else 0.0

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for _ in range(_TRIES):
            drawn: dict[str, Any] = {}
            for p in self._parameters:
                drawn[p.name] = kept[p.name] if p.name in kept else p.sample(state)
                if p.strict:
                    kept[p.name] = drawn[p.name]
            drawn = _without_aliases(drawn)
            self._generated += 1
            if all(f(drawn) for f in self._constraints) and all(t.satisfies_constraints(drawn) for t in self._tensors):
                return drawn
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Sequence[Any], kind: type) -> list[Any]:
    return [v for item in values for v in ([item] if isinstance(item, kind) else item)]


def _without_aliases(params: dict[str, Any]) -> dict[str, Any]:
    found = dict(params)
    for name, value in params.items():
        seen = {name}
        while isinstance(value, ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            value = params[value.alias_to]
        found[name] = value
    return found
