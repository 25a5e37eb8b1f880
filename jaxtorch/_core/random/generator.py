"""The default generators, and `torch.Generator`: PyTorch's own numbers on the CPU."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..run import capture
from ..tensor.tensor import from_host
from ..types.device import DeviceSlot, cpu, device, jax_devices
from ..types.foreign_errors import of_a_run
from . import jax_draws
from .mersenne import MersenneTwister

generators: weakref.WeakSet[Generator] = weakref.WeakSet()
"""Those that there are."""


class Generator:
    """A source of random numbers. On the CPU, PyTorch's Mersenne Twister: same seed, same numbers.

    Elsewhere the numbers are JAX's, keyed by the seed and by how many draws were made since it was set.
    """

    __module__ = "jaxtorch._C"

    __slots__ = ("slot", "engine", "draws", "__weakref__")

    def __init__(self, device: Any = "cpu") -> None:
        where = _device(device)
        if where.type == "cuda" and not jax_devices("cuda"):
            raise RuntimeError("Cannot get CUDA generator: JAX sees no GPU")
        self.slot: DeviceSlot = where.slot
        self.engine = MersenneTwister()
        self.draws = 0
        generators.add(self)

    @property
    def device(self) -> device:
        """The device whose operations draw from this generator."""
        return self.slot.device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed."""
        capture.break_capture("it seeds a generator", True)
        self.engine.manual_seed(seed)
        self.draws = 0
        return self

    def seed(self) -> int:
        """Start a stream from the system's own randomness; the seed."""
        capture.break_capture("it seeds a generator", True)
        self.draws = 0
        return self.engine.seed()

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self.engine.initial_seed()

    def get_offset(self) -> int:
        """RuntimeError on the CPU, as in PyTorch; elsewhere the number of draws is no offset."""
        raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """RuntimeError: see `get_offset`."""
        self.get_offset()

    def graphsafe_get_state(self) -> Any:
        """NotImplementedError: there are no graphs of a device that keep a state."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Any) -> None:
        """NotImplementedError: see `graphsafe_get_state`."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_state(self) -> Any:
        """The state, as a uint8 tensor in PyTorch's format."""
        return from_host(self._state())

    def _state(self) -> np.ndarray[Any, Any]:
        capture.break_capture("it reads the state of a generator")
        if self.slot is cpu.slot:
            return self.engine.get_state()
        return np.array([self.engine.initial_seed(), self.draws], "<u8").view(np.uint8)

    def _restore(self, state: np.ndarray[Any, Any]) -> None:
        capture.break_capture("it sets the state of a generator")
        if self.slot is cpu.slot:
            self.engine.set_state(state)
            return
        if state.size != 16:
            raise RuntimeError(f"RNG state is wrong size: expected 16 bytes, got {state.size}")
        seed, draws = np.ascontiguousarray(state).view("<u8").tolist()
        self.manual_seed(seed)
        self.draws = draws

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` gave, here or in PyTorch."""
        if not hasattr(new_state, "_array"):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        array = np.asarray(new_state._array())
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self._restore(array)
        return self

    def clone_state(self) -> Generator:
        """A generator with the same state."""
        other = Generator(self.device)
        other._restore(self._state())
        return other

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __getstate__(self) -> Any:
        return {"device": str(self.device), "state": self._state()}

    def __setstate__(self, state: Any) -> None:
        self.__init__(state["device"])
        self._restore(state["state"])


_device = device
default_generator = Generator("cpu")
_others: dict[str, Generator] = {}


def generator_of(slot: DeviceSlot) -> Generator:
    """The default generator of a device."""
    if slot.name == "cpu":
        return default_generator
    found = _others.get(slot.name)
    if found is None:
        found = _others[slot.name] = Generator(slot.device)
        found.manual_seed(default_generator.initial_seed())
    return found


def check_generator(generator: Any, slot: DeviceSlot) -> None:
    """Raise PyTorch's errors for a `generator=` argument that cannot draw for this device."""
    if generator is None:
        return
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(generator).__name__}")
    if generator.slot.device.type != slot.device.type:
        raise RuntimeError(
            f"Expected a '{slot.device.type}' device type for generator but found '{generator.slot.device.type}'"
        )


def engine_for(generator: Generator | None, slot: DeviceSlot) -> MersenneTwister:
    """The stream an operation on a device draws from; RuntimeError if the generator belongs to another."""
    if generator is None:
        generator = generator_of(slot)
    else:
        check_generator(generator, slot)
    if jax_draws.transforming():
        return jax_draws.Engine(generator)  # type: ignore[return-value]
    return generator.engine if draw_observer is None and draw_replayer is None else _ObservedEngine(generator)  # type: ignore[return-value]


draw_observer: Any = None
"""None, or a function called with each array drawn on the host: (array, generator, method name, arguments)."""


draw_replayer: Any = None
"""None, or a function that gives what was drawn before instead of drawing: of (generator, method name, arguments)."""


def draw(generator: Generator | None, method: Any, *args: Any) -> np.ndarray[Any, Any]:
    """Numbers from a CPU generator's engine (None: the default one): all draws on the host come through here.

    method: the name of an engine's method, or a function of the engine.
    """
    if generator is None:
        generator = default_generator
    elif generator.__class__ is not Generator or generator.slot is not cpu.slot:
        check_generator(generator, cpu.slot)
    if jax_draws.transforming():
        return jax_draws.draw(generator, method, args)
    if draw_replayer is not None:
        return draw_replayer(generator, method, args)
    engine = generator.engine
    try:
        values = getattr(engine, method)(*args) if method.__class__ is str else method(engine, *args)
    except MemoryError as error:
        raise of_a_run(error, "cpu") or error from error
    if draw_observer is not None:
        draw_observer(values, generator, method, args)
    return values


class _ObservedEngine:
    """Stands for a generator's engine while draws are listened to."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return lambda *args: draw(self._generator, name, *args)


def key_of(generator: Generator | None, slot: DeviceSlot) -> np.ndarray[Any, Any]:
    """What keys the next draw of a device that is not the CPU: its generator's seed and counter, as uint32 (3,)."""
    found = generator_of(slot) if generator is None else generator
    if draw_replayer is not None:
        return draw_replayer(found, key_of, (slot,))
    seed = found.engine.initial_seed()
    count = found.draws = found.draws + 1
    key = np.array([seed >> 32, seed & 0xFFFFFFFF, count & 0xFFFFFFFF], np.uint32)
    if draw_observer is not None:
        draw_observer(key, found, key_of, (slot,))
    return key


def manual_seed(seed: Any) -> Generator:
    """Seed the default generators of all devices."""
    seed = int(seed)
    default_generator.manual_seed(seed)
    for g in _others.values():
        g.manual_seed(seed)
    return default_generator


def seed() -> int:
    """Seed the default generators from the system's own randomness; the seed."""
    chosen = default_generator.seed()
    for g in _others.values():
        g.manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default CPU generator, as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the state of the default CPU generator."""
    default_generator.set_state(new_state)
