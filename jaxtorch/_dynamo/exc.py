"""`torch._dynamo.exc`: errors of calls that `torch.compile(fullgraph=True)` refuses."""

from .._compile.refusals import TorchDynamoException as TorchDynamoException
from .._compile.refusals import Unsupported as Unsupported
from .._compile.refusals import UserError as UserError
