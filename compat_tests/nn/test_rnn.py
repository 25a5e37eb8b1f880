"""Recurrent layers and packed sequences against PyTorch: values, gradients of every order, random streams, errors."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import jaxtorch
from jaxtorch._core.define.op import registry
from module_kit import check, lines, parity
from parity import attempt, parity_test

LAYERS = {
    "lstm": ("LSTM", {}),
    "lstm-two-both": ("LSTM", {"num_layers": 2, "bidirectional": True}),
    "lstm-projected": ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
    "lstm-batch-first": ("LSTM", {"batch_first": True, "bias": False}),
    "lstm-dropout": ("LSTM", {"num_layers": 3, "dropout": 0.4, "bidirectional": True}),
    "gru": ("GRU", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    "gru-dropout": ("GRU", {"num_layers": 2, "dropout": 0.3, "bias": False}),
    "tanh": ("RNN", {"bidirectional": True}),
    "relu": ("RNN", {"num_layers": 2, "nonlinearity": "relu"}),
}
layers = pytest.mark.parametrize("name", list(LAYERS))


def made(torch: Any, name: str, **more: Any) -> Any:
    kind, options = LAYERS[name]
    torch.manual_seed(1)
    return getattr(torch.nn, kind)(3, 4, **{**options, **more})


def sequence(torch: Any, *shape: int) -> Any:
    torch.manual_seed(2)
    return torch.randn(*shape, requires_grad=True)


def states(torch: Any, m: Any, batch: int) -> Any:
    torch.manual_seed(3)
    n = m.num_layers * (2 if m.bidirectional else 1)
    h = torch.randn(n, batch, m.proj_size or m.hidden_size, requires_grad=True)
    return (h, torch.randn(n, batch, m.hidden_size, requires_grad=True)) if m.mode == "LSTM" else h


def flat(x: Any) -> list[Any]:
    return [x] if not isinstance(x, tuple | list) else [t for item in x for t in flat(item)]


def loss_of(torch: Any, out: Any) -> Any:
    """A number that every element of the results moves by another amount."""
    return sum((t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape)).sum() for t in flat(out))


@layers
@parity_test
def test_values_and_gradients(torch: Any, name: str) -> Any:
    m = made(torch, name)
    x = sequence(torch, 5, 2, 3)
    hx = states(torch, m, x.shape[0 if m.batch_first else 1])
    torch.manual_seed(4)
    out = m(x, hx)
    loss_of(torch, out).backward()
    grads = [t.grad for t in [x, *flat(hx), *m.parameters()]]
    m.eval()
    return [
        repr(m),
        [t.detach() for t in flat(out)],
        grads,
        m.state_dict(),
        [t.detach() for t in flat([m(x.detach()), m(x[0].detach())])],
    ]


@layers
@parity_test
def test_packed(torch: Any, name: str) -> Any:
    m = made(torch, name, batch_first=False)
    rnn = torch.nn.utils.rnn
    x = sequence(torch, 5, 3, 3)
    packed = rnn.pack_padded_sequence(x, [2, 5, 3], enforce_sorted=False)
    torch.manual_seed(4)
    hx = states(torch, m, 3)
    out, h = m(packed, hx)
    padded, lengths = rnn.pad_packed_sequence(out)
    loss_of(torch, [padded, h]).backward()
    grads = [t.grad for t in [x, *flat(hx), *m.parameters()]]
    same = m.eval()(packed)[0].data
    return [
        [t.detach() for t in (out.data, padded)],
        [t.detach() for t in flat(h)],
        lengths,
        out[1:],
        grads,
        same.detach(),
    ]


@pytest.mark.parametrize("name", ["lstm-two-both", "lstm-projected", "gru", "tanh", "relu"])
@parity_test
def test_second_derivatives(torch: Any, name: str) -> Any:
    m = made(torch, name).double()
    x = sequence(torch, 3, 2, 3).detach().double().requires_grad_()
    wanted = [x, *m.parameters()]
    first = torch.autograd.grad(loss_of(torch, m(x)), wanted, create_graph=True)
    loss_of(torch, [g**2 for g in first]).backward()
    return [t.grad for t in wanted]


@pytest.mark.parametrize("name", ["lstm-two-both", "gru", "tanh"])
@parity_test
def test_forward_mode(torch: Any, name: str) -> Any:
    m = made(torch, name).double()
    x, dx = (sequence(torch, 3, 2, 3).detach().double() * k for k in (1, 2))
    return [t.detach().contiguous() for t in torch.func.jvp(lambda x: m(x)[0], (x,), (dx,))]


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
@parity_test
def test_cells(torch: Any, kind: str) -> Any:
    torch.manual_seed(0)
    m = getattr(torch.nn, kind)(3, 4)
    x = sequence(torch, 4, 2, 3)
    h = None
    seen = []
    for step in x:
        h = m(step, h)
        seen.append(flat(h)[0])
    loss_of(torch, [seen, h]).backward()
    alone = m(x[0, 0].detach())
    grads = [t.grad for t in [x, *m.parameters()]]
    return [repr(m), [t.detach() for t in seen], grads, [t.detach() for t in flat(alone)], m.state_dict()]


@parity_test
def test_state_travels(torch: Any) -> Any:
    m = made(torch, "lstm-projected")
    x = sequence(torch, 3, 2, 3)
    other = made(torch, "lstm-projected")
    with torch.no_grad():
        for p in other.parameters():
            p.zero_()
    other.load_state_dict(m.state_dict())
    again = pickle.loads(pickle.dumps(m))
    file = io.BytesIO()
    torch.save(copy.deepcopy(m).state_dict(), file)
    return [f(x)[0].detach() for f in (m, other, again, copy.deepcopy(m))], m.all_weights[1][0], m._flat_weights_names


@parity_test
def test_a_replaced_weight_is_used(torch: Any) -> Any:
    """Weight dropout as AWD-LSTM writes it: the parameter under another name, a tensor in its place."""
    m = made(torch, "gru")
    raw = m.weight_hh_l0
    del m._parameters["weight_hh_l0"]
    m.register_parameter("weight_hh_l0_raw", raw)
    m.weight_hh_l0 = raw * 2
    out, _ = m(sequence(torch, 3, 2, 3))
    out.sum().backward()
    return out.detach(), m.weight_hh_l0_raw.grad, list(m.state_dict())


@pytest.mark.parametrize("name", ["gru", "tanh", "relu", "lstm-projected"])
@parity_test
def test_the_result_may_be_written_to(torch: Any, name: str) -> Any:
    m = made(torch, name)
    x = sequence(torch, 5, 2, 3)
    out, _ = m(x)
    torch.nn.functional.leaky_relu(out, 0.3, inplace=True).sum().backward()
    return out.detach(), x.grad, m.weight_hh_l0.grad


@parity_test
def test_functions(torch: Any) -> Any:
    m = made(torch, "lstm")
    x = sequence(torch, 3, 2, 3).detach()
    h = states(torch, m, 2)
    weights = list(m.parameters())
    out = torch.lstm(x, h, weights, True, 1, 0.0, False, False, False)
    data = torch.lstm(x[:, 0], torch.tensor([2, 1]), h, weights, True, 1, 0.0, False, False)
    few = attempt(lambda: torch.lstm(x, h, weights[:3], True, 1, 0.0, False, False, False))
    return [t.detach() for t in (*out, *data)], few.kind


PREPARE = (
    "import pickle; x = torch.ones(5, 3, 4); Z = torch.zeros; nn = torch.nn; r = nn.utils.rnn; "
    "p = r.pack_padded_sequence; y = torch.arange(24.).reshape(4, 3, 2)"
)
ERRORS = lines("""
    nn.LSTM(4, 5, num_layers=0)
    nn.LSTM(4, 0)
    nn.LSTM(4, 5.0)
    nn.LSTM(4, 5, dropout=2)
    nn.LSTM(4, 5, dropout=.5)
    nn.LSTM(4, 5, proj_size=5)
    nn.LSTM(4, 5, proj_size=-1)
    nn.GRU(4, 5, proj_size=2)
    nn.RNN(4, 5, nonlinearity='x')
    nn.LSTM(4, 5)(x[..., :3])
    nn.LSTM(4, 5)(x[0, 0])
    nn.LSTM(4, 5)(x, (Z(1, 2, 5), Z(1, 3, 5)))
    nn.LSTM(4, 5)(x, (Z(1, 3, 5), Z(1, 2, 5)))
    nn.LSTM(4, 5)(x, (Z(3, 5), Z(1, 3, 5)))
    nn.LSTM(4, 5)(x[0], (Z(1, 3, 5), Z(1, 3, 5)))
    nn.GRU(4, 5)(x, Z(1, 2, 5))
    nn.GRU(4, 5)(x, Z(2, 5))
    nn.GRU(4, 5)(x.double())
    nn.GRU(4, 5)(x[:0])
    nn.GRU(4, 5)(x[:, :0])[0].shape
    nn.LSTMCell(4, 5)(x)
    nn.LSTMCell(4, 5)(x[0, :, :3])
    nn.LSTMCell(4, 5)(x[0], (Z(2, 5), Z(3, 5)))
    nn.LSTMCell(4, 5)(x[0], (Z(3, 5), Z(3, 4)))
    nn.LSTMCell(4, 5)(x[0], (Z(3, 5, 1), Z(3, 5)))
    nn.GRUCell(4, 5)(x[0], Z(1, 3, 5))
    nn.RNNCell(4, 5, nonlinearity='x')(x[0])
    nn.RNN(4, 5, 2, 'relu', bias=False, batch_first=True, dropout=.5, bidirectional=True)
    nn.RNNCell(4, 5, nonlinearity='relu')
