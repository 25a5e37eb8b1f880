"""The engine: an operation is recorded when Python calls it, and what was recorded runs as one program when a value is needed."""

import os

ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep  # the folder of these sources
PACKAGE = (
    os.path.dirname(ENGINE[:-1]) + os.sep
)  # that of jaxtorch: what is not below it is the user's code, or a library's

# The upper parts hand what they have to the lower ones when they are imported.
from .autograd import backward, saved_tensors  # noqa: E402, F401
from .dispatch import codegen, operators, torch_dispatch  # noqa: E402, F401
