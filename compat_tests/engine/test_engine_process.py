"""The engine and the process around it: its cache, its log, threads and forks."""

from __future__ import annotations

import platform
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jaxtorch as torch
from conftest import Run
from jaxtorch._core.record import program
from jaxtorch._core.run import log

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="about recording")


@pytest.fixture(autouse=True)
def nothing_pending() -> Iterator[None]:
    program.flush_all()
    yield
    program.flush_all()


def pending(t: Any) -> bool:
    return t._value.array is None


def ready(*shape: int, fill: float = 1.0) -> Any:
    """A tensor that has been computed: an input of what is recorded next."""
    t = torch.full(shape, fill)
    t.tolist()
    return t


# -- processes --


def script(run_python: Run, text: str, **env: str | None) -> tuple[str, str]:
    result = run_python("-c", textwrap.dedent(text), env=dict(env))
    return result.stdout, result.stderr


TRAIN = """
    import jaxtorch as torch
    torch.manual_seed(0)
    w = (torch.randn(3, 4) * 0.5).requires_grad_()
    b = torch.zeros(3, requires_grad=True)
    x, y = torch.randn(8, 4), torch.randn(8, 3)
    optimizer = torch.optim.Adam([w, b], lr=0.05)
    view = w.detach()[1]
    for i in range(5):
        loss = ((torch.tanh(x @ w.t() + b) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.5f} {view.sum().item():.5f}")
"""


def test_immediate_mode_gives_the_same_results(run_python: Run):
    recorded, _ = script(run_python, TRAIN)
    immediate, _ = script(run_python, TRAIN, JAXTORCH_EXECUTION="immediate")
    assert recorded == immediate and len(recorded.splitlines()) == 5


def test_the_second_process_compiles_from_the_cache(run_python: Run, tmp_path: Any):
    counted = """
        import jax
        hits = []
        jax.monitoring.register_event_listener(lambda name, **kw: hits.append(name))
    """
    after = """
    print("hits", sum("cache_hits" in h for h in hits), "misses", sum("cache_misses" in h for h in hits))
    """
    text = textwrap.dedent(counted) + textwrap.dedent(TRAIN) + textwrap.dedent(after)
    env = {"JAXTORCH_CACHE": str(tmp_path / "cache"), "JAX_COMPILATION_CACHE_DIR": None, "JAXTORCH_COLD_RUNS": "0"}
    first, second = (script(run_python, text, **env)[0].splitlines() for _ in range(2))
    assert first[:-1] == second[:-1]
    assert int(first[-1].split()[3]) > 5
    assert second[-1].split()[3] == "0" and int(second[-1].split()[1]) > 5


def test_the_cache_can_be_switched_off(run_python: Run, tmp_path: Any):
    text = "import jaxtorch, jax; print(jax.config.jax_compilation_cache_dir)"
    env = {"JAX_COMPILATION_CACHE_DIR": None, "XDG_CACHE_HOME": str(tmp_path / "home")}
    for off in ("0", "off"):
        assert script(run_python, text, **env, JAXTORCH_CACHE=off)[0].strip() == "None"
    assert script(run_python, text, **env)[0].strip() == str(tmp_path / "home" / "jaxtorch" / "xla")


def test_compilations_are_logged(run_python: Run):
    text = """
        import jaxtorch as torch
        for _ in range(3):
            print((torch.ones(3) * 2 + 1).sum().item())
    """
    _, quiet = script(run_python, text, JAXTORCH_LOG=None)
    _, told = script(run_python, text, JAXTORCH_LOG="compile", JAXTORCH_COLD_RUNS="0")
    assert "[jaxtorch]" not in quiet
    lines = [line for line in told.splitlines() if line.startswith("[jaxtorch]")]
    assert len(lines) == 2
    assert "new program at <string>:4: first program here" in lines[0]
    assert "compiled a program of 4 instructions" in lines[1] and "<string>:4" in lines[1]


# -- why something was compiled --


@pytest.mark.parametrize(
    "width, before, after, cause",
    [
        (11, lambda x: x * 2, lambda x: x + 2, "instruction 0 was mul, now add"),
        (12, lambda x: x.sum(0), lambda x: x.sum(1), "instruction 0, sum: its static arguments changed"),
        (13, lambda x: x * 2, lambda x: x * 2 * 2, "1 instructions before, 2 now"),
        (14, lambda x: x * 2, lambda x: x.t() * 2, "instruction 0 was mul, now t"),
        (15, lambda x: x * 2, lambda x: x * 2.5,
         "instruction 0, mul: operands were float32[2, 15], int64[], now float32[2, 15], float64[]"),
        (16, lambda x: (x * 2) * 3, lambda x: [a := x * 2, a * 3],
         "other results are still in use when the program runs"),
        (17, lambda x: (x * x) * (x * x), lambda x: (x * x) * x,
         "instruction 1, mul: reads other values than before"),
    ],
    ids=["operation", "static", "length", "view", "type", "held", "slots"],
)  # fmt: skip
def test_recompiles_are_explained(width: int, before: Any, after: Any, cause: str):
    x = ready(2, width)
    for body in (before, after):
        result = body(x)
        program.flush_all()  # one line for both
        del result
    last = torch.explain_recompiles()[-1]
    assert last.cause == cause
    assert last.line.startswith(__file__) and last.instructions in (1, 2, 3)


