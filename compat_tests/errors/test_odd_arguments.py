"""Odd arguments: flags among sizes, tensors without elements, methods of the class that are given no tensor."""

from __future__ import annotations

from typing import Any

import pytest

from parity import Raised, attempt, parity_test

SIZES = """torch.ones(2).view(2, True); torch.ones(2).view((2, True)); torch.ones(2).view([2, True]); torch.ones(2).reshape(2, True)
    torch.ones(2, 1).reshape((2, 1, True)); torch.ones(2, 1).expand(2, True); torch.ones(2, 1).expand(-1, True)
    torch.ones(2).repeat((2, True)); torch.ones(2, 1).flip(0, True); torch.ones(2, 1).permute((0, True))
    torch.ones(2, 1).amax((0, True)); torch.ones(4).as_strided((2, True), (1, 1)); torch.ones(4).as_strided((2, 2), (1, True))
    torch.ones(4).unflatten(0, (2, True, 2)); torch.ones(3).split([2, True]); torch.randn((2, True)); torch.zeros((2, True))
    F.max_pool2d(torch.ones(1, 1, 2, 2), (1, True)); F.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1), stride=(1, True))
    torch.zeros((True, 2)); torch.ones(2).view((2, 1.0)); torch.ones(2).resize_((2, True))
    F.layer_norm(torch.ones(2, 1), (2, True)); torch.broadcast_to(torch.ones(2, 1), (2, True))
    F.pad(torch.ones(1, 2), (1, True)); torch.ones(3).split([1, True, 1]); torch.ones(3).split_with_sizes([2, True])
    F.interpolate(torch.ones(1, 1, 4, 4), (1, True)); F.interpolate(torch.ones(1, 1, 4, 4), [2, True])"""
REFUSED_SIZES = """F.pad(torch.ones(1, 2), (True, 1)); F.pad(torch.ones(1, 2), (1, 1.0)); F.pad(torch.ones(1, 2), (1.0, 1))
    torch.ones(3).split([True, 2]); torch.ones(3).split([1.0, 2]); torch.ones(3).split_with_sizes([True, 2])
    torch.ones(3).split([2, 1.0]); torch.ones(3).split(True); torch.ones(3).split(1.0); F.interpolate(torch.ones(1, 1, 4), (True,))
    F.interpolate(torch.ones(1, 1, 4, 4), (True, 1)); F.interpolate(torch.ones(1, 1, 4, 4), True)"""
ONE_BY_ONE = """y.squeeze(0, 2); y.squeeze(0, 4, 2); y.clone().squeeze_(0, 2); y.squeeze(0, True); y.squeeze(axis=0)
    y.squeeze(dim=(0, 2)); x.count_nonzero(0, 1); x.count_nonzero((0, 1)); x.count_nonzero(dim=1); x[0, 0].broadcast_to(2, 3)
    x[0, 0].broadcast_to((2, 3)); x[0, 0].broadcast_to(2); x.broadcast_to(size=(2, 2, 3)); x.hsplit(1, 2); x.hsplit((1, 2))
    x.vsplit(0, 1); x.hsplit(indices=(1,)); torch.ones(2, 2, 4).dsplit(1, 2); x[0, 0].flatten(0, 0); x[0, 0].flatten(-1, -1)
    torch.take_along_dim(x, torch.tensor([[0, 5]])); x.index_copy(0, torch.tensor([1]), torch.ones(1, 3))"""
