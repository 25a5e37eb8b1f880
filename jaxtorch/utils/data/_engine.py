"""Everything `jaxtorch.utils.data` takes from the rest of jaxtorch, in one place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxtorch import cuda
from jaxtorch._core.compile import allocator
from jaxtorch._core.define.op import functions
from jaxtorch._core.host import forked, sample_memory, tiering
from jaxtorch._core.random import generator as _core_random
from jaxtorch._core.record.program import flush, forget_all
from jaxtorch._core.run import capture, runner
from jaxtorch._core.tensor.tensor import Tensor, from_host
from jaxtorch._core.types import dtypes
from jaxtorch._core.types.device import cpu
from jaxtorch._core.types.reference_counts import LISTED, counted
from jaxtorch._namespace.switches import get_num_threads

__all__ = [
    "LISTED",
    "Tensor",
    "allocator",
    "as_tensor",
    "counted",
    "default_generator",
    "draw_seed",
    "forget_all",
    "forked",
    "from_host",
    "has_accelerator",
    "multinomial",
    "plain_host_array",
    "process_group",
    "randint",
    "randperm",
    "recorded",
    "run_as_data",
    "run_recorded",
    "sample_memory",
    "seed_worker",
    "seeded_generator",
    "settle",
    "stack",
    "tensor",
    "threads",
    "weights_tensor",
]


def plain_host_array(value: Tensor) -> np.ndarray | None:
    """The NumPy data of a tensor that needs no gradient and lies in the CPU's memory already, else None."""
    return None if value.requires_grad else value._cpu_array()


def tensor(data: Any, dtype: str | None = None) -> Tensor:
    """`torch.tensor`; `dtype` is a dtype's name."""
    return functions["tensor"](data, dtype=None if dtype is None else dtypes.by_name(dtype))


def as_tensor(data: Any) -> Tensor:
    """`torch.as_tensor`: shares the memory of a NumPy array."""
    return functions["as_tensor"](data)


def stack(tensors: Sequence[Tensor]) -> Tensor:
    """`torch.stack` along a new first dimension."""
    return functions["stack"](tensors, 0)


def has_accelerator() -> bool:
    return bool(cuda.is_available())


def threads() -> int:
    return get_num_threads()


def default_generator() -> Any:
    return _core_random.default_generator


def seeded_generator(seed: int) -> Any:
    """A new generator with this seed."""
    return _core_random.Generator().manual_seed(seed)


def _stream(generator: Any) -> Any:
    """The numbers of a CPU generator, or of the default one, drawn on the host with nothing recorded."""
    return _core_random.engine_for(generator, cpu.slot)


def draw_seed(generator: Any = None) -> int:
    """One int64 in [0, 2**63) from `generator`, the draw that PyTorch seeds samplers and workers with."""
    return int(_stream(generator).random_(()))


def randperm(n: int, generator: Any = None) -> list[int]:
    return _stream(generator).randperm(n).tolist()


def randint(high: int, count: int, generator: Any = None) -> list[int]:
    return _stream(generator).randint(0, high, (count,)).tolist()


def multinomial(weights: Tensor, count: int, replacement: bool, generator: Any = None) -> list[int]:
    return functions["multinomial"](weights, count, replacement, generator=generator).tolist()


def weights_tensor(weights: Any) -> Tensor:
    """`weights` as a float64 tensor."""
    return functions["as_tensor"](weights, dtype=dtypes.float64)


def seed_worker(seed: int) -> None:
    """`torch.manual_seed` in a worker."""
    _core_random.manual_seed(seed)


def process_group() -> Any:
    """`torch.distributed` when its default process group exists, else None. Nobody has made one who has not imported it."""
    distributed = sys.modules.get("jaxtorch.distributed")
    return distributed if distributed is not None and distributed.is_initialized() else None


def recorded() -> Any:
    """What has been recorded for the CPU and not run: compares equal as long as nothing is added."""
    program = cpu.slot.program
    return None if program is None or capture.active is not None else (program, len(program.code))


def run_recorded() -> None:
    """Run what has been recorded for the CPU."""
    if capture.active is None:
        flush(cpu.slot.program)


class _Data:
    """The last program that prepared data: the next one is probably what came after it before."""

    ran: Any = None


def run_as_data() -> None:
    """Run what has been recorded for the CPU, which prepares data: as if between two programs of the loop nothing ran."""
    if capture.active is None:
        with runner.lock:  # another thread may prepare data too
            slot, last = cpu.slot, cpu.slot.ran
            slot.ran = _Data.ran
            try:
                with tiering.patience():
                    flush(slot.program)
                _Data.ran = slot.ran
            finally:
                slot.ran = last


def settle(value: Tensor) -> Any:
    """A NumPy array of this tensor; a forked child that holds it reads the tensor without JAX."""
    array = value._host_array()
    return value.detach().cpu().numpy() if array is None else array
