"""`torch._vendor.packaging`: the package packaging, as it is installed."""
