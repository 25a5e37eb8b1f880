"""`torch.cuda.jiterator`: elementwise kernels written in C++. They can be named, and not run: XLA compiles the kernels here."""

from __future__ import annotations

from typing import Any, NoReturn


class _JittedFunction:
    """A kernel; calling it raises NotImplementedError."""

    def __init__(self, code_string: str, return_by_ref: bool, num_outputs: int, **kwargs: Any) -> None:
        self.code_string, self.return_by_ref, self.num_outputs = code_string, return_by_ref, num_outputs
        self.kwargs_dict = kwargs

    def __call__(self, *tensors: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("torch.cuda.jiterator: jaxtorch compiles no kernels in C++ for GPUs")


def _create_jit_fn(code_string: str, **kwargs: Any) -> _JittedFunction:
    """A kernel of one result."""
    return _JittedFunction(code_string, False, 1, **kwargs)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> _JittedFunction:
    """A kernel of several results."""
    return _JittedFunction(code_string, True, num_outputs, **kwargs)
