"""`torch.version`: the PyTorch version whose behaviour jaxtorch follows. No CUDA or ROCm: JAX brings those."""

from __future__ import annotations

from ._running.install import TORCH_VERSION as __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
git_version = "jaxtorch"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
