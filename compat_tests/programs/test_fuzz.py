"""A few hundred random programs (fuzz_programs.py runs more), and the fuzzer's own shrinking."""

from __future__ import annotations

import pytest

from fuzz_programs import Program, compare, generate, run, shrink, sweep
from parity import candidate, reference

BATCHES, BATCH = 10, 30


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs(batch: int) -> None:
    failed, _ = sweep(BATCH, 0, start=BATCH * batch, most=BATCH, xla_every=10)
    for text in failed.values():
        pytest.fail(text)


FOUND: dict[str, Program] = {
    "a fill of repeated places in memory that NumPy shares": [
        "t0 = torch.tensor([4, -4, 4], dtype=torch.int64)",
        "t5 = t0.expand(2, -1)",
        "a6 = t0.detach().numpy()",
        "t5.index_fill_(-2, torch.tensor([0]), -1.5)",
    ],
    "index arrays into repeated places in memory that NumPy shares": [
        "t0 = torch.tensor([[4, -2], [-3, -2]], dtype=torch.float64)",
        "a1 = t0.detach().numpy()",
        "t6 = t0.expand(2, -1, -1)",
        "t6[[-2], -2:-1] += 3",
    ],
    "a saved value in memory that NumPy shares, written before backward": [
        "t0 = torch.tensor(-3, dtype=torch.float64, requires_grad=True)",
        "a1 = t0.detach().numpy()",
        "t3 = t0 * t0",
        "t4 = t3.squeeze(0)",
        "with torch.no_grad(): t0.neg_()",
        "t4.sum().backward(retain_graph=True)",
    ],
    "the same through `.data`, whose writes autograd ignores": [
        "t0 = torch.tensor([[[3, -4], [1, -2], [0, 1]], [[0, 1], [-2, -4], [-2, 0]]], dtype=torch.float64, requires_grad=True)",
        "t2 = t0.data",
        "t2 += t0",
        "a3 = t0.detach().numpy()",
        "with torch.no_grad(): t0.add_(-1, alpha=2)",
        "t6 = t2 ** 2",
        "t6.sum().backward()",
    ],
    "a refused write does not find the view its new place": [
        "t0 = torch.tensor([-3, -4], dtype=torch.float32, requires_grad=True)",
        "t1 = t0.data",
        "t2 = t1[...]",
        "t1 -= t0",
        "t2.index_fill_(-1, torch.tensor([0]), -1.5)",
        "t2[...] = t0.clone()",
    ],
    "nor does a copy of a view to itself": [
        "t0 = torch.tensor([1, -1, -3], dtype=torch.float64, requires_grad=True)",
        "t1 = t0[...]",
        "t6 = t1.data",
        "t7 = t6.expand(1, -1)",
        "t6 += t0",
        "t7.copy_(t7)",
    ],
    "a copy of a repeating view to itself": [
        "t0 = torch.tensor([4, -3], dtype=torch.float32, requires_grad=True)",
        "t1 = torch.stack([t0, t0])",
        "t2 = torch.where(t1 > 0, t1, t0)",
        "t4 = t2.expand(2, -1, -1)",
        "t4.copy_(t4)",
    ],
    "a leaf that has become a view of what has a history": [
        "t0 = torch.tensor([3, -1], dtype=torch.float64)",
        "t2 = t0[-2]",
        "t2.requires_grad_()",
        "t0[...] = t2.clone()",
        "t2.sum().backward()",
    ],
    "a conjugate view that is written keeps its name in the graph": [
        "t0 = torch.tensor([[1, 3]], dtype=torch.float64, requires_grad=True)",
        "t5 = t0.to(torch.complex128).conj()",
        "t9 = t5[:2]",
        "t9[torch.arange(2).reshape((1, 2)) % 2 == 0] *= 2",
    ],
    "the strides of nothing found": [
        "t0 = torch.zeros(2, 3, dtype=torch.float64)",
        "t1 = t0.nonzero()",
        "t2 = t1.unbind(-1)[-1]",
    ],
    "an integer out of range is found before the write is refused": [
        "t0 = torch.tensor([-4, -4], dtype=torch.float64, requires_grad=True)",
        "t1 = t0.repeat(2)",
        "t2 = t1.unflatten(-1, (-1, 1))",
        "t1.detach_()",
        "t12 = t2.expand(1, -1, -1)",
        "t21 = t12.tensor_split(2, 2)[-1]",
        "t21[torch.tensor([-1, -1]), 1::2, 1, ...] = 3",
    ],
    "a fill is by a tensor without dimensions only": [
        "t0 = torch.tensor([[-2], [-2]], dtype=torch.float64, requires_grad=True)",
        "t1 = t0 * t0",
        "t5 = t1.select(-2, 0)",
        "t1[...] = t5.clone()",
    ],
    "a slice that counts past the end of nothing is a view": [
        "t0 = torch.ones(0, dtype=torch.float64)",
        "t1 = torch.tensor(4.0, requires_grad=True)",
        "t0[1:2] = t1",
    ],
    "retain_grad() again, where the view's memory has been written": [
        "t0 = torch.tensor([[-4], [1]], dtype=torch.float64, requires_grad=True)",
        "t5 = t0.chunk(2, -2)[0]",
        "t5.retain_grad()",
        "t9 = t5.detach()",
        "t9.tanh_()",
        "t5.retain_grad()",
    ],
    "a view that lost its place, given a wrong argument": [
        "t0 = torch.tensor([1, -1, 1], dtype=torch.float64, requires_grad=True)",
        "t1 = t0.split(1, 0)[-1]",
        "with torch.no_grad(): t1[:] = 0.5",
        "t2 = t1.cumsum(-2)",
        "t3 = t1.diagonal()",
        "t4 = t1[1, 1]",
        "t5 = t1[5]",
        "t6 = t1[:1:2, 1]",
        "t7 = t1[-1:, None, 3]",
    ],
    "as_strided of a view without a history, beyond it": [
        "t0 = torch.tensor([[[0, -4], [-4, 4], [4, 2]], [[-3, 3], [4, 1], [4, -1]]], dtype=torch.float64)",
        "t1 = t0.movedim(1, -3)",
        "t8 = t1.detach()",
        "t9 = t8.split(1, 2)[-1]",
        "t11 = t9.as_strided((2, 2), (1, 1), 1)",
        "t8.add_(1)",
    ],
    "as_strided beyond one of several views is one of them": [
        "t0 = torch.tensor([[[-1, 3], [1, -2], [-3, 2]], [[3, -3], [0, -1], [4, 3]]], dtype=torch.float64, requires_grad=True)",
        "t2 = t0.unbind(0)[-1]",
        "t6 = t2.as_strided((2, 2), (2, 1), 0)",
        "t11 = t6.reshape((2, -1))",
        "with torch.no_grad(): t0.tanh_()",
        "t11.sum().backward()",
        "t12 = t6 * 2",
        "t6.add_(1)",
    ],
    "the gradient of as_strided goes to the elements of the view alone": [
        "t0 = torch.tensor([[[-1, 3], [1, -2], [-3, 2]], [[3, -3], [0, -1], [4, 3]]], dtype=torch.float64, requires_grad=True)",
        "t1 = t0 * 2",
        "t2 = t1.select(1, 0)",
        "t3 = t2.as_strided((2, 2), (2, 1), 0)",
        "(t3 * t3).sum().backward()",
    ],
    "as_strided beyond a view that has become a leaf": [
        "t0 = torch.tensor([[[-1, -4], [2, 1], [4, 4]], [[-3, 1], [3, 2], [-4, -4]]], dtype=torch.float64)",
        "t9 = t0.select(-2, 0)",
        "t9.requires_grad_()",
        "t14 = t9.as_strided((2, 2), (2, 1), 0)",
        "(t14 * t14).sum().backward()",
        "t0.mul_(2)",
    ],
    "backward through a write to repeated places": [
        "t0 = torch.tensor([4, -3], dtype=torch.float32, requires_grad=True)",
        "t1 = t0 * 1",
        "t2 = t1.expand(2, -1)",
        "t2.copy_(t2)",
        "t1.sum().backward(retain_graph=True)",
        "t3 = t0 * 1",
        "t4 = t3.expand(2, -1)",
        "t4.zero_()",
        "t3.sum().backward()",
    ],
    "a saved result in memory that NumPy shares since, written before backward": [
        "t0 = torch.tensor([3.0, -4.0], dtype=torch.float64, requires_grad=True)",
        "t4 = t0.tanh()",
        "a6 = t4.detach().numpy()",
        "t4.neg_()",
        "t4.sum().backward()",
        "t7 = torch.ones(2, dtype=torch.float64)",
        "t8 = t7 * t0",
        "t8 *= t0",
        "a9 = t0.detach().numpy()",
        "with torch.no_grad(): t0[...] = 3",
        "t8.sum().backward()",
    ],
    "slices of dimensions without elements": [
        "t2 = torch.tensor([[4, -2, 4], [-1, 4, 0]], dtype=torch.float64, requires_grad=True)",
        "t4 = t2[:0, :0]",
        "t5 = t4[:, :-1]",
        "t6 = t4[None, 1:]",
        "t7 = t4[:, 0:5]",
    ],
    "index arrays beside dimensions of size 1 and 0": [
        "t0 = torch.arange(12.0).view(2, 3, 2)",
        "t1 = t0.permute(2, 1, 0)[-2:-1, torch.tensor([1, 2]), :-1]",
        "t2 = t0.mT[torch.tensor([1, -2]), 1:-1:2]",
        "t3 = t2[:-1, :2:2, 1:-1]",
        "t4 = torch.arange(9.0).view(3, 3).unfold(-2, 2, 1)[1:2, [2, -3], -2:2]",
    ],
    "a view of what requires a gradient since, written without recording, is a leaf until it is used": [
        "t0 = torch.tensor([[2, -2, -1], [-4, 2, 3]], dtype=torch.float64)",
        "t1, t2, t3, t4 = t0[0], t0[1], t0[:, 0], t0[:, 1]",
        "t5 = torch.tensor(0, dtype=torch.float64, requires_grad=True)",
        "t0 -= t5",
        "with torch.no_grad(): t1 *= t5",
        "t1 += 0",
        "t6 = t2 > 0",
        "t7 = t2.detach()",
        "t2.tolist()",
        "t2.retain_grad()",
        "t2 += 0",
        "t8 = t3 * 2",
        "t3 += 0",
        "with torch.no_grad(): t9 = t4 * 2",
        "t4 += 0",
        "(t0 * t3.sum()).sum().backward()",
    ],
    "an operand is converted before its strides count": [
        "t0 = torch.tensor([[0, -1]], dtype=torch.float64)",
        "t4 = torch.tensor([[1, 2], [4, 0]], dtype=torch.float32)",
        "t6 = t4[:2, 1:2, ...]",
        "t6.unsqueeze_(0)",
        "t8 = t6 + t0.t()",
        "t9 = torch.tensor([[4, -3, 3], [4, -2, -3], [4, 2, -2]], dtype=torch.int64)",
        "t10 = torch.zeros_like(t9.permute(1, 0))[1:-1].tanh()",
        "t11 = torch.tensor([[-4, -4]], dtype=torch.int64).permute(1, 0).expand(2, -1, -1).tanh()",
    ],
    "the format of joined tensors with dimensions of size 1": [
        "t0 = torch.arange(12.0).view(2, 3, 2)",
        "t2 = t0[:-1, -2:-1].unsqueeze(-3)",
        "t3 = torch.cat([t2, t2])",
        "t4 = t0[None, -2:2:2, :2]",
        "t5 = torch.cat([t4, t4])",
        "t6 = torch.zeros(20).as_strided((1, 1, 2, 1), (9, 1, 2, 1))",
        "t7 = torch.cat([t6, t6], 1)",
    ],
    "as_strided beyond a view of `.data`, and beyond a detached one": [
        "t0 = torch.arange(12.0).view(2, 3, 2)",
        "t2 = t0.chunk(2, -2)[0].data",
        "t3 = t2[1:2]",
        "with torch.no_grad(): t2[-2:-1:2, 1:-1:2, 1:-1:2] *= 3",
        "t6 = t3.as_strided((2, 2), (1, 1), 1)",
        "t7 = t0.view(4, 3).tanh().chunk(2, 1)[0]",
        "t8 = t7.detach()",
        "t9 = t8.as_strided((2, 2), (1, 1), 0)",
    ],
    "a saved tensor detached in place": [
        "t0 = torch.tensor([3, -1], dtype=torch.float64, requires_grad=True)",
        "t1 = t0 * 2",
        "t2 = t1 * t1",
        "t3 = t1.exp()",
        "t1.detach_()",
        "t3.sum().backward()",
        "t2.sum().backward()",
        "t1.requires_grad_()",
        "(t1 * t1).sum().backward()",
    ],
    "a copy to the same memory, which repeats": [
        "t0 = torch.tensor([3, 1, -3], dtype=torch.float64, requires_grad=True)",
        "t1 = t0.expand(2, -1)",
        "t4 = t1.view_as(t1)",
        "t5 = t4[...]",
        "with torch.no_grad(): t5.copy_(t4)",
        "t6 = torch.zeros(2)",
        "t7 = t6.expand(2, -1)",
        "t8 = t7[...]",
        "t7.copy_(t8)",
    ],
    "what `.data` shows, saved, does not mind writes that it does not count": [
        "t0 = torch.tensor([[-1, 1], [2, 1]], dtype=torch.float64, requires_grad=True)",
        "t1 = torch.stack([t0, t0])",
        "t4 = t1 - 3",
        "t5 = t1.data",
        "t4 *= t5",
        "t1[:-1, 1:2] = 0.5",
        "t6 = t4.detach()",
        "t4.sum().backward()",
    ],
    "views saved of memory that is written through `.data`": [
        "t0 = torch.tensor([[-1, 1], [2, 1]], dtype=torch.float64, requires_grad=True)",
        "t1 = t0.t()[0]",
        "t2 = t1 * t1",
        "t0.data.mul_(3)",
        "t2.sum().backward()",
    ],
    "saved values in memory that NumPy writes": [
        "t0 = torch.tensor([[-1, 0], [-3, 1]], dtype=torch.float64, requires_grad=True)",
        "t1 = t0.expand(1, -1, -1)",
        "t2 = t0.t()",
        "t3 = t2 * t2",
        "a5 = t1.detach().numpy()",
        "t11 = t1 * t1",
        "t12 = t0.mT @ t0",
        "a5[0] = 7",
        "t3.sum().backward()",
        "t11.sum().backward()",
        "a5[0, 1:] += 1",
        "t12.sum().backward()",
    ],
    "and when NumPy has let go": [
        "t0 = torch.tensor([[-1, 0], [-3, 1]], dtype=torch.float64, requires_grad=True)",
        "t1 = t0 * t0",
        "a5 = t0.detach().numpy()",
        "a5[0] = 7",
        "del a5",
        "t1.sum().backward()",
        "t2 = t0 * 1",
        "a6 = t2.detach().numpy()",
        "a6[0] = 7",
        "del a6",
        "t2.add_(1)",
        "t3 = t2[0] * t2[1]",
        "t3.sum().backward()",
    ],
    "leaves that have all their gradient when backward fails": [
        "t0 = torch.tensor([-1, 3, 2], dtype=torch.float64, requires_grad=True)",
        "t1 = torch.tensor([[4, -2, 3], [-3, 4, 1], [1, -4, 2]], dtype=torch.float64, requires_grad=True)",
        "t2 = t1.mT @ t1",
        "t2[1:-1] = t0",
        "with torch.no_grad(): t1.sub_(1)",
        "t2.flatten().sum().backward()",
    ],
    "saved values without elements": [
        "t0 = torch.tensor([-2, 3, -1], dtype=torch.float64, requires_grad=True)",
        "t1 = t0[torch.arange(3) > 5]",
        "t2 = t1.relu()",
        "t2.mul_(2)",
        "t2.sum().backward()",
        "t1.sum().backward()",
        "t1.sum().backward()",
    ],
    "no views of what has lost its place in the graph": [
        "t0 = torch.tensor([[-3], [4]], dtype=torch.float64)",
        "t1 = t0[-2, 1:2:2]",
        "t0.requires_grad_()",
        "t5 = t1.split(1, 0)[-1]",
        "with torch.no_grad(): t1.fill_(0)",
        "t12 = t5.unbind(-1)",
    ],
    "several values for one place of an expanded tensor": [
        "t0 = torch.tensor([[4, -3], [-3, 3]], dtype=torch.float64, requires_grad=True)",
        "t2 = t0.expand(2, -1, -1)",
        "with torch.no_grad(): t2[torch.tensor([-2, -1]), torch.tensor([-1, 1]), ...] = t0.clone()",
        "with torch.no_grad(): t2[:, torch.tensor([1, 0, 1])] = torch.arange(6.0, dtype=torch.float64).view(3, 2)",
    ],
    "writes at indices: what is forbidden comes before what is out of range": [
        "t0 = torch.tensor([[-3.0, 4.0]], requires_grad=True)",
        "t0.index_put_((torch.tensor([2]),), torch.tensor(-1.0))",
        "t1 = t0.unfold(-1, 2, 1)[0, :, :1]",
        "t1[torch.tensor([7])] = 3",
        "t1[[7]] = 3",
        "t0[[7]] = 3",
        "t0[0][7] = 3",
        "t0[0].unbind(0)[0][[7]] = 3",
        "t2 = t0[0] * 2",
        "t2[[7]] = 3",
        "t2.split(1)[0][[7]] = 3",
        "t2[torch.arange(2)] = t2",
        "t3 = t2[-1:1]",
        "t3[torch.arange(0) == 0] = t3",
    ],
    "a tensor that backward(inputs=...) names retains its gradient": [
        "t0 = torch.tensor([[-3.0, 4.0]], requires_grad=True)",
        "t1 = -t0",
        "(t1.tanh() * t1).sum().backward(inputs=[t1], retain_graph=True)",
        "(t1 * t1).sum().backward()",
        "t2 = t1.grad * int(t1.retains_grad)",
    ],
    "backward(inputs=...) runs the nodes of tensors it names, and frees what they saved": [
        "t0 = torch.tensor([-3.0, 4.0], requires_grad=True)",
        "t1 = t0.tanh()",
        "(t1 * t1).sum().backward(inputs=[t1])",
        "t1.sum().backward()",
        "t2 = t0 * t0",
        "with torch.no_grad(): t0.add_(t0)",
        "(t2.tanh() * t2).sum().backward(inputs=[t2])",
    ],
    "the memory of floats read as wider integers, and of no elements": [
        "t0 = torch.tensor([[1.0, -1.0, 2.0, 0.0], [2.0, 3.0, -5.0, 4.0]])",
        "t1 = t0.view(torch.int64)",
        "t2 = t0.view(torch.int16)",
        "t3 = t0[2:].view(torch.int64)",
        "t4 = torch.zeros(2, 1).permute(1, 0).view(torch.float32)",
        "t1[0, 1] = t1[1, 0]",
    ],
    "a copy of detached values over themselves keeps the history": [
        "t0 = torch.tensor([[-1.0, -2.0]], requires_grad=True)",
        "t1 = t0 * t0",
        "t1.copy_(t1.data)",
        "t2 = t1.split(1, -2)[-1]",
        "t2[1:-1, -2] = -1",
    ],
    "a leaf that is a view, where its base has taken it into the graph": [
        "t0 = torch.tensor([[-1.0], [1.0]])",
        "t1 = t0[...]",
        "t1.requires_grad_()",
        "t2 = t1.tensor_split(2, -2)[-1]",
        "t0 += t1",
        "t2[torch.tensor([-1])].sum().backward()",
    ],
    "gradients with a graph have memory of their own": [
        "t0 = torch.tensor([1.0, 2.0], requires_grad=True)",
        "t1 = torch.tensor([1.0, 2.0], requires_grad=True)",
        "t2 = torch.tensor([1.0, 2.0])",
        "t3 = t0.view(2) + t1.view(2)",
        "t3.retain_grad()",
        "t3.backward(t2, create_graph=True)",
        "t0.grad.detach().mul_(3)",
        "t3.grad.detach().mul_(5)",
        "(t0.exp() * t0).sum().backward(create_graph=True)",
        "t1.exp().sum().backward(create_graph=True)",
        "t4 = t1.grad",
    ],
    "views of a tensor that has been resized are written in its new shape": [
        "t0 = torch.arange(6.0).view(2, 3).clone()",
        "t1 = t0[0]",
        "t0.resize_(3, 2)",
        "t2 = t0[1:2]",
        "t2.neg_()",
        "t1.fill_(9)",
        "t0.resize_(2, 2)",
        "t3 = t0.t()",
        "t3.mul_(2)",
        "t0.resize_(2, 2)",
    ],
    "copy.copy shares memory, deepcopy and pickle do not": [
        "t0 = torch.arange(6.0).view(2, 3).clone()",
        "t1 = copy.copy(t0[1])",
        "t1.add_(1)",
        "t2 = copy.deepcopy(t0)",
        "t2.mul_(2)",
        "t3 = torch.ones(2, requires_grad=True)",
        "t4 = copy.copy(t3)",
        "(t4 * 3).sum().backward()",
        "t5 = pickle.loads(pickle.dumps(t3 * 2))",
    ],
    "copies of parameters, and of a view without history that was written to": [
        "t0 = torch.nn.Parameter(torch.ones(2))",
        "t1 = copy.copy(t0)",
        "with torch.no_grad(): t2 = t0.view(-1)",
        "with torch.no_grad(): t2.mul_(2)",
        "t3 = copy.deepcopy(t2)",
    ],
    "a copy to itself of what has a history": [
        "t0 = torch.tensor([1.0, -2.0], requires_grad=True)",
        "t1 = t0.logsumexp(0)",
        "t1.copy_(t1)",
        "t2 = t0[t0 > 0]",
        "t2.copy_(t2)",
        "t1.backward()",
    ],
    "backward(inputs=...) gives a root that is not named nothing": [
        "t0 = torch.tensor(2.0, requires_grad=True)",
        "t1 = t0 * 1",
        "t0.backward(inputs=[t1])",
        "t2 = t0 * 1",
        "t0.backward(torch.ones(2), inputs=[t2])",
        "t2.backward()",
    ],
    "views of memory that a tensor has left": [
        "t0 = torch.tensor([[-4.0, 2.0], [3.0, -3.0]], requires_grad=True)",
        "t1 = t0.view_as(t0)",
        "with torch.no_grad(): t1.clamp_(min=0)",
        "t0.data = torch.ones(2, 2)",
        "t2 = t1.detach() * 1",
        "del t1",
    ],
    "errors of rarer operations": [
        "t0 = torch.tensor(3.0)",
        "t1 = t0.index_select(0, torch.tensor([0, 0]))",
        "t2 = torch.ones(2, dtype=torch.complex64)",
        "t2.conj().numpy()",
        "t2.relu()",
        "torch.nn.functional.elu(t2)",
        "torch.nn.functional.gelu(t2)",
        "torch.nn.functional.softplus(t2)",
        "t3 = torch.ones(2, requires_grad=True)",
        "t3.data = torch.ones(2, dtype=torch.int64)",
        "t3.set_(torch.ones(2))",
    ],
    "numbers that PyTorch makes no tensors of have no say in strides": [
        "t0 = torch.zeros(1, 1, 2).as_strided((1, 1, 2), (1, 1, 1))",
        "t1 = t0.clamp(0, 3)",
        "t2 = t0 * 2",
        "t3 = 2 ** t0",
        "t4 = torch.lerp(t0, t0, 0.5)",
    ],
}
"""Programs that longer sweeps found, each with what was wrong."""


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    assert not compare(FOUND[name], reference(), candidate())


