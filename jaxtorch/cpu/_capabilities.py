"""What the processor can do, as Linux tells it."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

_X86 = """
aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx10_1 avx10_2 avx2 avx512_4fmaps avx512_4vnniw avx512_bf16 avx512_bitalg avx512_bw
avx512_cd avx512_dq avx512_f avx512_fp16 avx512_ifma avx512_vbmi avx512_vbmi2 avx512_vl avx512_vnni avx512_vp2intersect
avx512_vpopcntdq avx_ne_convert avx_vnni avx_vnni_int16 avx_vnni_int8 bmi bmi2 clflush clflushopt clwb f16c fma3 fma4 lzcnt popcnt
sha sse sse2 sse3 sse4_1 sse4_2 sse4a ssse3
""".split()
_LINUX = {
    "bmi": "bmi1", "fma3": "fma", "lzcnt": "abm", "sha": "sha_ni", "sse3": "pni", "avx512_4fmaps": "avx512_4fmaps",
    **{f"avx512_{n}": f"avx512{n}" for n in "bw cd dq f ifma vbmi vl".split()},
}  # fmt: skip
"""Names that Linux writes otherwise."""
_CACHES = {1: "l1d_cache_size", 2: "l2_cache_size"}
"""By level."""


@functools.cache
def get_capabilities() -> Mapping[str, Any]:
    """The instructions that the processor has, by name, and its architecture, number of cores, sizes of caches and name.

    Where the system has no /proc/cpuinfo only the architecture and the number of logical cores.
    """
    found: dict[str, Any] = {"architecture": platform.machine(), "num_logical_cores": os.cpu_count() or 1}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return MappingProxyType(found)
    pairs = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines)]
    of = lambda key: [value for k, value in pairs if k == key]  # noqa: E731
    flags = {flag for value in of("flags")[:1] for flag in value.split()}
    if flags:
        found.update({name: _LINUX.get(name, name) in flags for name in _X86})
    found["cpu_name"] = next(iter(of("model name")), "")
    found["num_sockets"] = len(set(of("physical id"))) or 1
    found["num_physical_cores"] = len(set(zip(of("physical id"), of("core id"), strict=False))) or os.cpu_count() or 1
    found.update({_CACHES[level]: size for level, size in _caches().items() if level in _CACHES})
    return MappingProxyType(found)


def _caches() -> dict[int, int]:
    """The bytes of the first core's caches for data, by level."""
    found: dict[int, int] = {}
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        read = lambda name, at=folder: (at / name).read_text(encoding="utf-8").strip()  # noqa: E731
        try:
            if read("type") != "Instruction":
                found[int(read("level"))] = int(read("size").removesuffix("K")) * 1024
        except (OSError, ValueError):
            continue
    return found


def has(instructions: str) -> bool:
    """Has the processor these instructions?"""
    return bool(get_capabilities().get(instructions, False))
