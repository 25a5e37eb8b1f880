"""Sobol's points are PyTorch's, scrambled ones too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from parity import attempt


def same(call: Any) -> None:
    expected, found = (call(t, t.quasirandom.SobolEngine) for t in (torch, jaxtorch))
    assert found.dtype.__str__() == expected.dtype.__str__()
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("dimension", [1, 3, 60])
@pytest.mark.parametrize("settings", [{}, {"scramble": True, "seed": 5}, {"scramble": True}], ids=str)
def test_points(dimension: int, settings: dict[str, Any]):
    def call(t: Any, Engine: Any) -> Any:
        t.manual_seed(3)
        engine = Engine(dimension, **settings)
        parts = [
            engine.draw(1),
            engine.draw(6),
            engine.fast_forward(5).draw(4),
            engine.draw_base2(4),
            engine.reset().draw(3),
        ]
        assert engine.num_generated == 3
        return t.cat([*parts, Engine(dimension, **settings).fast_forward(7).draw(2)])

    same(call)


def test_types_and_out():
    same(lambda t, Engine: Engine(2).draw(5, dtype=t.float64))
    same(lambda t, Engine: Engine(2).draw(5, out=t.empty(0)))
    for t in (torch, jaxtorch):
        assert repr(t.quasirandom.SobolEngine(3, True, 1)) == "SobolEngine(dimension=3, scramble=True, seed=1)"


@pytest.mark.parametrize(
    "call",
    [lambda E: E(0), lambda E: E(30000), lambda E: E(2).draw(0), lambda E: [e := E(2), e.draw(1), e.draw_base2(2)]],
    ids=["no dimension", "too many", "no points", "no power of 2"],
)
def test_refusals(call: Any):
    expected, found = (attempt(lambda t=t: call(t.quasirandom.SobolEngine)) for t in (torch, jaxtorch))
    assert (found.kind, found.message) == (expected.kind, expected.message)


def test_names_that_other_packages_import():
    from jaxtorch._subclasses.fake_tensor import is_fake
    from jaxtorch.utils._foreach_utils import _group_tensors_by_device_and_dtype as group
    from jaxtorch.utils.data._utils.collate import np_str_obj_array_pattern

    x, y = jaxtorch.ones(1), jaxtorch.ones(1, dtype=jaxtorch.float64)
    found = group([[x, y, x], [x, None, y]], with_indices=True)
    assert found[x.device, x.dtype] == ([[x, x], [x, y]], [0, 2]) and found[y.device, y.dtype] == ([[y], [None]], [1])
    assert np_str_obj_array_pattern.search("<U3") and not np_str_obj_array_pattern.search("<f4") and not is_fake(x)
