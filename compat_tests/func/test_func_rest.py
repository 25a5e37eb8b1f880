"""Corners of torch.func and autograd.functional next to PyTorch's: draws of distributions under vmap, strict modes, what
`functional_call` replaces, hooks on saved tensors."""

from __future__ import annotations

from typing import Any

import pytest

from parity import candidate, differences, outcome, reference

DRAWS = {
    "normal": lambda t, x: t.normal(x, 1.0),
    "multinomial": lambda t, x: t.multinomial(x, 2),
    "one of many": lambda t, x: t.multinomial(x, 1, replacement=True),
    "bernoulli": lambda t, x: t.bernoulli(x / 9),
}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("draw", DRAWS)
def test_draws_under_vmap(draw: str, randomness: str) -> None:
    """PyTorch draws from a batch as from one large tensor; the numbers differ, their kind does not."""
    found = []
    for t in (reference(), candidate()):

        def body(t: Any) -> Any:
            x = t.arange(1.0, 9).reshape(2, 4)
            result = t.func.vmap(lambda y: DRAWS[draw](t, y), randomness=randomness)(x)
            return [result.shape, str(result.dtype).rpartition(".")[2]]

        found.append(outcome(t, body))
    assert not differences(*found), differences(*found)


def test_multinomial_under_vmap_follows_the_weights() -> None:
    t = candidate()
    t.manual_seed(0)
    weights = t.tensor([[0.0, 3.0, 1.0], [1.0, 0.0, 0.0]]).repeat(1000, 1)
    drawn = t.func.vmap(lambda w: t.multinomial(w, 1)[0], randomness="different")(weights)
    assert (drawn[1::2] == 0).all() and (drawn[::2] > 0).all()
    assert 0.7 < (drawn[::2] == 1).float().mean().item() < 0.8
    pairs = t.func.vmap(lambda w: t.multinomial(w, 2), randomness="different")(weights[::2])
    assert (pairs.sort(-1)[0] == t.tensor([1, 2])).all()


def module(t: Any) -> Any:
    class Holding(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = t.nn.Linear(2, 2, bias=False)
            self.b = t.nn.Linear(2, 2, bias=False)
            self.plain = t.zeros(2)

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x)) + self.plain + getattr(self, "extra", 0)

    t.manual_seed(0)
    return Holding()


CALLS = {
    "a plain attribute": lambda z: {"plain": z[0] + 1},
    "a new attribute": lambda z: {"extra": z[0] + 1},
    "in a module": lambda z: {"a.extra": z},
    "in no module": lambda z: {"nothing.weight": z},
    "in a parameter": lambda z: {"a.weight.x": z},
    "a module": lambda z: {"a": z},
    "an attribute that is no tensor": lambda z: {"training": z},
    "no tensor": lambda z: {"a.weight": 3},
    "no name": lambda z: {"": z},
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", CALLS)
def test_functional_call_replaces(case: str, strict: bool) -> None:
    found = []
    for t in (reference(), candidate()):

        def body(t: Any) -> Any:
            m = module(t)
            try:
                out = t.func.functional_call(m, CALLS[case](t.ones(2, 2)), (t.ones(1, 2),), strict=strict).detach()
            except Exception as error:
                out = [type(error).__name__, str(error)]
            return [out, m.plain, hasattr(m, "extra"), hasattr(m.a, "extra"), sorted(m.state_dict())]

        found.append(outcome(t, body))
    assert not differences(*found), differences(*found)


STRICT = {
    "a linear function": lambda f, x: f.hessian(lambda a: a.sum(), x, strict=True),
    "its product": lambda f, x: f.hvp(lambda a: a.sum(), x, x, strict=True),
    "the other product": lambda f, x: f.vhp(lambda a: a.sum(), x, x, strict=True),
    "a cube": lambda f, x: f.hessian(lambda a: (a**3).sum(), x, strict=True),
    "vectorized": lambda f, x: f.jacobian(lambda a: a**2, x, strict=True, vectorize=True),
    "a list": lambda f, x: f.vjp(lambda a: a**2, [x], x),
    "a list of vectors": lambda f, x: f.jvp(lambda a: a**2, x, [x]),
    "a list as result": lambda f, x: f.jacobian(lambda a: [a**2], x),
    "unknown strategy": lambda f, x: f.jacobian(lambda a: a**2, x, strategy="sideways"),
    "unknown strategy of the hessian": lambda f, x: f.hessian(lambda a: a.sum(), x, outer_jacobian_strategy="sideways"),
}


@pytest.mark.parametrize("case", STRICT)
def test_strict_modes(case: str) -> None:
    found = []
    for t in (reference(), candidate()):
        try:
            found.append(STRICT[case](t.autograd.functional, t.arange(3.0)).tolist())
        except Exception as error:
            found.append((type(error), str(error).replace("jaxtorch", "torch")))
    assert found[0] == found[1]


def test_pack_hooks_leave_tensors_as_they_are() -> None:
    for t in (reference(), candidate()):
        x = t.arange(3.0).requires_grad_()
        with (
            t.autograd.graph.saved_tensors_hooks(lambda a: a.mul_(2), lambda a: a),
            pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
        ):
            x.sin()


def test_gradcheck_refuses_overlapping_inputs() -> None:
    for t in (reference(), candidate()):
        x = t.ones(2, dtype=t.float64, requires_grad=True)
        with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
            t.autograd.gradcheck(t.sin, x.expand(2, 2))


LEAVES = {
    "a result": lambda t, x: (x * 2).requires_grad_(),
    "an argument": lambda t, x: x.requires_grad_(),
    "no longer": lambda t, x: x.detach().requires_grad_(False),
    "another tensor": lambda t, x: x * t.ones(3).requires_grad_(),
    "a module": lambda t, x: t.nn.Linear(3, 3).requires_grad_(False)(x),
    "a factory": lambda t, x: x * t.ones(3, requires_grad=True),
    "a list": lambda t, x: x * t.tensor([1.0, 2.0, 3.0], requires_grad=True),
    "a parameter": lambda t, x: x * t.nn.Parameter(t.ones(3)),
    "an attribute": lambda t, x: (setattr(x, "requires_grad", True), x * 2)[1],
}


@pytest.mark.parametrize("transform", ["grad", "vmap", "jvp"])
@pytest.mark.parametrize("name", list(LEAVES))
def test_requires_grad_inside(name: str, transform: str) -> None:
    """`requires_grad_()` raises inside a transformed function; other ways to ask for a gradient do not."""

    def run(t: Any) -> Any:
        f = lambda x: LEAVES[name](t, x)  # noqa: E731
        if transform == "grad":
            return t.func.grad(lambda x: f(x).sum())(t.ones(3))
        if transform == "vmap":
            return t.func.vmap(f, randomness="same")(t.ones(2, 3))
        return t.func.jvp(f, (t.ones(3),), (t.ones(3),))

    try:
        expected = run(reference())
    except RuntimeError:
        with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\)"):
            run(candidate())
    else:
        same = [r.shape for r in ([expected] if isinstance(expected, reference().Tensor) else expected)]
        found = run(candidate())
        assert [tuple(r.shape) for r in ([found] if transform != "jvp" else found)] == [tuple(s) for s in same]


