"""Names of `torch._C`, `torch.cuda.nccl` and `torch.utils.collect_env` that libraries touch."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

import jaxtorch
from parity import attempt, parity_test


@parity_test
def test_the_node_that_runs(torch: Any) -> Any:
    current, seen = torch._C._current_autograd_node, []

    def note(where: str) -> Any:
        def hook(*args: Any) -> None:
            seen.append((where, type(current()).__name__, current() is nodes.get(where)))

        return hook

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(("forward", current()))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            note("function")()
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Twice.apply(x)
    z = y * 3
    nodes = {"tensor": z.grad_fn, "node": z.grad_fn, "before": z.grad_fn, "function": y.grad_fn}
    z.register_hook(note("tensor"))
    z.grad_fn.register_hook(note("node"))
    z.grad_fn.register_prehook(note("before"))
    x.register_hook(note("leaf"))
    z.sum().backward()
    return seen, current()


@pytest.mark.parametrize("to_a_path", [False, True])
def test_archives_are_read_on_both_sides(to_a_path: bool, tmp_path: Path) -> None:
    import torch as reference

    for writing in (reference, jaxtorch):
        target: Any = str(tmp_path / f"{writing.__name__}.pt") if to_a_path else io.BytesIO()
        writer = writing._C.PyTorchFileWriter(target)
        writer.write_record("part/a", b"abcd", 3)
        writer.write_record("text", "hello", 5)
        writer.write_record("storage", writing.arange(3.0).untyped_storage(), 12)
        assert writer.get_all_written_records() == {"part/a", "text", "storage"}
        assert writer.archive_name() == (writing.__name__ if to_a_path else "archive")
        writer.write_end_of_file()
        assert attempt(lambda: writer.write_record("more", b"a", 1)).kind == "RuntimeError"  # noqa: B023
        for reading in (reference, jaxtorch):
            if not to_a_path:
                target.seek(0)
            reader = reading._C.PyTorchFileReader(target)
            records = ["part/a", "text", "storage", "version", "byteorder", ".data/serialization_id"]
            assert reader.get_all_records() == records and reader.has_record("text") and not reader.has_record("b")
            assert reader.get_record("part/a") == b"abc" and reader.get_record("text") == b"hello"
            assert reader.get_record("version") == b"3\n" and reader.serialization_id() == writer.serialization_id()
            begin = reader.get_record_offset("storage")
            content = Path(target).read_bytes() if to_a_path else target.getvalue()
            assert begin % 64 == 0 and content[begin : begin + 12] == bytes(reader.get_record("storage"))
            assert attempt(lambda: reader.get_record("b")).kind == "RuntimeError"  # noqa: B023
        assert all(i.compress_type == zipfile.ZIP_STORED for i in zipfile.ZipFile(target).infolist())
    assert attempt(lambda: jaxtorch._C.PyTorchFileReader(io.BytesIO(b"nothing"))).kind == "RuntimeError"


def test_there_is_no_nccl() -> None:
    from jaxtorch.cuda import nccl

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert nccl.is_available([jaxtorch.ones(1)]) is False
    assert "not compiled with NCCL" in str(caught[0].message)
    with pytest.raises(NotImplementedError, match=r"torch\.cuda\.nccl\.all_reduce"):
        nccl.all_reduce([jaxtorch.ones(1)])  # pyright: ignore[reportAttributeAccessIssue]


def test_the_report_of_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    from torch.utils import collect_env as theirs

    from jaxtorch.utils import collect_env

    info, report = collect_env.get_env_info(), collect_env.get_pretty_env_info()
    assert info._fields == theirs.SystemEnv._fields
    for line in ("PyTorch version: 2.13.0", "Is CUDA available: (False|True)", "Python version: 3", r"\[pip3\] jax=="):
        assert re.search(line, report)
    collect_env.main()
    assert capsys.readouterr().out == report + "\n"


def test_a_class_that_wants_to_be_asked_below_autograd_is_refused() -> None:
    class Asked(jaxtorch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    class NotAsked(Asked):
        __torch_dispatch__ = jaxtorch._C._disabled_torch_dispatch_impl

    x = jaxtorch.ones(2)
    for _ in range(2):
        for make in (x.as_subclass, lambda cls: cls(2), lambda cls: jaxtorch.Tensor._make_subclass(cls, x)):
            with pytest.raises(NotImplementedError, match=r"Asked\.__torch_dispatch__"):
                make(Asked)
    assert type(x.as_subclass(NotAsked) + 1) is NotAsked
    with pytest.raises(NotImplementedError, match="_make_wrapper_subclass"):
        jaxtorch.Tensor._make_wrapper_subclass(Asked, (2,), dtype=jaxtorch.float32)
    from jaxtorch.utils._python_dispatch import return_and_correct_aliasing

    with pytest.raises(NotImplementedError, match="return_and_correct_aliasing"):
        return_and_correct_aliasing(None, (), {}, x)
