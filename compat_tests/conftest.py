"""Set-up shared by all tests: the CPU as the device, one thread a test process, fresh interpreters."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# PyTorch, the reference, runs on the CPU. JAX_PLATFORMS=cuda,cpu in the environment runs the suite on a GPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

ROOT = Path(__file__).parent.parent
KITS = ROOT / "compat_tests" / "kits"
TABLES = KITS / "tables"

Run = Callable[..., subprocess.CompletedProcess[str]]


SAMPLED = {
    "test_optim_db.py": 12, "test_distributions.py": 8,
    "test_ops.py": 12, "test_views.py": 4, "test_strides.py": 6, "test_random_streams.py": 2, "test_creation.py": 2,
    "test_construction.py": 2, "test_module_containers.py": 2, "test_module.py": 2, "test_random_ops.py": 2,
    "test_op_db.py": 60, "test_rnn.py": 6, "test_transformer.py": 3, "test_module_db.py": 20, "test_nn_utils.py": 3,
    "test_nn_rest.py": 3, "test_checkpoints.py": 2, "test_sparse.py": 8, "test_numpy_rules.py": 4,
    "test_overwritten_db.py": 20, "test_second_backward_db.py": 20, "test_native.py": 4, "test_programs.py": 2,
    "test_function_db.py": 12, "test_foreach_db.py": 80, "test_hop_db.py": 2,
    "test_taps.py": 6, "test_native_blocks.py": 6, "test_native_orders.py": 3, "test_new_shapes.py": 3, "test_small_code.py": 2,
    "test_many_runs.py": 3, "test_torchscript_files.py": 2, "test_torchscript_saving.py": 2,
    "test_training_events.py": 9, "test_compile.py": 3, "test_compile_guards.py": 3, "test_compile_changes.py": 3,
    "test_compile_fullgraph.py": 3, "test_warnings.py": 2,
}  # fmt: skip
"""Of each of these files, one test in so many runs unless `--whole` is given: the same ones every time."""

IN_IMMEDIATE_MODE = 8
"""In immediate mode, whose operations are the same, one test in so many of these runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run every test, also of the files that are sampled")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # `torch.compile` walks all objects of the process, which are few as long as few tests have run
    items.sort(key=lambda i: not i.path.name.startswith("test_compile"))
    # before another test has the public functions ask classes, after which each of these takes a process of its own
    items.sort(key=lambda i: "functions_as_written" not in i.fixturenames)
    if config.getoption("--whole") or config.getoption("keyword") or any("::" in a for a in config.args):
        return
    of_all = IN_IMMEDIATE_MODE if os.environ.get("JAXTORCH_EXECUTION") == "immediate" else 1
    left_out = [
        i for i in items if zlib.crc32(i.nodeid.split("/")[-1].encode()) % (of_all * SAMPLED.get(i.path.name, 1))
    ]
    config.hook.pytest_deselected(items=left_out)
    gone = set(map(id, left_out))
    items[:] = [i for i in items if id(i) not in gone]


def pytest_configure(config: pytest.Config) -> None:
    from quick_reference import seed_no_absent_devices

    seed_no_absent_devices()
    if "PYTEST_XDIST_WORKER" in os.environ:
        import torch

        torch.set_num_threads(1)


def pytest_report_header() -> str:
    return f"execution: {os.environ.get('JAXTORCH_EXECUTION', 'recorded')}, JAX on {os.environ['JAX_PLATFORMS']}"


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Errors that a test's programs have flagged but that it never waited for must not surface in the next test, and what one
    test compiles must not decide what the next does."""
    yield
    if "jaxtorch" in sys.modules:
        names = ("record.deferred_errors", "record.program", "host.tiering")
        failures, program, tiering = (sys.modules[f"jaxtorch._core.{name}"] for name in names)
        tiering.forget()
        with contextlib.suppress(Exception):  # a program that cannot run is the business of the test that made it
            program.flush_all()
        failures.forget()
    distributions = sys.modules.get("torch.distributions")
    if distributions is not None:  # PyTorch's compiler switches the validation of arguments off, for good
        distributions.Distribution.set_default_validate_args(True)


@pytest.fixture
def few_objects() -> Iterator[None]:
    """The garbage collector looks only at what the test makes: in a long run, walking all objects takes seconds."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """`run_python(*arguments)`: a fresh interpreter in an empty folder, with jaxtorch importable.

    Fails the test where the exit status is not `status`. `env` sets environment variables; None removes one. `stdin` is what it
    reads.
    """

    def run(
        *arguments: str, status: int = 0, env: dict[str, str | None] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        variables: dict[str, str | None] = {**os.environ, "PYTHONPATH": path, **(env or {})}
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={name: value for name, value in variables.items() if value is not None},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert result.returncode == status, result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def functions_as_written(request: pytest.FixtureRequest) -> None:
    """For tests of signatures and source lines: where another test has had the public functions ask classes with
    `__torch_function__`, which exchanges their code for good, the test runs in a process of its own."""
    if sys.modules["jaxtorch._core.dispatch.torch_function"]._active:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", request.node.nodeid]
        ran = subprocess.run(command, cwd=request.config.rootpath, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout[-4000:]
        pytest.skip("ran, and passed, in a process of its own")
