"""`torch.distributed.rpc`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from ..._absent import absent as _absent

_REASON = "jaxtorch has no remote procedure calls"
globals().update(
    _absent(
        __name__,
        "RRef PyRRef WorkerInfo RpcBackendOptions TensorPipeRpcBackendOptions init_rpc rpc_sync rpc_async "
        "remote get_worker_info",
        _REASON,
    )
)


def is_available() -> bool:
    """False: there are no remote procedure calls."""
    return False
