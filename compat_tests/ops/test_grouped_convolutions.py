"""Convolutions in groups, and transposed ones, as compiled programs: values and gradients beside PyTorch's."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import sys

    import jaxtorch
    import numpy as np
    import torch

    def run(torch, kind, channels, outs, groups, stride, dilation, dtype):
        rng = np.random.default_rng(0)
        x = torch.tensor(rng.standard_normal((2, channels, 9, 8)), dtype=getattr(torch, dtype), requires_grad=True)
        layer = getattr(torch.nn, kind)(channels, outs, 3, stride, 1, dilation=dilation, groups=groups)
        layer = layer.to(getattr(torch, dtype))
        with torch.no_grad():
            for p in layer.parameters():
                p.copy_(torch.tensor(rng.standard_normal(tuple(p.shape)), dtype=p.dtype))
        for _ in range(3):  # the third time the program is compiled as a whole
            for p in (x, *layer.parameters()):
                p.grad = None
            y = layer(x)
            (y * y * y).sum().backward()
            found = [v.detach().numpy().copy() for v in (y, x.grad, *[p.grad for p in layer.parameters()])]
        return found

    cases = [
        ("Conv2d", 8, 8, 8, 1, 1, "float32"), ("Conv2d", 8, 16, 8, 1, 1, "float64"), ("Conv2d", 12, 8, 4, 2, 1, "float32"),
        ("Conv2d", 6, 6, 2, 2, 2, "float64"), ("ConvTranspose2d", 8, 6, 1, 2, 1, "float32"),
        ("ConvTranspose2d", 8, 8, 8, 2, 1, "float32"), ("ConvTranspose2d", 5, 7, 1, 3, 2, "float64"),
    ]
    for case in cases:
        for a, b in zip(run(jaxtorch, *case), run(torch, *case), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * abs(b).max(), err_msg=str(case))
    print("done")
"""


@pytest.mark.parametrize("native", ["", "0"])
def test_beside_pytorch(native: str) -> None:
    env = {**os.environ, "JAXTORCH_NATIVE": native, "JAXTORCH_COLD_RUNS": "0"}
    code = textwrap.dedent(PROGRAM)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr[-2000:]
