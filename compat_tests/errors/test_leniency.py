"""Arguments that PyTorch refuses and that Python would have a use for: the same exception, and the same first words of it."""

from __future__ import annotations

from typing import Any

import pytest

from parity import Raised, attempt, parity_test

SIZES = """torch.flip(x, 0); torch.flip(x, [True]); torch.flip(x, (0, 1.0)); torch.flip(x, None); torch.flip(x, range(1))
    torch.flip(x, torch.tensor([0])); torch.flip(x, dims=(0,)); x.flip(0, 1); x.flip(dims=[0]); torch.reshape(x, 6)
    torch.reshape(x, (torch.tensor(6),)); torch.reshape(x, torch.tensor(6)); x.reshape(range(6, 7)); x.reshape(); x.view()
    x.reshape(None); x.reshape(6); torch.permute(x, 0); torch.permute(x, (1, 0)); x.permute(1, 0); torch.tile(x, 2); x.tile(2)
    x.tile(1.5); x.tile((2, 1)); torch.rot90(x, 1, 0); torch.broadcast_to(x, 3); torch.roll(x, True); torch.roll(x, 2.5)
    torch.roll(x, 1, None); torch.roll(x, torch.tensor(1), 0); torch.unflatten(x, 0, 2); torch.movedim(x, (0, 1), 0)
    F.max_pool1d(x, 1); F.max_pool1d(x, True); F.max_pool1d(x, 1, None); F.avg_pool2d(x[None], 2.0); F.avg_pool2d(x[None], 2, [])
    F.avg_pool2d(x[None], True); F.unfold(x[None, None], (1, 2))
    F.adaptive_avg_pool1d(x, None); F.adaptive_avg_pool2d(x[None], (None, 1))
    F.conv_transpose2d(x[None, None], k, output_padding=-1); F.conv2d(x[None, None], k, stride=[1, 1])
    F.conv2d(x[None, None], k, padding="same")"""
KINDS = """F.conv2d(x[None, None], k, stride=True); F.conv2d(x[None, None], k, dilation=1.0); x.repeat("a"); x.permute("a")
    F.conv2d(x[None, None], k, padding=None); F.adaptive_avg_pool2d(x[None], None); x.expand("a"); x.float(1)
    F.conv_transpose2d(x[None, None], k, stride=True); F.unfold(x[None, None], True)
    F.fold(x, 1.5, 1); F.adaptive_max_pool1d(x, 1.5); x.to(memory_format="a")"""
FORMATS = """x.clone(memory_format="a"); x.clone(memory_format=3); x.is_contiguous(memory_format=None)
    x.contiguous(memory_format="a"); torch.zeros_like(x, memory_format=3); x.is_contiguous(memory_format="a")
    torch.empty_like(x, memory_format="a"); x.is_contiguous(memory_format=torch.contiguous_format)"""
NESTED = """[[], [1]]; [(), (1,)]; [[], 1]; [[], None]; [[], "a"]; [[[], [1]], [[2]]]; [[[]], 1]; [1, []]; [1.5, [1]]; [[1.0], None]
    [[], [1j]]; [[], [True]]; [[1, 2], "ab"]; [1, [2]]; [[1], []]; [[1], [2, 3]]; [[[1]], [2]]; [1, (2,)]; [[1], 2]"""
MAPPED = ["v.item()", "float(v)", "int(v)", "bool(v)", "v if v > 0 else -v", "v.tolist()", "v.numpy()"]


def _expressions(texts: str) -> list[str]:
    return [e.strip() for line in texts.splitlines() for e in line.split("; ")]


def _result(torch: Any, text: str) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "k": torch.ones(1, 1, 1, 1)}
    return attempt(lambda: eval(text, names))


@pytest.mark.parametrize("text", _expressions(SIZES) + _expressions(FORMATS))
@parity_test
def test_sizes_and_formats(torch: Any, text: str) -> Any:
    found = _result(torch, text)
    return (found.kind, found.message.split(" - got")[0]) if isinstance(found, Raised) else found


@pytest.mark.parametrize("text", _expressions(KINDS))
@parity_test
def test_the_kind_of_error(torch: Any, text: str) -> Any:
    found = _result(torch, text)
    return found.kind if isinstance(found, Raised) else found


@pytest.mark.parametrize("text", _expressions(NESTED))
@parity_test
def test_nested_lists(torch: Any, text: str) -> Any:
    found = _result(torch, f"torch.tensor({text})")
    return (found.kind, found.message) if isinstance(found, Raised) else found


@pytest.mark.parametrize("text", MAPPED)
@parity_test
def test_values_under_vmap(torch: Any, text: str) -> Any:
    found = attempt(lambda: torch.func.vmap(lambda v: eval(text, {"v": v}))(torch.arange(3.0)))
    return found.kind, found.message


@parity_test
def test_names_of_functions_with_a_sequence(torch: Any) -> Any:
    return torch.flip.__name__, torch.permute.__name__, torch.Tensor.flip.__name__, torch.flip is torch.Tensor.flip
