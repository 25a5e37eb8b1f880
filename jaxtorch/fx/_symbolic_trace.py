"""`torch.fx._symbolic_trace`: where libraries look for the tracer."""

from .tracer import PH, PHBase, Tracer, is_fx_symbolic_tracing, is_fx_tracing, symbolic_trace, wrap

__all__ = ["PH", "PHBase", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]
