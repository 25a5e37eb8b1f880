"""What `docs/differences.md` says is so: each of its points is shown by code in `differences.txt`, or names the test that holds it.

In `differences.txt` the beginning of a point stands as a heading; below it is code, and what PyTorch and jaxtorch make of it: the
value of the last expression, or the beginning of the error. Where there is no line of PyTorch's the code is not run there, and `...`
is any outcome that is not the other's. A point whose code has the same outcome on both sides is no difference any more: it must go
from the document.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from conftest import ROOT, TABLES, Run

HELD = {
    "The last digits of a result": "test_cold.py::test_a_kernel_that_keeps_running_is_compiled "
    "test_cold.py::test_a_program_runs_twice_in_the_same_way",
    "On accelerators random numbers": "test_accelerators.py::test_accelerator",
    "An error that depends on values": "test_value_errors.py::test_it_is_caught_at_the_call test_value_errors.py::test_scripts "
    "test_value_errors.py::test_a_training_step_is_one_program "
    "test_checks.py::test_a_script_that_reads_nothing_still_tells_of_its_error",
    "Ctrl-C takes effect": "test_interrupts.py::test_a_model_survives_ctrl_c "
    "test_interrupts.py::test_ctrl_c_pressed_twice_does_not_wait",
    "`linearize` takes functions": "test_transform_options.py::test_composition test_fuzz_transforms.py::test_composition",
    "A loss that depends on the phase": "test_fuzz_transforms.py::test_composition",
    "A function is begun a second time": "test_func_recorded.py::test_functions_run_once",
    "Optimizers in half precision": "test_optim_halves.py::test_rounding",
    "A whole call is captured": "test_compile.py::test_replaying_compiles_nothing_and_runs_no_python",
    "`fullgraph=True` refuses": "test_compile_fullgraph.py::test_what_is_refused_has_written_nothing "
    "test_compile_fullgraph.py::test_what_may_be_read_is_read",
    '`backend="eager"` leaves': "test_compile.py::test_backends_without_aot_autograd_allow_double_backward",
    "`torch.load` of a damaged file": "test_damaged_files.py::test_damaged_archives_are_refused",
    "`torch.jit.load` runs": "test_torchscript_files.py::test_source_cannot_leave_its_subset",
    "`torch.jit.save` writes": "test_torchscript_saving.py::test_what_cannot_be_written_is_named",
    "What goes through a queue": "test_differences.py::test_processes",
    "`torch.utils.tensorboard` is": "test_tensorboard.py::test_what_is_missing_is_named",
    "`import jaxtorch` gives": "test_engine_process.py::test_the_cache_can_be_switched_off",
    "`torch.distributed` is": "test_distributed.py::test_processes_print_what_they_print_on_pytorch",
    "Processes: sharded models": "test_differences.py::test_processes",
    "`send` does not wait": "test_differences.py::test_processes",
    "A view with gaps": "test_distributed.py::test_what_pytorch_does_otherwise",
}
"""Points that other tests hold, named with a space between them."""


Row = tuple[str, str | None, str]


def blocks() -> dict[str, list[Row]]:
    """The code below each heading with PyTorch's outcome and jaxtorch's."""
    found: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for block in (TABLES / "differences.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        if block.startswith("# "):
            rows = found[block[2:]] = []
            continue
        parts = re.fullmatch(r"(.*?)\n(?:PyTorch: ([^\n]*)\n)?jaxtorch: (.*)", block, re.DOTALL)
        assert parts is not None, block
        rows.append((parts[1], parts[2], parts[3]))
    return found


BLOCKS = blocks()


def points() -> list[str]:
    """The points of the document."""
    text = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    return [" ".join(p.split()) for p in re.findall(r"^- (.*?)(?=^- |^$|\Z)", text, re.DOTALL | re.MULTILINE)]


def outcome(torch: Any, code: str) -> str:
    """The value of the last expression as text, or the name of the error and the first line of its message."""
    *body, last = ast.parse(code).body
    names = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "lib": lambda name: importlib.import_module(f"{torch.__name__}.{name}"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(ast.Module(body, []), "differences.txt", "exec"), names)
            if not isinstance(last, ast.Expr):
                exec(compile(ast.Module([last], []), "differences.txt", "exec"), names)
                return "None"
            return str(eval(compile(ast.Expression(last.value), "differences.txt", "eval"), names))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def is_as_said(found: str, said: str) -> bool:
    """Of an error the beginning is said."""
    return said in ("...", found) or (re.match(r"\w*Error: ", said) is not None and found.startswith(said))


ONE_BY_ONE = os.environ.get("JAXTORCH_EXECUTION") == "immediate"
IN_PROGRAMS = pytest.mark.skipif(ONE_BY_ONE, reason="there are no programs of several operations")


@pytest.mark.parametrize(
    ("code", "theirs", "ours"),
    [
        pytest.param(*row, id=f"{title} {i}", marks=[IN_PROGRAMS] if title.startswith("XLA's programs") else [])
        for title, rows in BLOCKS.items()
        for i, row in enumerate(rows)
    ],
)
def test_code_comes_out_differently(code: str, theirs: str | None, ours: str) -> None:
    found = outcome(jaxtorch, code)
    assert is_as_said(found, ours)
    if theirs is not None:
        reference = outcome(pytorch, code)
        assert is_as_said(reference, theirs)
        assert reference != found


@pytest.mark.parametrize("point", points(), ids=lambda point: point[:40])
def test_each_point_is_shown_or_held(point: str) -> None:
    shown = [rows for title, rows in BLOCKS.items() if point.startswith(title) and rows]
    held = [name for title, name in HELD.items() if point.startswith(title)]
    assert len(shown) + len(held) >= 1
    for name in " ".join(held).split():
        file, _, test = name.partition("::")
        assert f"def {test}(" in next((ROOT / "compat_tests").rglob(file)).read_text(encoding="utf-8")


def test_nothing_is_shown_or_held_that_is_not_said() -> None:
    assert [title for title in [*BLOCKS, *HELD] if sum(p.startswith(title) for p in points()) != 1] == []


def test_processes(run_python: Run, tmp_path: Path) -> None:
    """What processes send each other, what they reduce, and which memory they share."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import socket
        import torch, torch.distributed as dist, torch.multiprocessing as mp
        from torch.distributed.algorithms.join import Join
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
        from torch.distributed.optim import ZeroRedundancyOptimizer

        def main(rank, port, shared, plain):
            dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
            dist.send(torch.ones(1 << 20) * rank, 1 - rank)  # both wait with gloo
            received = torch.zeros(1 << 20)
            dist.recv(received, 1 - rank)
            total = torch.ones(2)
            dist.reduce(total, 0)
            limits = torch.tensor([torch.nan, 1.0] if rank else [1.0, torch.nan])
            least, most = limits.clone(), limits.clone()
            dist.all_reduce(least, op=dist.ReduceOp.MIN)
            dist.all_reduce(most, op=dist.ReduceOp.MAX)
            model, options = torch.nn.Linear(1, 1), StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
            for missing in (
                lambda: Join([ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=1.0)]),
                lambda: get_model_state_dict(model, options=options),
                lambda: torch.nn.parallel.DistributedDataParallel(model, mixed_precision=object()),
            ):
                try:
                    missing()
                except NotImplementedError as error:
                    if rank:
                        print(str(error).partition(":")[0])
            if rank:
                print(received[0].item(), total.tolist(), least.tolist(), most.tolist())
                shared.fill_(5)
                plain.fill_(5)
            dist.destroy_process_group()

        if __name__ == "__main__":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            shared, plain = torch.zeros(1).share_memory_(), torch.zeros(1)
            mp.spawn(main, (port, shared, plain), nprocs=2)
            context = mp.get_context("fork")
            process = context.Process(target=lambda: (shared.add_(1), plain.add_(1)))
            process.start()
            process.join()
            queue = context.Queue()
            queue.put(plain)
            queue.get().fill_(9)
            print(shared.item(), plain.item())
        """)
    )
    said = run_python("-m", "jaxtorch", str(program), env={"JAXTORCH_LOG": None}).stdout
    missing, _, said = said.rpartition("DistributedDataParallel\n")
    assert missing.split() == ["Join", "StateDictOptions(broadcast_from_rank0=True)"]
    assert said == "0.0 [1.0, 1.0] [nan, nan] [nan, nan]\n6.0 0.0\n"
