"""`torch.utils.collect_env`: what a report of a fault should say about the machine. `python -m jaxtorch -m torch.utils.collect_env`.

Nothing is asked of other programs: compilers, drivers and conda packages are not looked for.
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Any, NamedTuple

from .. import cuda
from .._running.install import TORCH_VERSION

__all__ = ["SystemEnv", "get_env_info", "get_pip_packages", "get_pretty_env_info", "main", "pretty_str"]

_PACKAGES = ("jax", "jaxlib", "jaxtorch", "ml_dtypes", "numpy", "optax", "torch")


class SystemEnv(NamedTuple):
    """What is known; None for what was not looked for."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    is_xpu_available: str
    pip_version: str
    pip_packages: str
    conda_packages: str | None
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str


def get_pip_packages() -> tuple[str, str]:
    """The program's name, and a line `name==version` for each installed package that matters here."""
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"pip{sys.version_info.major}", "\n".join(found)


def get_env_info() -> SystemEnv:
    """What is known of this process and its machine."""
    available = cuda.is_available()
    pip, packages = get_pip_packages()
    bits = "64-bit" if sys.maxsize > 2**32 else "32-bit"
    return SystemEnv(
        torch_version=TORCH_VERSION, is_debug_build="False", cuda_compiled_version=None, gcc_version=None, clang_version=None,
        cmake_version=None, os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()) or "N/A",
        python_version=f"{sys.version} ({bits} runtime)".replace("\n", " "), python_platform=platform.platform(),
        is_cuda_available=str(available), cuda_runtime_version=None, cuda_module_loading="N/A", nvidia_driver_version=None,
        nvidia_gpu_models=cuda.get_device_name() if available else None, cudnn_version=None, is_xpu_available="False",
        pip_version=pip, pip_packages=packages, conda_packages=None, hip_compiled_version="N/A", hip_runtime_version="N/A",
        miopen_runtime_version="N/A", caching_allocator_config="N/A", is_xnnpack_available="False",
        cpu_info=platform.processor() or platform.machine(),
    )  # fmt: skip


def pretty_str(envinfo: SystemEnv) -> str:
    """The report as text."""
    env: dict[str, Any] = {k: "Could not collect" if v is None else v for k, v in envinfo._asdict().items()}
    pip = "\n".join(f"[{env['pip_version']}] {line}" for line in env["pip_packages"].splitlines())
    return "\n".join(
        [
            f"PyTorch version: {env['torch_version']} (jaxtorch)",
            f"Is debug build: {env['is_debug_build']}",
            f"CUDA used to build PyTorch: {env['cuda_compiled_version']}",
            f"ROCM used to build PyTorch: {env['hip_compiled_version']}",
            "",
            f"OS: {env['os']}",
            f"Libc version: {env['libc_version']}",
            "",
            f"Python version: {env['python_version']}",
            f"Python platform: {env['python_platform']}",
            f"Is CUDA available: {env['is_cuda_available']}",
            f"GPU models and configuration: {env['nvidia_gpu_models']}",
            "",
            "CPU:",
            env["cpu_info"],
            "",
            "Versions of relevant libraries:",
            pip,
        ]
    )


def get_pretty_env_info() -> str:
    """The report on this machine as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the report."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
