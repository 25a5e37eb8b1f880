"""What PyTorch has and jaxtorch has not: one table of modules and names, and what stands for a name of it.

A library that imports such a name goes on, and the one program that uses it is told which name that is and why. The table,
`absent_names.txt`, is written by `scripts/absent_names.py`: for each module of PyTorch the classes, exceptions,
enumerations, functions, plain values and other objects that jaxtorch's module lacks. Whatever a module of jaxtorch
defines comes first. `_running/finder.py` has imports and attributes look here.
"""

from __future__ import annotations

import builtins
import enum
import functools
import importlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .absent import AbsentValue, absent_class, absent_function

_SHARDED = "jaxtorch has no sharded models; DistributedDataParallel averages gradients, and jax.sharding is for several devices"
_TENSORS = "jaxtorch has no distributed tensors; for several devices use jax.sharding"
_HOOKS = "DistributedDataParallel has the hooks of default_hooks"
_COLLECTIVES = "use the collectives of torch.distributed, or of torch.distributed.nn.functional"
_QUANTISATION = "jaxtorch quantises in eager mode, by prepare, convert and quantize_dynamic"

_REASONS = {
    "torch.ao": "of quantisation jaxtorch has the eager mode",
    "torch.ao.nn.intrinsic": "jaxtorch quantises what fuse_modules puts together",
    "torch.ao.nn.qat": "jaxtorch quantises no embeddings",
    "torch.ao.nn.quantizable": "jaxtorch quantises no such layer",
    "torch.ao.nn.quantized.dynamic": "jaxtorch has linear and recurrent layers only",
    "torch.ao.nn.quantized.functional": "jaxtorch has no such function of quantised tensors",
    "torch.ao.quantization": _QUANTISATION,
    "torch.quantization": _QUANTISATION,
    "torch.nn.quantized": "of quantisation jaxtorch has the eager mode",
    "torch._inductor": "XLA compiles, and jaxtorch has no code generator of its own",
    "torch._dynamo": "jaxtorch reads no bytecode",
    "torch._dynamo._trace_wrapped_higher_order_op": "nothing is captured, so there is nothing to transform",
    "torch._export": "jaxtorch exports no programs",
    "torch.export": "jaxtorch exports no programs of PyTorch; see jax.export",
    "torch.onnx": "jaxtorch exports no ONNX; use jax.export, or export the state_dict from PyTorch",
    "torch._C": "jaxtorch has no compiled core",
    "torch._C._functorch": "torch.func.vmap is jax.vmap here",
    "torch.distributed": "of torch.distributed jaxtorch has what the backend 'gloo' does with whole tensors",
    "torch.distributed.split_group": "new_group makes groups of some of the processes",
    "torch.distributed._composable.fsdp": _SHARDED,
    "torch.distributed.fsdp": _SHARDED,
    "torch.distributed._functional_collectives": _COLLECTIVES,
    "torch.distributed.utils": _COLLECTIVES,
    "torch.distributed.algorithms._checkpoint": "use torch.utils.checkpoint",
    "torch.distributed.algorithms.ddp_comm_hooks": _HOOKS,
    "torch.distributed.algorithms.model_averaging": _HOOKS,
    "torch.distributed.checkpoint": "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    "torch.distributed.launcher": "python -m jaxtorch -m torch.distributed.run starts processes",
    "torch.distributed.optim": "use ZeroRedundancyOptimizer, or any optimizer with DistributedDataParallel",
    "torch.distributed.pipelining": "jaxtorch has no pipelines of stages",
    "torch.distributed.rpc": "jaxtorch has no remote procedure calls",
    "torch.distributed.tensor": _TENSORS,
    "torch.fx.experimental.optimization": "XLA chooses the kernels",
    "torch.fx.experimental.proxy_tensor": "use torch.fx.symbolic_trace, or jax.make_jaxpr",
    "torch.fx.experimental.symbolic_shapes": "jaxtorch traces with numbers, not symbols",
    "torch.cuda": "XLA runs the GPUs",
    "torch.cuda.sparse": "torch.sparse_coo_tensor makes sparse tensors of every type, on every device",
    "torch.cuda.nccl": "there is no NCCL",
    "torch.xpu": "jaxtorch has no XPU backend",
    "torch.mtia": "jaxtorch has no MTIA backend",
    "torch.mps": "jaxtorch has no MPS backend",
    "torch.jit": "jaxtorch has TorchScript's files, and not its compiler",
    "torch.package": "jaxtorch packs no models with their code; torch.save writes their parameters",
    "torch.sparse": "jaxtorch has no kernels for semi-structured sparsity or Triton",
    "torch.utils._python_dispatch": "jaxtorch has no wrapper subclasses",
    "torch.utils.benchmark": "jaxtorch times statements in Python only, and draws dense tensors",
    "torch.utils.cpp_extension": "jaxtorch has no C++ interface; see jax.ffi",
    "torch.utils.data": "jaxtorch has no DataPipes, which PyTorch no longer develops; write an IterableDataset or a Dataset",
    "torch.utils._triton": "jaxtorch runs no Triton kernels; see jax.experimental.pallas",
    "torch.ops": "jaxtorch has no such operation",
    "torch.ops.c10d": "jaxtorch has no collectives as operations",
    "torch.ops.c10d_functional": "jaxtorch has no collectives as operations",
    "torch.ops._c10d_functional": "jaxtorch has no collectives as operations",
}
"""Why names are absent, by the beginning of their modules' names; the longest counts."""


