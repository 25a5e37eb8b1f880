"""Convolutions as they run on the CPU, against XLA's own: equal within rounding, whatever follows or differentiates them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.compile import channels_last, convolution
from jaxtorch._core.compile.convolution import Window

# N, H, W, C, O, kernel, stride, padding, dilation, groups
SHAPES = {
    "few channels": (2, 9, 9, 3, 6, 5, 1, 0, 1, 1),
    "few channels, uneven": (2, 14, 13, 6, 16, 5, 1, 2, 1, 1),
    "one channel": (2, 12, 12, 1, 8, 3, 1, 1, 1, 1),
    "winograd": (8, 8, 10, 32, 40, 3, 1, 1, 1, 1),
    "winograd, odd": (8, 9, 9, 40, 32, 3, 1, 0, 1, 1),
    "winograd, wide padding": (8, 9, 9, 32, 32, 3, 1, 2, 1, 1),
    "stride 2": (2, 9, 8, 32, 32, 3, 2, 1, 1, 1),
    "stride 2 with a rest": (2, 10, 11, 16, 32, 3, 2, 0, 1, 1),
    "pointwise": (2, 7, 8, 16, 32, 1, 1, 1, 1, 1),
    "pointwise, stride 2": (2, 10, 8, 16, 32, 1, 2, 0, 1, 1),
    "patches": (2, 8, 8, 3, 16, 4, 4, 0, 1, 1),
    "patches with a rest": (2, 9, 10, 3, 16, 4, 4, 0, 1, 1),
    "patches with padding": (2, 7, 7, 4, 4, 3, 3, 1, 1, 1),
    "depthwise": (2, 9, 9, 16, 16, 3, 1, 1, 1, 16),
    "depthwise, stride and dilation": (2, 9, 9, 16, 16, 3, 2, 1, 2, 16),
    "groups": (2, 9, 9, 16, 32, 3, 1, 1, 1, 4),
    "dilation": (2, 9, 9, 16, 8, 3, 1, 2, 2, 1),
    "whole image": (3, 5, 5, 16, 120, 5, 1, 0, 1, 1),
}


def arrays(shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any, Any]:
    n, h, w, c, o, k, _, _, _, groups = shape
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((n, c, h, w)).astype(dtype),
        rng.standard_normal((o, c // groups, k, k)).astype(dtype),
        rng,
    )


def layer(shape: tuple[int, ...]) -> Any:
    _, _, _, _, o, _, s, p, d, groups = shape

    def of(x: Any, w: Any) -> Any:
        y = lax.conv_general_dilated(x, w, (s, s), [(p, p)] * 2, rhs_dilation=(d, d), feature_group_count=groups)
        return jnp.maximum(y + jnp.arange(o, dtype=x.dtype)[:, None, None], 0)

    return of


def assert_same(fn: Any, *args: Any, rounding: float) -> None:
    got, expected = jax.jit(channels_last.rewritten_for_cpu(fn))(*args), jax.jit(fn)(*args)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    for g, e in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        assert (g.shape, g.dtype) == (e.shape, e.dtype)
        scale = float(abs(e).max()) if e.size else 1.0
        np.testing.assert_allclose(g, e, rtol=rounding, atol=rounding * scale)


@pytest.fixture(params=["native", "xla"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the kernels in C++ and without."""
    if request.param == "xla":
        monkeypatch.setattr(native, "available", lambda: False)
    elif not native.available():
        pytest.skip("the kernels in C++ were not built here")
    return request.param


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forward_and_gradients(name: str, dtype: Any) -> None:
    with jax.enable_x64(True):
        x, w, rng = arrays(SHAPES[name], dtype)
        of = layer(SHAPES[name])
        ct = rng.standard_normal(of(x, w).shape).astype(dtype)

        def both(x: Any, w: Any, ct: Any) -> Any:
            y, back = jax.vjp(of, x, w)
            return y, back(ct), y.mean((0, 2, 3)), y.sum((2, 3)), y.reshape(len(y), -1), y.transpose(1, 0, 3, 2)

        assert_same(both, x, w, ct, rounding=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "name", ["few channels, uneven", "winograd", "stride 2", "pointwise, stride 2", "patches", "depthwise"]
)
def test_higher_derivatives_and_forward_mode(name: str) -> None:
    x, w, rng = arrays(SHAPES[name], np.float32)
    of = layer(SHAPES[name])
    ct = rng.standard_normal(of(x, w).shape).astype(np.float32)

    def inner(x: Any, w: Any) -> Any:
        return jax.grad(lambda x, w: (of(x, w) ** 2 * ct).sum(), (0, 1))(x, w)

    def both(x: Any, w: Any) -> Any:
        outer = jax.grad(lambda x, w: (inner(x, w)[1] ** 2).sum(), (0, 1))(x, w)
        return outer, jax.jvp(of, (x, w), (x[::-1], w[::-1])), jax.vmap(of, (None, 0))(x, jnp.stack([w, 2 * w]))

    assert_same(both, x, w, rounding=1e-4)


