"""Transformations of functions on tensors, as in `torch.func`.

They are recorded like any other code (`_by_recording.py`); where that cannot be, they are JAX's, and operations inside run at
once, on tracers. Closed-over tensors may take part in autograd from outside.
"""

from __future__ import annotations

from ._derivatives import grad, grad_and_value, jvp, linearize, vjp
from ._jacobians import hessian, jacfwd, jacrev
from ._modules import debug_unwrap, functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state
from ._rearranging import rearrange
from ._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
