"""`torch.distributed.checkpoint.metadata`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "BytesStorageMetadata ChunkStorageMetadata Metadata MetadataIndex StorageMeta TensorProperties TensorStorageMetadata",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)
