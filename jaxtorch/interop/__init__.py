"""Both ways between jaxtorch and the JAX world.

    from_jax(array), to_jax(tensor)          the same array, uncopied
    jax_function(fn)                         a JAX function as a differentiable function of tensors
    from_linen(module, x)                    a Flax linen module as a `torch.nn.Module`
    from_nnx(module)                         a Flax NNX module as a `torch.nn.Module`
    params_of(module), load_params(...)      a module's parameters as a nested dictionary, as Flax and optax use
    apply(module, params, x)                 the module as a pure function of such a dictionary
    PadToBuckets(sizes)                      a `collate_fn` that pads batches to a few sizes: few shapes, few programs
    random_key(key)                          random operations draw with a JAX key, under `jax.jit` too

`Tensor` and `Module` are pytrees, so `jax.jit`, `jax.grad` and `jax.vmap` take them as arguments directly.
"""

from __future__ import annotations

from .._core.random.jax_draws import random_key
from .._tensor.interop import from_jax, to_jax
from .buckets import PadToBuckets
from .flax import from_linen, from_nnx
from .functions import jax_function
from .params import apply, load_params, params_of

__all__ = [
    "PadToBuckets",
    "apply",
    "from_jax",
    "from_linen",
    "from_nnx",
    "jax_function",
    "load_params",
    "params_of",
    "random_key",
    "to_jax",
]