KINDS = """x[0].map_(1, 2); x[0].map2_(1, 2, 3); x[0].outer(3); x[0].ger("a"); x.is_same_size(3); x.is_set_to(None); x.resize_as_(3)
    x.slice_inverse(3); x.sparse_mask(3); x.smm(3); x.sspaddmm(1, 2); x.take_along_dim(3); x.svd(3); x.svd(True, 0)
    x.fill_diagonal_(1, 2); x.copy_(1, 2); x.copy_(x, None); x.flatten(1, "a"); x.flatten(1.0); x.tile(); y.squeeze(0, "a")
    y.squeeze(0, dim=1); y.squeeze(0, 1.0); y.clone().squeeze_(0, 1.0); y.squeeze((0,), 2); torch.squeeze(y, 0, 2)
    torch.count_nonzero(x, 0, 1); torch.hsplit(x, 1, 2); x.hsplit(1, "a")
    x.broadcast_to(); torch.broadcast_to(x, 2, 3); y.squeeze(0, 0); x[0, 0].flatten(3); x[0, 0].flatten(0, 2)
    torch.take_along_dim(x, torch.tensor([7])).tolist(); torch.take_along_dim(x, torch.tensor([-1])).tolist()
    x.index_copy(0, torch.tensor([0, 1]), torch.ones(2)); x.index_copy(0, torch.tensor(0), torch.tensor(1.0))
    x.index_copy(1, torch.tensor([0, 1]), torch.ones(2)); x.index_copy_(0, torch.tensor([0]), torch.ones(3))
    x[0].index_copy(0, torch.tensor([0, 1]), torch.ones(2, 3)); x[0, 0].index_copy(0, torch.tensor(0), torch.ones(1, 3))"""
POOLED = (
    ["2, 0, 4", "0, 2, 4", "0, 4", "2, 2, 0"],
    ["2, 0, 4, 4", "0, 2, 4, 4", "0, 4, 4", "2, 2, 0, 3"],
    ["2, 0, 4, 4, 4", "0, 4, 4, 4"],
)
POOLINGS = ["F.avg_pool{n}d(x, 2)", "F.max_pool{n}d(x, 2)", "F.lp_pool{n}d(x, 2, 2)", "F.adaptive_avg_pool{n}d(x, 2)",
            "F.adaptive_max_pool{n}d(x, 2)"]  # fmt: skip
UNUSUAL = """F.fractional_max_pool2d(torch.ones(2, 0, 4, 4), 2, output_size=2)
    F.fractional_max_pool2d(torch.ones(0, 2, 4, 4), 2, output_size=2)
    F.fractional_max_pool3d(torch.ones(2, 0, 4, 4, 4), 2, output_size=2)
    F.max_unpool2d(torch.ones(0, 2, 4, 4), torch.ones(0, 2, 4, 4, dtype=torch.long), 2)
    F.max_unpool2d(torch.ones(2, 0, 4, 4), torch.ones(2, 0, 4, 4, dtype=torch.long), 2)"""
UNBOUND = """torch.Tensor.add(3, 4); torch.Tensor.mul(3, 2.5); torch.Tensor.sub(True, 4); torch.Tensor.__add__(3, 4)
    torch.add(3, 4); torch.add(3, torch.ones(2)); torch.mul(3, 4); torch.sub(3, 4); torch.multiply(3, 4); torch.Tensor.multiply(3, 4)
    torch.Tensor.div(3, 4); torch.Tensor.bitwise_and(3, 4)
    torch.Tensor.remainder(3, 4); torch.Tensor.sum(3); torch.Tensor.relu("a")
    torch.Tensor.eq(3, 3); torch.Tensor.maximum(3, 4)"""


def _expressions(texts: str) -> list[str]:
    return [e.strip() for line in texts.splitlines() for e in line.split("; ")]


def _result(torch: Any, text: str, **names: Any) -> Any:
    torch.manual_seed(0)
    return attempt(lambda: eval(text, {"torch": torch, "F": torch.nn.functional, **names}))


def _told(found: Any) -> Any:
    return (found.kind, found.message) if isinstance(found, Raised) else found


@pytest.mark.parametrize("text", _expressions(SIZES) + _expressions(UNUSUAL))
@parity_test
def test_sizes_and_empty_tensors(torch: Any, text: str) -> Any:
    return _told(_result(torch, text))


@pytest.mark.parametrize("text", _expressions(REFUSED_SIZES))
@parity_test
def test_what_is_no_size(torch: Any, text: str) -> Any:
    return _result(torch, text).kind


def _with_tensors(torch: Any, text: str) -> Any:
    return _result(torch, text, x=torch.arange(6.0).reshape(2, 3), y=torch.ones(1, 2, 1, 3, 1))


@pytest.mark.parametrize("text", _expressions(ONE_BY_ONE))
@parity_test
def test_methods_that_take_their_numbers_one_by_one(torch: Any, text: str) -> Any:
    return _with_tensors(torch, text)


