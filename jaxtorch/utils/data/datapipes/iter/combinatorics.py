"""`torch.utils.data.datapipes.iter.combinatorics`: classes for `isinstance`; using one raises NotImplementedError."""

from ....._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "SamplerIterDataPipe ShufflerIterDataPipe",
        "jaxtorch has no DataPipes; write an IterableDataset or a Dataset",
    )
)
