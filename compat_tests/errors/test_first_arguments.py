"""Functions of one tensor that are given something else, arguments by two names, and limits of two kinds: PyTorch's errors."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test

CALLS = """torch.reshape({}, (2,)); torch.ravel({}); torch.movedim({}, 0, 1); torch.chunk({}, 2); torch.unflatten({}, 0, (1, 2))
    torch.svd({}); torch.view_as_real({}); torch.imag({}); torch.take_along_dim({}, torch.tensor([0])); torch.masked_fill({}, m, 1)
    torch.fill({}, 1); torch.index_fill({}, 0, torch.tensor([0]), 1); torch.index_put({}, (torch.tensor([0]),), torch.ones(1))
    torch.resolve_conj({}); torch.resolve_neg({}); torch.conj_physical({}); torch.flipud({}); torch.fliplr({})
    torch.tile({}, (2,)); torch.combinations({}); torch.as_strided({}, (1,), (1,)); torch.multinomial({}, 1)
    torch.as_strided_scatter({}, torch.ones(1), (1,), (1,))"""
GIVEN = ['"a"', "None", "2.5", "[1]", "True"]
MIXED = """torch.clamp(x, 0, torch.ones(2)); torch.clamp(x, torch.zeros(2), 1.0); x.clamp(min=torch.zeros(2), max=1)
    torch.clamp(x, torch.zeros(()), 1.0); x.clip(min=torch.zeros(2), max=torch.ones(2))
    torch.clamp(x, min=torch.zeros(2)); torch.sum(x, 0, axis=0); torch.sum(x, axis=0); torch.softmax(x, 0, axis=1)
    x.sum(0, axis=0); x.sum(0, keepdim=True, keepdims=True); x.sum(0, keepdims=True); x.sum_to_size(); x.clone().resize_()
    torch.fft.fft2(torch.ones(2, 2), dim=None); torch.linalg.det(torch.eye(2), input=torch.eye(2))
    torch.linalg.matrix_rank(torch.eye(2), hermitian=1); torch.linalg.pinv(torch.eye(2), hermitian="a")
    torch.stft(torch.ones(8), 4, window=torch.ones(4), return_complex=1)
    torch.stft(torch.ones(8), 4, window=torch.ones(4), normalized=None, return_complex=True)"""


def _kind(torch: Any, text: str) -> Any:
    names = {"torch": torch, "x": torch.tensor([-1.0, 2.0]), "m": torch.tensor([True])}
    try:
        return eval(text, names)
    except TypeError as error:
        return "TypeError", str(error).partition("(")[0]


@pytest.mark.parametrize("text", [e.strip() for line in CALLS.splitlines() for e in line.split("; ")])
@parity_test
def test_what_is_no_tensor(torch: Any, text: str) -> Any:
    return [_kind(torch, text.format(given)) for given in GIVEN]


@pytest.mark.parametrize("text", [e.strip() for line in MIXED.splitlines() for e in line.split("; ")])
@parity_test
def test_arguments_that_do_not_go_together(torch: Any, text: str) -> Any:
    return _kind(torch, text)
