"""`flex_attention`: attention whose scores pass through a function of the user's, computed with all scores at once.

Functions of scores and masks are called once, with index tensors that broadcast to (B, H, L, S), where PyTorch maps them over single
elements: they must be elementwise, as such functions are (arithmetic, comparison, indexing of captured tensors).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ..._core.types.dtypes import bool_, float16, float32, int32
from ..._ops.types.constants import contiguous_format

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

FlexKernelOptions = dict
"""Tuning of PyTorch's kernels; accepted without effect."""

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What `flex_attention` should return besides."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for: the logarithm of the sum of exponentials, and the largest score, (B, H, L) each."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Allows everything."""
    return batch.new_ones(size=(), dtype=bool_)


def _combined(mask_mods: Any, neutral: bool, name: str) -> Callable[..., Any]:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_full((), neutral, dtype=bool_)
        for mod in mask_mods:
            found = mod(b, h, q_idx, kv_idx)
            result = result & found if neutral else result | found
        return result

    combined.__name__ = name
    return combined


def and_masks(*mask_mods: Any) -> Callable[..., Any]:
    """Allows what all of them allow."""
    return _combined(mask_mods, True, "and_mask")


def or_masks(*mask_mods: Any) -> Callable[..., Any]:
    """Allows what one of them allows."""
    return _combined(mask_mods, False, "or_mask")


def _indices(B: int, H: int, Q: int, KV: int, device: Any) -> list[Tensor]:
    """The indices of batch, head, query and key, each along its own dimension of four."""
    arange = functions["arange"]
    shapes = ((B, 1, 1, 1), (H, 1, 1), (Q, 1), (KV,))
    return [arange(shape[0], dtype=int32, device=device).reshape(shape) for shape in shapes]


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The mask (B, H, Q_LEN, KV_LEN) of a `mask_mod(b, h, q_idx, kv_idx)`; of a `score_mod`, its values for scores 0."""
    B, H = B or 1, H or 1
    size = (B, H, Q_LEN, KV_LEN)
    indices = _indices(*size, device)
    if _positional(mod_fn) == 5:
        return mod_fn(functions["zeros"](size, device=device), *indices).expand(size)
    return mod_fn(*indices).to(bool_).expand(size).contiguous()