def test_wider_programs() -> None:
    failed, _ = sweep(60, 0, most=1, xla_every=30, wider=True)
    for text in failed.values():
        pytest.fail(text)


def test_generation_is_deterministic() -> None:
    assert generate(reference(), 3, 14) == generate(reference(), 3, 14)
    assert generate(reference(), 3, 14) != generate(reference(), 4, 14)


def test_programs_reach_what_they_should() -> None:
    """Most lines must run, and the ones that may raise must do so now and then."""
    programs = [generate(reference(), 1, number) for number in range(200)]
    lines = [line for program in programs for line in program]
    errors = [error for program in programs for error in run(reference(), program)["errors"].values()]
    assert 0.02 < sum(map(bool, errors)) / len(errors) < 0.3
    for text in (
        "backward",
        "numpy()",
        "from_numpy",
        "no_grad",
        ".view(",
        "detach",
        "+=",
        "torch.tensor([",
        "as_strided",
    ):
        assert sum(text in line for line in lines) >= 5, text


def test_shrinking_leaves_only_what_matters() -> None:
    program = [f"t{i} = torch.ones({i})" for i in range(20)]

    def fails(lines: Program) -> bool:
        return program[3] in lines and program[17] in lines

    assert shrink(program, fails) == [program[3], program[17]]
