"""`torch.distributed.pipelining`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "ScheduleGPipe SplitPoint pipeline PipelineStage Schedule1F1B",
        "jaxtorch has no pipelines of stages",
    )
)
