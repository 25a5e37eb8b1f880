"""What jaxtorch lacks: it can be imported and named, and says its name at use. Modules of settings refuse what PyTorch's refuse."""

from __future__ import annotations

import contextlib
import enum
import importlib
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from conftest import TABLES, Run
from jaxtorch._private_names import absent_names
from jaxtorch._private_names.absent import AbsentValue
from parity import parity_test

LIBRARIES = (TABLES / "missing_names.txt").read_text(encoding="utf-8").split()
"""Names that installed libraries and programs were seen to read, and that were not there once."""


def at(path: str) -> Any:
    """What is called so, imported where it is a module."""
    found: Any = jaxtorch
    parts = path.split(".")
    for i, name in enumerate(parts[1:], 2):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module("jax" + ".".join(parts[:i]))
        found = getattr(found, name)
    return found


def entry(path: str) -> Any:
    """The kind and content that the table has for a name; None where jaxtorch has it."""
    module, _, name = path.rpartition(".")
    return absent_names.entries(module.replace("torch.ops.", "@")).get(name)


@pytest.mark.parametrize("path", LIBRARIES)
def test_a_name_that_libraries_read(path: str):
    try:
        found = at(path)
    except NotImplementedError as error:  # of what is absent itself
        assert path in str(error)
        return
    if isinstance(found, (types.ModuleType, enum.EnumMeta)) or entry(path) is None:
        return
    kind, _ = entry(path)
    if kind in ("setting", "value", "exception"):
        assert not isinstance(found, AbsentValue)
        return
    assert kind in ("class", "function", "object", "operator")
    try:
        found() if kind != "object" else found[0]
    except NotImplementedError as error:
        assert path.rpartition(".")[2] in str(error)
    except TypeError as error:  # an operation of torch.ops.aten, which wants arguments
        assert "argument" in str(error) and kind == "function"
    else:
        pytest.fail("neither there nor absent")


PLACES = """
torch torch.nn torch.nn.functional torch.nn.utils torch.linalg torch.fft torch.special torch.optim torch.optim.lr_scheduler
torch.utils torch.utils.data torch.utils.checkpoint torch.autograd torch.autograd.graph torch.autograd.profiler torch.profiler
torch.cuda torch.cpu torch.mps torch.xpu torch.mtia torch.accelerator torch.backends torch.backends.cuda torch.testing torch.fx
torch.fx.graph torch.fx.node torch.jit torch.func torch.distributed torch.distributed.checkpoint torch.distributed.fsdp
torch.distributed.tensor torch.ao.quantization torch.sparse torch.nested torch.masked torch.compiler torch.export torch.onnx
torch.library torch.overrides torch.serialization torch.storage torch.types torch.return_types torch.random torch.hub torch.package
torch.multiprocessing torch.distributions torch.futures torch.monitor torch.signal.windows torch.amp torch.quasirandom""".split()


