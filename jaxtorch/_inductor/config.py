"""`torch._inductor.config`: PyTorch's switches of its compiler. They keep what they are set to, and change nothing: XLA compiles."""

from .._private_names.absent_names import settings as _settings

_settings(__name__)
