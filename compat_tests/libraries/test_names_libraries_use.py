"""Names of inner modules that libraries call, and what they do there and here."""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import jaxtorch
from conftest import Run
from parity import parity_test


def module(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


def said(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


@parity_test
def test_helpers_of_primitives(torch: Any) -> Any:
    c = module(torch, "_prims_common")
    dims = [(3, (-1, 0)), (3, -1), (0, -1), (2, 5), (2, -3), (1, ())]
    types = (torch.bfloat16, torch.float16, torch.int32, torch.float64, torch.bool)
    found = [said(lambda r=r, d=d: c.canonicalize_dims(r, d)) for r, d in dims]
    found += [said(lambda: c.canonicalize_dim(0, 0, False)), said(lambda: c.canonicalize_dim(-1, 0))[0]]
    return [*found, [str(c.get_computation_dtype(t)) for t in types]]


@parity_test
def test_a_set_that_keeps_its_order(torch: Any) -> Any:
    ordered = module(torch, "utils._ordered_set").OrderedSet
    a, b = ordered([3, 1, 2, 3]), ordered([2, 5])
    found = [list(x) for x in (a | b, a & b, a - b, a ^ b, a.union(b, [9]), a.difference([1]), a.intersection(b, [2]))]
    found += [
        list(a.symmetric_difference(b)),
        a == {1, 2, 3},
        a == ordered([1, 2, 3]),
        1 in a,
        len(a),
        repr(a),
        repr(ordered()),
    ]
    found += [a.issubset([1, 2, 3, 4]), a.issuperset([1]), a <= b, a.isdisjoint([7]), said(lambda: hash(a))[0]]
    twin = a.copy()
    twin.update([8], [0])
    twin.discard(3)
    twin.add(1)
    found += [
        list(twin),
        twin.pop(),
        list(twin),
        list(a),
        said(lambda: twin.remove(77))[0],
        said(lambda: ordered().pop()),
    ]
    twin -= {2}
    twin.intersection_update([1, 0])
    return [*found, list(twin)]


@parity_test
def test_small_names(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    mixed = (x, {"a": [x.double(), 3, "s", x.int()]})
    nested = torch.nested.nested_tensor
    a, b = nested([torch.ones(2)]), nested([torch.ones(3)])
    dynamo = module(torch, "_dynamo.utils")
    with dynamo.disable_cache_limit():
        limits = [module(torch, "_dynamo.config").recompile_limit]
    limits.append(module(torch, "_dynamo.config").recompile_limit)

    class Made:
        pass

    states = [
        said(lambda s=s: vars(torch._utils._set_obj_state(Made(), s)))
        for s in ({"a": 1}, ({"a": 1}, {"b": 2}), (None, None))
    ]
    threads = torch.autograd
    before = threads.is_multithreading_enabled()
    with threads.set_multithreading_enabled(False):
        inside = threads.is_multithreading_enabled()
    return [
        torch.amp.autocast_mode._cast(mixed, "cpu", torch.bfloat16), limits, dynamo.counters["a"]["b"],
        said(lambda: a.is_same_size(nested([torch.ones(2)]))), a.is_same_size(b), said(lambda: a.is_same_size(torch.ones(1, 2))),
        [(t.name, int(t)) for t in torch.onnx.TrainingMode.__members__.values()], states,
        list(torch.onnx.OperatorExportTypes.__members__), module(torch, "fx.experimental.symbolic_shapes").has_free_symbols(3),
        before, inside, threads.is_multithreading_enabled(), torch.autograd.kineto_available(), torch.ops.prim.layout(x),
        torch.ops.prim.layout(x.to_sparse()), torch.ops.prims.convert_element_type(x, torch.int32),
        torch.ops.higher_order.cond(True, lambda v: v + 1, lambda v: v - 1, (x,)), said(lambda: torch.cuda.comm.nothing)[0],
        module(torch, "distributed.tensor.placement_types").Shard.local_shard_size_and_offset(7, 4, 3),
        [module(torch, "distributed.tensor.placement_types").Shard.local_shard_size_and_offset(3, 5, r) for r in range(5)],
        torch.xpu.get_rng_state_all(), torch.xpu.max_memory_allocated(), said(torch.xpu.get_device_name),
        module(torch, "utils._import_utils")._check_module_exists("no_such_module"),
    ]  # fmt: skip


@parity_test
def test_operations_beneath_softmax(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3).mul(0.3)
    return [
        torch._softmax(x, 1, False), torch._log_softmax(x, -1, False),
        torch._softmax_backward_data(x, x.softmax(1), 1, torch.float32),
        torch._log_softmax_backward_data(x, x.log_softmax(1), 1, torch.float32),
    ]  # fmt: skip


@parity_test
def test_samples_of_dirichlet(torch: Any) -> Any:
    torch.manual_seed(0)
    concentration = torch.tensor([[1.0, 2.0, 0.5], [3.0, 4.0, 0.1]])
    generator = torch.Generator().manual_seed(3)
    return (
        torch._sample_dirichlet(concentration),
        torch.rand(2),
        torch._sample_dirichlet(concentration, generator=generator),
    )


@parity_test
def test_products_of_scaled_matrices(torch: Any) -> Any:
    F = torch.nn.functional
    a = torch.arange(256.0).reshape(16, 16).sub(100).div(50).to(torch.float8_e4m3fn)
    one, rows = torch.tensor(0.5), torch.arange(16.0).reshape(16, 1) / 8 + 1
    whole, row = F.ScalingType.TensorWise, F.ScalingType.RowWise
    return [
        F.scaled_mm(a, a.t(), one, whole, one, whole),
        F.scaled_mm(a, a.t(), [one], [whole], [one], [whole], output_dtype=torch.float32),
        F.scaled_mm(a, a.t(), rows, row, rows.t(), row),
    ]  # fmt: skip


@parity_test
def test_regions_of_the_profiler(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.profiler.profile() as measured:
            handle = torch.ops.profiler._record_function_enter("mine")
            done = torch.ops.profiler._record_function_exit(handle)
            torch.ops.profiler._record_function_exit(torch.ops.profiler._record_function_enter_new("other"))
    return done, handle.shape, handle.dtype, [e.key for e in measured.key_averages() if e.key == "mine"]


def test_traces_of_both_profilers(tmp_path: Path):
    for i, profiler in enumerate((jaxtorch.profiler.profile, jaxtorch.autograd.profiler.profile)):
        with profiler() as measured, jaxtorch.autograd.profiler.record_function("mine"):
            pass
        measured.export_chrome_trace(str(tmp_path / f"{i}.json"))
        events = json.loads((tmp_path / f"{i}.json").read_text())["traceEvents"]
        assert "mine" in [e["name"] for e in events]


# -- what loaders of other packages borrow from utils.data


@parity_test
def test_parts_of_loaders(torch: Any) -> Any:
    data, parts = module(torch, "utils.data"), module(torch, "utils.data._utils")
    kind, worker = data._DatasetKind, parts.worker
    fetcher = kind.create_fetcher(kind.Map, [torch.ones(1), torch.zeros(1)], True, data.default_collate, False)
    return [
        fetcher.fetch([1, 0]), parts.MP_STATUS_CHECK_INTERVAL, parts.HAS_NUMPY, parts.python_exit_status,
        worker._ResumeIteration(), worker._ResumeIteration(4).seed, worker._IterableDatasetStopIteration(2).worker_id,
        worker.ManagerWatchdog().is_alive(), module(torch, "utils.data.dataloader")._get_distributed_settings(),
        type(parts.ExceptionWrapper).__name__, issubclass(parts.signal_handling.__class__, type(os)),
    ]  # fmt: skip


def test_a_thread_that_pins():
    from jaxtorch.utils.data._utils import ExceptionWrapper, pin_memory

    class Refuses:
        def pin_memory(self) -> Any:
            raise ValueError("no")

    given, out, done = queue.Queue(), queue.Queue(), threading.Event()
    thread = threading.Thread(target=pin_memory._pin_memory_loop, args=(given, out, 0, done, "cuda"), daemon=True)
    thread.start()
    for item in ((0, [1, "a"]), (1, Refuses()), (2, ExceptionWrapper((ValueError, ValueError("x"), None)))):
        given.put(item)
    found = [out.get(timeout=30) for _ in range(3)]
    done.set()
    assert found[0] == (0, [1, "a"]) and found[2][0] == 2
    with pytest.raises(ValueError, match="Caught ValueError in pin memory thread for device 0"):
        found[1][1].reraise()


@pytest.mark.parametrize(
    "how, text", [("import sys; sys.exit(3)", "exit code 3"), (None, "killed by signal"), ("", None)]
)
def test_workers_that_die_are_told(how: str | None, text: str | None):
    from jaxtorch.utils.data._utils import signal_handling

    process = subprocess.Popen([sys.executable, "-c", how if how is not None else "import time; time.sleep(60)"])
    signal_handling._set_worker_pids(7, (process.pid,))
    try:
        if how is None:
            process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if text is None:
            signal_handling._error_if_any_worker_fails()
        else:
            with pytest.raises(RuntimeError, match=f"DataLoader worker .pid {process.pid}.*{text}"):
                signal_handling._error_if_any_worker_fails()
            signal_handling._error_if_any_worker_fails()  # once
    finally:
        signal_handling._remove_worker_pids(7)
        process.wait()


def test_modules_beside_torch(run_python: Run):
    text = "import functorch.experimental as e, torch; print(e.jacfwd(torch.sin)(torch.zeros(1)).tolist(), e.functionalize)"
    assert run_python("-W", "ignore", "-m", "jaxtorch", "-c", text).stdout.startswith("[[1.0]]")


# -- masked tensors


@parity_test
def test_what_is_done_to_masked_tensors(torch: Any) -> Any:
    import copy
    import pickle

    masked = module(torch, "masked").masked_tensor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = masked(torch.arange(4.0), torch.tensor([True, False, True, False]), requires_grad=True)
        n = m.detach()
        x, y = torch.zeros(4), torch.zeros(4)
        x[...] = n
        y[:2] = n[:2]
        n[0] = 9.0
        n[1:3] = n[0:2]
        found = [x, y, repr(n), n._masked_data, n._masked_mask, said(lambda: n.numpy()), said(lambda: n.tolist())]
        found += [
            repr(copy.deepcopy(m)),
            copy.deepcopy(m).requires_grad,
            repr(copy.copy(n)),
            repr(pickle.loads(pickle.dumps(n))),
        ]
        found += [said(lambda: n.__array__()), repr(n.data), said(lambda: torch.zeros(2).__setitem__(0, n))[0]]
    return found


@parity_test
def test_names_around_compiled_functions(torch: Any) -> Any:
    c = torch.compiler
    annotate = module(torch, "fx.annotate").annotate
    traced = torch.fx.symbolic_trace(lambda x: annotate(x + 1, torch.Tensor))
    return [
        c.nested_compile_region(lambda v: v + 1)(2), c.set_enable_guard_collectives(True), c.set_enable_guard_collectives(False),
        c.save_cache_artifacts(), traced.code, annotate(3, int),
        module(torch, "utils.data._utils.collate").default_collate_err_msg_format,
    ]  # fmt: skip
