"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import Array, function, inner_op
from ..._core.define.signature import checked, need_kind
from ..._core.record.value_checks import flag
from ..._core.tensor.tensor import Tensor
from ..._core.types.warn_once import once
from ..common.rules import kind, scalar_name
from ..nn.padding import pad


def _tensor_word(x: Any) -> str:
    return f"torch.{scalar_name(x)}Tensor"


def _listed(shape: Any) -> str:
    return ", ".join(map(str, shape))


def _centred(window: Any, n_fft: int) -> Any:
    """The window with zeros on both sides, n_fft long."""
    left = (n_fft - window.shape[0]) // 2
    return jnp.pad(window, (left, n_fft - window.shape[0] - left))


def _positions(frames: int, hop: int, n_fft: int) -> Any:
    return np.arange(frames)[:, None] * hop + np.arange(n_fft)


def _kept_signal(operands: Any, statics: Any) -> Any:
    """What PyTorch keeps of a real signal: parts of it or, where a shorter window is meant, a copy."""
    return () if operands[0].dtype.is_complex or operands[1] is not None else ("input",)


def _copied_signal(operands: Any, statics: Any) -> Any:
    return _kept_signal(operands, statics) if statics[2] < statics[0] else ()


@inner_op(grad="SqueezeBackward4", saved=_kept_signal, unsaved=_copied_signal)
def _stft(
    input: Array,
    window: Array | None,
    n_fft: int,
    hop: int,
    length: int,
    normalized: bool,
    onesided: Any,
    as_complex: Any,
):
    shown = "None" if window is None else f"{_tensor_word(window)}{{[{_listed(window.shape)}]}}"
    sided = "None" if onesided is None else int(bool(onesided))
    head = (
        f"stft({_tensor_word(input)}[{_listed(input.shape)}], n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={shown}, normalized={int(bool(normalized))}, onesided={sided}, return_complex={int(bool(as_complex))}, "
        "align_to_window=None) : expected "
    )
    if kind(input) in ("bool", "int"):
        raise RuntimeError(head + "a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(head + "a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(head + f"0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(head + f"hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(head + f"0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and window.shape != (length,):
        raise RuntimeError(
            head
            + f"a 1D window tensor of size equal to win_length={length}, but got window with size [{_listed(window.shape)}]"
        )
    is_complex = kind(input) == "complex" or (window is not None and kind(window) == "complex")
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if input.dtype.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {scalar_name(input)}")
    frames = input[..., _positions(1 + (input.shape[-1] - n_fft) // hop, hop, n_fft)]  # (..., frames, n_fft)
    if window is not None:
        frames = frames * _centred(window, n_fft)
    elif length < n_fft:
        frames = frames * _centred(jnp.ones((length,), frames.dtype), n_fft)
    if is_complex:
        spectrum = lax.fft(frames, lax.FftType.FFT, (n_fft,))
    elif onesided is None or onesided:
        spectrum = lax.fft(frames, lax.FftType.RFFT, (n_fft,))
    else:
        spectrum = jnp.fft.fft(frames)
    if normalized:
        spectrum = spectrum * np.asarray(n_fft**-0.5, spectrum.dtype)
    spectrum = jnp.swapaxes(spectrum, -1, -2)  # (..., frequencies, frames)
    return spectrum if as_complex else jnp.stack([jnp.real(spectrum), jnp.imag(spectrum)], -1)


def _warn_of_window(purpose: str) -> None:
    once(
        f"A window was not provided. A rectangular window will be applied. To {purpose}, for instance torch.hann_window; "
        "`window=torch.ones(n_fft)` says that it is meant.",
        key=purpose,
    )


@function("stft", method=True)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The spectra of windows of a signal `hop_length` apart; shapes (T) or (B, T) to (..., frequencies, frames).

    align_to_window: a window shorter than n_fft has its first place at the input's beginning and its last at the end; without
    `center` only.
    """
    if center:
        half = n_fft // 2
        around = (half, half) if half.__class__ is int else (int(half),) * 2
        extra = (3 - input.dim()) * (1,)
        padded = pad(input.view(*extra, *input.shape), around, pad_mode)
        input = padded.view(*padded.shape[-input.dim() :])
    need_kind("stft", "n_fft", "int", n_fft)
    for name, given in (("hop_length", hop_length), ("win_length", win_length)):
        if given is not None:
            need_kind("stft", name, "int", given)
    for name, given in (("normalized", normalized), ("onesided", onesided), ("return_complex", return_complex)):
        if given is not None or name == "normalized":
            need_kind("stft", name, "bool", given)
    if return_complex is None:
        is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    elif not return_complex:
        once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
            "all inputs; torch.view_as_real gives the old form."
        )
    if window is None:
        _warn_of_window("suppress leakage of the spectrum")
    if align_to_window is not None and center:
        raise RuntimeError("stft only supports align_to_window for center = False.")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if align_to_window:
        if n_fft > input.shape[-1]:
            raise RuntimeError(f"stft: expected 0 < n_fft <= {input.shape[-1]}, the input's length, but got {n_fft}")
        before = (n_fft - length) // 2  # the first window, in the middle of its frame, begins where the input does
        input = pad(input, (before, n_fft - length - before))
    return _stft(input, window, n_fft, hop, length, bool(normalized), onesided, bool(return_complex))


def _overlapped(frames: Any, hop: int) -> Any:
    """The sum of frames laid hop apart; shapes (..., frames, n) to (..., n + hop (frames - 1))."""
    count, n = frames.shape[-2:]
    total = jnp.zeros((*frames.shape[:-2], n + hop * (count - 1)), frames.dtype)
    return total.at[..., _positions(count, hop, n)].add(frames)


def _check_istft(
    head: str,
    input: Array,
    window: Array | None,
    n_fft: int,
    hop: int,
    win_length: int,
    onesided: Any,
    as_complex: bool,
) -> None:
    if kind(input) != "complex":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.size == 0:
        raise RuntimeError(f"{head} : input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{head} : expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    bins = input.shape[-2]
    sided = bins != n_fft if onesided is None else bool(onesided)
    if sided and n_fft // 2 + 1 != bins:
        raise RuntimeError(
            f"{head} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            f"onesided=True, but got {bins}"
        )
    if not sided and n_fft != bins:
        raise RuntimeError(
            f"{head} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {bins}"
        )
    if not 0 < hop <= win_length:
        raise RuntimeError(f"{head} : expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{head} : expected 0 < win_length <= n_fft")
    if window is not None and window.shape != (win_length,):
        raise RuntimeError(f"{head} : Invalid window shape. window has to be 1D and length of `win_length`")
    if as_complex and sided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is not None and kind(window) == "complex" and not as_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")


@inner_op(grad="SqueezeBackward1", unsaved=["input"])
def _istft(
    input: Array, window: Array | None, n_fft: int, hop: int, win_length: int, center: bool, normalized: bool, onesided: Any,
    length: Any, as_complex: bool,
):  # fmt: skip
    shown = "None" if window is None else f"{_tensor_word(window)}{{[{_listed(window.shape)}]}}"
    head = (
        f"istft(CPU{scalar_name(input)}Type[{_listed(input.shape)}], n_fft={n_fft}, hop_length={hop}, "
        f"win_length={win_length}, window={shown}, center={int(bool(center))}, normalized={int(bool(normalized))}, "
        f"onesided={'None' if onesided is None else int(bool(onesided))}, length={length}, "
        f"return_complex={int(bool(as_complex))})"
    )
    _check_istft(head, input, window, n_fft, hop, win_length, onesided, as_complex)
    count = input.shape[-1]
    real = jnp.finfo(input.dtype).dtype
    whole = _centred(jnp.ones((win_length,), real) if window is None else window, n_fft)
    spectrum = jnp.swapaxes(input, -1, -2)
    norm = "ortho" if normalized else "backward"
    if as_complex:
        frames = jnp.fft.ifft(spectrum, norm=norm)
    else:
        frames = jnp.fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    signal = _overlapped(frames * whole, hop)
    envelope = _overlapped(jnp.broadcast_to(whole * whole, (count, n_fft)), hop)
    full = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else full - n_fft // 2 if center else full
    signal, envelope = signal[..., start:end], envelope[start:end]
    flag(
        (lax.stop_gradient(jnp.min(jnp.abs(envelope), initial=jnp.inf)) <= 1e-11).astype(jnp.int64),
        lambda _: RuntimeError(f"{head} window overlap add min: 1\n[ CPUBoolType{{}} ]"),
    )
    signal = signal / envelope
    missing = end - start - signal.shape[-1]
    return jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)]) if missing > 0 else signal


@function("istft", method=True)
@checked
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose short-time transform is nearest; shapes (..., frequencies, frames) to (..., length)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if window is None:
        _warn_of_window("make the inversion lossless, give that of stft")
    return _istft(
        input, window, n_fft, hop, size, bool(center), bool(normalized), onesided, length, bool(return_complex)
    )
