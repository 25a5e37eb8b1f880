"""`torch.autograd.profiler_util`: the events of a profile, and lists of them."""

from .profiler import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
