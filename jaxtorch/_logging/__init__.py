"""`torch._logging`: what PyTorch's compiler would say. jaxtorch has none, and a log of its own: `JAXTORCH_LOG=compile`."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

_LEVELS = "all dynamo aot autograd dynamic inductor distributed c10d ddp fsdp dtensor onnx export".split()
_ARTIFACTS = """
aot_graphs aot_joint_graph autotuning benchmarking bytecode caching compiled_autograd compiled_autograd_verbose
compute_dependencies cudagraph_static_inputs cudagraphs ddp_graphs fusion graph graph_breaks graph_code graph_code_verbose
graph_region_expansion graph_sizes guards hierarchical_compile incremental inductor_metrics ir_post_fusion ir_pre_fusion
kernel_code onnx_diagnostics output_code overlap perf_hints post_grad_graphs pre_grad_graphs recompiles recompiles_verbose
schedule side_effects sym_node trace_bytecode trace_call trace_source
""".split()
DEFAULT_LOGGING: dict[str, Any] = {}


def set_logs(*, modules: dict[str, int | bool] | None = None, **logs: Any) -> None:
    """Check the names and values, and set the levels of `modules`: of what the others name nothing is said.

    TypeError for a name that PyTorch has not; ValueError for a level or a switch that is none.
    """
    for name, value in logs.items():
        if name not in _LEVELS and name not in _ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
        if name in _ARTIFACTS and not isinstance(value, bool):
            raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
        if name in _LEVELS and value is not None and value not in (50, 40, 30, 20, 10, 0):
            raise ValueError(
                f"Unrecognized log level for log {name}: {value}, valid level values are: 50,40,30,20,10,0"
            )
    for name, level in (modules or {}).items():
        importlib.import_module(name)
        logging.getLogger(name).setLevel(level)


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger of one kind of PyTorch's notes. ValueError for a kind that there is not."""
    if artifact_name not in _ARTIFACTS:
        raise ValueError(
            f"Artifact name: {artifact_name!r} not registered,please call register_artifact({artifact_name!r}) in "
            "torch._logging.registrations."
        )
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def get_structured_logging_overhead() -> float | None:
    """None: no such log is written."""


def trace_structured(name: str, metadata_fn: Callable[[], Any] = dict, **kwargs: Any) -> None:
    """Nothing to do: no such log is written."""


dtrace_structured = trace_structured


@functools.cache
def warning_once(logger_obj: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """Log a warning the first time it is given."""
    logger_obj.warning(*args, **kwargs)


@contextmanager
def hide_warnings(filter_fn: Callable[[str], bool] = lambda text: True) -> Any:
    """Context in which warnings for whose text the function says True do not come."""
    import warnings

    shown = warnings.showwarning

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if not filter_fn(str(message)):
            shown(message, *args, **kwargs)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


class LazyString:
    """A text that is made when it is written: of what the function gives for the arguments."""

    def __init__(self, func: Callable[..., str], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return self.func(*self.args, **self.kwargs)
