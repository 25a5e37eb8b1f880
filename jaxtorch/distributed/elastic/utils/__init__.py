"""`torch.distributed.elastic.utils`: what launchers ask of the environment."""

import os

from .distributed import get_socket_with_port

__all__ = ["get_env_variable_or_raise", "get_socket_with_port"]


def get_env_variable_or_raise(env_name: str) -> str:
    """The value of an environment variable; ValueError where it is not set."""
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value