@functools.cache
def _lines() -> dict[str, str]:
    """The table: its line for each module of PyTorch."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return {module: rest for module, _, rest in (line.partition(" ") for line in text.splitlines()) if module != "#"}


@functools.cache
def entries(module: str) -> dict[str, tuple[str, Any]]:
    """What PyTorch's module has and jaxtorch's has not: kind and content by name."""
    line = json.loads(_lines().get(module) or "{}")
    found: dict[str, tuple[str, Any]] = {}
    for kind, names in line.items():
        if isinstance(names, dict):
            found.update({name: (kind, content) for name, content in names.items()})
        else:
            found.update(dict.fromkeys(names.split(), (kind, None)))
    return found


def named(module: str, name: str) -> bool:
    """Has the table a name of PyTorch's module?"""
    return name in entries(module) and not _hidden


@functools.cache
def parents() -> frozenset[str]:
    """Modules with modules inside them, as PyTorch has them."""
    return frozenset(name.rpartition(".")[0] for name in _lines())


def reason(api: str) -> str:
    """Why jaxtorch has not what is called so."""
    found = [prefix for prefix in _REASONS if api == prefix or api.startswith(prefix + ".")]
    return _REASONS[max(found, key=len)] if found else "jaxtorch does not have it"


def _home(module: str, name: str) -> str:
    """Where a class of a package is defined: in the innermost of its modules that has it too."""
    inside = [m for m, line in _lines().items() if m.startswith(f"{module}.") and name in line and name in entries(m)]
    return max(inside, key=len, default=module) if module != "torch" else module


@functools.cache
def _made(module: str, name: str) -> Any:
    kind, content = entries(module)[name]
    api = f"{module}.{name}"
    if kind == "value":
        return tuple(content) if isinstance(content, list) else content
    if kind == "exception":  # which programs name in `except`; nothing raises it
        return type(name, (getattr(builtins, content),), {"__module__": module, "__doc__": f"{reason(api)}."})
    if kind == "operator" or kind == "setting":
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    if kind == "enum":
        return enum.Enum(name, content, module=module)
    if kind == "class":
        return absent_class(api, reason(api), _home(module, name))
    return absent_function(api, reason(api)) if kind == "function" else AbsentValue(api, reason(api))


OLDER = ("nn.intrinsic", "nn.qat", "nn.quantizable", "nn.quantized", "quantization")
"""Packages that have moved to `torch.ao`; their modules are found under both names."""


def find(module: str, name: str) -> Any:
    """What stands for a name of the table in PyTorch's `module`; AttributeError where it is not there."""
    if not name.startswith("__"):
        if (f"{module}.{name}" in _lines() and not _hidden) or f"{module}.{name}".removeprefix("torch.") in OLDER:
            return importlib.import_module("jax" + f"{module}.{name}")
        if named(module, name):
            return _made(module, name)
        if _is_inside(module, name):
            return importlib.import_module(f"jax{module}.{name}")  # PyTorch's packages import theirs by themselves
    raise AttributeError(f"module '{module}' has no attribute '{name}'")


_hidden: list[bool] = []
"""Not empty: nothing of the table is found, for the script that writes it."""


def listed(module: str) -> bool:
    """Has PyTorch this module, and jaxtorch only what the table says of it?"""
    return module in _lines() and not _hidden


@functools.cache
def _is_inside(module: str, name: str) -> bool:
    """Has jaxtorch's package of this name such a module?"""
    package = sys.modules.get("jax" + module)
    return bool(getattr(package, "__path__", None)) and find_spec(f"jax{module}.{name}") is not None


def settings(name: str, **begin: Any) -> None:
    """Make a module that is being imported one of the settings that PyTorch's module of this name has.

    begin: values with which settings begin, where that depends on the environment.
    """
    from ..utils._config_module import become_settings  # few programs have modules of settings

    given = {n: text for n, (kind, text) in entries(name.removeprefix("jax")).items() if kind == "setting"}
    become_settings(sys.modules[name], given, find, begin)
