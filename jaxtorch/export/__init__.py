"""`torch.export`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "export load save Dim ExportedProgram draft_export register_dataclass",
        "jaxtorch exports no programs of PyTorch; see jax.export",
    )
)
