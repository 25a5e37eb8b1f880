"""What differs on an accelerator, on a stand-in for one (`second_device`): where tensors are, random numbers, attention, programs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from conftest import KITS, ROOT


def run(text: str) -> None:
    """A program, with `cuda` standing for JAX's second CPU device; its assertions are the test."""
    lines = ["import second_device, jax, numpy as np", "import jaxtorch as torch", "from jaxtorch import nn"]
    lines.append("from jaxtorch.nn import functional as F")
    env = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "PYTHONPATH": os.pathsep.join([str(KITS), str(ROOT)]),
        "JAX_PLATFORMS": "cpu",
    }
    program = "\n".join(lines) + "\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


PROGRAMS = {
    "what is computed there stays there": """
        x = torch.arange(6.0, device="cuda").view(2, 3)
        y = (x.t() @ x).relu() + torch.tensor(1.0)  # a number on the CPU fits anywhere
        y[0] = 7
        assert y.is_cuda and y.jax().devices() == {jax.devices()[1]}
        assert repr(y[0]) == "tensor([7., 7., 7.], device='cuda:0')"
        assert y[torch.tensor([1])].is_cuda and torch.equal(y.cpu(), y.cpu().cuda().cpu())
    """,
    "two devices do not mix": """
        for f in (lambda a, b: a + b, torch.matmul, lambda a, b: torch.cat([a, b])):
            try:
                f(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))
            except RuntimeError as error:
                assert "cuda:0 and cpu" in str(error), error
            else:
                raise AssertionError("no error")
    """,
    "training is the same": """
        def losses(device, compiled):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
            x, y = torch.randn(16, 3, 8, 8).to(device), torch.randint(0, 4, (16,)).to(device)
            net.to(device)
            optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)

            def step():
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            step = torch.compile(step) if compiled else step
            return [step().item() for _ in range(6)], net[1].num_batches_tracked.device.type

        expected, _ = losses("cpu", False)
        for compiled in (False, True):
            found, kind = losses("cuda", compiled)
            assert kind == "cuda"
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    """,
    "random numbers are drawn there": """
        def drawn():
            torch.manual_seed(3)
            x = torch.rand(4, 500, device="cuda")
            return [
                x, F.dropout(x, 0.25), F.rrelu(x - 0.5, training=True), F.gumbel_softmax(x), torch.bernoulli(x),
                torch.multinomial(x, 3), torch.poisson(x), nn.init.kaiming_uniform_(torch.empty(8, 8, device="cuda")),
                torch.native_dropout(x, 0.5, True)[0], torch.randperm(9, device="cuda"),
                F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5),
            ]

        first, again = drawn(), drawn()
        assert all(torch.equal(a, b) and a.is_cuda for a, b in zip(first, again))
        assert abs((first[1] == 0).float().mean().item() - 0.25) < 0.05
        assert not torch.equal(torch.rand(5, device="cuda"), torch.rand(5, device="cuda"))
    """,
    "a compiled call draws anew": """
        net = nn.Sequential(nn.Linear(50, 50), nn.Dropout(0.5)).cuda()
        call = torch.compile(lambda x: net(x) * 1)
        x = torch.ones(1, 50, device="cuda")
        zeros = [tuple((call(x) == 0).flatten().tolist()) for _ in range(5)]
        assert len(set(zeros)) == 5
    """,
    "numbers under vmap": """
        x = torch.ones(3, 4, device="cuda")
        found = torch.func.vmap(lambda row: F.dropout(row, 0.5) + torch.rand(4, device="cuda"), randomness="different")(x)
        assert found.is_cuda and len({tuple(row) for row in found.tolist()}) == 3
    """,
    "attention of half precision": """
        torch.manual_seed(0)
        for causal in (False, True):
            drawn = [torch.randn(2, 3, 16, 8) for _ in range(4)]
            outs = []
            for device, dtype in (("cpu", torch.float64), ("cuda", torch.bfloat16)):
                q, k, v = [t.to(device, dtype).requires_grad_() for t in drawn[:3]]
                out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                g = drawn[3].to(device, dtype).requires_grad_()
                first = torch.autograd.grad(out, (q, k, v), g, create_graph=True)
                second = torch.autograd.grad(sum(t.square().sum() for t in first), (q, k, v))
                outs.append([t.detach().double().cpu() for t in (out, *first, *second)])
            for a, b in zip(*outs):
                assert (a - b).abs().max() < 0.03 * a.abs().max(), (a - b).abs().max() / a.abs().max()
    """,
    "mixed precision": """
        net = nn.Linear(8, 4).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            out = net(torch.ones(2, 8, device="cuda"))
        out.sum().backward()
        assert out.dtype is torch.bfloat16 and net.weight.grad.dtype is torch.float32 and net.weight.grad.is_cuda
    """,
    "precision of convolutions": """
        from jaxtorch._core.compile import context

        assert torch.backends.cudnn.allow_tf32 is True
        with context.tracing_for("cuda"):
            assert context.convolution_precision() is jax.lax.Precision.HIGH
            torch.backends.cudnn.allow_tf32 = False
            assert context.convolution_precision() is None and not torch.backends.cudnn.allow_tf32
        with torch.backends.cudnn.flags(allow_tf32=True):
            assert torch.backends.cudnn.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_accelerator(name: str) -> None:
    run(PROGRAMS[name])
