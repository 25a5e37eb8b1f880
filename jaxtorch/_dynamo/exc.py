"""`torch._dynamo.exc`: errors of calls that `torch.compile(fullgraph=True)` refuses."""

from .._compile.fullgraph_errors import TorchDynamoException as TorchDynamoException
from .._compile.fullgraph_errors import Unsupported as Unsupported
from .._compile.fullgraph_errors import UserError as UserError
