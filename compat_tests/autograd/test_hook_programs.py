"""Hooks of all kinds over views and writes in place: called as PyTorch calls them (fuzz_hooks.py), and what they are given."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import fuzz_hooks
import fuzz_sparse
import jaxtorch
from parity import parity_test, reference


@pytest.mark.parametrize("seed", [*range(40), 57, 69])
def test_program(seed: int) -> None:
    lines = fuzz_hooks.program(seed)
    expected = fuzz_hooks.expected(lines)
    assert expected is None or fuzz_hooks.run(jaxtorch, lines) == expected, "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_program_of_sparse_leaves(seed: int) -> None:
    lines = fuzz_sparse.program(seed)
    expected = fuzz_sparse.run(reference(), lines)
    if type(expected[0][0]) is not int:  # what PyTorch refuses may work here
        assert not fuzz_sparse.differ(expected, fuzz_sparse.run(jaxtorch, lines)), "\n".join(lines)


@parity_test
def test_hook_of_a_view_that_was_written(torch: Any) -> Any:
    """The write is of the base, and the place that the view had before is no part of it."""
    seen: list[Any] = []
    for write in (lambda v, w, b: v.mul_(2), lambda v, w, b: w.mul_(2), lambda v, w, b: b.mul_(2)):
        b = torch.ones(2, requires_grad=True).clone()
        w, v = b[:], b[:]
        v.register_hook(lambda g: seen.append(("v", g)))
        w.grad_fn.register_hook(lambda *g: seen.append("w"))
        b.register_hook(lambda g: seen.append(("b", g)))
        write(v, w, b)
        (v + w).sum().backward()
    return seen


@parity_test
def test_hooks_where_gradients_are_captured(torch: Any) -> Any:
    """`autograd.grad` runs no AccumulateGrad node, and hands out what comes to a node that runs before its hooks."""
    seen: list[Any] = []
    for inputs in ((0,), (0, 1), (1,)):
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        node = torch.autograd.graph.get_gradient_edge(a).node
        node.register_prehook(lambda g: seen.append("before"))
        node.register_hook(lambda *g: seen.append("after"))
        a.register_hook(lambda g: seen.append("tensor"))
        c = a * b
        c.register_hook(lambda g: g * 2)
        c.grad_fn.register_hook(lambda given, got: seen.append(given))
        seen.append(torch.autograd.grad((c * 3).sum(), [(a, c)[i] for i in inputs]))
        (a * b).sum().backward(inputs=[a])
    return seen


@parity_test
def test_only_what_leads_to_the_inputs_of_backward_runs(torch: Any) -> Any:
    """A root that leads to none of them does not run, but the hooks of its tensor do; a node whose output is one of them runs."""
    seen: list[Any] = []
    nodes: list[Any] = []  # that of a leaf lives no longer than somebody holds it

    def watched(name: str, x: Any) -> Any:
        x.register_hook(lambda g: seen.append(f"{name}, tensor"))
        node = torch.autograd.graph.get_gradient_edge(x).node
        node.register_prehook(lambda *g: seen.append(f"{name}, before"))
        node.register_hook(lambda *g: seen.append(f"{name}, after"))
        nodes.append(node)
        return x

    for roots, inputs in (
        ("z", "y"),
        ("z", "x"),
        ("x", "x"),
        ("x", "xa"),
        ("wv", "y"),
        ("wv", "yx"),
        ("a", "y"),
        ("z", "a"),
    ):
        a, y = (torch.ones(1, requires_grad=True) for _ in range(2))
        x = watched("x", watched("a", a) * 2)
        made = {"a": a, "y": y, "x": x, "z": watched("z", x * 3), "w": watched("w", y * x), "v": watched("v", x * 2)}
        for name in "xz":
            made[name].retain_grad()
        torch.autograd.backward([made[r] for r in roots], inputs=[made[i] for i in inputs])
        seen.append([roots, inputs, [m.grad for m in (a, y, x, made["z"])]])
        seen.append(torch.autograd.grad(x, y, allow_unused=True))
    return seen


@parity_test
def test_sparse_gradients_are_added_in_place(torch: Any) -> Any:
    seen = []
    for first, then in ((True, True), (False, True), (True, False)):
        weight = torch.ones(3, 2, requires_grad=True)
        torch.nn.functional.embedding(torch.tensor([0]), weight, sparse=first).sum().backward()
        before = weight.grad
        torch.nn.functional.embedding(torch.tensor([1, 0]), weight, sparse=then).sum().backward()
        seen += [before is weight.grad, str(weight.grad.layout), weight.grad.to_dense()]
    return seen


@parity_test
def test_gradient_of_repeated_indices(torch: Any) -> Any:
    """Once at each place, however many values are there."""
    seen: list[Any] = []
    ends = [
        lambda s: (s.to_dense() ** 2).sum(), lambda s: (s * s).to_dense().sum(), lambda s: (s * 2).to_dense().sum(),
        lambda s: ((s + s).to_dense() ** 2).sum(), lambda s: torch.sparse.mm(s, torch.ones(2, 1)).sum(),
    ]  # fmt: skip
    for end in ends:
        s = torch.sparse_coo_tensor(
            torch.tensor([[1, 1, 0], [0, 0, 1]]), torch.tensor([1.0, 1.0, 3.0]), (2, 2)
        ).requires_grad_()
        there = s.detach().to_dense().ne(0)
        s.register_hook(lambda g, there=there: seen.append(g.to_dense() * there))
        end(s).backward()
        seen.append(s.grad.to_dense() * there)
        (g,) = torch.autograd.grad(end(s), s)
        seen.append(g.to_dense() * there)
    d = torch.tensor([1.0, 0, 2.0], requires_grad=True)
    seen += torch.autograd.grad(d.to_sparse(), d, torch.tensor([1.0, 0.0, 2.0]).to_sparse())
    torch.autograd.backward([d.to_sparse()], [torch.tensor([1.0, 0.0, 2.0]).to_sparse()])
    return [*seen, d.grad, torch.eye(2).to_sparse().requires_grad_().t().is_leaf]


@parity_test
def test_what_has_a_history_is_sent_to_no_process(torch: Any) -> Any:
    leaf = torch.ones(2, requires_grad=True)
    sparse = torch.ones(2).to_sparse().requires_grad_()
    seen = []
    for x in (
        leaf,
        leaf * 2,
        (leaf * 2).detach(),
        leaf[:1],
        leaf.view(-1).detach().requires_grad_(),
        sparse,
        sparse * 2,
    ):
        try:
            seen.append(ForkingPickler.loads(ForkingPickler.dumps(x)).to_dense())
        except RuntimeError as error:
            seen.append(str(error)[:46])
    return seen


@parity_test
def test_what_a_node_has_saved_is_what_the_program_has(torch: Any) -> Any:
    """The operand itself, and a tensor on the memory of the result."""
    leaf = torch.ones(2, requires_grad=True)
    seen = []
    for y in (leaf, leaf * 1, leaf.clone()[:]):
        for call in (lambda y: y.exp(), lambda y: y.sigmoid(), lambda y: y.pow(2), lambda y: y.sin()):
            b = call(y)
            for name in ("_saved_self", "_saved_result"):
                saved = getattr(b.grad_fn, name, None)
                if saved is not None:
                    seen.append(
                        [saved is y, saved is b, saved.data_ptr() in (y.data_ptr(), b.data_ptr()), saved._version]
                    )
                    seen.append([type(saved.grad_fn).__name__, saved.requires_grad])
    b = leaf.exp()
    saved = b.grad_fn._saved_result
    b.add_(1)
    return [*seen, saved._version, saved.tolist() == b.tolist()]


@parity_test
def test_what_stands_for_all_nodes(torch: Any) -> Any:
    kind = torch.autograd.graph.Node
    leaf = torch.ones(2, requires_grad=True)
    nodes = [
        leaf.exp().grad_fn,
        torch.autograd.graph.get_gradient_edge(leaf).node,
        leaf[:1].grad_fn,
        leaf.exp().sum().grad_fn,
    ]
    return [[isinstance(n, kind), issubclass(type(n), kind), kind in type(n).mro()] for n in (*nodes, leaf, 3)]


@parity_test
def test_hooks_on_several_tensors(torch: Any) -> Any:
    """Of all: each must require a gradient. Of any: those that do."""
    plain, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    computed = leaf * 2
    seen: list[Any] = []
    for mode in ("all", "any"):
        for tensors in ([plain], [plain, leaf], [leaf, plain], [computed, plain], [leaf, computed], []):
            try:
                handle = torch.autograd.graph.register_multi_grad_hook(tensors, lambda g: seen.append(g), mode=mode)
            except AssertionError as error:
                seen.append(type(error).__name__)
                continue
            (leaf.sum() + (computed * 2).sum()).backward(retain_graph=True)
            handle.remove()
    return seen
