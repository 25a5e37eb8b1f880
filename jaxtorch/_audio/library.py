"""The operations of `torch.ops.torchaudio` and `torch.ops._torchaudio` by their schemas, for `torch.ops.load_library`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import alignment, filters

_LOGITS = "Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths"
OPERATIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "torchaudio": {
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)":
            filters.lfilter_core_loop,
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform)"
        " -> (Tensor(a!), Tensor(b!), Tensor(c!))": filters.overdrive_core_loop,
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)":
            alignment.forced_align,
        f"rnnt_loss_forward({_LOGITS}, int blank, float clamp, bool fused_log_softmax) -> (Tensor, Tensor)":
            alignment.rnnt_loss_forward,
    },
    "_torchaudio": {"is_align_available() -> bool": lambda: True, "cuda_version() -> int?": lambda: None},
}  # fmt: skip
