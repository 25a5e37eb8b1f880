"""What `import functorch.experimental` gives: functions of `torch.func` under their older address."""

from .._private_names.absent import absent_function
from ..func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

chunk_vmap = absent_function("functorch.experimental.chunk_vmap", "torch.func.vmap(chunk_size=) does it")

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
