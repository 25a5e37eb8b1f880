"""NumPy's products on one thread: OpenBLAS has as many threads afterwards as before, and the product is NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from jaxtorch._core.host import blas


def test_one_thread_and_back() -> None:
    threads = blas._threads()
    if threads is None:
        pytest.skip("NumPy uses another library than OpenBLAS here")
    get, put = threads
    before = get()
    try:
        put(2)
        assert blas.on_one_thread(get, 1 << 20) == 1
        assert get() == 2
        assert blas.on_one_thread(get, 1) == 2  # too small to be shared out
        with pytest.raises(ValueError, match="matmul"):
            blas.matmul(np.ones((128, 128)), np.ones((127, 128)))
        assert get() == 2
    finally:
        put(before)


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((128, 128), (128, 64)), ((2, 70, 80), (2, 80, 3))])
def test_product(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.random.default_rng(0).standard_normal(s) for s in shapes)
    np.testing.assert_allclose(blas.matmul(a, b), np.einsum("...ij,...jk->...ik", a, b))
