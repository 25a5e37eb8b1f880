"""`create_selective_checkpoint_contexts`: what a policy keeps of a checkpointed function's first run."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

from jaxtorch._core.record.kernel_hook import intercepting_kernels
from parity import candidate

PRODUCTS = ("aten.mm.default", "aten.addmm.default", "aten.bmm.default", "aten.convolution.default",
            "aten._scaled_dot_product_flash_attention_for_cpu.default")  # fmt: skip


def block(t: Any) -> Any:
    F = t.nn.functional
    t.manual_seed(0)
    wide, narrow = t.nn.Linear(4, 8), t.nn.Linear(8, 4, bias=False)

    def run(x: Any) -> Any:
        y = narrow(wide(x).relu()) + x
        y = F.dropout(F.layer_norm(y, (4,)), 0.5)
        y = F.scaled_dot_product_attention(y[None, None], y[None, None], y[None, None])[0, 0]
        z = F.conv1d(y[None], t.ones(2, 3, 1), padding=1)
        return (z.softmax(-1) @ z.mT).sum() + y.sin().sum()

    run.parameters = [*wide.parameters(), *narrow.parameters()]  # pyright: ignore[reportFunctionMemberAccess]
    return run


def gradients(t: Any, context: Any) -> tuple[Any, list[Any]]:
    run = block(t)
    x = t.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    loss = t.utils.checkpoint.checkpoint(run, x, use_reentrant=False, context_fn=context)
    grads = t.autograd.grad(loss, [x, *run.parameters])
    return loss.item(), [g.tolist() for g in grads]


def policies(t: Any) -> list[Any]:
    c = t.utils.checkpoint
    mm = t.ops.aten.mm.default
    every = iter(range(1000))
    return [
        [],
        [mm, t.ops.aten.addmm.default, t.ops.aten.relu.default],
        lambda ctx, op, *args, **kwargs: c.CheckpointPolicy(0 if "add" in str(op) or "sin" in str(op) else 3),
        lambda ctx, op, *args, **kwargs: c.CheckpointPolicy.PREFER_RECOMPUTE,
        lambda ctx, op, *args, **kwargs: op == mm and args[1].shape == (8, 4),
        lambda ctx, op, *args, **kwargs: str(op) in PRODUCTS and bool(next(every) % 2),
    ]


@pytest.mark.parametrize("which", range(6))
def test_gradients(which: int):
    found = []
    for t in (torch, candidate()):
        make = functools.partial(t.utils.checkpoint.create_selective_checkpoint_contexts, policies(t)[which])
        found.append(gradients(t, make))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    for theirs, ours in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-4, atol=1e-5)


def test_what_a_policy_is_asked():
    """The products, in PyTorch's order, with PyTorch's shapes; once each, in the first run."""
    found = []
    for t in (torch, candidate()):
        log: list[Any] = []

        def policy(ctx: Any, op: Any, *args: Any, t: Any = t, log: list[Any] = log, **kwargs: Any) -> Any:
            if str(op) in PRODUCTS:
                log.append((str(op), ctx.is_recompute, [tuple(x.shape) for x in args if isinstance(x, t.Tensor)]))
            return t.utils.checkpoint.CheckpointPolicy.MUST_RECOMPUTE

        gradients(t, functools.partial(t.utils.checkpoint.create_selective_checkpoint_contexts, policy))
        found.append(log)
    assert found[0] == found[1]
    assert len(found[0]) == 5


def test_what_is_saved_is_not_computed_again():
    t = candidate()

    def counted(policy: Any) -> dict[str, int]:
        counts: dict[str, int] = {}

        def count(kernel: Any, values: Any, run: Any) -> Any:
            name = kernel.name.removesuffix("_fwd")
            counts[name] = counts.get(name, 0) + 1
            return run()

        with intercepting_kernels(count):
            gradients(t, functools.partial(t.utils.checkpoint.create_selective_checkpoint_contexts, policy))
        return counts

    mm, addmm = t.ops.aten.mm.default, t.ops.aten.addmm.default
    assert counted([])["linear"] == 4
    assert counted([mm])["linear"] == 3
    assert counted([mm, addmm])["linear"] == 2
    assert counted([mm, addmm])["relu"] == 2


@pytest.mark.parametrize("case", ["word", "packet", "number", "twice"])
def test_errors(case: str):
    found = []
    for t in (torch, candidate()):
        create = t.utils.checkpoint.create_selective_checkpoint_contexts
        with pytest.raises((ValueError, TypeError, RuntimeError)) as info:
            if case == "twice":
                x = t.ones(2, 4, requires_grad=True)
                loss = t.utils.checkpoint.checkpoint(
                    block(t), x, use_reentrant=False, context_fn=functools.partial(create, [t.ops.aten.mm.default])
                )
                loss.backward(retain_graph=True)
                loss.backward()
            else:
                create({"word": ["mm"], "packet": [t.ops.aten.mm], "number": 3}[case])
        found.append((info.type, str(info.value)[:60].replace("jaxtorch", "torch")))
    assert found[0] == found[1]
