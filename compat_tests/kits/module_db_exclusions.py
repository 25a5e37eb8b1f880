"""What of PyTorch's `module_db` jaxtorch does not answer as PyTorch does: (module, check) -> the reason. Each is a strict xfail."""

from __future__ import annotations

EXCLUSIONS: dict[tuple[str, str], str] = {
    (
        "nn.LinearCrossEntropyLoss",
        "second",
    ): "with `options`, PyTorch's loss cannot be differentiated twice; jaxtorch's can",
}
