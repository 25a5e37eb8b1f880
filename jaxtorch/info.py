"""What this installation of jaxtorch has and what it lacks: `python -m jaxtorch.info`, for people and for reports of faults."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

from ._core.dispatch.recorder import parts

__all__ = ["text"]

PACKAGES = ("jaxtorch-xla", "jax", "jaxlib", "numpy", "optax", "flax")


def text() -> str:
    """The versions, the devices, the optional parts, and what is set, one a line."""
    import jax

    devices = [f"{d.platform}:{d.id} ({d.device_kind})" for d in jax.devices()]
    compilers = [name for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++") if name and shutil.which(name)]
    settings = [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(("JAXTORCH_", "JAX_"))
    ]
    lines = [
        ("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        ("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"),
        *((name, _version(name)) for name in PACKAGES),
        ("devices", ", ".join(devices)),
        *((name, f"no: {why}" if why else "yes") for name, why in parts()),
        (
            "C++ compiler",
            ", ".join(compilers[:1]) or "none found; it is needed while jaxtorch is installed, for the two parts above",
        ),
        ("settings", ", ".join(settings) or "none"),
    ]
    return "\n".join(f"{name + ':':<16}{value}" for name, value in lines)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "no package of this name is installed"


if __name__ == "__main__":
    print(text())