@pytest.mark.parametrize("place", PLACES)
def test_every_public_name_is_there_or_says_that_it_is_not(place: str):
    theirs = importlib.import_module(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are deprecated
        names = [n for n in getattr(theirs, "__all__", vars(theirs)) if n[0] != "_" and hasattr(theirs, n)]
        if not hasattr(theirs, "__all__"):  # what a module has imported for itself is not its own
            own = lambda v: str(getattr(v, "__module__", "")) == place and not isinstance(v, types.ModuleType)  # noqa: E731
            names = [n for n in names if own(getattr(theirs, n))]
        ours = importlib.import_module("jax" + place)
        assert not [n for n in names if not hasattr(ours, n)]


def test_the_table_names_what_pytorch_has():
    lines = [m for m in absent_names._lines() if m[0] != "@"]
    assert len(lines) > 500
    for module in ("torch.utils.data.graph_settings", "torch.cuda", "torch._inductor.ir", "torch.ao.ns.fx.utils"):
        theirs = importlib.import_module(module)
        names = [n for n, (kind, _) in absent_names.entries(module).items() if kind != "setting"]
        assert names and not [n for n in names if not hasattr(theirs, n)]


INSTALLED = """
import sys
import torch
import torch.utils.data.graph_settings
import torch.distributed.tensor.parallel.style as style
from torch._inductor.ir import ComputedBuffer, IRNode
from torch.ao.ns.fx.utils import get_node_first_input_and_output_type as get
from torch._C import _profiler
assert torch.utils.data.graph_settings is sys.modules["torch.utils.data.graph_settings"]

class Mine(IRNode):  # libraries derive from them, and annotate with them
    buffer: ComputedBuffer | None = None
    def method(self, x: "style.ParallelStyle | int") -> list[ComputedBuffer]: ...

assert not isinstance(3, Mine)
try:
    raise KeyError
except (torch.FatalError, KeyError):
    pass
for use in (Mine, get, lambda: torch.ops.onednn.qlinear_pointwise.default(1), lambda: torch._C._dispatch_dump("aten::add")):
    try:
        use()
    except NotImplementedError as error:
        print(error)
for wrong in ("torch.utils.data.no_such_module", "torch._inductor.no_such_module"):
    try:
        __import__(wrong)
    except ModuleNotFoundError as error:
        print(error)
try:
    from torch._inductor.ir import NoSuchClass
except ImportError as error:
    print(error.name)
print(hasattr(torch.cuda, "no_such_name"), hasattr(torch._C, "no_such_name"))
"""


def test_in_a_program_that_imports_torch(run_python: Run, tmp_path: Path):
    (tmp_path / "program.py").write_text(INSTALLED)
    out = run_python("-W", "ignore", "-m", "jaxtorch", "program.py").stdout.splitlines()
    assert [line.split(":")[0] for line in out[:4]] == [
        "torch._inductor.ir.IRNode",
        "torch.ao.ns.fx.utils.get_node_first_input_and_output_type",
        "torch.ops.onednn.qlinear_pointwise",
        "torch._C._dispatch_dump",
    ]
    assert out[4:6] == [
        "No module named 'torch.utils.data.no_such_module'",
        "No module named 'torch._inductor.no_such_module'",
    ]
    assert out[7:] == ["False False"]


def test_packages_that_have_moved_are_found_under_both_names(run_python: Run):
    text = """
        import torch, torch.nn.intrinsic.qat.modules.conv_fused as old, torch.quantization.quantize_fx
        import torch.ao.nn.intrinsic.qat.modules.conv_fused as new
        from torch.nn.quantized.dynamic.modules.rnn import LSTM
        from torch.quantization.fx.convert import convert
        print(old.ConvBn2d is new.ConvBn2d, LSTM is torch.ao.nn.quantized.dynamic.LSTM, torch.nn.quantized is torch.ao.nn.quantized)
        try:
            import torch.nn.quantized.no_such_module
        except ModuleNotFoundError as error:
            print(error)
    """
    out = run_python("-W", "ignore", "-m", "jaxtorch", "-c", textwrap.dedent(text)).stdout.splitlines()
    assert out == ["True True True", "No module named 'torch.nn.quantized.no_such_module'"]


# -- settings --


def said(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


@parity_test
def test_modules_of_settings(torch: Any) -> Any:
    c = importlib.import_module(f"{torch.__name__}._inductor.config")
    d = importlib.import_module(f"{torch.__name__}._dynamo.config")
    seen: list[Any] = [
        said(lambda: c.nonsense), said(lambda: setattr(c, "nonsense", 1)), said(lambda: c.triton.nonsense),
        said(lambda: setattr(c.triton, "nonsense", 1)), said(lambda: c.patch(nonsense=1).__enter__()),
        said(lambda: c.patch("a", 1, 2))[0], said(lambda: c.patch("triton.cudagraphs")), hasattr(d, "nonsense"),
        said(lambda: d._private), c.triton.cudagraphs, c.cpp.enable_concat_linear, c.post_grad_custom_pre_pass,
    ]  # fmt: skip
    with c.patch({"triton.cudagraphs": True, "max_autotune": True}):
        seen += [
            c.triton.cudagraphs,
            c.max_autotune,
            [line for line in c.codegen_config().splitlines() if "graphs" in line or "max" in line],
        ]
        with c.patch("max_autotune", False):
            seen.append(c.max_autotune)

    @c.patch(max_autotune=True)
    def inside() -> Any:
        return c.max_autotune

    seen += [inside(), inside(), c.max_autotune, c.triton.cudagraphs, c._is_default("max_autotune")]
    before = c.get_config_copy()
    c.max_autotune = True
    seen += [c._is_default("max_autotune"), c.get_hash() == c.get_hash(), c.get_type("max_autotune")]
    c.load_config(before)
    seen += [c.max_autotune, d.recompile_limit, d.cache_size_limit]
    with d.patch(cache_size_limit=3):  # another name of the same
        seen += [d.recompile_limit]
    undo = d._make_closure_patcher(recompile_limit=9)()
    seen.append(d.cache_size_limit)
    undo()
    return [*seen, d.recompile_limit, sorted(n for n in d.save_config_portable() if n.startswith("guard"))]


@parity_test
def test_a_group_of_settings_cannot_be_replaced(torch: Any) -> Any:
    c = importlib.import_module(f"{torch.__name__}._inductor.config")
    return said(lambda: setattr(c, "triton", 1)), said(lambda: delattr(c, "nonsense"))


PRECISION = """
import json, sys, warnings
warnings.simplefilter("ignore")
torch = __import__(sys.argv[1])
B = torch.backends

def said(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__

def state():
    places = [B, B.cudnn, B.cuda.matmul, B.cudnn.conv, B.cudnn.rnn, B.mkldnn, B.mkldnn.matmul, B.mkldnn.conv, B.mkldnn.rnn]
    older = [lambda: B.cuda.matmul.allow_tf32, lambda: B.cudnn.allow_tf32, torch.get_float32_matmul_precision]
    return [p.fp32_precision for p in places] + [said(o) for o in older]

found = [state()]
for place in ("B", "B.cudnn", "B.mkldnn", "B.cuda.matmul", "B.cudnn.conv", "B.cudnn.rnn", "B.mkldnn.matmul", "B.mkldnn.conv"):
    for value in ("'tf32'", "'ieee'", "'bf16'", "'nonsense'", "3", "'none'"):
        found.append([place, value, said(lambda: exec(f"{place}.fp32_precision = {value}")), state()])
for line in ("torch.set_float32_matmul_precision('high')", "B.mkldnn.matmul.fp32_precision = 'bf16'",
             "B.mkldnn.matmul.fp32_precision = 'ieee'", "torch.set_float32_matmul_precision('medium')",
             "B.cuda.matmul.allow_tf32 = False", "B.cuda.matmul.fp32_precision = 'tf32'", "B.cudnn.allow_tf32 = False",
             "B.cudnn.conv.fp32_precision = 'tf32'", "B.cudnn.allow_tf32 = True", "B.cuda.matmul.allow_tf32 = 3",
             "B.cuda.matmul.nonsense = 1", "B.cudnn.conv.nonsense = 1", "B.mkldnn.matmul.nonsense", "B.cudnn.enabled = 3",
             "B.cuda.matmul.allow_bf16_reduced_precision_reduction = 'x'", "B.quantized.engine = 'nonsense'",
             "B.cuda.matmul.allow_fp16_reduced_precision_reduction = (False, True)", "B.mkldnn.deterministic = 3",
             "B.opt_einsum.set_flags(True, 'nonsense')", "B.cudnn.flags(fp32_precision='nonsense').__enter__()"):
    found.append([line, said(lambda: exec(line)), state()])
with B.cudnn.flags(enabled=False, fp32_precision="ieee"):
    found.append([B.cudnn.enabled, state()])
found.append([B.cudnn.enabled, state(), B.flags_frozen()])
B.disable_global_flags()
for line in ("B.cudnn.enabled = False", "B.mkldnn.enabled = False", "B.fp32_precision = 'ieee'", "B.cuda.matmul.allow_tf32 = True"):
    found.append([line, said(lambda: exec(line))])
with B.__allow_nonbracketed_mutation():
    B.cudnn.benchmark = True
with B.cudnn.flags(benchmark=False):
    found.append(B.cudnn.benchmark)
print(json.dumps([found, B.cudnn.benchmark, B.flags_frozen()]))
"""


def test_precisions_and_switches_of_backends(run_python: Run):
    """Run by itself on both sides: they are settings of the process, and can be frozen for good."""
    ours, theirs = (run_python("-c", PRECISION, name).stdout for name in ("jaxtorch", "torch"))
    assert ours == theirs and "nonsense" in theirs


def test_precisions_reach_the_engine():
    from jaxtorch._core.compile import context

    B = jaxtorch.backends
    try:
        B.fp32_precision = "tf32"
        assert context._Precision.name == "high" and context._Precision.convolutions_in_tf32
        B.cudnn.conv.fp32_precision = "ieee"
        assert not context._Precision.convolutions_in_tf32
        B.cuda.matmul.fp32_precision = "ieee"
        assert context._Precision.name == "highest"
    finally:
        B.fp32_precision = "none"
        B.cuda.matmul.fp32_precision = "none"
        B.cudnn.conv.fp32_precision = "tf32"


@parity_test
def test_what_the_processor_can_do(torch: Any) -> Any:
    names = set(pytorch.cpu.get_capabilities()) & {
        "architecture", "num_logical_cores", "avx", "avx2", "fma3", "sse4_2", "bmi2", "f16c", "avx512_f", "avx512_vnni", "amx_tile",
        "l1d_cache_size", "l2_cache_size",
    }  # fmt: skip
    found = torch.cpu.get_capabilities()
    asked = (torch.cpu._is_avx2_supported, torch.cpu._is_avx512_supported, torch.cpu._is_vnni_supported)
    return [(n, found[n]) for n in sorted(names)], [f() for f in asked]


def test_names_of_types_stand_in_annotations() -> None:
    """What PyTorch has as an alias of a type can be part of another type, made while the program runs."""
    utils = importlib.import_module("jaxtorch.ao.quantization.utils")
    for kind in (jaxtorch.ao.quantization.QConfigAny, utils.Pattern, utils.NodePattern):
        assert (kind | None) == (None | kind) and dict[str, kind] and (kind | int) != (kind | str)


@parity_test
def test_types_without_a_sign(torch: Any) -> Any:
    found = []
    for name in "qint8 quint8 qint32 quint4x2 quint2x4 bits8 bits1x8 float8_e8m0fnu float8_e5m2 bool uint8 int8 complex64".split():
        try:
            found.append((name, getattr(torch, name).is_signed))
        except RuntimeError as error:
            found.append((name, str(error)))
    events = importlib.import_module(f"{torch.__name__}.autograd.profiler_util").EventList()
    return found, torch.ones(1).to(torch.float8_e8m0fnu).is_signed(), events.table(), len(events)


@parity_test
def test_switches_of_mkldnn(torch: Any) -> Any:
    backend, seen = torch.backends.mkldnn, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in ({"enabled": False}, {"enabled": True, "deterministic": True}, {"allow_tf32": False}, {}):
            with backend.flags(**given):
                seen.append((backend.enabled, backend.deterministic, backend.allow_tf32))
            seen.append((backend.enabled, backend.deterministic, backend.allow_tf32))
        for value in (None, 1):
            try:
                with torch.backends.__allow_nonbracketed_mutation():
                    backend.allow_tf32 = value
            except RuntimeError as error:
                seen.append(str(error))
    return seen


@parity_test
def test_private_products_of_groups(torch: Any) -> Any:
    x, y = (torch.arange(float(n)).bfloat16() / 64 for n in (64, 128))
    offs = torch.tensor([1, 4], dtype=torch.int32)
    first = torch._grouped_mm(x.view(2, 4, 8), y.view(2, 8, 8))
    return (
        first,
        torch._grouped_mm(x[:32].view(4, 8), y.view(2, 8, 8), offs=offs).shape,
        str(torch.ops.aten._grouped_mm),
    )


@parity_test
def test_types_for_scripted_functions(torch: Any) -> Any:
    return torch.jit.annotations.List[int], torch.jit.annotations.Dict[str, int], torch.jit.annotations.Optional[int]