@pytest.mark.parametrize("name", ["poisson", "_standard_gamma", "bernoulli", "binomial", "multinomial"])
def test_samplers_that_cannot_give_all_examples_the_same(name: str) -> None:
    for t in (reference(), candidate()):
        f = {"binomial": lambda p: t.binomial(p, p), "multinomial": lambda p: t.multinomial(p, 2, replacement=True)}  # noqa: B023
        with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor"):
            t.func.vmap(f.get(name, getattr(t, name)), randomness="same")(t.ones(2, 3))


SPARSE: dict[str, Any] = {
    "grad": lambda t, s, w: t.func.grad(lambda s: (s.to_dense() ** 2).sum())(s),
    "of a product": lambda t, s, w: t.func.grad(lambda s: t.sparse.mm(s, t.ones(2, 1)).sum())(s),
    "of a sparse function": lambda t, s, w: t.func.grad(lambda s: t.sparse.sum(s * 3))(s),
    "by two": lambda t, s, w: t.func.grad(lambda x, s: (t.sparse.mm(s, x) ** 2).sum(), (0, 1))(w, s),
    "by a dense one": lambda t, s, w: t.func.grad(lambda x, s: (t.sparse.mm(s, x) ** 2).sum())(w, s),
    "in a dict": lambda t, s, w: t.func.grad(lambda d: (d["s"].to_dense() ** 2).sum())({"s": s}),
    "aux": lambda t, s, w: t.func.grad_and_value(lambda s: ((s.to_dense() ** 2).sum(), s), has_aux=True)(s),
    "of a constant": lambda t, s, w: t.func.grad(lambda s: t.ones(()))(s),
    "of no scalar": lambda t, s, w: t.func.grad(lambda s: s.to_dense())(s),
    "of numbers": lambda t, s, w: t.func.grad(lambda s: s.to_dense().sum())(s.long()),
    "history": lambda t, s, w: t.func.grad_and_value(lambda s: (s.to_dense() ** 2).sum())(s.clone().requires_grad_()),
    "history of another": lambda t, s, w: (lambda w: t.func.grad_and_value(lambda s: (s.to_dense() * w).sum())(s))(
        w.requires_grad_()
    ),
    "vjp": lambda t, s, w: t.func.vjp(lambda s: s.to_dense() * 2, s)[0],
    "vjp, pulled back": lambda t, s, w: t.func.vjp(lambda s: s.to_dense() * 2, s)[1](t.ones(2, 2)),
    "vjp by two": lambda t, s, w: t.func.vjp(lambda s, x: t.sparse.mm(s, x), s, w)[1](t.ones(2, 1)),
    "vjp, a wrong cotangent": lambda t, s, w: t.func.vjp(lambda s: s.to_dense(), s)[1](t.ones(3)),
}


@pytest.mark.parametrize("name", SPARSE)
def test_derivatives_by_sparse_tensors(name: str) -> None:
    found = []
    for t in (reference(), candidate()):
        s = t.sparse_coo_tensor(t.tensor([[0, 1], [1, 0]]), t.tensor([2.0, 3.0]), (2, 2), check_invariants=True)
        try:
            result = SPARSE[name](t, s, t.tensor([[1.0], [2.0]]))
        except (RuntimeError, NotImplementedError) as error:
            found.append((type(error).__name__, str(error)[:60]))
        else:
            leaves, _ = t.utils._pytree.tree_flatten(result)
            found.append([(str(x.layout), x.requires_grad, x.to_dense().tolist()) for x in leaves])
    assert found[0] == found[1]
