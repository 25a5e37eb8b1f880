"""Arguments of a captured call that are parts of memory: what is written reaches it, and what the call asks of it is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch

BODIES = {
    "strides": "a.add_(1); a.t_(); return a * 2",
    "one more dimension": "a.unsqueeze_(0); a.mul_(2); return a",
    "gradient": "return (w * a).sum()",
    "backward inside": "y = (w * a).sum(); y.backward(); a.add_(w.grad); return y.detach()",
    "written after": "y = (w * a.clone()).sum(); a.zero_(); return y",
    "view kept": "z = a[0]; y = (w * a).sum(); return y, z",
    "foreach": "torch._foreach_copy_([a, b], list(torch.stack([b, a]).unbind(0))); return None",
    "base": "return a._base is not None, a._is_view(), a.is_contiguous(), a.storage_offset(), a.stride()",
    "its base": "a.add_(1); return a._base",
    "base of its view": "c = a[1:]; c.add_(1); return c._base",
    "itself": "a.add_(1); return a",
    "its views": "c = a[1:]; c.add_(1); return c, a[:, 0], a.t()",
    "detached": "c = a.detach(); c.add_(1); return c",
    "out": "torch.add(a, b, out=a); return a.sum()",
    "by mask": "a[a > 0] = 0; a[0] = b[1]; return a.clone()",
    "expanded": "return a[:1].expand(3, 3) + 1",
    "beyond it": "a.as_strided((2, 2), (1, 2)).add_(1); return a + 0",
    "other type": "a.view(torch.int32).zero_(); return a + 1",
    "storage": "a.add_(1); return a.untyped_storage().nbytes(), a.data_ptr() == a.data_ptr()",
    "resized": "a.add_(1); a.resize_(2, 2); return a * 1",
    "rows": "for i in range(3): a[i].add_(i)\n    return a",
    "version": "v = a._version; a.add_(1); a.mul_(2); return a._version - v",
    "exchanged": "a, b = b, a; a.copy_(b); return a",
}
PARTS = {
    "rows": lambda m: (m[0], m[1]),
    "flat": lambda m: (m.view(-1)[3:12].view(3, 3), m[2]),
    "transposed": lambda m: (m[1].t(), m[2]),
    "alternating": lambda m: (m.view(9, 3)[::2][:3], m.view(9, 3)[1::2][:3]),
    "the same": lambda m: (m[0], m[0]),
}


def told(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in told(item)]
    return [np.array(x.detach().tolist())] if hasattr(x, "detach") else [x]


def outcome(t: Any, f: Any, part: Any, whole: Any, i: int) -> list[Any]:
    w = t.nn.Parameter(t.ones(3, 3) * (i + 1))
    a, b = part(whole)
    try:
        result = f(a, b, w)
    except RuntimeError as error:
        return [type(error).__name__, *told(whole)]
    found = told([[] if result is None else result, whole, a, b, list(a.shape), a._version, b._version])
    for x in result if isinstance(result, tuple) else (result,):
        if hasattr(x, "detach") and x.requires_grad:
            x.sum().backward()
            found += told(w.grad)
        elif hasattr(x, "detach"):
            x.mul_(0.5)  # shows whose memory it is
    return found + told(whole)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("name", BODIES)
def test_a_part_of_memory(name: str, kind: str) -> None:
    results = []
    for t in (reference, torch):
        scope: dict[str, Any] = {"torch": t}
        exec(f"def f(a, b, w):\n    {BODIES[name]}", scope)
        f = scope["f"] if t is reference else torch.compile(scope["f"], fullgraph=True)
        whole = t.linspace(-2, 2, 27).view(3, 3, 3)
        results.append([outcome(t, f, PARTS[kind], whole, i) for i in range(4)])
    for call, (a, b) in enumerate(zip(*results, strict=True)):
        for x, y in zip(a, b, strict=True):
            if isinstance(x, np.ndarray):
                np.testing.assert_allclose(y, x, rtol=1e-5, atol=1e-5, err_msg=f"call {call}")
            else:
                assert x == y, call
