"""jaxtorch: PyTorch programs on JAX. `import jaxtorch as torch`."""

# ruff: noqa: F401 - what is imported here is the public namespace
from __future__ import annotations

import gc as _gc
import importlib as _importlib
import importlib.util as _importlib_util
import math as _math
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._running import finder as _finder  # first: it finds what is imported below

# isort: split

from . import _ops
from ._core.define import op as _op
from ._core.dispatch import recorder as _recorder
from ._core.random.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from ._core.record import program as _program
from ._core.run import log as _log
from ._core.run.log import explain_recompiles
from ._core.tensor.printing import set_printoptions
from ._core.tensor.tensor import Tensor
from ._core.types import dtypes as _dtypes
from ._core.types.device import device
from ._core.types.dtypes import dtype
from ._core.types.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._core.types.size import Size
from ._ops.types.constants import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    preserve_format,
    qscheme,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from ._private_names import absent_names as _absent_names
from ._running.install import install, uninstall

_collecting = _gc.isenabled()
_gc.disable()  # until all is imported: what is made here stays, so that looking through it is in vain
from ._ops import families as _families  # noqa: E402

_families.install()

from . import _tensor  # noqa: E402 - which uses operations

_tensor.install()
_recorder.begin()
if _log.logger.isEnabledFor(20):
    _recorder.tell()

globals().update(_op.functions)
globals().update({_d.name: _d for _d in _dtypes.ALL + _dtypes.WITHOUT_STORAGE})
globals().update(_dtypes.ALIASES)

# The namespace above has to exist before the modules below.
from . import (  # noqa: E402
    accelerator,
    amp,
    autograd,
    backends,
    cpu,
    cuda,
    fft,
    linalg,
    nn,
    overrides,
    random,
    return_types,
    special,
    utils,
    version,
)
from ._namespace.precision import get_float32_matmul_precision, set_float32_matmul_precision  # noqa: E402
from ._namespace.small_functions import (  # noqa: E402
    broadcast_shapes,
    compiled_with_cxx11_abi,
    get_device,
    get_device_module,
    is_inference,
    typename,
)
from ._namespace.streams import Event, Stream  # noqa: E402
from ._namespace.switches import (  # noqa: E402
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from ._tensor.interop import from_dlpack, from_jax  # noqa: E402
from .amp import autocast  # noqa: E402
from .amp._settings import FUNCTIONS as _AUTOCAST  # noqa: E402
from .cuda import AcceleratorError, OutOfMemoryError  # noqa: E402
from .torch_version import __version__  # noqa: E402

if _TYPE_CHECKING:  # imported when asked for, by `__getattr__`; editors are to know them
    from . import compiler, func, mps, optim, serialization, signal, testing
    from ._compile import compile
    from .func import vmap
    from .serialization import load, save

globals().update(_AUTOCAST)
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
legacy_contiguous_format = contiguous_format

for _module in (
    autograd,
    backends,
    cuda,
    fft,
    nn.functional,
    nn.init,
    overrides,
    random,
    special,
    utils,
):
    vars(_module)["torch"] = _sys.modules[__name__]  # programs reach it there, because PyTorch's files import it
del _module
overrides.namespaces.update({
    "torch": _sys.modules[__name__], "torch.nn.functional": nn.functional, "torch.nn.init": nn.init, "torch.linalg": linalg,
    "torch.fft": fft, "torch.special": special,
})  # fmt: skip


def _class_of_operations(name: str) -> _Any:
    """What PyTorch has in `torch._ops`, for libraries that reach it as an attribute: the classes of operations."""
    if name not in ("HigherOrderOperator", "OpOverload", "OpOverloadPacket", "_OpNamespace"):
        raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")
    return getattr(_importlib.import_module(f"{__package__}._library.classes"), name)


_ops.__getattr__ = _class_of_operations  # pyright: ignore[reportAttributeAccessIssue]

_PRIVATE = (
    "_C",
    "__config__",
    "__future__",
    "_custom_ops",
    "_dynamo",
    "_functorch",
    "_guards",
    "_inductor",
    "_jit_internal",
    "_logging",
    "_subclasses",
    "_higher_order_ops",
    "_prims_common",
    "_tensor_str",
    "_utils",
    "_utils_internal",
    "_vendor",
    "_vmap_internals",
)
"""Private modules of PyTorch that libraries touch, and that jaxtorch has."""

_LATE = {
    "compile": "_compile", "_disable_dynamo": "_compile", "vmap": "func", "load": "serialization", "save": "serialization",
    "DisableTorchFunction": "_C", "DisableTorchFunctionSubclass": "_C", "Future": "futures", "Tag": "_library.tags",
    "FileCheck": "testing", "PyTorchFileReader": "_C", "PyTorchFileWriter": "_C", "ScriptFunction": "jit",
    "ScriptModule": "jit", "StorageBase": "storage", "TypedStorage": "storage", "UntypedStorage": "storage", "fork": "jit",
    "wait": "jit",
    **dict.fromkeys("""SymBool SymFloat SymInt _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all
        _check_tensor_all_with _check_type _check_value _check_with sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt
        sym_sum""".split(), "_namespace.symbols"),
    **dict.fromkeys("""GradScaler ccol_indices_copy col_indices_copy cond crow_indices_copy eig embedding_bag embedding_renorm_
        from_file indices_copy is_anomaly_check_nan_enabled is_anomaly_enabled is_distributed is_storage is_vulkan_available
        lobpcg lstsq matrix_rank native_norm row_indices_copy set_anomaly_enabled solve sym_constrain_range
        sym_constrain_range_for_size symeig to_dlpack values_copy while_loop _scaled_mm slice_inverse resize_as_sparse_
        batch_norm_update_stats profiler_allow_cudagraph_cupti_lazy_reinit_cuda12""".split(), "_namespace.rare"),
    **dict.fromkeys("""FloatStorage DoubleStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage
        ByteStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage QInt8Storage QUInt8Storage QInt32Storage
        QUInt4x2Storage QUInt2x4Storage _storage_classes""".split(), "_tensor.legacy_storage"),
    **dict.fromkeys("""dsmm hsmm hspmm saddmm smm spmm sspaddmm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
        sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor _sparse_coo_tensor_unsafe _convert_indices_from_coo_to_csr
        _convert_indices_from_csr_to_coo""".split(), "sparse"),
    **dict.fromkeys("""_choose_qparams_per_tensor _empty_affine_quantized _empty_per_channel_affine_quantized
        _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor dequantize int_repr
        q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic""".split(), "_quantized"),
    "_sample_dirichlet": "distributions._continuous.dirichlet",
    "fused_moving_avg_obs_fake_quant": "ao.quantization.fake_quantize",
    **dict.fromkeys("DeviceObjType TensorType _assert_async _shape_as_tensor classes torch".split(), "_private_names.borrowed"),
}  # fmt: skip
"""Names of the namespace that few programs use, with the modules they are imported from on demand."""


del annotations

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, _x in (*globals().items(), *_LATE.items())
    if not name.startswith("_") and not isinstance(_x, _ModuleType)
    and name not in ("explain_recompiles", "install", "uninstall", "from_jax", "classes", "torch")
]  # fmt: skip
"""What `from torch import *` takes: as in PyTorch no submodule, which could hide Python's `random`."""


