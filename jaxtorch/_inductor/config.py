"""`torch._inductor.config`: a place where programs set switches. None changes anything."""

from __future__ import annotations

from types import SimpleNamespace

aot_inductor, cpp, cuda, rocm, trace, triton = (SimpleNamespace() for _ in range(6))
"""Groups of switches."""

coordinate_descent_tuning = False
cpp_wrapper = False
epilogue_fusion = True
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
shape_padding = True
