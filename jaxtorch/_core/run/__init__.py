"""How a program runs: tiers, donation, memory, interrupts, and what watches it."""

# the modules that other parts may import
__all__ = [
    "capture",
    "early_start",
    "except_handlers",
    "host_trace",
    "interrupts",
    "log",
    "runner",
    "state_packing",
    "templates",
    "traced_kernels",
]
