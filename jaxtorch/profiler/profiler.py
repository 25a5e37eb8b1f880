"""`torch.profiler.profiler`: the names of `torch.profiler` under another address."""

from ..autograd import profiler as prof
from . import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "kineto_available", "prof", "profile", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