@pytest.mark.parametrize("text", _expressions(KINDS))
@parity_test
def test_arguments_of_another_kind(torch: Any, text: str) -> Any:
    return _with_tensors(torch, text).kind


@pytest.mark.parametrize("text", POOLINGS)
@pytest.mark.parametrize(("n", "shape"), [(n + 1, shape) for n, shapes in enumerate(POOLED) for shape in shapes])
@parity_test
def test_pooling_of_nothing(torch: Any, text: str, n: int, shape: str) -> Any:
    return _told(_result(torch, text.format(n=n), x=torch.ones(*map(int, shape.split(", ")))))


@pytest.mark.parametrize("text", _expressions(UNBOUND))
@parity_test
def test_methods_of_the_class(torch: Any, text: str) -> Any:
    found = _result(torch, text)
    return found.kind if isinstance(found, Raised) else found


@parity_test
def test_layers_made_in_inference_mode(torch: Any) -> Any:
    with torch.inference_mode():
        layer, norm = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)
    found = attempt(lambda: layer(torch.ones(1, 2, requires_grad=True)).sum().backward())
    written = attempt(lambda: layer.weight.data.mul_(2))
    return (
        [t.is_inference() for t in (layer.weight, layer.bias, norm.weight, norm.running_mean)],
        _told(found),
        _told(written),
    )


@pytest.mark.parametrize("kind", ["int32", "float64", "float32"])
@parity_test
def test_inner_into_another_type(torch: Any, kind: str) -> Any:
    cases = [(torch.ones(2), torch.ones(2)), (torch.ones(()), torch.ones(2)), (torch.ones(2, 2), torch.ones(3, 2))]
    found = []
    for a, b in cases:
        out = torch.empty(0, dtype=getattr(torch, kind))
        found.append(getattr(attempt(lambda a=a, b=b, out=out: torch.inner(a, b, out=out)), "kind", None))
    return found


@pytest.mark.parametrize("kind", ["int64", "uint8", "float32", "bool", "complex64"])
@parity_test
def test_unravel_index(torch: Any, kind: str) -> Any:
    x, found = torch.arange(6).view(2, 3).to(getattr(torch, kind)), []
    for shape in ((2, 3), 6, [2, 1, 3], (2.0,), (-1,), (), (0,), None, "a", (2, 2), (1 << 62, 4)):
        made = attempt(lambda shape=shape: torch.unravel_index(x, shape))
        told = (made.kind, made.message.split("\n")[0]) if hasattr(made, "kind") else made
        found.append((told, isinstance(made, tuple) and [t.stride() for t in made]))
    return found


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int64", "float64"])
@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
@parity_test
def test_integrals_of_integers_that_wrap_around(torch: Any, name: str, kind: str) -> Any:
    integral, x = getattr(torch, name), (torch.arange(12).view(3, 4) * 21).to(getattr(torch, kind))
    points = torch.arange(12).view(3, 4)
    return [
        (integral(x, dim=d), integral(x, dx=0.5, dim=d), integral(x, points, dim=d), integral(x, x, dim=d))
        + (integral(x, points.double() / 2, dim=d), integral(x.double(), x, dim=d))
        for d in (0, 1)
    ]


@parity_test
def test_types_that_are_refused(torch: Any) -> Any:
    whole, half, flags = torch.ones(3, 3).long(), torch.ones(3, 3).bfloat16(), torch.ones(3, 3) > 0
    numbers, at = torch.ones(3, 3) + 0j, torch.tensor([0, 1, 1])
    found = [
        attempt(lambda: torch.normal(0.0, numbers)),
        attempt(lambda: torch.normal(numbers, numbers)),
        attempt(lambda: torch.pca_lowrank(whole)),
        attempt(lambda: torch.pca_lowrank(whole, center=False)),
        attempt(lambda: torch.svd_lowrank(half)),
        attempt(lambda: torch.linalg.vander(half)),
        attempt(lambda: numbers.index_reduce(0, at, numbers, "amax")),
        attempt(lambda: flags.index_reduce(0, at, flags, "mean")),
    ]
    return [x.kind for x in found]
