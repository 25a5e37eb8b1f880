"""`torch.sparse._triton_ops_meta`: parameters of Triton's kernels for sparse matrices. jaxtorch has none."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "create_blocked_tensor dump get_meta minimize optimize_bsr_dense_addmm optimize_scatter_mm tune__int_bsr_dense_addmm "
        "tune_bsr_dense_addmm update",
        "jaxtorch runs no Triton kernels; see jax.experimental.pallas",
    )
)
