"""torchvision's compiled operations, which jaxtorch has itself, against the same written out in loops."""

import math

import numpy as np
import pytest

import jaxtorch as torch


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "torchvision"
    folder.mkdir()
    for name in ("_C.so", "image.so"):
        (folder / name).write_bytes(b"")
        torch.ops.load_library(folder / name)
        assert str(folder / name) in torch.ops.loaded_libraries
    return torch.ops.torchvision


def test_other_libraries_cannot_be_loaded(tmp_path):
    for path in (tmp_path / "_C.so", tmp_path / "torchvision" / "_C.so", tmp_path / "torchvision" / "other.so"):
        path.parent.mkdir(exist_ok=True)
        if path.name == "other.so" or path.parent == tmp_path:
            path.write_bytes(b"")
        with pytest.raises(OSError, match="compiled for PyTorch"):
            torch.ops.load_library(path)


# -- suppression


def suppressed(boxes, scores, limit):
    kept = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        for j in kept:
            wide = min(boxes[i][2], boxes[j][2]) - max(boxes[i][0], boxes[j][0])
            high = min(boxes[i][3], boxes[j][3]) - max(boxes[i][1], boxes[j][1])
            shared = max(wide, 0) * max(high, 0)
            areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (boxes[i], boxes[j])]
            if shared / (sum(areas) - shared) > limit:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("limit", [0.0, 0.3, 0.7, 1.0])
def test_nms(ops, limit):
    rng = np.random.default_rng(0)
    boxes = rng.uniform(0, 20, (60, 4))
    boxes[:, 2:] += boxes[:, :2]
    scores = rng.standard_normal(60).round(1)  # with ties
    kept = ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), limit)
    assert kept.dtype is torch.int64 and kept.tolist() == suppressed(boxes.tolist(), scores.tolist(), limit)
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), limit).shape == (0,)


def test_nms_of_many(ops):
    rng = np.random.default_rng(4)
    boxes = rng.uniform(0, 100, (700, 4))  # more than are looked at together
    boxes[:, 2:] = boxes[:, :2] + rng.uniform(5, 40, (700, 2))
    boxes[::50] = np.nan
    scores = rng.standard_normal(700)
    kept = ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), 0.3)
    assert kept.tolist() == suppressed(boxes.tolist(), scores.tolist(), 0.3)


@pytest.mark.parametrize(
    "boxes, scores, words",
    [
        ((4,), (4,), "boxes should be a 2d tensor, got 1D"),
        ((4, 5), (4,), "boxes should have 4 elements in dimension 1, got 5"),
        ((4, 4), (4, 1), "scores should be a 1d tensor, got 2D"),
        ((4, 4), (3,), "boxes and scores should have same number of elements in dimension 0, got 4 and 3"),
    ],
)
def test_nms_of_wrong_sizes(ops, boxes, scores, words):
    with pytest.raises(RuntimeError, match=words):
        ops.nms(torch.zeros(boxes), torch.zeros(scores), 0.5)


# -- regions


def pixel(image, y, x):
    """A bilinear sample of (H, W)."""
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    low_y, low_x = min(int(y), height - 1), min(int(x), width - 1)
    part_y, part_x = (0.0 if low == size - 1 else at - low for at, low, size in ((y, low_y, height), (x, low_x, width)))
    high_y, high_x = min(low_y + 1, height - 1), min(low_x + 1, width - 1)
    top = image[low_y, low_x] * (1 - part_x) + image[low_y, high_x] * part_x
    bottom = image[high_y, low_x] * (1 - part_x) + image[high_y, high_x] * part_x
    return top * (1 - part_y) + bottom * part_y


