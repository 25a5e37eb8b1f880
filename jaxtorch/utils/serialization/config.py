"""`torch.utils.serialization.config`: what `torch.save` and `torch.load` do where their arguments do not say.

`load.mmap` is the default of `load(mmap=...)`, `load.endianness` that of files that do not say theirs, and storages begin
at multiples of `save.storage_alignment` bytes. The others change nothing: checksums are always written.
"""

from typing import Any

from ..._private_names.absent_names import settings as _settings

load: Any
save: Any
_settings(__name__)
