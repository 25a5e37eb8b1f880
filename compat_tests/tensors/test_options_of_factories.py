"""What factories of tensors make of `dtype=`, `layout=`, `device=`, `pin_memory=`, `requires_grad=` and `memory_format=`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from parity import candidate

CALLS = """
full_like(x, 1, {}); zeros_like(x, {}); ones_like(x, {}); empty_like(x, {}); rand_like(x, {}); randn_like(x, {});
randint_like(x, 3, {}); zeros(2, {}); ones(2, {}); empty(2, {}); full((2,), 1, {}); rand(2, {}); randn(2, {});
randint(3, (2,), {}); randperm(3, {}); arange(3, {}); linspace(0, 1, 2, {}); logspace(0, 1, 2, {}); eye(2, {});
tensor(1.0, {}); scalar_tensor(1.0, {}); hann_window(3, {}); kaiser_window(3, {}); empty_strided((2,), (1,), {});
normal(0.0, 1.0, (2,), {}); empty_permuted((2,), (0,), {}); fft.fftfreq(3, {}); as_tensor(1.0, {}); asarray(1.0, {});
Tensor.new_zeros(x, 2, {}); Tensor.new_full(x, (2,), 1, {}); Tensor.new_tensor(x, [1.0], {}); Tensor.new_empty(x, 2, {});
Tensor.new_ones(x, 2, {}); Tensor.new_empty_strided(x, (2,), (1,), {})
"""
OPTIONS = """pin_memory=x pin_memory=1 pin_memory='a' pin_memory=None requires_grad=1 requires_grad=x requires_grad=None layout=x
layout='a' layout=None device=x device=2.5 dtype=x dtype='float32' dtype=None memory_format=x memory_format='a'""".split()


def _outcome(t: Any, call: str) -> str:
    x = t.ones(2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval("t." + call, {"t": t, "x": x})
    except Exception as error:
        return type(error).__name__
    return "taken"


@pytest.mark.parametrize("call", [" ".join(c.split()) for c in CALLS.split(";")])
def test_options(call: str):
    """Each is taken, or refused with the same class of error."""
    each = [call.format(option) for option in OPTIONS]
    theirs, ours = ([(c, _outcome(t, c)) for c in each] for t in (torch, candidate()))
    assert ours == theirs
    assert {"taken", "TypeError"} == {how for _, how in theirs} - {"RuntimeError"}
