"""`torch._dynamo.config`: PyTorch's switches of capturing. They keep what they are set to; but for `disable` they change nothing."""

import os

from .._private_names.absent_names import settings as _settings

_settings(__name__, disable=os.environ.get("TORCHDYNAMO_DISABLE") == "1")
