"""Layers and parts of `torch.nn` that PyTorch's `module_db` leaves out, against PyTorch."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import pytest

import jaxtorch as candidate
from module_kit import check, lines, parity
from parity import attempt, parity_test


def made(torch: Any, *shape: int, seed: int = 2, **more: Any) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*shape, requires_grad=True, **more)


def weighed(torch: Any, t: Any) -> Any:
    return (t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape)).sum()


# Constructor and shapes of the inputs; ints(n) is a target of class numbers.
LAYERS: dict[str, tuple[str, list[Any]]] = {
    name.split("(")[0] + f"-{k}": (name, shapes)
    for k, (name, shapes) in enumerate(
        [
            ("AlphaDropout(0.3)", [(4, 5)]),
            ("FeatureAlphaDropout(0.3)", [(4, 5, 3)]),
            ("Dropout(0.4)", [(4, 5)]),
            ("Dropout1d(0.4)", [(4, 5, 3)]),
            ("Dropout2d(0.4)", [(2, 5, 3, 3)]),
            ("Dropout3d(0.4)", [(2, 5, 2, 2, 2)]),
            ("RReLU()", [(4, 5)]),
            ("Hardsigmoid()", [(4, 5)]),
            ("Identity(3, k=4)", [(4, 5)]),
            ("Flatten(1, 2)", [(2, 3, 4, 5)]),
            ("Unflatten(1, (2, 3))", [(2, 6)]),
            ("Fold((4, 5), (2, 2), padding=1)", [(2, 8, 30)]),
            ("Unfold(2, stride=2)", [(2, 3, 4, 4)]),
            ("ChannelShuffle(2)", [(1, 4, 2, 2)]),
            ("PixelShuffle(2)", [(1, 8, 2, 3)]),
            ("PixelUnshuffle(2)", [(1, 2, 4, 6)]),
            ("CosineSimilarity(dim=1)", [(4, 5), (4, 5)]),
            ("PairwiseDistance(p=1, keepdim=True)", [(4, 5), (4, 5)]),
            ("SyncBatchNorm(3)", [(4, 3, 2)]),
            ("Upsample(scale_factor=2, mode='bilinear')", [(1, 2, 3, 4)]),
            ("Upsample(size=(5, 7), mode='bicubic', align_corners=True)", [(1, 2, 3, 4)]),
            ("Upsample(scale_factor=1.5, mode='trilinear')", [(1, 2, 3, 4, 2)]),
            ("UpsamplingNearest2d(scale_factor=2)", [(1, 2, 3, 4)]),
            ("UpsamplingBilinear2d(size=(5, 6))", [(1, 2, 3, 4)]),
            ("TripletMarginLoss(p=1, swap=True)", [(4, 5), (4, 5), (4, 5)]),
            ("TripletMarginWithDistanceLoss(margin=2.)", [(4, 5), (4, 5), (4, 5)]),
            ("NLLLoss2d()", [(2, 3, 4, 4), "ints(2, 4, 4)"]),
            (
                "AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], div_value=2., head_bias=True)",
                [(6, 8), "torch.tensor([0, 8, 3, 5, 2, 1])"],
            ),
            ("AdaptiveLogSoftmaxWithLoss(8, 9, [3])", [(8,), "torch.tensor(5)"]),
            ("EmbeddingBag(3, 4, mode='sum')", ["ints(2, 5)"]),
            ("EmbeddingBag(3, 4, mode='max', padding_idx=1)", ["ints(2, 5)"]),
            ("Embedding(3, 4, max_norm=1.)", ["ints(2, 5)"]),
        ]
    )
}


@pytest.mark.parametrize("name", list(LAYERS))
@parity_test
def test_layer(torch: Any, name: str) -> Any:
    text, shapes = LAYERS[name]
    torch.manual_seed(1)
    m = eval(f"torch.nn.{text}", {"torch": torch})
    ints = lambda *size: torch.arange(max(torch.zeros(size).numel(), 1)).reshape(size) % 3  # noqa: E731
    scope = {"ints": ints, "torch": torch}
    inputs = [eval(t, scope) if isinstance(t, str) else made(torch, *t, seed=k) for k, t in enumerate(shapes)]
    seen = []
    for mode in (True, False):
        m.train(mode)
        torch.manual_seed(7)
        out = m(*inputs)
        outs = list(out) if isinstance(out, tuple) else [out]
        sum(weighed(torch, t) for t in outs).backward()
        seen.append([t.detach() for t in outs])
    grads = [t.grad for t in [*inputs, *m.parameters()]]
    return [repr(m), seen, grads, m.state_dict()]


@parity_test
def test_cross_map_normalisation(torch: Any) -> Any:
    x = made(torch, 2, 7, 3, 3).detach() * 30
    return [torch.nn.CrossMapLRN2d(size, k=2.0)(x) for size in (1, 2, 3, 4, 5)]


@parity_test
def test_unpooling(torch: Any) -> Any:
    seen = []
    for n, shape in ((1, (2, 3, 6)), (2, (2, 3, 4, 6)), (3, (1, 2, 4, 4, 4))):
        x = made(torch, *shape)
        pool = getattr(torch.nn, f"MaxPool{n}d")(2, return_indices=True)
        unpool = getattr(torch.nn, f"MaxUnpool{n}d")(2)
        out = unpool(*pool(x), output_size=shape)
        weighed(torch, out).backward()
        seen.append([repr(unpool), out.detach(), x.grad])
    return seen


@parity_test
def test_output_size_of_transposed_convolutions(torch: Any) -> Any:
    seen = []
    for n, size in ((1, (9,)), (2, (9, 10)), (3, (6, 5, 6))):
        torch.manual_seed(0)
        m = getattr(torch.nn, f"ConvTranspose{n}d")(2, 3, 3, stride=2)
        small = [(s - 3) // 2 + 1 for s in size]
        seen.append(m(made(torch, 1, 2, *small), output_size=size).detach())
    return seen


@parity_test
def test_gradients_of_convolutions(torch: Any) -> Any:
    grad = importlib.import_module(f"{torch.__name__}.nn.grad")
    x, w, g = made(torch, 2, 2, 5, 5), made(torch, 3, 2, 3, 3), made(torch, 2, 3, 3, 3)
    by_input = grad.conv2d_input(x.shape, w, g)
    weighed(torch, by_input).backward()
    return [by_input.detach(), grad.conv2d_weight(x, w.shape, g).detach(), w.grad, g.grad]


def of_attention(torch: Any, name: str = "") -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.attention{name}")


@parity_test
def test_biases_of_attention(torch: Any) -> Any:
    bias, attend = of_attention(torch, ".bias"), torch.nn.functional.scaled_dot_product_attention
    q, k = made(torch, 1, 2, 3, 4), made(torch, 1, 2, 5, 4)
    with of_attention(torch).sdpa_kernel([of_attention(torch).SDPBackend.MATH]):
        outs = [attend(q, k, k, attn_mask=f(3, 5)) for f in (bias.causal_upper_left, bias.causal_lower_right)]
    kinds = [isinstance(bias.causal_upper_left(2, 2), bias.CausalBias), repr(of_attention(torch).SDPBackend.MATH)]
    return [[t.detach() for t in outs], kinds]


@pytest.mark.parametrize("kind", ["plain", "causal", "score", "gqa", "documents"])
@parity_test
def test_flex_attention(torch: Any, kind: str) -> Any:
    flex = of_attention(torch, ".flex_attention")
    documents = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    slope = made(torch, 2).detach()
    masks = {
        "causal": lambda b, h, q, k: q >= k,
        "documents": lambda b, h, q, k: (documents[q] == documents[k]) & (k < 5),
    }
    options: dict[str, Any] = {}
    if kind in masks:
        options["block_mask"] = flex.create_block_mask(masks[kind], 1, 2, 7, 7, device="cpu", BLOCK_SIZE=4)
    if kind == "score":
        options["score_mod"] = lambda s, b, h, q, k: s * 2 + slope[h] * (q - k)
    q = made(torch, 1, 2, 7, 4).detach()
    k, v = (made(torch, 1, 1 if kind == "gqa" else 2, 7, 4, seed=s).detach() for s in (3, 4))
    out, aux = flex.flex_attention(q, k, v, enable_gqa=kind == "gqa", return_aux=flex.AuxRequest(lse=True), **options)
    return out, aux.lse


def test_gradients_of_flex_attention() -> None:
    """PyTorch has none on the CPU; those of the same causal attention are the measure."""
    torch: Any = candidate
    flex = of_attention(torch, ".flex_attention")
    mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 7, 7)
    grads = []
    for attend in (
        lambda q, k, v: flex.flex_attention(q, k, v, block_mask=mask),
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    ):
        qkv = [made(torch, 1, 2, 7, 4, seed=s) for s in (2, 3, 4)]
        weighed(torch, attend(*qkv)).backward()
        grads.append([t.grad for t in qkv])
    torch.testing.assert_close(*grads)


@parity_test
def test_block_masks(torch: Any) -> Any:
    flex = of_attention(torch, ".flex_attention")

    def near(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (q >= k) & (q - k < 40 * (h + 1))

    made = flex.create_block_mask(flex.and_masks(near, near), 2, 3, 100, 130, device="cpu", BLOCK_SIZE=32)
    whole = flex.create_block_mask(near, None, 2, 64, 64, device="cpu", BLOCK_SIZE=32)
    names = [f"{a}{b}_{c}" for a in ("", "full_") for b in ("kv", "q") for c in ("num_blocks", "indices")]
    dense = flex.create_mask(flex.or_masks(near, lambda b, h, q, k: q == k + 50), 1, 2, 60, 60, device="cpu")
    return [repr(whole), made.shape, made.to_dense(), [getattr(made, n) for n in names], made.sparsity(), dense]


@pytest.mark.parametrize("sizes", [(46, 82), (128, 128), (41, 80)])
@parity_test
def test_pictures_of_block_masks(torch: Any, sizes: tuple[int, int]) -> Any:
    """Cells that stand for several blocks, those at the ends for fewer; pictures that are left out."""
    flex = of_attention(torch, ".flex_attention")

    def few(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (q >= k) & (q - k < 40 * (h + 1)) | (q < 30)

    mask = flex.create_block_mask(few, 2, 3, *sizes, device="cpu", BLOCK_SIZE=2)
    drawn = [mask.to_string(grid, limit) for grid in (5, (4, 7), -1) for limit in (1, 6)]
    return [str(mask), drawn, str(flex.create_block_mask(few, 1, 1, 32, 17, device="cpu", BLOCK_SIZE=(8, 4)))]


def _tensors(mask: Any) -> list[Any]:
    names = [f"{a}{b}_{c}" for a in ("", "full_") for b in ("kv", "q") for c in ("num_blocks", "indices")]
    return [mask.shape, mask.BLOCK_SIZE, mask.mask_mod.__name__, [getattr(mask, n) for n in names]]


@parity_test
def test_parts_of_block_masks(torch: Any) -> Any:
    """As programs that generate take the row of blocks of one token, and give it a mask of its own."""
    flex = of_attention(torch, ".flex_attention")
    mask = flex.create_block_mask(lambda b, h, q, k: q >= k, 2, 2, 64, 64, device="cpu", BLOCK_SIZE=16)
    every, rows = slice(None), torch.tensor([2, 0])
    found: list[Any] = [
        _tensors(mask[i]) for i in (0, -1, 5, (0, 1), (every, every, 1), (0, every, slice(1, 3)), (every, every, rows))
    ]
    part = mask[:, :, 1]
    q, k = torch.ones(2, 2, 1, 8), torch.linspace(-1, 1, 2 * 2 * 64 * 8).reshape(2, 2, 64, 8)
    found.append(attempt(lambda: flex.flex_attention(q, k, k, block_mask=part)))
    part.seq_lengths, part.mask_mod = (1, 64), lambda b, h, q, k: q + 20 >= k
    return [*found, flex.flex_attention(q, k, k, block_mask=part), str(part)]


@parity_test
def test_block_masks_from_blocks(torch: Any) -> Any:
    flex = of_attention(torch, ".flex_attention")
    counts = torch.tensor([[[1, 2, 2]]], dtype=torch.int32)
    indices = torch.tensor([[[[0, 1, 2], [0, 1, 2], [1, 2, 0]]]], dtype=torch.int32)
    made = flex.BlockMask.from_kv_blocks
    full = {"full_kv_num_blocks": counts, "full_kv_indices": indices}
    options: list[dict[str, Any]] = [{}, {"BLOCK_SIZE": (16, 8)}, {"seq_lengths": (40, 33), "BLOCK_SIZE": 16}, full]
    found: list[Any] = [_tensors(made(counts, indices, **o)) for o in [*options, {"compute_q_blocks": False}]]
    found += [
        attempt(lambda: made(counts, indices, full_kv_indices=indices)),
        attempt(lambda: made(counts, counts[0, 0])),
    ]
    return [*found, str(made(counts, indices, BLOCK_SIZE=16))]


PREPARE = (
    "nn = torch.nn; A = nn.AdaptiveLogSoftmaxWithLoss; m = A(8, 20, [4, 10], div_value=2.); "
    "x = torch.ones(3, 8); y = torch.arange(3) * 6"
)
TEXTS = lines("""
    A(8, 20, [])
    A(8, 20, [4, 4])
    A(8, 20, [20])
    A(8, 20, [5, 3])
    m(x, y[:2])
    m(x, y[:, None])
    m(x, y), m.log_prob(x).detach(), m.predict(x), m
    [n for n, _ in m.named_parameters()], m.cutoffs, m.head_size
    s = OD(nn.Sequential(nn.Linear(2, 1)).state_dict()); t = OD(('module.' + k, v) for k, v in s.items());
      nn.modules.utils.consume_prefix_in_state_dict_if_present(t, 'module.'); list(t)
    nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
