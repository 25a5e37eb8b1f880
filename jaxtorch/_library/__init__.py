"""Operations that programs register by a schema and Python functions: behind `torch.library` and `torch.ops`."""

from . import built_in as built_in  # tells `operators` of jaxtorch's own operations