def aligned(x, rois, scale, bins, ratio, offset, least, own_channels=False):
    outs = x.shape[1] // (bins[0] * bins[1]) if own_channels else x.shape[1]
    found = np.zeros((len(rois), outs, *bins))
    for k, (number, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (c * scale - offset for c in corners)
        high, wide = y2 - y1, x2 - x1
        if least is not None:
            high, wide = max(high, least), max(wide, least)
        for out in range(outs):
            for i in range(bins[0]):
                for j in range(bins[1]):
                    counts = [
                        ratio if ratio > 0 else math.ceil(size / n) for size, n in ((high, bins[0]), (wide, bins[1]))
                    ]
                    channel = (out * bins[0] + i) * bins[1] + j if own_channels else out
                    total = 0.0
                    for a in range(counts[0]):
                        for b in range(counts[1]):
                            at_y = y1 + (i + (a + 0.5) / counts[0]) * high / bins[0]
                            at_x = x1 + (j + (b + 0.5) / counts[1]) * wide / bins[1]
                            total += pixel(x[int(number), channel], at_y, at_x)
                    found[k, out, i, j] = total / max(counts[0] * counts[1], 1)
    return found


X = np.random.default_rng(1).standard_normal((2, 12, 7, 9))
ROIS = np.array([[0, 1.3, 2.1, 8, 6.5], [1, -3, -2, 4.2, 3], [1, 5, 5, 20, 30], [0, 2, 2, 2.4, 2.4]])


def tensors(*arrays):
    return [torch.from_numpy(a.copy()) for a in arrays]


@pytest.mark.parametrize("ratio", [2, 3, -1])
@pytest.mark.parametrize("is_aligned", [True, False])
def test_roi_align(ops, ratio, is_aligned):
    out = ops.roi_align(*tensors(X, ROIS), 0.5, 2, 3, ratio, is_aligned)
    wanted = aligned(X, ROIS, 0.5, (2, 3), ratio, 0.5 if is_aligned else 0.0, None if is_aligned else 1.0)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ratio", [2, -1])
def test_ps_roi_align(ops, ratio):
    out, mapping = ops.ps_roi_align(*tensors(X, ROIS), 0.5, 2, 3, ratio)
    wanted = aligned(X, ROIS, 0.5, (2, 3), ratio, 0.5, None, own_channels=True)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)
    assert mapping.dtype is torch.int32 and mapping[0].tolist() == np.arange(12).reshape(2, 2, 3).tolist()


def half_away(x):
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def bin_pixels(low, high, scale, bins, number, end, extra):
    begin = half_away(low * scale)
    size = max(half_away(high * scale) - begin + extra, 1) / bins
    return [min(max(f + begin, 0), end) for f in (math.floor(number * size), math.ceil((number + 1) * size))]


def test_roi_pool(ops):
    out, at = ops.roi_pool(*tensors(X, ROIS), 0.5, 2, 3)
    for k, (number, x1, y1, x2, y2) in enumerate(ROIS):
        for i in range(2):
            for j in range(3):
                top, bottom = bin_pixels(y1, y2, 0.5, 2, i, 7, 1)
                left, right = bin_pixels(x1, x2, 0.5, 3, j, 9, 1)
                cut = X[int(number), :, top:bottom, left:right].reshape(12, -1)
                np.testing.assert_array_equal(out[k, :, i, j].numpy(), cut.max(1) if cut.size else 0)
                places = np.arange(63).reshape(7, 9)[top:bottom, left:right].reshape(-1)
                assert at[k, :, i, j].tolist() == (places[cut.argmax(1)].tolist() if cut.size else [-1] * 12)


