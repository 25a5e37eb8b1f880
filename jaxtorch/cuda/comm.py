"""`torch.cuda.comm`: the functions of `torch.nn.parallel.comm` under their older address."""

from ..nn.parallel.comm import _functions

globals().update(_functions)
