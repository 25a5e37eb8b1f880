"""`torch.func.vmap` of functions that return views of their arguments: views of these, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test

VIEWS = {
    "slice": lambda torch, v: v[1:],
    "select": lambda torch, v: v[0],
    "steps": lambda torch, v: v[..., ::2],
    "transposed": lambda torch, v: v.t(),
    "flat": lambda torch, v: v.reshape(-1),
    "unsqueezed": lambda torch, v: v.unsqueeze(0),
    "two": lambda torch, v: (v[0], v[1:]),
    "expanded": lambda torch, v: v.unsqueeze(0).expand(2, *v.shape),
    "diagonal": lambda torch, v: v.diagonal(),
    "rows": lambda torch, v: v.unbind(0),
    "written": lambda torch, v: (v.add_(1), v[0])[1],
    "written after": lambda torch, v: (lambda row: (v.add_(1), row)[1])(v[0]),
    "none": lambda torch, v: torch.ones(3)[1:],
}
ARGUMENTS = {
    "contiguous": lambda torch: torch.arange(24.0).view(2, 3, 4),
    "permuted": lambda torch: torch.arange(24.0).view(3, 2, 4).transpose(0, 1),
    "part": lambda torch: torch.arange(48.0).view(4, 3, 4)[1::2],
}


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("name", VIEWS)
@parity_test
def test_views_of_arguments(torch: Any, name: str, argument: str) -> Any:
    seen = []
    for in_dim, out_dim in ((0, 1), (1, 0), (-1, 0)):
        x = ARGUMENTS[argument](torch)
        found = torch.func.vmap(lambda v: VIEWS[name](torch, v), in_dim, out_dim)(x)
        for k, r in enumerate(found if isinstance(found, tuple) else (found,)):
            seen.append(r.clone())
            if name not in ("none", "expanded"):
                r.fill_(100 + k)
        seen.append(x.clone())
    return seen


@parity_test
def test_strides_and_gradients_of_views(torch: Any) -> Any:
    x = torch.arange(12.0).view(3, 4)
    y = torch.func.vmap(lambda v: v[1:])(x)
    z = x.clone().requires_grad_()
    torch.func.vmap(lambda v: v[1:] * 1)(z).sum().backward()
    return y.stride(), y._is_view(), y.data_ptr() == x.data_ptr() + 4, z.grad
