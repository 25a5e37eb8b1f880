"""DLPack: element types that NumPy lacks, and what cannot be exported or taken."""

from __future__ import annotations

from typing import Any

import pytest

from parity import Raised, attempt, parity_test

CALLS = """torch.from_dlpack(3); torch.from_dlpack(None); torch.ones(3).__dlpack__(stream=1)
    torch.ones(3, requires_grad=True).__dlpack__(); torch.from_dlpack(Failing())
    torch.ones(3, dtype=torch.cfloat).conj().__dlpack__()"""


class Failing:
    """Its memory is gone."""

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise RuntimeError("gone")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"])
@parity_test
def test_small_types(torch: Any, kind: str) -> Any:
    x = torch.tensor([1.0, -2.0, 0.5]).to(getattr(torch, kind))
    found = [torch.from_dlpack(x), torch.from_dlpack(x.__dlpack__())]
    return [(str(t.dtype).rpartition(".")[2], t.float()) for t in found]


@pytest.mark.parametrize("text", [c.strip() for line in CALLS.splitlines() for c in line.split("; ")])
@parity_test
def test_refusals(torch: Any, text: str) -> Any:
    found = attempt(lambda: eval(text, {"torch": torch, "Failing": Failing}))
    return (found.kind, found.message) if isinstance(found, Raised) else found


@parity_test
def test_devices(torch: Any) -> Any:
    kinds = [(m.name, m.value) for m in torch.utils.dlpack.DLDeviceType]
    return repr(torch.ones(3).__dlpack_device__()), kinds


@parity_test
def test_resizing_as_another_sparse_tensor(torch: Any) -> Any:
    x = torch.ones(2, 3).to_sparse()
    same = x.resize_as_(torch.ones(4, 5).to_sparse())
    refused = attempt(lambda: x.resize_as_(torch.ones(4, 5)))
    return same is x, x.shape, x.to_dense(), refused.kind