def _positional(fn: Any) -> int:
    import inspect

    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        p.default is inspect.Parameter.empty and p.kind in kinds for p in inspect.signature(fn).parameters.values()
    )


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """(how many blocks of each row are True, their columns first and then the others'), int32."""
    columns = blocks.to(int32).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1).to(int32), columns.to(int32, memory_format=contiguous_format)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Stands for the mask of a part of a `BlockMask`, whose queries are counted anew; the user is to set `mask_mod`."""
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def _picked(index: Any, size: int) -> Any:
    """An index of a `BlockMask`; a number keeps its dimension."""
    if not isinstance(index, int):
        return index
    start = index + size if index < 0 else index
    return slice(start, start + 1)


class BlockMask:
    """Which blocks of scores a mask leaves, and the mask itself, `mask_mod(b, h, q_idx, kv_idx)`.

    kv_num_blocks (B, H, rows of blocks) and kv_indices (B, H, rows, columns): the blocks that are allowed in part, by row of blocks;
    full_*: those allowed whole; q_*: the same by column.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: Callable[..., Any] = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of the blocks named by row; those by column follow from them, unless `compute_q_blocks` is False.

        seq_lengths: (L, S); without it, as many as the blocks hold.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * size[0], columns * size[1])
        by_column: list[Any] = [None] * 4
        if compute_q_blocks:
            by_column[:2] = _ordered(_scattered(kv_num_blocks, kv_indices).mT > 0)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                by_column[2:] = _ordered(_scattered(full_kv_num_blocks, full_kv_indices).mT > 0)
        by_row = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(seq_lengths, *by_row, *by_column, BLOCK_SIZE=size, mask_mod=mask_mod or noop_mask)

    def __getitem__(self, index: Any) -> BlockMask:
        """The blocks of some batches, heads and rows of blocks, in this order; its `mask_mod` has to be set.

        A number keeps its dimension. `seq_lengths` stays as it is.
        """
        index = index if isinstance(index, tuple) else (index,)
        place = tuple(_picked(i, n) for i, n in zip(index, self.kv_num_blocks.shape, strict=False))
        names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
        by_row: Any = [None if getattr(self, n) is None else getattr(self, n)[place] for n in names]
        rest: Any = {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": _sliced_mask_mod_error, "seq_lengths": self.seq_lengths}
        return BlockMask.from_kv_blocks(*by_row, **rest, compute_q_blocks=self.q_indices is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, L, S)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of scores."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of scores in blocks that are left out; blocks may reach beyond the ends."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Tensor:
        """(B, H, rows, columns) of blocks: 1 where one is allowed, in part or whole; int32."""
        dense = _scattered(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _scattered(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on another device."""
        names = [f"{full}{kind}" for kind in ("kv_num_blocks", "kv_indices") for full in ("", "full_")]
        names += [name.replace("kv_", "q_") for name in names]
        made: Any = {n: None if getattr(self, n) is None else getattr(self, n).to(device) for n in names}
        return BlockMask(self.seq_lengths, **made, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def __repr__(self) -> str:
        names = ["kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"]
        names += [name.replace("kv_", "q_") for name in names]
        shown = [f"{n}={None if getattr(self, n) is None else getattr(self, n).shape}" for n in names]
        shown += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        shown.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(shown) + "\n)"

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the allowed blocks, for each batch and head.

        Each of at most `grid_size` rows and columns of cells stands for a rectangle of blocks: full where all of them are allowed,
        grey where some are. -1: a cell for each block. limit: how many pictures are drawn.
        """
        dense = self.to_dense().numpy(force=True) > 0
        rows, columns = dense.shape[-2:]
        wanted = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        high, wide = [
            -(-n // n_cells) if n_cells > 0 else 1 for n, n_cells in zip((rows, columns), wanted, strict=True)
        ]
        drawn = ""
        for count, place in enumerate(np.ndindex(dense.shape[:-2])):
            if count == limit:
                drawn += "...\nTo print out more, set BlockMask.to_string(limit=N)\n"
                return drawn + "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
            drawn += f"{place}\n"
            for i in range(0, rows, high):
                cells = [dense[place][i : i + high, j : j + wide] for j in range(0, columns, wide)]
                drawn += "".join(["██" if cell.all() else "░░" if cell.any() else "  " for cell in cells]) + "\n"
            drawn += "\n" * (count + 1 < math.prod(dense.shape[:-2]))
        return drawn


def _scattered(counts: Tensor, indices: Tensor) -> Tensor:
    columns = indices.shape[-1]
    valid = functions["arange"](columns, device=indices.device) < counts.unsqueeze(-1)
    start = functions["zeros"](indices.shape, dtype=int32, device=indices.device)
    return start.scatter_add(-1, indices.long(), valid.to(int32))


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks that a `mask_mod(b, h, q_idx, kv_idx)` leaves, for queries and keys of these lengths."""
    if _positional(mask_mod) != 4:
        raise AssertionError(f"create_block_mask requires a mask_mod of four arguments, got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else (BLOCK_SIZE[0], BLOCK_SIZE[1])
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    padded = functions["zeros"]((*mask.shape[:2], rows * size[0], columns * size[1]), dtype=int32, device=mask.device)
    padded[:, :, :Q_LEN, :KV_LEN] = mask.to(int32)
    counts = padded.reshape(*mask.shape[:2], rows, size[0], columns, size[1]).sum((3, 5))
    whole = (counts == size[0] * size[1]) if separate_full_blocks else functions["zeros_like"](counts, dtype=bool_)
    part = (counts > 0) & ~whole
    full: list[Any] = [*_ordered(whole), *_ordered(whole.mT)] if separate_full_blocks else [None] * 4
    tensors = [*_ordered(part), *full[:2], *_ordered(part.mT), *full[2:]]
    return BlockMask((Q_LEN, KV_LEN), *tensors, BLOCK_SIZE=size, mask_mod=mask_mod)


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, block_mask: BlockMask | None) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not enable_gqa and query.size(-3) != key.size(-3):
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={query.size(-3)} and "
            f"Hkv={key.size(-3)}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and query.size(1) % key.size(1):
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={query.size(1)} and Hkv={key.size(1)}."
        )
    if query.size(0) != key.size(0) and key.size(0) != 1:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, or a key of batch size 1, got {query.size(0)} and "
            f"{key.size(0)}"
        )
    if block_mask is not None and block_mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if block_mask is not None and block_mask.shape[-2:] != (query.size(-2), key.size(-2)):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.size(-2)} and "
            f"kv_len={key.size(-2)}. Create a new block mask with the correct length."
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ key.T * scale, b, h, q_idx, kv_idx)) @ value, where the block mask allows: (B, H, L, Ev).

    query (B, H, L, E), key (B, H, S, E), value (B, H, S, Ev); fewer heads of keys and values with enable_gqa. A query that may
    attend to nothing gives 0. All (B, H, L, S) scores are held in memory, unlike in PyTorch's compiled kernels.
    """
    _check(query, key, value, enable_gqa, block_mask)
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    size = (query.size(0), query.size(1), query.size(2), key.size(2))
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    half = query.dtype is float16 or str(query.dtype) == "torch.bfloat16"
    working = query.to(float32) if half else query
    scores = functions["matmul"](working, key.to(working.dtype).transpose(-2, -1)) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_indices(*size, query.device)).expand(size)
    if block_mask is not None:
        allowed = create_mask(block_mask.mask_mod, *size, query.device)
        scores = scores.masked_fill(~allowed, float("-inf"))
    top = scores.detach().amax(-1, keepdim=True)
    weights = (scores - top.masked_fill(top == float("-inf"), 0.0)).exp()
    total = weights.sum(-1, keepdim=True)
    shares = weights / total.masked_fill(total == 0, 1.0)
    out = functions["matmul"](shares.to(value.dtype), value).to(query.dtype)
    if return_lse or return_aux is not None:
        lse = functions["logsumexp"](scores, -1)
        if return_lse:
            return out, lse
        assert return_aux is not None
        return out, AuxOutput(lse if return_aux.lse else None, top.squeeze(-1) if return_aux.max_scores else None)
    return out
