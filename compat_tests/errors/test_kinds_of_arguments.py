"""The kinds of all arguments come first: what no overload of PyTorch's takes is a TypeError, whatever else is wrong with the call."""

from __future__ import annotations

import re

import pytest
import torch

import fuzz_calls
import jaxtorch
from jaxtorch._core.define import overloads

PREFIXES = {"torch": "", "linalg": "linalg_", "fft": "fft_", "special": "special_"}

ALIKE = [
    "amin(t.ones(2), 7, out=[1])",
    "kthvalue(t.ones(2), 9, out=t.ones(2))",
    "geqrf(t.ones(3, 1).long(), out=t.ones(1))",
    "linalg.ldl_factor(t.ones(4), out=t.ones(1))",
    "linalg.svd(t.ones(2), driver=3)",
    "linalg.pinv(t.ones(2), hermitian=3)",
    "slice_copy(t.ones(1), 2, t.ones(1) > 0, 0.5)",
    "topk(t.ones(2), -1, out=t.ones(2))",
    "unsafe_chunk(t.ones(2), 0, 0.1)",
    "rrelu(t.ones(2), 2, generator=t.ones(2))",
    "gradient(t.ones(3, 1), spacing=t.ones(3, 1))",
    "special.chebyshev_polynomial_t(t.ones(2).to_sparse(), [])",
    "batch_norm_elemt(1)",
    "batch_norm_gather_stats()",
    "batch_norm_update_stats(0.5, t.ones(2), 2)",
    "batch_norm_stats(t.ones(2, 2))",
    "slice_inverse('max')",
    "resize_as_sparse_(t.ones(1))",
    "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12(1)",
]


@pytest.mark.parametrize("text", ALIKE)
def test_a_call_of_wrong_kinds_is_a_type_error_before_anything_else(text: str):
    for library in (torch, jaxtorch):
        with pytest.raises(TypeError):
            eval(f"t.{text}", {"t": library})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [11, 12])
def test_the_table_says_of_random_calls_what_pytorch_says(seed: int):
    """Where PyTorch raises another error, or none, the table takes the arguments; where it raises a TypeError, nearly always not."""
    known = [(kind, name) for kind, name in fuzz_calls.targets(torch) if kind in PREFIXES]
    refused, missed = 0, []
    for number in range(1500):
        call = fuzz_calls.Call(jaxtorch, known, seed, number)
        name = PREFIXES[call.kind] + call.name
        function = getattr(fuzz_calls._space(torch, call.kind), call.name)
        large = re.search(r"\d{9,}|e\+", str(call))
        if large or not overloads.overloads(name) or type(function).__name__ != "builtin_function_or_method":
            continue
        try:
            theirs, ours = call.make(torch), call.make(jaxtorch)
        except (RuntimeError, NotImplementedError):
            continue  # arguments that PyTorch cannot make
        try:
            call.run(torch, theirs)
            kind = None
        except Exception as error:
            kind = type(error)
        try:
            overloads.refuse(name, tuple(ours[0][0]), ours[0][1])
            taken = True
        except TypeError:
            taken = False
        assert taken or kind is TypeError, str(call)
        refused += not taken
        if taken and kind is TypeError:
            missed.append(str(call))
    assert refused > 300 and len(missed) < 8, missed


def test_what_no_table_knows_is_not_refused():
    overloads.refuse("no_function_of_this_name", (object(),), {})


def test_an_argument_that_wants_to_be_asked_is_not_refused():
    class Asked:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    assert jaxtorch.sort(Asked()) == "asked"
    overloads.refuse("sort", (Asked(), 1.5), {})


BY_OTHER_NAMES = [
    "sum(t.ones(2, 2), keepdims=True)",
    "mean(t.ones(2), keepdims=False)",
    "mean(t.ones(2, 2), axis=0, keepdims=True)",
    "logsumexp(t.ones(2, 2), (0,), keepdims=True)",
    "any(t.ones(2, 2), axis=(0, 1), keepdims=True)",
    "argmax(t.ones(2, 2), axis=1, keepdims=True)",
    "kthvalue(t.ones(3), 1, axis=0)[0]",
    "sparse_bsr_tensor(-2, 2, -2)",
    "svd(t.ones(1, 1).half(), compute_uv=False)",
    "batch_norm_update_stats(t.ones(2, 2), None, None, 0.1)[1]",
    "batch_norm_update_stats(t.ones(2).int(), None, None, 0.1)",
    "slice_inverse(t.arange(6.0)[1:4], t.zeros(5), 0, 1, 4)",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", BY_OTHER_NAMES)
def test_numpy_names_are_taken_where_an_overload_has_them(text: str):
    ends = []
    for library in (torch, jaxtorch):
        try:
            ends.append(eval(f"t.{text}", {"t": library}).tolist())
        except Exception as error:
            ends.append(type(error).__name__)
    assert ends[0] == ends[1]


RARE = [
    "nonzero({x})", "argwhere({x})", "where({x})", "nonzero_static({x}, size=2)", "count_nonzero({x})", "fft.fft({x})",
    "fft.rfft({x})", "fft.ifft({x})", "fft.hfft({x})", "fft.fftn({x})", "fft.irfft({x})", "fft.ihfft({x})",
    "masked_select({x}, t.ones(2) > 0)", "special.round({x})",
]  # fmt: skip
EMPTY = [
    "linalg.lu({e})",
    "linalg.lu_factor({e})",
    "linalg.lu_factor_ex({e})",
    "linalg.lu({e}, pivot=False)",
    "lu({e}, False)",
]


@pytest.mark.parametrize("dtype", ["float8_e5m2", "uint16", "uint64", "int32", "float16", "float32"])
@pytest.mark.parametrize("text", [*RARE, *EMPTY])
@pytest.mark.filterwarnings("ignore::UserWarning")  # of `lu`, which each library gives once
def test_kernels_that_are_missing_for_rare_types(text: str, dtype: str):
    ends = []
    for library in (torch, jaxtorch):
        try:
            made = text.format(x=f"t.ones(2).to(t.{dtype})", e=f"t.ones(0, 3, 2).to(t.{dtype})")
            found = eval(f"t.{made}", {"t": library})
            found = found if isinstance(found, tuple) else (found,)
            ends.append([(str(x.dtype), tuple(x.shape)) for x in found])
        except Exception as error:
            ends.append(type(error).__name__)
    assert ends[0] == ends[1]
