"""`torch._vendor.packaging.version`: that of the package packaging, as it is installed."""

from packaging.version import VERSION_PATTERN, InvalidVersion, Version, parse

__all__ = ["VERSION_PATTERN", "InvalidVersion", "Version", "parse"]