def test_a_chain_is_transposed_only_at_its_ends() -> None:
    """Batch norm, ReLU, pooling, a shortcut: between convolutions nothing of the size of an image is transposed."""
    x = np.zeros((4, 8, 16, 16), np.float32)
    w = np.zeros((8, 8, 3, 3), np.float32)

    def chain(x: Any, w: Any) -> Any:
        for _ in range(3):
            y = lax.conv_general_dilated(x, w, (1, 1), "SAME")
            y = (y - y.mean((0, 2, 3), keepdims=True)) * lax.rsqrt(y.var((0, 2, 3)) + 1e-5).reshape(1, -1, 1, 1)
            y = jnp.pad(jnp.maximum(y, 0), ((0, 0), (0, 0), (1, 1), (1, 1)))
            x = x + jnp.maximum(y[:, :, 1:-1, 1:-1], y[:, :, 2:, 2:])
        return x

    jaxpr = jax.make_jaxpr(channels_last.rewritten_for_cpu(chain))(x, w)
    turned = [e for e in jaxpr.eqns if e.primitive.name == "transpose" and e.outvars[0].aval.size == x.size]
    assert {e.invars[0] for e in turned} == {jaxpr.jaxpr.invars[0], turned[-1].invars[0]}
    assert turned[-1].outvars == jaxpr.jaxpr.outvars


def test_each_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "available", lambda: False)
    taken = []
    ways = """winograd winograd_for_kernel folded folded_for_kernel gathered_for_kernel depthwise
        _pointwise _patches_apart plain""".split()
    for way in ways:
        found = getattr(convolution, way)
        monkeypatch.setattr(
            convolution, way, lambda *a, way=way, found=found, **k: (taken.append(way), found(*a, **k))[1]
        )
    for shape in SHAPES.values():
        x, w, _ = arrays(shape, np.float32)
        of = layer(shape)
        jax.make_jaxpr(channels_last.rewritten_for_cpu(lambda x, w, of=of: jax.vjp(of, x, w)[1](of(x, w))))(x, w)
    assert set(taken) == set(ways)


def test_a_large_image_is_not_taken_apart() -> None:
    w, window = (3, 3, 64, 64), Window((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1))
    assert convolution._winograd_pays((8, 56, 56, 64), w, window, 4)
    assert not convolution._winograd_pays((64, 224, 224, 64), w, window, 4)


