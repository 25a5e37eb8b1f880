"""`torch._dynamo.config`: values may be set and read; but for `disable` they change nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

disable = os.environ.get("TORCHDYNAMO_DISABLE") == "1"
suppress_errors = False
verbose = False
cache_size_limit = 8
recompile_limit = 8
accumulated_cache_size_limit = 256
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
allow_unspec_int_on_nn_module = False
compiled_autograd = False


@contextmanager
def patch(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Context in which values are others: `patch(name=value)`, `patch({name: value})` or `patch(name, value)`."""
    if len(args) == 2:
        kwargs = {args[0]: args[1], **kwargs}
    elif args:
        kwargs = {**args[0], **kwargs}
    before = {name: globals().get(name) for name in kwargs}
    globals().update(kwargs)
    try:
        yield
    finally:
        globals().update(before)