""")


@parity_test
def test_targets_out_of_range(torch: Any) -> Any:
    m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)
    message = r"Target values should be in \[0, 19\], but values in range \[{}\] were found"
    found = [(torch.arange(3) * 6 + k, message.format(span)) for k, span in ((10, "10, 22"), (-1, "-1, 11"))]
    return [attempt(lambda y=y: m(torch.ones(3, 8), y).loss.item(), text).kind for y, text in found]


@parity(PREPARE, texts=TEXTS)
def test_texts_and_errors(case: str) -> None:
    check(case)


@parity_test
def test_names_that_programs_borrow(torch: Any) -> Any:
    """Private names of PyTorch that published programs import."""
    nn, F = torch.nn, torch.nn.functional
    types = importlib.import_module(f"{torch.__name__}.nn.common_types")
    torch.manual_seed(0)
    x, w, b = torch.randn(3, 2, 4), torch.randn(12, 4), torch.randn(12)
    values = [
        [F._Reduction.get_enum(r) for r in ("none", "mean", "sum")],
        attempt(lambda: F._Reduction.get_enum("foo")),
        [F._Reduction.legacy_get_string(a, r, emit_warning=False) for a in (None, True, False) for r in (None, False)],
        [t.contiguous() for t in F._in_projection_packed(x, x, x, w, b)],
        [t.contiguous() for t in F._in_projection_packed(x, x + 1, x + 1, w, b)],
        list(F._in_projection(x, x, x, w[:4], w[4:8], w[8:])),
        nn.init._no_grad_trunc_normal_(torch.zeros(5), 0.0, 1.0, -1.0, 1.0),
        nn.init._no_grad_fill_(torch.zeros(2, requires_grad=True), 3.0),
        nn.init._no_grad_zero_(torch.ones(2, requires_grad=True)),
        importlib.import_module(f"{torch.__name__}.utils._foreach_utils")._foreach_supported_types == [torch.Tensor],
        [torch._disable_dynamo(lambda x: x + 1)(2), torch._disable_dynamo(recursive=False)(lambda x: x + 1)(2)],
        nn.modules.utils._list_with_default((None, 3), [5, 6, 7]),
        nn.modules.conv._pair(2),
        hasattr(types, "_size_2_t") and hasattr(types, "_ratio_any_t"),
        [issubclass(nn.LazyBatchNorm1d, nn.modules.batchnorm._LazyNormBase)],
    ]
    return values


@parity_test
def test_shallow_copies_of_parameters(torch: Any) -> Any:
    class Own(torch.nn.Parameter):
        pass

    p = Own(torch.ones(2))
    p.mark = 3
    found = [copy.copy(x) for x in (p, torch.nn.UninitializedParameter(), torch.nn.Buffer(torch.ones(2)))]
    return [type(x).__name__ for x in found], found[0].mark, found[0]._version, found[0].data_ptr() == p.data_ptr()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@parity_test
def test_pictures_of_bytes_are_resized_exactly(torch: Any, mode: str, antialias: bool) -> Any:
    """With whole-numbered weights, as pillow does, so that every element is PyTorch's."""
    found = []
    for shape in ((2, 3, 17, 23), (1, 5, 9, 30)):
        x = torch.randint(0, 256, shape, dtype=torch.uint8)
        for given in ({"size": (7, 11)}, {"size": (shape[2], 41)}, {"scale_factor": (1.7, 0.37)}):
            for corners in (False, True):
                found.append(
                    torch.nn.functional.interpolate(x, mode=mode, antialias=antialias, align_corners=corners, **given)
                )
    return found


