"""Transformations of functions on tensors, as in `torch.func`, made of JAX's.

Inside them operations run at once, on tracers, and closed-over tensors may take part in autograd from outside.
"""

from __future__ import annotations

from ._batching import vmap
from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