def test_ps_roi_pool(ops):
    out, mapping = ops.ps_roi_pool(*tensors(X, ROIS), 0.5, 2, 3)
    assert mapping.shape == out.shape == (4, 2, 2, 3)
    for k, (number, x1, y1, x2, y2) in enumerate(ROIS):
        for channel in range(12):
            i, j = channel // 3 % 2, channel % 3
            top, bottom = bin_pixels(y1, y2, 0.5, 2, i, 6, 0)
            left, right = bin_pixels(x1, x2, 0.5, 3, j, 8, 0)
            cut = X[int(number), channel, top:bottom, left:right]
            assert out[k, channel // 6, i, j].item() == pytest.approx(cut.mean() if cut.size else 0)


def test_gradients_of_regions(ops):
    x, rois = tensors(X[:, :6, :5, :5], ROIS[:2])
    x.requires_grad_()
    for fn in (
        lambda x: ops.roi_align(x, rois, 0.5, 2, 3, 2, True),
        lambda x: ops.roi_align(x, rois, 0.5, 2, 3, -1, False),
        lambda x: ops.ps_roi_align(x, rois, 0.5, 2, 3, 2)[0],
        lambda x: ops.roi_pool(x, rois, 0.5, 2, 3)[0],
    ):
        assert torch.autograd.gradcheck(fn, (x,))


def test_backward_operations(ops):
    x, rois = tensors(X, ROIS)
    x.requires_grad_()
    at = (0.5, 2, 3)
    sizes = X.shape
    out = ops.roi_align(x, rois, *at, 2, True)
    (wanted,) = torch.autograd.grad(out.square().sum(), x)
    torch.testing.assert_close(ops._roi_align_backward(2 * out.detach(), rois, *at, *sizes, 2, True), wanted)
    out, places = ops.roi_pool(x, rois, *at)
    (wanted,) = torch.autograd.grad(out.square().sum(), x)
    torch.testing.assert_close(ops._roi_pool_backward(2 * out.detach(), rois, places, *at, *sizes), wanted)
    for name, rest in (("ps_roi_align", (2,)), ("ps_roi_pool", ())):
        out, mapping = getattr(ops, name)(x, rois, *at, *rest)
        (wanted,) = torch.autograd.grad(out.square().sum(), x)
        found = getattr(ops, f"_{name}_backward")(2 * out.detach(), rois, mapping, *at, *rest, *sizes)
        torch.testing.assert_close(found, wanted)


def test_no_regions(ops):
    x = torch.randn(1, 4, 5, 5, requires_grad=True)
    out = ops.roi_align(x, torch.zeros(0, 5), 1.0, 2, 2, 2, True)
    out.sum().backward()
    assert out.shape == (0, 4, 2, 2) and x.grad.tolist() == torch.zeros(1, 4, 5, 5).tolist()


def test_wrong_regions(ops):
    x = torch.zeros(1, 4, 5, 5)
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        ops.roi_align(x, torch.zeros(2, 4), 1.0, 2, 2, 2, True)
    words = "type torch.FloatTensor does not equal torch.DoubleTensor .while checking arguments for roi_align_forward_kernel"
    with pytest.raises(RuntimeError, match=words):
        ops.roi_align(x, torch.zeros(2, 5, dtype=torch.float64), 1.0, 2, 2, 2, True)
    with pytest.raises(RuntimeError, match="input channels must be a multiple of pooling height"):
        ops.ps_roi_pool(x, torch.zeros(2, 5), 1.0, 3, 2)


# -- moved taps


def moved(x, w, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    n, c, height, width = x.shape
    outs, _, rows, columns = w.shape
    sizes = offset.shape[2:]
    found = np.zeros((n, outs, *sizes)) + bias[:, None, None]
    for b, o, i, j in np.ndindex(n, outs, *sizes):
        for k in range(c // groups):
            channel = o // (outs // groups) * (c // groups) + k
            group = channel // (c // offset_groups)
            for r, s in np.ndindex(rows, columns):
                tap = group * rows * columns + r * columns + s
                y = i * stride[0] - pad[0] + r * dilation[0] + offset[b, 2 * tap, i, j]
                z = j * stride[1] - pad[1] + s * dilation[1] + offset[b, 2 * tap + 1, i, j]
                value = 0.0
                for at_y in (math.floor(y), math.floor(y) + 1):
                    for at_x in (math.floor(z), math.floor(z) + 1):
                        if 0 <= at_y < height and 0 <= at_x < width:
                            value += x[b, channel, at_y, at_x] * max(0, 1 - abs(y - at_y)) * max(0, 1 - abs(z - at_x))
                found[b, o, i, j] += w[o, k, r, s] * value * (1 if mask is None else mask[b, tap, i, j])
    return found


@pytest.mark.parametrize(
    "stride, pad, dilation, groups, offset_groups, masked",
    [((1, 1), (1, 1), (1, 1), 1, 1, True), ((2, 1), (0, 2), (1, 2), 2, 3, False), ((1, 1), (1, 0), (2, 1), 3, 2, True)],
)
def test_deform_conv2d(ops, stride, pad, dilation, groups, offset_groups, masked):
    rng = np.random.default_rng(2)
    x, w, bias = rng.standard_normal((2, 6, 6, 5)), rng.standard_normal((6, 6 // groups, 3, 2)), rng.standard_normal(6)
    sizes = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip((6, 5), pad, dilation, (3, 2), stride)]
    offset = 1.5 * rng.standard_normal((2, offset_groups * 12, *sizes))
    mask = rng.standard_normal((2, offset_groups * 6, *sizes)) if masked else np.zeros((2, 1))
    inputs = [t.requires_grad_() for t in tensors(x, w, offset, mask, bias)]
    rest = (*stride, *pad, *dilation, groups, offset_groups, masked)
    out = ops.deform_conv2d(*inputs, *rest)
    wanted = moved(x, w, offset, mask if masked else None, bias, stride, pad, dilation, groups, offset_groups)
    np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=1e-10, atol=1e-10)
    gradients = ops._deform_conv2d_backward(torch.ones_like(out), *inputs, *rest)
    out.sum().backward()
    for t, found in zip(inputs, gradients):
        torch.testing.assert_close(found, torch.zeros_like(t) if t.grad is None else t.grad)
    step = 1e-6
    for t in (inputs[0], inputs[2]):  # one number of each against a difference
        place = (0,) * t.ndim
        with torch.no_grad():
            values = []
            for sign in (1, -1):
                t[place] += sign * step
                values.append(ops.deform_conv2d(*inputs, *rest).sum().item())
                t[place] -= sign * step
        assert t.grad[place].item() == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


def test_deform_conv2d_of_wrong_sizes(ops):
    x, w, bias = torch.zeros(1, 4, 5, 5), torch.zeros(4, 4, 3, 3), torch.zeros(4)
    none = torch.zeros(1, 1)
    rest = (1, 1, 1, 1, 1, 1, 1, 1, False)
    with pytest.raises(RuntimeError, match=r"offset.shape\[1\] is not valid: got: 17 expected: 18"):
        ops.deform_conv2d(x, w, torch.zeros(1, 17, 5, 5), none, bias, *rest)
    with pytest.raises(RuntimeError, match=r"offset output dims: \(3, 3\) - computed output dims: \(5, 5\)"):
        ops.deform_conv2d(x, w, torch.zeros(1, 18, 3, 3), none, bias, *rest)
    with pytest.raises(RuntimeError, match=r"Expected input_c.ndimension\(\) == 4"):
        ops.deform_conv2d(x[0], w, torch.zeros(1, 18, 5, 5), none, bias, *rest)


# -- files


def test_images(ops, tmp_path):
    pytest.importorskip("PIL")
    picture = torch.randint(0, 256, (3, 8, 10), dtype=torch.uint8)
    image = torch.ops.image
    data = image.encode_png(picture, 6)
    image.write_file(str(tmp_path / "a.png"), data)
    read = image.read_file(str(tmp_path / "a.png"))
    assert read.dtype is torch.uint8 and torch.equal(read, data)
    assert torch.equal(image.decode_image(read), picture) and torch.equal(image.decode_png(read, 3), picture)
    assert image.decode_image(read, 1).shape == (1, 8, 10) and image.decode_image(read, 4).shape == (4, 8, 10)
    smooth = torch.arange(8, dtype=torch.uint8).mul(8).expand(3, 8, 8)
    assert (image.decode_jpeg(image.encode_jpeg(smooth, 95)).int() - smooth.int()).abs().max() < 8
    with pytest.raises(RuntimeError, match="decode_jpeg"):
        image.decode_jpeg(read)
    with pytest.raises(RuntimeError, match="No such file or directory"):
        image.read_file(str(tmp_path / "b.png"))
    with pytest.raises(RuntimeError, match="Input tensor dtype should be uint8"):
        image.encode_png(picture.float(), 6)


def test_kernels_for_autocast(ops):
    library = torch.library.Library("for_autocast", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x.clone(), "CPU")
    seen = []

    def cast(x):
        seen.append(torch.is_autocast_enabled("cpu"))
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            seen.append(torch.is_autocast_enabled("cpu"))
            return torch.ops.for_autocast.same(x.double())

    library.impl("same", cast, "AutocastCPU")
    assert torch.ops.for_autocast.same(torch.ones(2)).dtype is torch.float32 and not seen
    with torch.autocast("cpu"):
        assert torch.ops.for_autocast.same(torch.ones(2)).dtype is torch.float64
    assert seen == [True, False]