@pytest.mark.parametrize("blank", [0, 3])
@pytest.mark.parametrize(
    "targets", [[[1, 0, 3], [0, 2, 0]], [[0, 0, 3], [3, 3, 3]], [[0, 1, 0], [1, 1, 0]], [[3, 2, 3], [0, 0, 0]]]
)
@parity_test
def test_targets_of_ctc_that_hold_the_blank(torch: Any, targets: Any, blank: int) -> Any:
    scores = (torch.arange(7 * 2 * 4.0).reshape(7, 2, 4) * 0.37).sin().double().requires_grad_()
    given = torch.tensor(targets), torch.tensor([7, 6]), torch.tensor([3, 2])
    losses = torch.nn.functional.ctc_loss(scores.log_softmax(2), *given, blank=blank, reduction="none")
    losses.sum().backward()
    last = targets[0][2], targets[1][1]
    return losses, [scores.grad[:, i] for i in range(2) if last[i] != blank]  # where it is, PyTorch's leaves a part out


@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@parity_test
def test_soft_margin_loss_overflows(torch: Any, dtype: str, reduction: str) -> Any:
    given = torch.tensor(
        [-3e4, 3e4, -200.0, 30.0, -1.0, 1e-3, float("inf"), -float("inf")], dtype=getattr(torch, dtype)
    )
    x, y = given.requires_grad_(), torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0], dtype=given.dtype)
    loss = torch.nn.functional.soft_margin_loss(x, y, reduction=reduction)
    loss.sum().backward()
    return loss, x.grad
