"""`torch.utils.tensorboard`: `SummaryWriter`, that of the package tensorboardX."""

from __future__ import annotations

try:
    from tensorboardX import FileWriter, RecordWriter, SummaryWriter  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(
        "torch.utils.tensorboard: jaxtorch's SummaryWriter is that of tensorboardX, which is not installed: "
        "pip install tensorboardX"
    ) from error

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
