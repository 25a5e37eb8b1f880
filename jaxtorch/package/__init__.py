"""`torch.package`: names that libraries import; using one raises NotImplementedError."""


class _SysImporter:
    """The importer of what this process has imported."""

    def import_module(self, module_name: str) -> object:
        """The module of that name."""
        import importlib

        return importlib.import_module(module_name)


sys_importer = _SysImporter()


def is_from_package(obj: object) -> bool:
    """Always False: nothing comes from a package of PyTorch's."""
    return False
