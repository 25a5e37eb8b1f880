"""Functions of `fuzz_transform_options.py` written out in elementary operations.

PyTorch's derivatives of derivatives of some functions are not these functions': where jaxtorch's numbers are others, they have to be
those that PyTorch computes of what is written here.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

Eigen = collections.namedtuple("linalg_eigh", "eigenvalues eigenvectors")


def write_out(t: Any, modules: dict[str, Any]) -> None:
    """Put normalisations that are written out in the places of PyTorch's, with their parameters and buffers."""

    class Written(t.nn.Module):
        def __init__(self, old: Any, dim: int) -> None:
            super().__init__()
            self.weight, self.bias, self.dim, self.eps = old.weight, old.bias, dim, old.eps
            for name, buffer in old.named_buffers():
                self.register_buffer(name, buffer)

        def forward(self, x: Any) -> Any:
            centred = x - x.mean(self.dim, keepdim=True)
            variance = (centred * centred).mean(self.dim, keepdim=True)
            if self.training and hasattr(self, "running_mean"):
                n = x.shape[self.dim]
                self.num_batches_tracked.add_(1)
                self.running_mean.mul_(0.9).add_(x.detach().mean(self.dim) * 0.1)
                self.running_var.mul_(0.9).add_(variance.detach().squeeze(self.dim) * (0.1 * n / (n - 1)))
            return centred / t.sqrt(variance + self.eps) * self.weight + self.bias

    modules["layer_norm"][1] = Written(modules["layer_norm"][1], -1)
    for name in ("norm", "norm_untracked"):
        modules[name] = Written(modules[name], 0)


def _solve(o: Any, x: Any, y: Any) -> Any:
    """By the formula of Sherman and Morrison."""
    x = x.reshape(-1)
    b = x * y.sum()
    return (b - x * (x * b).sum() / (2 + (x * x).sum())) / 2


def _eigh(o: Any, x: Any, y: Any) -> Any:
    """The roots of the characteristic polynomial; the eigenvectors have the signs that PyTorch gives them."""
    t, a, b = o.t, x.sum(), y.sum()
    root = t.sqrt(1 + b * b)
    values = t.stack([a + 1 - root, a + 1 + root])
    columns = [t.stack([b, values[i] - a]) for i in (0, 1)]
    vectors = t.stack([v / t.sqrt((v * v).sum()) for v in columns], 1)
    theirs = t.linalg.eigh(t.stack([t.stack([a, b]), t.stack([b, a + 2])]).detach())[1]
    return Eigen(values, vectors * t.sign((theirs * vectors.detach()).sum(0)))


BY_HAND: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve": _solve,
    "eigh": _eigh,
    # PyTorch's tangent of a 0-d tensor times a number has 64 bits
    "complex": lambda o, x, y: x * o.t.tensor(1 + 1j) * y,
    "as_real": lambda o, x, y: o.t.view_as_real(x * o.t.tensor(1 + 1j)) * y.sum(),
    "item": lambda o, x, y: x * y.sum().detach(),
}
"""By the function's name."""

WRITTEN = {"solve", "eigh", "layer_norm", "norm", "norm_untracked", "norm_writes"}
"""Those whose derivatives PyTorch gets wrong."""
