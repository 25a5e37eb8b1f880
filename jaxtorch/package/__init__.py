"""`torch.package`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError OrderedImporter PackageExporter "
        "PackageImporter PackagingError",
        "jaxtorch packs no models with their code; torch.save writes their parameters",
    )
)


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
