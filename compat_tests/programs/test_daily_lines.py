"""Expressions as people write them when they port programs: what each shows, or which error it raises, is PyTorch's.

A table for each mechanism; one body.
"""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pytest

from parity import candidate, reference

_INDICES = "torch.tensor([0, 5, 7]) * 1"
LINES = {
    "the first index that is out of range is named": [
        f"torch.ones(4)[{_INDICES}]",
        f"torch.ones(4)[-({_INDICES})]",
        f"torch.ones(4).gather(0, {_INDICES})",
        f"torch.ones(4).scatter(0, {_INDICES}, 1.)",
        f"torch.ones(4).index_fill(0, {_INDICES}, 1.)",
        f"torch.ones(4).index_copy(0, {_INDICES}, torch.ones(3))",
        f"torch.ones(4).index_put(({_INDICES},), torch.ones(3))",
        f"torch.take_along_dim(torch.ones(4), {_INDICES})",
        f"torch.ones(6, 4)[torch.tensor([0, 5, 7]) * 1, {_INDICES}]",
        f"F.cross_entropy(torch.ones(3, 4), {_INDICES})",
        f"F.nll_loss(torch.ones(1, 4, 3), ({_INDICES})[None])",
    ],
    "an index that rows are added to": [
        f"torch.ones({size}).index_add(0, torch.tensor([0, 5]).{kind}(), torch.ones({size}), alpha={alpha})"
        for size, kind, alpha in itertools.product(("2", "2, 2"), ("int", "long"), (1, 2))
    ],
    "sequences that are padded": [
        f"torch.nn.utils.rnn.pad_sequence([torch.ones({a}), torch.ones({b})], padding_value=5.0)"
        for a, b in (("3", "2, 4"), ("2, 4", "3"), ("3, 2", "2, 1"), ("3, 2", "2"), ("3, 2, 2", "2, 2"), ("3, 2", "2, 3"))
    ],
    "operands that are fixed in derivatives": [
        *[
            f"F.{name}(torch.ones(2), torch.ones(2), weight=torch.ones(2, requires_grad=True))"
            for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits")
        ],
        "F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2), pos_weight=torch.ones(2, requires_grad=True))",
        "F.multi_margin_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3, requires_grad=True))",
        "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3, requires_grad=True))",
        "F.cross_entropy(torch.ones(2, 3), torch.ones(2, 3), weight=torch.ones(3, requires_grad=True))",
        "F.cross_entropy(torch.ones(2, 3, 2), torch.ones(2, 2).long(), torch.ones(3, requires_grad=True))",
        "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3, requires_grad=True))",
        "F.soft_margin_loss(torch.ones(2), torch.ones(2, requires_grad=True))",
        "F.batch_norm(torch.ones(2, 3), torch.ones(3, requires_grad=True), torch.ones(3))",
        "F.batch_norm(torch.ones(2, 3), torch.ones(3), torch.ones(3, requires_grad=True), training=True)",
        "F.instance_norm(torch.ones(2, 3, 4), torch.ones(3, requires_grad=True), torch.ones(3), use_input_stats=False)",
        "torch.linalg.pinv(torch.eye(2), rtol=torch.tensor(1e-3, requires_grad=True))",
        "torch.fake_quantize_per_tensor_affine(torch.ones(2), torch.tensor(1., requires_grad=True), torch.tensor(0), 0, 255)",
        "torch.fake_quantize_per_channel_affine(torch.ones(2, 2), torch.ones(2, requires_grad=True), torch.zeros(2), 0, 0, 255)",
        "[r.requires_grad for r in torch.native_layer_norm(torch.ones(1, 3, requires_grad=True), (3,), None, None, 1e-5)]",
        "[r.requires_grad for r in torch.native_batch_norm(torch.ones(3, 2, requires_grad=True), *[None] * 4, True, 0.1, 1e-5)]",
        "torch.histogram(torch.ones(3), torch.tensor([0., 1.], requires_grad=True)).hist.requires_grad",
        "torch.ones(2, requires_grad=True).scatter(0, torch.tensor([1]), 2., reduce='multiply').sum().backward()",
        "torch.ones(2, requires_grad=True).scatter(0, torch.tensor([1]), torch.ones(1), reduce='add').sum().backward()",
    ],
    "losses whose reduction is a number": [
        *[f"torch._C._nn.{f}(torch.ones(2), torch.zeros(2))" for f in ("mse_loss", "l1_loss", "huber_loss", "soft_margin_loss")],
        *[f"torch._C._nn.{f}(torch.ones(2), torch.zeros(2), 2)" for f in ("mse_loss", "l1_loss", "smooth_l1_loss")],
        "torch._C._nn.binary_cross_entropy(torch.ones(2) / 2, torch.ones(2), None, 1)",
        "torch._C._nn.nll_loss(torch.ones(1, 2), torch.zeros(1).long())",
        "torch._C._nn.nll_loss_nd(torch.ones(1, 2), torch.zeros(1).long(), None, 2, -100)",
        "torch._C._nn.cross_entropy_loss(torch.ones(1, 2), torch.zeros(1).long(), None, 1, -100, 0.1)",
        "torch._C._nn.multi_margin_loss(torch.ones(1, 2), torch.zeros(1).long(), reduction=2)",
    ],
    "numbers and arrays of NumPy": [
        "torch.tensor(np.bool_(True))",
        "torch.as_tensor(np.bool_(False))",
        "torch.tensor([np.bool_(True), np.bool_(False)])",
        "torch.tensor([[np.bool_(True)], [False]], dtype=torch.float32)",
        "torch.tensor(np.bool_(True), dtype=torch.int8)",
        "torch.BoolTensor([np.bool_(True)])",
        "torch.result_type(torch.tensor([1]), np.bool_(1))",
        "torch.result_type(torch.tensor([1]), np.array(1.))",
        "F.pad(torch.ones(2), np.array([1, 0]))",
        "F.pad(torch.ones(2), range(2))",
    ],
    "segments": [
        "torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([1]))",
        "torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([-1]))",
        "torch.segment_reduce(torch.ones(3), 'nonsense', lengths=torch.tensor([3]))",
        "torch.segment_reduce(torch.ones(0), 'sum', lengths=torch.tensor([0]))",
        "torch.segment_reduce(torch.ones(3), 'sum')",
        "torch.segment_reduce(torch.ones(3), 'sum', indices=torch.tensor([0]))",
        "torch.segment_reduce(torch.ones(3), 'sum', lengths=torch.tensor([3.]))",
        "torch.segment_reduce(torch.ones(3), 'sum', offsets=torch.tensor([0, 4]))",
        "torch.segment_reduce(torch.ones(3), 'sum', offsets=torch.tensor([0, 2, 1]))",
        "torch.segment_reduce(torch.ones(3).int(), 'sum', lengths=torch.tensor([3]))",
        "torch.segment_reduce(torch.ones(3), 'max', lengths=torch.tensor([3, 0]))",
        "torch.segment_reduce(torch.ones(2, 3), 'max', lengths=torch.tensor([[3], [3]]), axis=1)",
        "torch.segment_reduce(torch.ones(2, 3), 'max', lengths=torch.tensor([3]), axis=1)",
        "torch.segment_reduce(torch.ones(0), 'mean', lengths=torch.tensor([0, 0]))",
        "torch.segment_reduce(torch.ones(0, 2), 'max', lengths=torch.tensor([0, 0]), initial=3)",
        "torch.segment_reduce(torch.ones(2, 3), 'max', offsets=torch.tensor([0, 1, 2]))",
        "torch.segment_reduce(torch.ones(2, 3), 'max', offsets=torch.tensor([[0, 1, 3], [0, 2, 3]]), axis=1)",
        "torch.segment_reduce(torch.arange(3.), 'sum', offsets=torch.tensor([0, 2, 1]), unsafe=True)",
        "torch.segment_reduce(torch.arange(3.), 'sum', offsets=torch.tensor([1, 2]))",
        "torch.segment_reduce(torch.arange(3.), 'sum', lengths=torch.tensor([1, 2], dtype=torch.int32))",
        "torch.segment_reduce(torch.arange(3.), 'sum', lengths=torch.tensor([1, 2], dtype=torch.int16))",
        "torch.segment_reduce(torch.arange(3.), 'sum', lengths=torch.tensor([1, 1]), unsafe=True)",
        "torch.segment_reduce(torch.arange(3.), 'sum', lengths=torch.tensor([1, 2]), offsets=torch.tensor([0, 3]))",
    ],
    "methods take no out=": [
        *[
            f"torch.ones(2, 2).{call}, out=torch.empty(0))"
            for call in ("add(1", "clamp(0, 1", "matmul(torch.ones(2, 2)", "mean(0", "eq(1")
        ],
        "torch.ones(2).var(0, out=torch.empty(0))",
        "torch.ones(2).pow(2, out=torch.empty(0))",
        "torch.ones(2).max(0, out=torch.empty(0))",
        "torch.Tensor.median(torch.ones(2), 0, out=(torch.empty(0), torch.empty(0).long()))",
    ],
    "functions that take no out=, or of some types only": [
        "torch.var_mean(torch.ones(2), out=(torch.empty(0), torch.empty(0)))",
        "torch.var(torch.ones(2), True, out=torch.empty(()))",
        "torch.median(torch.ones(2, 2), out=torch.empty(0))",
        "torch.trace(torch.ones(2, 2), out=torch.empty(()))",
        "torch.count_nonzero(torch.ones(2), out=torch.empty(()))",
        "torch.native_layer_norm(torch.ones(2), (2,), None, None, 1e-5, out=(torch.empty(2), torch.empty(1), torch.empty(1)))",
        "torch.median(torch.ones(2, 2), 0, out=(torch.empty(0), torch.empty(0)))",
        "torch.float_power(torch.ones(2), 2, out=torch.empty(2))",
        "torch.float_power(torch.ones(2), 2j, out=torch.empty(2, dtype=torch.complex128))",
        *[f"torch.linalg.matrix_power(torch.eye(2), {n}, out=torch.empty(2).double())" for n in (0, 1, 2, -1)],
        "torch.argsort(torch.ones(2), stable=True, out=torch.empty(0).int())",
        "torch.nonzero_static(torch.ones(2), size=2, out=torch.empty(2))",
        "torch.lerp(torch.ones(2), torch.ones(2), .5, out=torch.empty(2).double())",
    ],
    "results and operands of several types": [
        *[f"F.rms_norm(torch.ones(2, 3).{a}(), (3,), torch.ones(3).{b}())" for a, b in (
            ("bfloat16", "float"), ("half", "float"), ("float", "double"), ("double", "float"), ("float", "bfloat16"))],
        "F.rms_norm(torch.ones(2, 3, requires_grad=True).bfloat16(), (3,))",
        "nn.RMSNorm(3)(torch.ones(2, 3).bfloat16()).dtype",
        "torch.native_layer_norm(torch.ones(2, 3), (3,), torch.ones(3).double(), None, 1e-5)",
        "torch.native_group_norm(torch.ones(2, 3), torch.ones(3).double(), None, 2, 3, 1, 1, 1e-5)",
        "torch.native_batch_norm(torch.ones(2, 3), torch.ones(3).double(), None, None, None, True, .1, 1e-5)",
        "torch.gradient(torch.ones(3, 3), spacing=(torch.arange(3.).double(), torch.arange(3.)))",
        "torch.gradient(torch.arange(3.).half(), spacing=(torch.arange(3.),))",
        "torch.gradient(torch.arange(3.).double(), spacing=(torch.arange(3),))",
        "torch.histogramdd(torch.ones(3, 1), [torch.arange(3.).double()])",
        "torch.histogram(torch.ones(3), torch.arange(3.).double())",
        "torch.histogram(torch.ones(3), 2, weight=torch.ones(3).double())",
    ],
    "names of classes": [
        *[f"torch.Generator().{call}" for call in ("get_offset()", "set_offset(3)", "graphsafe_get_state()")],
        "torch.optim.SGD.OptimizerPreHook",
        "torch.optim.Optimizer.OptimizerPostHook",
        "nn.Module.T_destination",
    ],
    "copies of what is no view": [
        *[f"torch.view_copy(torch.ones(2, 3).t(), {to})" for to in ("(6,)", "(-1,)", "(5,)", "torch.int32", "torch.int16")],
        "torch.view_copy(torch.ones(1, 2, requires_grad=True).expand(2, 2), (4,))",
        "torch.view_copy(torch.ones(2, 3).t(), (6,), out=torch.empty(6))",
    ],
    "texts of errors": [
        "torch.nanquantile(torch.ones(2), torch.tensor(2.))",
        "F.multilabel_margin_loss(torch.ones(1, 2), torch.tensor([[3, 0]]))",
        "F.lp_pool1d(torch.ones(1, 4), 0, 2)",
        "F.batch_norm(torch.ones(1, 3), None, None, training=True, eps=-1)",
    ],
    "switches take a bool and nothing else": [
        *[f"torch.backends.cuda.enable_{kind}_sdp(1)" for kind in ("flash", "mem_efficient", "math")],
        "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp('a')",
        "torch.backends.nnpack.set_flags('a')",
        "torch.set_warn_always(1)",
        "torch.set_flush_denormal(None)",
        "torch.set_autocast_cache_enabled('a')",
        "torch.compile(lambda x: x, dynamic='a')",
        "torch.compile(nn.Linear(1, 1), disable=True).__class__.__name__",
        "torch.jit.script('a')",
        "torch.jit.script(None)",
    ],
    "functions of torch that do not check": [
        "torch.batch_norm(torch.ones(1, 3), None, None, None, None, True, 0.1, 1e-5, False)",
        "torch.batch_norm(torch.ones(2, 3), None, None, None, None, True, 0.1, -1., False)",
        "torch.instance_norm(torch.ones(1, 3, 1), None, None, None, None, True, 0.1, 1e-5, False)",
        "(lambda v: (torch.batch_norm(torch.ones(1, 3), None, None, v + 0, v, True, 0.1, 1e-5, False), v))(torch.ones(3))",
    ],
}  # fmt: skip


def shown(torch: Any, line: str) -> str:
    """What the expression gives, or the type and the beginning of its error."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = repr(eval(line, {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np}))
        except Exception as error:
            text = type(error).__name__ + f": {str(error)[:55]}" * (type(error) is not TypeError and "out=" not in line)
    return re.sub(r"\s+", " ", text.replace("jaxtorch", "torch"))


@pytest.mark.parametrize("line", [line for lines in LINES.values() for line in lines])
def test_line(line: str) -> None:
    assert shown(candidate(), line) == shown(reference(), line)


@pytest.mark.parametrize(
    "line",
    [
        "torch.autograd.set_detect_anomaly('a')",
        "torch.autograd.set_detect_anomaly(True, 'a')",
        "torch.set_anomaly_enabled(1)",
        "torch.autograd.set_multithreading_enabled('a')",
        "torch.set_autocast_enabled('cpu', 'a')",
    ],
)
def test_type_error(line: str) -> None:
    """The kind of error is PyTorch's; its text leaves the argument's position out."""
    found, expected = (shown(lib, line) for lib in (candidate(), reference()))
    assert found.startswith("TypeError") and found[:50] == expected[:50]
