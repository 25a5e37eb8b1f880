"""`torch.distributed.algorithms._checkpoint.checkpoint_wrapper`: importable; using it raises NotImplementedError."""

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "CheckpointWrapper CheckpointImpl apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
        "use torch.utils.checkpoint",
    )
)
