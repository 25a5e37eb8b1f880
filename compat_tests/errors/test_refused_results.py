"""What PyTorch refuses, or takes, by the type and the size of tensors; the names of nodes of forms in place."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from parity import parity_test


def _complex(torch: Any) -> Any:
    return torch.ones(2, dtype=torch.complex64, requires_grad=True)


def _square(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


CASES = {
    "nan_to_num": lambda torch: torch.nan_to_num(_complex(torch)),
    "slice_scatter": lambda torch: torch.slice_scatter(_complex(torch), _complex(torch)[:1], 0, 0, 1),
    "slice_scatter, real": lambda torch: torch.slice_scatter(torch.ones(2), _complex(torch)[:1].detach(), 0, 0, 1),
    "scatter_reduce": lambda torch: _complex(torch).scatter_reduce(0, torch.tensor([0, 1]), torch.ones(2) + 0j, "sum"),
    "silu": lambda torch: torch.nn.functional.silu(_complex(torch)),
    "silu without": lambda torch: torch.nn.functional.silu(_complex(torch).detach()),
    "masked.sum": lambda torch: torch.masked.sum(torch.ones(2, requires_grad=True), dtype=torch.int64),
    "masked.mean": lambda torch: torch.masked.mean(torch.tensor(2.0, requires_grad=True)),
    "repeat_interleave": lambda torch: torch.repeat_interleave(torch.tensor(2.0), 2, 0),
    "repeat_interleave, tensor": lambda torch: torch.repeat_interleave(torch.tensor(2.0), torch.tensor(2), -1),
    "repeat_interleave, flat": lambda torch: torch.repeat_interleave(torch.tensor(2.0), torch.tensor(2)),
    "logsumexp": lambda torch: torch.logsumexp(torch.ones(2, 3), ()),
    "logsumexp, kept": lambda torch: torch.logsumexp(torch.ones(2, 3, dtype=torch.int64), (), True),
    "logsumexp of a number": lambda torch: torch.logsumexp(torch.tensor(2.0), ()),
    "kthvalue": lambda torch: torch.kthvalue(torch.tensor(True), 1),
    "kthvalue, complex": lambda torch: torch.kthvalue(torch.tensor(1 + 2j), 1),
    "kthvalue, too far": lambda torch: torch.kthvalue(torch.tensor([True]), 2),
    "mode": lambda torch: torch.mode(torch.tensor(1 + 2j)),
    "searchsorted": lambda torch: torch.searchsorted(torch.tensor([True]), torch.tensor([], dtype=torch.bool)),
    "searchsorted, one": lambda torch: torch.searchsorted(torch.tensor([True]), torch.tensor([True])),
    "bucketize": lambda torch: torch.bucketize(torch.ones(0, dtype=torch.complex64), torch.ones(2) + 0j),
    "pow of 1": lambda torch: torch.pow(1, torch.ones(2), out=torch.empty(2, dtype=torch.bool)),
    "pow of 2": lambda torch: torch.pow(2, torch.ones(2), out=torch.empty(2, dtype=torch.bool)),
    "pow, permuted": lambda torch: torch.pow(2, torch.ones(2, 3).t(), out=torch.empty(0)),
    "pow with a gradient": lambda torch: torch.pow(1, torch.ones(2, requires_grad=True), out=torch.empty(2)),
    "nothing left": lambda torch: torch.nn.functional.pad(torch.ones(1, 2, 3, 4), (-5, 1, 0, 0), mode="replicate"),
    "lu": lambda torch: torch.linalg.lu(_square(torch)),
    "lu_unpack": lambda torch: torch.lu_unpack(*torch.linalg.lu_factor(_square(torch))),
}
NAMES = """asinh_() arcsinh_() acosh_() atanh_() polygamma_(2) eq_(2) eq_(other) ne_(2) ne_(other) lt_(2) lt_(other) le_(other)
    gt_(2) gt_(other) ge_(other) sinh_() mul_(other)""".split()


@pytest.mark.parametrize("name", CASES)
@parity_test
def test_refused_or_taken(torch: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return CASES[name](torch)
        except (RuntimeError, IndexError) as error:
            return f"{type(error).__name__}: {error}".split("\n")[0]


@pytest.mark.parametrize("text", NAMES)
@parity_test
def test_names_of_nodes_in_place(torch: Any, text: str) -> Any:
    x, other = torch.tensor([0.5, 1.5], requires_grad=True), torch.tensor([0.5, 0.2])
    return eval(f"(x * 0.5).{text}", {"x": x, "other": other}).grad_fn.name()


@parity_test
def test_a_copy_of_a_part_has_its_name(torch: Any) -> Any:
    return torch.narrow_copy(torch.ones(2, requires_grad=True), 0, 0, 1)


LAYERS = {
    "linear": lambda nn: (nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), (3, 2)),
    "linear, three dimensions": lambda nn: (nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), (2, 3, 2)),
    "linear, one dimension": lambda nn: (nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1)), (2,)),
    "convolution": lambda nn: (nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2), nn.Conv1d(2, 1, 1)), (3, 2, 4)),
    "attention": lambda nn: (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 1, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@parity_test
def test_parameters_have_their_gradients_in_order(torch: Any, name: str) -> Any:
    layer, size = LAYERS[name](torch.nn)
    seen: list[str] = []
    for label, parameter in layer.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, label=label: seen.append(label))
    layer(torch.ones(size)).sum().backward()
    return seen
