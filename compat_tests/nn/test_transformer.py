"""Multi-head attention and the transformer layers against PyTorch: values, gradients, masks, dropout streams, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch

import jaxtorch
from module_kit import check, lines, parity
from parity import parity_test


def inputs(torch: Any, *shape: int, seed: int = 2, **more: Any) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*shape, requires_grad=True, **more)


def weighed(torch: Any, t: Any) -> Any:
    return (t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape)).sum()


ATTENTION: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "no-weights": ({}, {"need_weights": False}),
    "each-head": ({"batch_first": True}, {"average_attn_weights": False}),
    "no-bias": ({"bias": False, "batch_first": True}, {"need_weights": False}),
    "bias-kv": ({"add_bias_kv": True, "add_zero_attn": True}, {"key_padding_mask": "padding", "attn_mask": "causal"}),
    "dropout": ({"dropout": 0.4}, {}),
    "dropout-no-weights": ({"dropout": 0.4}, {"need_weights": False}),
    "padding": ({"batch_first": True}, {"key_padding_mask": "padding"}),
    "causal": ({}, {"attn_mask": "causal", "need_weights": False, "is_causal": True}),
    "float-mask": ({}, {"attn_mask": "float", "need_weights": False, "key_padding_mask": "float-padding"}),
    "mask-of-heads": ({}, {"attn_mask": "heads"}),
}


def mask(torch: Any, kind: str) -> Any:
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    return {
        "causal": causal,
        "padding": torch.tensor([[False] * 5, [False] * 3 + [True] * 2]),
        "float": torch.zeros(5, 5).masked_fill(causal, float("-inf")) + torch.arange(5.0),
        "float-padding": torch.zeros(2, 5).masked_fill(torch.arange(5) > 3, float("-inf")),
        "heads": torch.arange(100).reshape(4, 5, 5) % 3 == 1,
    }[kind]


@pytest.mark.parametrize("name", list(ATTENTION))
@parity_test
def test_attention(torch: Any, name: str) -> Any:
    options, call = ATTENTION[name]
    torch.manual_seed(0)
    m = torch.nn.MultiheadAttention(8, 2, **options)
    x = inputs(torch, 2, 5, 8) if options.get("batch_first") else inputs(torch, 5, 2, 8)
    call = {k: mask(torch, v) if isinstance(v, str) else v for k, v in call.items()}
    torch.manual_seed(5)
    out, weights = m(x, x, x, **call)
    loss = weighed(torch, out)
    if weights is not None:
        loss = loss + weighed(torch, weights)
    loss.backward()
    seen = [out.detach(), None if weights is None else weights.detach(), out.grad_fn.name()]
    return [repr(m), seen, x.grad, [p.grad for p in m.parameters()], m.state_dict()]


@parity_test
def test_attention_of_other_widths(torch: Any) -> Any:
    torch.manual_seed(0)
    m = torch.nn.MultiheadAttention(8, 2, kdim=3, vdim=5)
    q, k, v = inputs(torch, 4, 2, 8), inputs(torch, 6, 2, 3), inputs(torch, 6, 2, 5)
    out, weights = m(q, k, v)
    weighed(torch, out).backward()
    alone = m(q[:, 0], k[:, 0], v[:, 0])
    encoded = torch.nn.MultiheadAttention(8, 4)(q, q.detach() * 2, q.detach() * 2, need_weights=False)[0]
    grads = [t.grad for t in (q, k, v, *m.parameters())]
    return [out.detach(), weights.detach(), grads, m.state_dict(), [t.detach() for t in (*alone, encoded)]]


STACKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "norm-first": {"norm_first": True, "activation": "gelu", "batch_first": True},
    "no-bias": {"bias": False, "dropout": 0.0},
}


@pytest.mark.parametrize("name", list(STACKS))
@parity_test
def test_transformer(torch: Any, name: str) -> Any:
    torch.manual_seed(0)
    m = torch.nn.Transformer(8, 2, 2, 2, 16, **STACKS[name])
    shape = (2, 5, 8) if m.batch_first else (5, 2, 8)
    src, tgt = inputs(torch, *shape), inputs(torch, *shape, seed=3)
    causal = m.generate_square_subsequent_mask(5)
    padding = torch.zeros(2, 5).masked_fill(mask(torch, "padding"), float("-inf"))
    torch.manual_seed(5)
    out = m(src, tgt, tgt_mask=causal, src_key_padding_mask=padding, tgt_is_causal=True)
    weighed(torch, out).backward()
    grads = [t.grad for t in (src, tgt, *m.parameters())]
    m.eval()
    again = [n(src, tgt).detach() for n in (m, copy.deepcopy(m), pickle.loads(pickle.dumps(m)))]
    return [repr(m), out.detach(), grads, again, m.state_dict()]


@pytest.mark.parametrize("padding", [None, [[0, 0, 0, 0, 1], [0, 0, 1, 1, 1]], [[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]])
@parity_test
def test_encoder_without_gradients(torch: Any, padding: Any) -> Any:
    """Where PyTorch would compute with nested tensors, padded positions come out as there."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    m = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8)).eval()
    x = inputs(torch, 2, 5, 8)
    pad = None if padding is None else torch.tensor(padding).bool()
    with torch.no_grad():
        bare = torch.nn.TransformerEncoder(layer, 1).eval()(x, src_key_padding_mask=pad)
        out = m(x, src_key_padding_mask=pad)
    return [out.contiguous(), bare.contiguous(), m(x, src_key_padding_mask=pad).detach(), m(x.detach()[0]).detach()]