def __dir__() -> list[str]:
    """What the module has, and the submodules of PyTorch's name that are imported when asked for."""
    late = "compiler distributions export func fx hub jit masked multiprocessing nested optim profiler serialization signal sparse"
    return sorted({*globals(), *_LATE, *late.split(), "Storage", "testing"})


def __getattr__(name: str) -> _Any:
    """Import a submodule that nothing has asked for yet; AttributeError names what jaxtorch does not have."""
    if name.startswith("_foreach_"):
        return getattr(_importlib.import_module(f"{__package__}._foreach"), name)
    if name == "set_vital":  # deprecated, and in no list of names
        return _importlib.import_module(f"{__package__}._namespace.rare").set_vital
    if name in _LATE:
        module = _importlib.import_module(f"{__package__}.{_LATE[name]}")
        found = globals()[name] = module.FUNCTIONS[name] if _LATE[name] == "sparse" else getattr(module, name)
        return found
    if name == "Storage":  # that of the default type, whichever it is now
        return _importlib.import_module(f"{__package__}._tensor.legacy_storage").of_default()
    public = not name.startswith("_") or name in _PRIVATE
    if public and _importlib_util.find_spec(f"{__package__}.{name}") is not None:
        return _importlib.import_module(f"{__package__}.{name}")
    if name.startswith("_") and _absent_names.named("torch", name):  # perhaps an operation of torch.ops.aten
        found = _importlib.import_module(f"{__package__}._library.aten").find(name) or _op.functions.get(name)
        if found is not None:
            return found
    try:
        return _absent_names.find("torch", name)
    except AttributeError:
        raise AttributeError(f"module 'torch' has no attribute '{name}': jaxtorch has no torch.{name} yet") from None


# What importing JAX has made stays for good. Without this, Python's collector walks it again and again while a long program
# is recorded: 10 us an operation instead of 2 at ten thousand operations.
_gc.freeze()
if _collecting:
    _gc.enable()
_program.visible = _program.Visible()
