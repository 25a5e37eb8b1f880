"""PyTorch's operator database with inputs and results written in place before backward: an error exactly where PyTorch raises one."""

from __future__ import annotations

import pytest

from conftest import TABLES

KEYS = (TABLES / "op_db_entries.txt").read_text().splitlines()

EXCLUDED = {
    "_segment_reduce/lengths": "PyTorch keeps the lengths, jaxtorch the bounds of the segments",
    "_unsafe_masked_index": "a composition here, whose index arrays are made ready first",
    "_unsafe_masked_index_put_accumulate": "a composition here, whose index arrays are made ready first",
    "as_strided_scatter": "PyTorch 2.13 gives the input the gradient of the elements that were replaced",
    "chalf": "no complex32",
    "combinations": "the mask is made of the input's size, and nothing is kept",
    "kron": "PyTorch hides from itself that it reads overwritten memory; here it is an error",
    "linalg.eig": "PyTorch asks whether the loss depends on the phases of eigenvectors before it looks at versions",
    "linalg.eigh": "eigenvectors of another sign",
    "masked.std": "another composition, which keeps its input",
    "masked.var": "another composition, which keeps its input",
    "masked_select": "the places that the mask names are kept, not the mask",
    "native_batch_norm": "mean and deviation have gradients here",
    "_native_batch_norm_legit": "mean and deviation have gradients here",
    "native_layer_norm": "mean and deviation have gradients here",
    "nn.functional.embedding_bag": "the indices are kept by PyTorch in a form of its own",
    "nn.functional.linear_cross_entropy/chunked_none": "as above",
    "nn.functional.linear_cross_entropy/chunked": "gradients are computed in backward, from the inputs, not in forward",
    "nn.functional.multi_head_attention_forward": "another message: a transposed copy is no view",
    "nn.functional.poisson_nll_loss": "PyTorch keeps the input where the counts want a gradient",
    "pca_lowrank": "singular vectors of another sign",
    "svd_lowrank": "singular vectors of another sign",
}
"""Entries that do not agree in all, each with the reason."""


@pytest.mark.parametrize("key", [k for k in KEYS if k not in EXCLUDED])
def test_entry(key: str) -> None:
    import overwritten_kit

    if overwritten_kit.differentiable(key):
        assert not list(overwritten_kit.disagreements(key))


def test_exclusions_are_entries() -> None:
    assert set(EXCLUDED) <= set(KEYS)
