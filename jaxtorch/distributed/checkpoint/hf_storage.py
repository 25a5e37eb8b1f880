"""`torch.distributed.checkpoint.hf_storage`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "HuggingFaceStorageReader HuggingFaceStorageWriter",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
