"""`torch.utils._triton`: is Triton at hand? jaxtorch runs no kernels of its, whether it is installed or not."""


def get_triton_version(fallback: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """What was given as the version of no Triton."""
    return fallback


def has_triton_package() -> bool:
    """Can Triton's package be used? No."""
    return False


def has_triton() -> bool:
    """Can Triton compile for a device here? No."""
    return False


def has_triton_tma() -> bool:
    """Has it descriptors of tensors, made on the host? No."""
    return False


has_triton_experimental_host_tma = has_triton_tensor_descriptor_host_tma = has_triton_tma


def has_triton_tma_device() -> bool:
    """Has it descriptors of tensors, made on the device? No."""
    return False


has_triton_stable_tma_api = has_datacenter_blackwell_tma_device = has_triton_tma_device
