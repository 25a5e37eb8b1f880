"""`torch.utils.cpp_extension`: C++ extensions are compiled against PyTorch; using these names raises NotImplementedError."""

from .._absent import absent as _absent

CUDA_HOME = None
ROCM_HOME = None
IS_HIP_EXTENSION = False

globals().update(
    _absent(
        __name__,
        "BuildExtension CppExtension CUDAExtension SyclExtension load load_inline include_paths library_paths",
        "jaxtorch has no C++ interface; see jax.ffi",
    )
)