""")
SEQUENCES = lines("""
    p(y, [4, 2, 1])
    p(y, torch.tensor([4, 2, 1], dtype=torch.int32))
    p(y, [1, 2, 4])
    p(y, [1, 4, 2], enforce_sorted=False)
    p(y, [2, 2, 2, 1], batch_first=True)
    p(y, [4, 2])
    p(y, [4, 2, 0])
    p(y, [[4, 2, 1]])
    p(y[:0], [1, 1, 1])
    r.pad_packed_sequence(p(y, [3, 2, 1]))
    r.pad_packed_sequence(p(y, [1, 3, 2], enforce_sorted=False), batch_first=True, padding_value=-1., total_length=5)
    r.pad_packed_sequence(p(y, [3, 2, 1]), total_length=2)
    r.pack_sequence([y[:2, 0], y[:3, 1]])
    r.pack_sequence([y[:2, 0], y[:3, 1]], enforce_sorted=False)
    r.unpack_sequence(r.pack_sequence([y[:2, 0], y[:3, 1]], enforce_sorted=False))
    r.unpad_sequence(y, torch.tensor([4, 2, 1]))
    r.pad_sequence([y[:2, 0], y[:3, 1]])
    r.pad_sequence([y[:2, 0] * 1, y[:3, 1] * 1], batch_first=True, padding_value=7, padding_side='left')
    r.pad_sequence([torch.tensor([1, 2]), torch.tensor([3, 4, 5])], padding_value=-100)
    r.pad_sequence(y)
    r.pad_sequence(3)
    r.pad_sequence([])
    r.pad_sequence(a for a in [y[:2, 0], y[:3, 1]])
    r.pad_sequence([torch.tensor([1, 2]), torch.tensor([3.])])
    d, b, i, u = p(y, [4, 2, 1]); s = p(y, [4, 2, 1]); tuple(s), s[0], s[1:], s[:2], s[-4], d, len(s), s._asdict()
    s = p(y, [4, 2, 1]); y.zero_(); s.data, nn.RNN(2, 1)(s)[1]
    s = p(y, [4, 2, 1]); m = nn.RNN(2, 1); m(s)[1], s.data.mul_(2), m(s)[1], s._replace(data=s.data * 0), r.unpack_sequence(s)
    s = p(y, [4, 1, 2], enforce_sorted=False); c = copy.deepcopy(s); c, pickle.loads(pickle.dumps(s)), type(c).__name__
    s = p(y / 20, [4, 2, 1]); s.data.requires_grad_(); nn.RNN(2, 1)(s)[0].data.sum().backward(); s.data.grad
    s = p(y, [4, 2, 1]); f = lambda *a: len(a); f(*s), isinstance(s, tuple), [t.shape for t in s if t is not None]
    nn.GRU(2, 1)(p(y[..., :1], [4, 2, 1]))
    nn.GRU(2, 1)(p(y[..., None], [4, 2, 1]))
    r.PackedSequence(y)
    r.PackedSequence((y[0], torch.tensor([1])))
    r.PackedSequence(y[0], torch.tensor([1]), torch.tensor([0]))
    r.invert_permutation(torch.tensor([2, 0, 1])), r.invert_permutation(None)
    p(y, [4, 2, 1]).to(torch.float64), p(y, [4, 2, 1]).double().data.dtype, p(y, [4, 2, 1]).is_cuda
    y.requires_grad_(); s = p(y, [4, 2, 1]); (s.data ** 2).sum().backward(); s.data.grad_fn.name(), y.grad
    y.requires_grad_(); s = r.pad_sequence([y[:2, 0], y[:3, 1]], True, 1.); (s ** 2).sum().backward(); y.grad