@pytest.mark.parametrize("channels", [4, 32])
def test_a_training_step_is_the_same_each_time(channels: int) -> None:
    """The first step runs operation by operation, the next as one program: both with the convolutions lowered."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((8, channels, 8, 8)).astype(np.float32))
    w = torch.tensor(rng.standard_normal((channels, channels, 3, 3)).astype(np.float32), requires_grad=True)
    found = []
    for _ in range(3):
        w.grad = None
        y = torch.nn.functional.conv2d(x, w, padding=1)
        torch.nn.functional.max_pool2d(torch.relu(y), 2).square().sum().backward()
        assert w.grad is not None
        found.append(w.grad.tolist())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(found[2], found[1], rtol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes, kernel, spread, pads",
    [
        ((3, 4, 2), (3, 3, 3), (2, 2, 2), ((2, 2), (1, 2), (2, 3))),
        ((2, 3, 4), (2, 1, 4), (3, 2, 1), ((1, 2), (0, 1), (3, 3))),  # phases that no element of the kernel meets
        ((5, 2, 3), (4, 3, 2), (2, 3, 2), ((-2, 1), (2, 2), (1, -1))),  # padding that cuts
        ((1, 3, 3), (2, 2, 2), (4, 1, 2), ((3, 5), (-1, 2), (-2, 4))),
    ],
)
def test_phases_of_a_spaced_out_input(sizes: Any, kernel: Any, spread: Any, pads: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    ones = (1, 1, 1)
    window = Window(ones, pads, spread, ones)
    with jax.enable_x64(True):
        x, w = (jnp.asarray(rng.standard_normal(shape).astype(dtype)) for shape in ((2, *sizes, 3), (*kernel, 3, 2)))
        found = jax.jit(lambda x, w: convolution.by_phases(x, w, window))(x, w)
        expected = convolution.plain(x, w, window)
    assert found.shape == expected.shape and found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    "options", [{"stride": 2, "padding": 1, "output_padding": 1}, {"stride": (1, 3, 2), "padding": (0, 2, 1)}]
)
def test_transposed_convolutions_in_three_dimensions(options: Any) -> None:
    """And the gradient of one in steps, where the result's gradient is spaced out."""
    import torch as reference

    results = []
    for lib in (reference, torch):
        rng = np.random.default_rng(1)
        x, w, v = (
            lib.tensor(rng.standard_normal(s).astype(np.float64), requires_grad=True)
            for s in ((2, 4, 3, 4, 5), (4, 2, 3, 3, 3), (4, 2, 3, 3, 3))
        )
        y = lib.nn.functional.conv_transpose3d(x, w, **options)
        z = lib.nn.functional.conv3d(y, v, stride=options["stride"], padding=1)
        (z * z).sum().backward()
        results.append([t.detach().numpy() for t in (y, z, x.grad, w.grad, v.grad)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not native.available(), reason="needs the kernels in C++")
@pytest.mark.parametrize("room", [convolution.CONV_WORKSPACE, 0])
@pytest.mark.parametrize(
    "sizes, kernel, stride, pads, dilation",
    [
        ((5, 6, 7), (3, 3, 3), (1, 1, 1), ((1, 1), (1, 1), (1, 1)), (1, 1, 1)),
        ((7, 8, 9), (3, 2, 3), (2, 1, 3), ((1, 0), (0, 1), (2, 2)), (1, 2, 1)),
        ((9, 5, 6), (2, 3, 1), (3, 2, 1), ((0, 3), (1, 1), (0, 0)), (4, 1, 1)),
        ((6, 4, 4), (3, 1, 1), (1, 1, 1), ((-1, 2), (0, 0), (0, 0)), (2, 1, 1)),
        ((4, 4, 4), (1, 1, 1), (2, 2, 2), ((0, 0), (0, 0), (0, 0)), (1, 1, 1)),
    ],
)
def test_three_dimensions_as_two(
    sizes: Any, kernel: Any, stride: Any, pads: Any, dilation: Any, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forward and the gradient of the kernel, with all slices as one image's channels and, without the room for it, one by one."""
    monkeypatch.setattr(convolution, "CONV_WORKSPACE", room)
    rng = np.random.default_rng(0)
    window = Window(stride, pads, (1, 1, 1), dilation)
    x, w = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in ((2, *sizes, 5), (*kernel, 5, 6)))
    expected, back = jax.vjp(lambda w: convolution.plain(x, w, window), w)
    found = jax.jit(lambda x, w: convolution.by_slices(x, w, window))(x, w)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    g = jnp.asarray(rng.standard_normal(expected.shape), jnp.float32)
    counts = expected.shape[1:-1]
    reach = [(c - 1) * s + (k - 1) * d + 1 for c, s, k, d in zip(counts, stride, kernel, dilation, strict=True)]
    ends = tuple([(low, r - low - n) for (low, _), r, n in zip(pads, reach, sizes, strict=True)])
    exact = window._replace(pads=ends)
    found = jax.jit(lambda x, g: convolution.by_slices_for_kernel(x, g, kernel, exact))(x, g)
    np.testing.assert_allclose(found, back(g)[0], atol=2e-4)


@pytest.mark.parametrize("options", [{"padding": 1}, {"stride": 2, "padding": (1, 0, 2), "dilation": (2, 1, 1)}])
def test_convolutions_in_three_dimensions(options: Any) -> None:
    import torch as reference

    results = []
    for lib in (reference, torch):
        rng = np.random.default_rng(1)
        x, w, b = (
            lib.tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True)
            for s in ((2, 3, 6, 7, 8), (4, 3, 3, 3, 3), (4,))
        )
        for _ in range(3):  # the later runs are compiled whole
            x.grad = w.grad = b.grad = None
            y = lib.nn.functional.conv3d(x, w, b, **options)
            y.square().sum().backward()
            shown = [t.detach().numpy() for t in (y, x.grad, w.grad, b.grad)]
        results.append(shown)
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "channels, outs, groups, kernel, stride, pads, dilation",
    [
        (1, 1, 1, (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
        (3, 3, 3, (5, 4), (2, 1), ((0, 2), (3, 1)), (1, 2)),
        (1, 4, 1, (2, 3), (1, 3), ((-1, 1), (0, 0)), (2, 1)),
        (4, 1, 1, (3,), (2,), ((1, 0),), (1,)),
        (2, 2, 1, (2, 3, 2), (1, 2, 1), ((1, 1),) * 3, (1, 1, 2)),
    ],
)
def test_hardly_any_channels(
    channels: int, outs: int, groups: int, kernel: Any, stride: Any, pads: Any, dilation: Any, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    ones = (1,) * len(kernel)
    window = Window(stride, pads, ones, dilation)
    numbers = lax.ConvDimensionNumbers(*[tuple(range(len(kernel) + 2))] * 3)
    sides = {"dimension_numbers": numbers, "feature_group_count": groups}
    with jax.enable_x64(True):
        x = jnp.asarray(rng.standard_normal((2, channels, *(9, 8, 7)[: len(kernel)])).astype(dtype))
        w = jnp.asarray(rng.standard_normal((outs, channels // groups, *kernel)).astype(dtype))
        assert convolution.by_terms_pays(x, w, groups, window)
        conv = lambda x, w: lax.conv_general_dilated(x, w, stride, pads, ones, dilation, **sides)  # noqa: E731
        found, expected = jax.jit(channels_last.rewritten_for_cpu(conv))(x, w), conv(x, w)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)
        loss = lambda x, w: jnp.sin(conv(x, w)).sum()  # noqa: E731
        both = jax.jit(channels_last.rewritten_for_cpu(jax.grad(loss, (0, 1))))(x, w), jax.grad(loss, (0, 1))(x, w)
    for a, b in zip(*both, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 if dtype == np.float32 else 1e-11)