@parity_test
def test_decoder_layer_of_one_sequence(torch: Any) -> Any:
    torch.manual_seed(0)
    m = torch.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.2, activation=torch.nn.GELU())
    tgt, memory = inputs(torch, 4, 8), inputs(torch, 6, 8, seed=3)
    torch.manual_seed(5)
    out = m(tgt, memory, memory_key_padding_mask=torch.arange(6) > 3)
    weighed(torch, out).backward()
    return [out.detach(), tgt.grad, memory.grad, repr(m)]


@parity_test
def test_second_derivatives(torch: Any) -> Any:
    torch.manual_seed(0)
    m = torch.nn.MultiheadAttention(4, 2).double()
    x = inputs(torch, 3, 1, 4, dtype=torch.float64)
    (first,) = torch.autograd.grad(weighed(torch, m(x, x, x)[0]), [x], create_graph=True)
    weighed(torch, first**2).backward()
    return [x.grad, [p.grad for p in m.parameters()]]


PREPARE = (
    "x = torch.ones(5, 2, 8); nn = torch.nn; MH = nn.MultiheadAttention; m = MH(8, 2); Z = torch.zeros; "
    "E = nn.TransformerEncoderLayer"
)
TEXTS = lines("""
    MH(8, 3)
    MH(0, 1)
    list(MH(8, 2, add_bias_kv=True, kdim=3, vdim=4).state_dict())
    m(x[:, 0], x, x)
    m(x, x, x, attn_mask=Z(3, 3))
    m(x, x, x, attn_mask=Z(3, 5, 5))
    m(x, x, x, attn_mask=Z(5))
    m(x, x, x, is_causal=True)
    m(x, x, x, key_padding_mask=Z(5, 2))
    m(x, x, x, key_padding_mask=Z(2, 5, dtype=torch.bool), attn_mask=Z(5, 5))[1].shape
    m(x, x, x, key_padding_mask=Z(2, 5, dtype=torch.int))
    m(x, x, x, attn_mask=Z(5, 5, dtype=torch.int))
    m(x[..., :4], x, x)
    m(x, x, x[:3])
    m(x[:, 0], x[:, 0], x[:, 0], key_padding_mask=Z(1, 5))
    m(x[:, 0], x[:, 0], x[:, 0], attn_mask=Z(1, 5, 5))
    m(x.double(), x, x)
    E(8, 2, activation='x')
    E(8, 3)
    E(8, 2)(x[0, 0])
    nn.TransformerEncoder(E(8, 2), 2).use_nested_tensor
    nn.TransformerEncoder(E(8, 2, batch_first=True, norm_first=True), 2).use_nested_tensor
    nn.TransformerEncoder(E(9, 3, batch_first=True), 2).use_nested_tensor
    nn.Transformer(8, 2, 1, 1, 16)(x, x[:, :1])
    nn.Transformer(8, 2, 1, 1, 16)(x, x[..., :4])
    nn.Transformer.generate_square_subsequent_mask(3), nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64)
    nn.Transformer(8, 2, 1, 1, 16)
""")


@parity(PREPARE, texts=TEXTS)
def test_texts_and_errors(case: str) -> None:
    check(case)


@pytest.mark.parametrize(
    "options", [{}, {"is_causal": True}, {"dropout_p": 0.5}, {"enable_gqa": True}, {"mask": True}], ids=str
)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (1, 2, 0, 3), (0, 1, 3, 2)], ids=str)
def test_attention_keeps_the_order_of_the_querys_dimensions(order: tuple[int, ...], options: dict[str, Any]):
    """So that `y.transpose(1, 2).view(batch, length, -1)` works without `contiguous`, as programs write it."""
    found = []
    for t in (torch, jaxtorch):
        size = (2, 4, 6, 8)
        query = t.ones([size[d] for d in order], requires_grad=True).permute(*[order.index(d) for d in range(4)])
        key = t.ones(2, 2 if "enable_gqa" in options else 4, 6, 8)
        mask = {"attn_mask": t.ones(6, 6, dtype=t.bool)} if "mask" in options else options
        y = t.nn.functional.scaled_dot_product_attention(query, key, key, **mask)
        found.append((y.stride(), y.transpose(1, 2).is_contiguous()))
    assert found[0] == found[1]


def test_a_gradient_that_is_missing_is_named():
    for t in (torch, jaxtorch):
        x, unused = t.ones(2, requires_grad=True), t.ones(1, requires_grad=True)
        with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used in the graph"):
            t.autograd.grad(x.sum(), [x, unused])