""")  # fmt: skip


@parity(PREPARE, errors=ERRORS, sequences=SEQUENCES)
def test_texts_and_errors(case: str) -> None:
    check(case)


def test_backward_keeps_gates_and_states_only() -> None:
    """The backward pass runs one loop, does not repeat the forward one, and forms weight gradients in single products."""
    torch: Any = jaxtorch
    m = torch.nn.LSTM(6, 7)
    m(torch.randn(9, 2, 6, requires_grad=True))[0].sum().backward()
    entries = [e for key, e in registry["_lstm_layer"].entries.items() if key[0].shape == (9, 2, 6)]
    (form,) = [f for e in entries for f in e.forms.values()]
    kept = [k for k in form.roots if k[0] == "extra"]
    assert len(kept) == 3  # the gates and the two states
    (backward,) = form._backwards.values()
    import jax

    eqns = jax.make_jaxpr(backward.kernel.fn)(*[a.struct for a in backward.kernel.in_avals]).jaxpr.eqns
    names = [e.primitive.name for e in eqns if e.primitive.name in ("lstm", "lstm_states", "lstm_back", "scan")]
    assert names == ["lstm_back"]
    (loop,) = [e for e in eqns if e.primitive.name == "lstm_back"]
    assert not [v for v in loop.outvars if v.aval.shape == (28, 7)]  # the weight's gradient is not added up in the loop


@parity_test
def test_types_under_autocast(torch: Any) -> Any:
    x, found = sequence(torch, 3, 2, 3).detach(), []
    low = x.bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for kind in ("LSTM", "GRU", "RNN"):
            m, cell = getattr(torch.nn, kind)(3, 4), getattr(torch.nn, kind + "Cell")(3, 4)
            outs = [f(t) for t in (x, low) for f in (m, lambda t, cell=cell: cell(t[0]))]
            found.append([str(t.dtype) for t in flat(outs)])
    return found


class Lines:
    def __init__(self, torch: Any) -> None:
        self.lines = [torch.arange(n) for n in (2, 5, 3, 4, 1, 2)]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, k: int) -> Any:
        return self.lines[k]


@pytest.mark.parametrize("workers", [0, 1])
def test_packing_in_a_collate_function(workers: int) -> None:
    torch: Any = jaxtorch
    rnn = torch.nn.utils.rnn
    collate = lambda lines: rnn.pack_sequence(lines, enforce_sorted=False)  # noqa: E731
    loader = torch.utils.data.DataLoader(Lines(torch), batch_size=3, collate_fn=collate, num_workers=workers)
    m = torch.nn.Sequential(torch.nn.Embedding(5, 3))
    gru = torch.nn.GRU(3, 4)
    for batch, lengths in zip(loader, ([2, 5, 3], [4, 1, 2]), strict=True):
        assert rnn.pad_packed_sequence(batch)[1].tolist() == lengths
        assert sorted(batch.data.tolist()) == sorted(k for n in lengths for k in range(n))
        out, _ = gru(rnn.PackedSequence(m(batch.data), *batch[1:]))
        assert out.data.shape == (sum(lengths), 4)


def test_batches_of_other_lengths_make_no_new_program() -> None:
    """What PyTorch packs changes its shape with the lengths; here a training step stays the same program."""
    torch: Any = jaxtorch
    rnn, m = torch.nn.utils.rnn, torch.nn.GRU(3, 4)
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)

    def step(lengths: list[int]) -> None:
        packed = rnn.pack_padded_sequence(torch.randn(5, 3, 3), torch.tensor(lengths), enforce_sorted=False)
        out, _ = rnn.pad_packed_sequence(m(packed)[0])
        optimizer.zero_grad()
        out.sum().backward()
        optimizer.step()

    entries = lambda: sum(len(op.entries) for op in registry.values())  # noqa: E731
    step([5, 2, 4])
    before = entries()
    for lengths in ([5, 1, 1], [3, 5, 4], [5, 5, 5]):
        step(lengths)
    assert entries() == before
