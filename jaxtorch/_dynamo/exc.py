"""`torch._dynamo.exc`: errors of capturing bytecode, which jaxtorch does not do; it raises none of them."""


class TorchDynamoException(RuntimeError):
    """Any of them."""


class Unsupported(TorchDynamoException):
    """Something that cannot be captured."""


class UserError(Unsupported):
    """Something that the user should change."""