def test_the_latest_programs_are_kept_where_there_are_many():
    x = ready(2, 18)
    (x * 2).tolist()
    log._history.extend([log._history[-1]] * 10_000)
    (x + 2).tolist()
    assert len(torch.explain_recompiles()) == 10_000
    assert torch.explain_recompiles()[-1].cause == "first program here"


def test_a_line_that_keeps_making_programs_is_reported(caplog: pytest.LogCaptureFixture):
    x = ready(40)
    with caplog.at_level("INFO", "jaxtorch"):
        for n in range(2, 22):
            (x[:n] * 2).sum().item()
    told = [r for r in caplog.records if "different programs so far" in r.getMessage()]
    assert len(told) == 1 and told[0].levelname == "INFO"  # said under JAXTORCH_LOG=compile only
    assert "has caused 16 different programs" in told[0].getMessage() and __file__ in told[0].getMessage()


# -- threads --


def test_two_threads_record_at_once():
    """Each result is right, whatever the other thread does in the middle of an operation."""
    shared = ready(4)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        try:
            own = shared * seed
            for i in range(150):
                y, expected = own, float(seed)
                for k in range(8):
                    y = y * 2 - own + shared * k
                    expected = expected * 2 - seed + k
                if i % 3 == seed % 3 and y.tolist() != [expected] * 4:
                    wrong.append((seed, i, y.tolist(), expected))
        except Exception as error:
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def in_thread(body: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(body()))
    thread.start()
    thread.join()
    return found[0]


def test_a_value_recorded_in_one_thread_is_used_in_another():
    x = ready(3) * 2
    y = in_thread(lambda: x + 1)
    assert pending(x) and pending(y)
    assert (y * x).tolist() == [6.0] * 3
    w = ready(3).requires_grad_()
    loss = (w * 3).sum()
    in_thread(loss.backward)
    assert w.grad.tolist() == [3.0] * 3


def test_grad_mode_belongs_to_the_thread():
    w = ready(3).requires_grad_()
    with torch.no_grad():
        assert in_thread(lambda: (w * 2).requires_grad)
        assert not (w * 2).requires_grad
    assert in_thread(lambda: torch.no_grad().__enter__() or (w * 2).requires_grad) is False
    assert (w * 2).requires_grad and torch.is_grad_enabled()


# -- fork --


def test_a_forked_child_computes_without_jax(run_python: Run):
    text = """
        import os, warnings
        warnings.filterwarnings("ignore", message=".*fork.*")
        import jaxtorch as torch
        x = torch.arange(4.0)
        y = x * 2
        y.tolist()
        z = y + 1  # pending when the process forks
        child = os.fork()
        if child == 0:
            print("child", (z * 3 + y).tolist(), torch.ones(2).sum().item(), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print("parent", z.tolist(), (z + y).tolist(), flush=True)
    """
    out, _ = script(run_python, text)
    assert out.splitlines() == [
        "child [3.0, 11.0, 19.0, 27.0] 2.0",
        "parent [1.0, 3.0, 5.0, 7.0] [1.0, 5.0, 9.0, 13.0]",
    ]


def test_a_child_forked_before_jax_began_uses_jax(run_python: Run):
    text = """
        import os
        import jaxtorch as torch
        from jaxtorch._core.host import forked
        child = os.fork()
        if child == 0:
            print((torch.ones(2) * 3).tolist(), forked.active, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    """
    assert script(run_python, text)[0].strip() == "[3.0, 3.0] False"


# -- the allocator --

LARGE_BLOCKS = """
    import resource

    import jaxtorch
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_platforms", "cpu")
    program = jax.jit(lambda x: jnp.full((10 << 20,), x))  # 40 MiB, more than glibc ever keeps by itself
    x = jnp.ones(())
    faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        program(x).block_until_ready()
    before = faults()
    for _ in range(5):
        program(x).block_until_ready()
    print(faults() - before < 5000)  # each time anew, they would be 50,000, or 100 where pages are huge
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc")
@pytest.mark.parametrize(
    "env, kept",
    [
        ({}, "True"),
        ({"JAXTORCH_NATIVE": "0"}, "True"),
        ({"JAXTORCH_ALLOCATOR": "default"}, "False"),
        ({"MALLOC_TOP_PAD_": "131072"}, "False"),
        ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}, "False"),
        ({"JAX_PLATFORMS": "cuda,cpu"}, "False"),
    ],
)
def test_large_blocks_are_kept(run_python: Run, env: dict[str, str], kept: str) -> None:
    out, _ = script(run_python, LARGE_BLOCKS, **({"JAX_PLATFORMS": "cpu"} | env))
    assert out.strip() == kept


FREE_AFTER_COMPILING = """
    import jaxtorch
    import jax
    import jax.numpy as jnp

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20

    jax.config.update("jax_platforms", "cpu")
    program = jax.jit(lambda x: jnp.full((50 << 20,), x))  # 200 MiB
    kept = program(jnp.ones(())).block_until_ready()
    program(jnp.zeros(())).block_until_ready()
    before = resident()
    jax.monitoring.record_event_duration_secs("/jax/core/compile/backend_compile_duration", 0.01)
    between = resident()
    jax.monitoring.record_event_duration_secs("/jax/core/compile/backend_compile_duration", 1.0)
    print(before - between < 50, before - resident() > 150, kept[-1] == 1, program(jnp.ones(()))[-1] == 1)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc")
def test_free_blocks_go_back_when_a_large_program_was_compiled(run_python: Run) -> None:
    out, _ = script(run_python, FREE_AFTER_COMPILING, JAX_PLATFORMS="cpu")
    assert out.split() == ["True"] * 4
