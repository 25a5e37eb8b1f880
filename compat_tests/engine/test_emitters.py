"""Which of XLA's two sets of emitters makes a program, and what is given back before a large one is compiled."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as theirs

import jaxtorch as torch
from jaxtorch._core.compile import allocator, xla_options
from jaxtorch._core.compile.kernel import Kernel
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.run import runner


def kernel_of(body: Any, *shape: int) -> Kernel:
    aval = torch.empty(shape)._value.aval
    return Kernel("body", lambda x: (body(x),), (aval,), aval.slot)


def wave(x: Any) -> Any:
    return jnp.sin(x) * 2 + 1


def looped(x: Any) -> Any:
    return jax.lax.fori_loop(0, 3, lambda i, y: y.at[jnp.array([0, i])].add(1.0), x)


@pytest.mark.parametrize(
    "body",
    [lambda x: jnp.argmax(x, -1), lambda x: x.at[jnp.array([0, 0, 2])].add(1.0), lambda x: jnp.cumsum(x, 0), looped],
)
def test_what_becomes_a_loop_is_left_to_the_newer(body: Any) -> None:
    kernel = kernel_of(body, 4, 5)
    assert xla_options.chosen([kernel]) is None and kernel.compiled is kernel.jitted
    assert xla_options.chosen([kernel_of(wave, 4, 5), kernel]) is None


def test_kernels_by_themselves_and_programs_with_little_repetition_are_made_by_the_older() -> None:
    one, other = kernel_of(wave, 4, 5), kernel_of(lambda x: jnp.cos(x) + jnp.sin(x) * 2, 4, 5)
    assert xla_options.chosen([one]) == xla_options.chosen([one, other]) == xla_options.OLDER
    assert xla_options.chosen([one, other, one, other]) is None
    x = np.linspace(-2, 2, 20, dtype=np.float32).reshape(4, 5)
    assert one.compiled is not one.jitted and one.compiled is one.compiled
    np.testing.assert_array_equal(one.compiled(x)[0], one.jitted(x)[0])


def test_a_very_large_program_is_made_by_the_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [kernel_of(wave, 4, 5), kernel_of(lambda x: jnp.cos(x) + jnp.sin(x) * 2, 4, 5)]
    size = sum(kernel.n_equations for kernel in kernels)
    monkeypatch.setattr(xla_options, "OLDER_EMITTERS", size)
    assert xla_options.chosen(kernels) == xla_options.OLDER
    monkeypatch.setattr(xla_options, "OLDER_EMITTERS", size - 1)
    assert xla_options.chosen(kernels) is None


def test_functions_that_are_called_again_are_repetitions() -> None:
    inner = jax.jit(lambda x: jnp.sin(x) * 3 + 1)
    again = jax.make_jaxpr(lambda x: inner(inner(inner(x))) * 2)(1.0).jaxpr
    assert xla_options.count_equations(again) == (10, 4)
    assert xla_options.count_equations(jax.make_jaxpr(wave)(1.0).jaxpr) == (3, 3)


def test_an_option_that_xla_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    assert xla_options.known(xla_options.OLDER)
    monkeypatch.setattr(xla_options, "OLDER", {"xla_no_such_option": False})
    kernel = kernel_of(wave, 3)
    assert xla_options.chosen([kernel]) is None and kernel.compiled is kernel.jitted


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """Something for each time that free memory is given back inside, in a process that begins here."""
    program.flush_all()
    tiering.forget()
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    monkeypatch.setattr(runner, "RELEASE_BEFORE", 50)
    monkeypatch.setattr(allocator, "RELEASE_AFTER", 1e9)
    times: list[None] = []
    monkeypatch.setattr(allocator, "release", lambda: times.append(None))
    yield times
    tiering.forget()


@pytest.mark.skipif(IMMEDIATE, reason="each operation is compiled by itself in immediate mode")
def test_free_memory_is_given_back_before_a_large_program_is_compiled(released: list[None]) -> None:
    def total(size: int, steps: int) -> float:
        x = torch.ones(size)
        for _ in range(steps):
            x = torch.sin(x) + 1
        return x.sum().item()

    for _ in range(3):
        total(1201, 3)
    assert not released
    expected = total(1203, 30)
    assert [total(1203, 30) for _ in range(2)] == pytest.approx([expected] * 2, rel=1e-5)
    assert len(released) == 1


MANY_DIMENSIONS = """
import jaxtorch as torch
x = torch.arange(57600.0).reshape(2, 2, 9, 4, 4, 10, 10) / 57600
y = (torch.arange(3600.0) / 3600).reshape(2, 2, 9, 1, 1, 10, 10)
step = lambda: ((x + 1) * y).sum(1).mul(2)
print([round(step().sum().item(), 1) for _ in range(12)])
"""


@pytest.mark.skipif(not xla_options.known(xla_options.PRODUCTS_ONLY), reason="an XLA without YNNPACK")
def test_sums_over_products_of_seven_dimensions_leave_the_process_alive() -> None:
    """In a process of its own: without the option it ends by SIGSEGV."""
    kernel = kernel_of(wave, 2, 1, 2, 1, 2, 1, 2)
    assert xla_options.needed(None, [kernel_of(wave, 4, 5), kernel]) == xla_options.PRODUCTS_ONLY
    assert xla_options.needed(None, [kernel_of(wave, 2, 1, 2, 1, 2, 1)]) is None
    ran = subprocess.run([sys.executable, "-c", MANY_DIMENSIONS], capture_output=True, text=True, timeout=300)
    x = theirs.arange(57600.0).reshape(2, 2, 9, 4, 4, 10, 10) / 57600
    y = (theirs.arange(3600.0) / 3600).reshape(2, 2, 9, 1, 1, 10, 10)
    expected = ((x + 1) * y).sum(1).mul(2).sum().item()
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(ast.literal_eval(ran.stdout), [expected] * 12, rtol=1e-4)
