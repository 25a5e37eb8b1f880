"""Kernels on NumPy: how a forked process (a DataLoader worker) computes, where JAX must not run (see host/forked.py).

Tracing needs no runtime, so a kernel's jaxpr is made as always, and its primitives are looked up in the table of `numpy_rules`. A
primitive that is not there is refused with the name of the operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile.kernel import Kernel
from ..host import forked
from ..host.numpy_program import NoRule, NumpyProgram
from ..run import runner
from ..types.value import Mapped, Value

_programs: dict[Kernel, NumpyProgram] = {}


def run(kernel: Kernel, values: list[Value]) -> list[Value]:
    """Run one kernel on host arrays."""
    if Mapped in [type(v.array) for v in values]:
        return runner.run_mapped(kernel, values)
    arrays = []
    for v in values:
        arrays.append(np.asarray(runner.force_pending(v), v.aval.dtype.np))
    outs = evaluate(kernel, arrays)
    n = len(kernel.out_avals) - len(kernel.checks)
    for flag, make in zip(outs[n:], kernel.checks, strict=True):
        if int(flag):
            raise make(int(flag))
    return [Value(a, np.asarray(o, a.dtype.np)) for a, o in zip(kernel.out_avals, outs[:n], strict=False)]


def evaluate(kernel: Kernel, arrays: list[Any]) -> list[Any]:
    """The outputs of a kernel, the flags of its checks among them, for NumPy arrays."""
    program = _programs.get(kernel)
    try:
        if program is None:
            program = _programs[kernel] = NumpyProgram(kernel.closed_jaxpr())
        with np.errstate(all="ignore"):
            return program.run(arrays, careful=False)
    except (NoRule, NotImplementedError):
        forked.refuse(kernel.name)
