"""`torch._library.infer_schema`."""

from .schema import infer as infer_schema

__all__ = ["infer_schema"]
