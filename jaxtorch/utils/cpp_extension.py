"""`torch.utils.cpp_extension`: C++ extensions are compiled against PyTorch; using these names raises NotImplementedError."""

CUDA_HOME = None
ROCM_HOME = None
IS_HIP_EXTENSION = False
