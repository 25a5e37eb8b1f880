"""torchaudio's compiled operations, which jaxtorch has itself, against the same written out in loops."""

import itertools
import math

import numpy as np
import pytest

import jaxtorch as torch


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "torchaudio" / "lib"
    folder.mkdir(parents=True)
    for name in ("_torchaudio.abi3.so", "libtorchaudio.abi3.so"):
        (folder / name).write_bytes(b"")
        torch.ops.load_library(folder / name)
    assert torch.ops._torchaudio.is_align_available() is True and torch.ops._torchaudio.cuda_version() is None
    return torch.ops.torchaudio


def test_recursive_filter(ops):
    rng = np.random.default_rng(0)
    x, a = rng.standard_normal((2, 3, 40)), rng.uniform(-0.4, 0.4, (3, 4))
    a[:, -1] = 1
    padded = torch.zeros(2, 3, 43, dtype=torch.float64)
    out = ops._lfilter_core_loop(torch.from_numpy(x), torch.from_numpy(a), padded)
    wanted = np.zeros((2, 3, 43))
    for t in range(40):
        wanted[:, :, t + 3] = x[:, :, t] - (wanted[:, :, t : t + 3] * a[:, :3]).sum(-1)
    np.testing.assert_allclose(padded.numpy(), wanted, rtol=1e-12, atol=1e-12)
    assert out is padded or out.data_ptr() == padded.data_ptr()
    with pytest.raises(RuntimeError, match="do not fit one another"):
        ops._lfilter_core_loop(torch.from_numpy(x), torch.from_numpy(a), padded[..., :40])


def test_overdrive(ops):
    rng = np.random.default_rng(1)
    waveform, temp = rng.standard_normal((2, 2, 30))
    last_in, last_out = rng.standard_normal((2, 2))
    given = [torch.from_numpy(x.copy()) for x in (waveform, temp, last_in, last_out, np.zeros((2, 30)))]
    ops._overdrive_core_loop(*given)
    before, out = last_in, last_out
    for t in range(30):
        out = temp[:, t] - before + 0.995 * out
        before = temp[:, t]
        np.testing.assert_allclose(given[4][:, t].numpy(), waveform[:, t] * 0.5 + out * 0.75, rtol=1e-12)
    np.testing.assert_allclose([given[2].numpy(), given[3].numpy()], [before, out], rtol=1e-12)


def collapsed(path):
    return [label for label, _ in itertools.groupby(path) if label]


@pytest.mark.parametrize("labels", [[1], [1, 2], [2, 2], [1, 2, 1]])
def test_forced_align(ops, labels):
    rng = np.random.default_rng(2)
    scores = np.log(rng.dirichlet(np.ones(3), 5))
    lengths = torch.tensor([5]), torch.tensor([len(labels)])
    paths, same = ops.forced_align(torch.from_numpy(scores[None]), torch.tensor([labels]), *lengths, 0)
    possible = [p for p in itertools.product(range(3), repeat=5) if collapsed(p) == labels]
    best = max(possible, key=lambda p: sum(scores[t, label] for t, label in enumerate(p)))
    assert paths.dtype is torch.int64 and paths.tolist() == [list(best)]
    np.testing.assert_array_equal(same.numpy(), scores[None])


def test_forced_align_of_too_much(ops):
    with pytest.raises(RuntimeError, match="Found log_probs length: 2, targets length: 2, and number of repeats: 1"):
        ops.forced_align(torch.zeros(1, 2, 3), torch.tensor([[1, 1]]), torch.tensor([2]), torch.tensor([2]), 0)
    with pytest.raises(RuntimeError, match="blank must be within"):
        ops.forced_align(torch.zeros(1, 2, 3), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]), 3)


def transducer(scores, targets, steps, count, blank):
    """The loss of one example by the sums over all ways through the lattice."""
    alpha = np.full((steps, count + 1), -np.inf)
    alpha[0, 0] = 0
    for t, u in itertools.product(range(steps), range(count + 1)):
        ways = [alpha[t - 1, u] + scores[t - 1, u, blank]] if t else []
        ways += [alpha[t, u - 1] + scores[t, u - 1, targets[u - 1]]] if u else []
        if ways:
            alpha[t, u] = np.logaddexp.reduce(ways)
    return -(alpha[-1, -1] + scores[steps - 1, count, blank])


@pytest.mark.parametrize("fused", [True, False])
def test_transducer_loss(ops, fused):
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((2, 5, 4, 6)).astype("f")
    scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    given = logits if fused else scores
    targets = rng.integers(0, 5, (2, 3)).astype("i4")
    lengths = np.array([5, 3], "i4"), np.array([2, 3], "i4")
    rest = [torch.from_numpy(x) for x in (targets, *lengths)]
    costs, gradient = ops.rnnt_loss_forward(torch.from_numpy(given), *rest, 5, -1.0, fused)
    wanted = [transducer(scores[i].astype("d"), targets[i], lengths[0][i], lengths[1][i], 5) for i in range(2)]
    np.testing.assert_allclose(costs.numpy(), wanted, rtol=1e-5)
    assert gradient.shape == given.shape and not gradient[1, 3:].any() and not gradient[0, :, 3:].any()
    step = 1e-3
    for place in ((0, 0, 0, 5), (0, 2, 1, int(targets[0, 1])), (1, 2, 3, 5)):
        sides = []
        for sign in (1, -1):
            changed = given.astype("d")
            changed[place] += sign * step
            if fused:
                changed = changed - np.log(np.exp(changed).sum(-1, keepdims=True))
            i = place[0]
            sides.append(transducer(changed[i], targets[i], lengths[0][i], lengths[1][i], 5))
        assert gradient[place].item() == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-4)
    clipped = ops.rnnt_loss_forward(torch.from_numpy(given), *rest, 5, 0.1, fused)[1]
    torch.testing.assert_close(clipped, gradient.clamp(-0.1, 0.1))
    assert math.isfinite(costs.sum().item())


def test_transducer_of_wrong_sizes(ops):
    logits, lengths = torch.zeros(1, 2, 3, 4), [torch.tensor([n], dtype=torch.int32) for n in (2, 2)]
    targets = torch.zeros(1, 2, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="targets must be int32 type"):
        ops.rnnt_loss_forward(logits, targets.long(), *lengths, 0, -1.0, True)
    with pytest.raises(RuntimeError, match="input length mismatch"):
        ops.rnnt_loss_forward(logits, targets, lengths[0] + 1, lengths[1], 0, -1.0, True)
    with pytest.raises(RuntimeError, match="logits must be 4-D"):
        ops.rnnt_loss_forward(logits[0], targets, *lengths, 0, -1.0, True)
