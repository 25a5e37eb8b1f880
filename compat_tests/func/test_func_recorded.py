"""`torch.func` as it is recorded: transformations within each other, what they close over, how often the function runs, and how fast.

Each program runs with PyTorch and with jaxtorch. `CLOSED` ones close over a parameter and a tensor computed from it; what they
return is differentiated twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from parity import candidate, differences, outcome, reference


def _random(t: Any, *shape: int, seed: int = 0) -> Any:
    generator = t.Generator()
    generator.manual_seed(seed)
    return t.randn(*shape, generator=generator)


def _rows(t: Any) -> Any:
    return _random(t, 4, 3, seed=1)


def _steps(t: Any, p: Any, q: Any) -> Any:
    def task(x: Any) -> Any:
        w = p
        for _ in range(2):
            w = w - 0.1 * t.func.grad(lambda v: ((v * x * q) ** 2).sum())(w)
        return ((w * x) ** 2).sum()

    return t.func.vmap(task)(_rows(t))


def _pulled_rows(t: Any, p: Any, q: Any) -> Any:
    out, back = t.func.vjp(lambda x: (x * q).sin() * p, p)
    return out, t.func.vmap(back)(_rows(t))[0]


def _nested(t: Any, p: Any, q: Any) -> Any:
    xs, f = _rows(t), t.func
    return f.vmap(lambda y: f.vmap(lambda x: (x * p).sin() * y.sum() * q)(xs).sum(0) * p)(xs)


def _between(t: Any, p: Any, q: Any) -> Any:
    f = t.func
    return f.vmap(lambda x: (lambda z: f.grad(lambda y: (y * z * p).sin().sum())(x * z))(q * p))(_rows(t))


CLOSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vmap of grad": lambda t, p, q: t.func.vmap(t.func.grad(lambda x: ((x * q) ** 3).sum() * (x * p).sum()))(_rows(t)),
    "grad of vmap": lambda t, p, q: t.func.grad(
        lambda w: (t.func.vmap(lambda x: (x * w * q).sin().sum())(_rows(t)) ** 2).sum()
    )(p),
    "vmap of vmap": _nested,
    "vmap of jacrev": lambda t, p, q: t.func.vmap(t.func.jacrev(lambda x: (x * q).sin() * p))(_rows(t)),
    "vmap of jacfwd": lambda t, p, q: t.func.vmap(t.func.jacfwd(lambda x: (x * q).sin() * p))(_rows(t)),
    "vmap of hessian": lambda t, p, q: t.func.vmap(t.func.hessian(lambda x: ((x * q).sin() * p).sum() ** 2))(_rows(t)),
    "vmap of jvp": lambda t, p, q: t.func.vmap(lambda x: t.func.jvp(lambda y: (y * q).sin() * x, (p,), (x,))[1])(
        _rows(t)
    ),
    "jacrev of vmap": lambda t, p, q: t.func.jacrev(lambda w: t.func.vmap(lambda x: (x * w * q).sin())(_rows(t)))(p),
    "jvp of vmap": lambda t, p, q: t.func.jvp(lambda w: t.func.vmap(lambda x: (x * w * q).sin())(_rows(t)), (p,), (q,)),
    "jvp of grad": lambda t, p, q: t.func.jvp(t.func.grad(lambda x: ((x * q).sin() * p).sum() ** 2), (p,), (q * 2,)),
    "jvp of jvp": lambda t, p, q: t.func.jvp(
        lambda x: t.func.jvp(lambda y: (y * q).sin() * x, (x,), (p,))[1], (p,), (q,)
    ),
    "grad of jvp": lambda t, p, q: t.func.grad(
        lambda x: (t.func.jvp(lambda y: (y * q).sin() * p, (x,), (q,))[1] ** 2).sum()
    )(p),
    "hessian": lambda t, p, q: t.func.hessian(lambda x: ((x * q).sin() * p).sum() ** 2)(p),
    "rows of a vjp": _pulled_rows,
    "steps": _steps,
    "computed between": _between,
    "one argument twice": lambda t, p, q: t.func.grad(lambda a, b: (a * b).sum() ** 2)(p, p),
    "what is one for all": lambda t, p, q: t.func.vmap(lambda x: (x * p, q * 2, p.sum()), out_dims=(1, 0, 0))(_rows(t)),
    "auxiliary": lambda t, p, q: t.func.grad(lambda x: ((x * q).sum() ** 2, x * p), has_aux=True)(p),
    "detached": lambda t, p, q: t.func.grad(lambda x: (x.detach() * x * q.detach() * p).sum())(p),
}


def _twice_differentiated(t: Any, name: str) -> Any:
    p = _random(t, 3).requires_grad_()
    found = CLOSED[name](t, p, p.sin())
    leaves = found if isinstance(found, tuple) else (found,)
    once = t.autograd.grad(sum([(x * x).sum() for x in leaves]), p, create_graph=True)[0]
    twice = t.autograd.grad((once * once).sum(), p)[0]
    return [*[x.detach() for x in leaves], once.detach(), twice]


@pytest.mark.parametrize("name", CLOSED)
def test_derivatives_of_what_is_closed_over(name: str) -> None:
    found = [outcome(t, lambda t: _twice_differentiated(t, name)) for t in (reference(), candidate())]
    assert not differences(*found, scale=30.0, strides=False), differences(*found, scale=30.0, strides=False)


def _checkpointed(t: Any) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{t.__name__}.utils.checkpoint").checkpoint
    w = _random(t, 3).requires_grad_()
    checkpoint(lambda v: t.func.vmap(lambda x: (x * v).sin())(_rows(t)), w, use_reentrant=False).sum().backward()
    return w.grad


def _packed(t: Any) -> Any:
    w = _random(t, 3).requires_grad_()
    with t.autograd.graph.saved_tensors_hooks(lambda x: x * 2, lambda x: x / 2):
        made = t.func.vmap(lambda x: (x * w).sin())(_rows(t))
    made.sum().backward()
    return w.grad


def _hooked(t: Any) -> Any:
    w, seen = _random(t, 3).requires_grad_(), []
    w.register_hook(lambda g: seen.append(g.clone()))
    t.func.vmap(lambda x: (x * w).sum())(_rows(t)).sum().backward()
    return [*seen, w.grad]


def _in_a_loop(t: Any) -> Any:
    w, total = _random(t, 3).requires_grad_(), 0
    for i in range(3):
        v = w * (i + 1)
        total = total + (t.func.vmap(lambda x: (x * v).sin() * w)(_rows(t)) ** 2).sum()  # noqa: B023
    return t.autograd.grad(total, w)


def _through_a_layer(t: Any) -> Any:
    layer = t.nn.Linear(3, 2)
    with t.no_grad():
        layer.weight.copy_(_random(t, 2, 3))
        layer.bias.copy_(_random(t, 2))
    t.func.vmap(lambda x: layer(x[None])[0].tanh())(_rows(t)).pow(2).sum().backward()
    return layer.weight.grad, layer.bias.grad


def _seen_inside(t: Any) -> Any:
    seen: list[Any] = []
    x = _random(t, 3)

    def look(x):
        return seen.extend([x.requires_grad, x.is_leaf, x.grad_fn is None, (x * 2).requires_grad, (x * 2).is_leaf])

    t.func.grad(lambda x: (look(x), x.sum())[1])(x)
    t.func.vmap(lambda x: (seen.extend([x.requires_grad, x.dim(), x.shape[0]]), x.sum())[1])(_rows(t))
    return [int(v) for v in seen]


def _required(t: Any) -> Any:
    x, w, f = _random(t, 3), _random(t, 3).requires_grad_(), t.func
    made = [
        f.grad(lambda x: (x * x).sum())(x),
        f.grad(lambda x: (x * w).sum())(x),
        f.grad(lambda x: (x * x).sum())(w),
        f.vjp(lambda x: x * 2, x)[0],
        f.vmap(lambda x: x * 2)(_rows(t)),
        f.vmap(lambda x: x * w)(_rows(t)),
        f.jacrev(lambda x: x * x)(x),
    ]
    with t.no_grad():
        made.append(f.grad(lambda x: (x * w).sum())(x))
    return [m.requires_grad for m in made]


def _constant(t: Any) -> Any:
    w = _random(t, 3).requires_grad_()

    def of(x: Any) -> Any:
        with t.no_grad():
            c = x * w
        return (x * c).sum()

    found = t.func.grad(of)(_random(t, 3))
    return found, found.requires_grad


def _until(t: Any) -> Any:
    def of(x: Any) -> Any:
        while x.norm() < 10:
            x = x * 2
        return x.sum() * (2 if x.sum().item() > 0 else 3)

    return t.func.grad(of)(t.ones(3))


def _written(t: Any) -> Any:
    x, y = _random(t, 2, 3), _random(t, 2, 3)
    t.func.vmap(lambda a: a.mul_(2))(x)
    t.func.vmap(lambda a: a.add_(a.sum()), in_dims=1)(y)
    return x, y


def _indexed(t: Any) -> Any:
    s, i, f = _random(t, 4, 3, 3), t.tensor([[0, 2], [1, 1], [2, 0], [0, 0]]), t.func
    return [
        f.vmap(lambda a, j: a[j])(s, i),
        f.vmap(lambda a, j: a.gather(0, j[None]))(s, i),
        f.vmap(lambda a, j: a.index_add(0, j, a[:2]))(s, i),
        f.vmap(lambda a, j: a.scatter(0, j[None], 7.0))(s, i),
        f.vmap(lambda j: t.eye(3)[j])(i),
        f.vmap(lambda j: t.nn.functional.one_hot(j, 3))(i),
    ]


def _square(t: Any) -> Any:
    """A function with a rule of its own for `vmap`, which is left to JAX's transformations."""

    class Square(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def vmap(info, in_dims, x):
            return Square.apply(x), in_dims[0]

    return Square


def _begun_anew(t: Any) -> Any:
    square, c, whole, w = _square(t), t.zeros(3), t.zeros(2, 3), _random(t, 3).requires_grad_()
    row, grown = whole[0], w * 1

    def of(x: Any) -> Any:
        c.add_(1)
        row[1:] += 2
        grown.mul_(2)
        return square.apply(x) * c * row * grown.detach()

    made = [t.func.vmap(of)(_rows(t)), t.func.vmap(of)(_rows(t)), c, whole]
    grown.sum().backward()
    return *made, w.grad


def _drawn_anew(t: Any) -> Any:
    square, generator = _square(t), t.Generator()
    generator.manual_seed(3)

    def of(x: Any) -> Any:
        n = t.rand(3, generator=generator)
        return (t.func.vmap(square.apply)(x[None]) * n).sum()

    return t.func.grad(of)(_random(t, 3)), t.rand(3, generator=generator)


def _interrupted(t: Any) -> Any:
    x, y = t.ones(2, 3), t.ones(3, 2)

    def of(a: Any) -> Any:
        a.mul_(2)
        raise KeyError

    for written, dim in ((x, 0), (y[1:], 1)):
        with pytest.raises(KeyError):
            t.func.vmap(of, in_dims=dim)(written)
    return x, y


def _drawn_in_chunks(t: Any) -> Any:
    return t.func.vmap(lambda x: x + t.rand(2), randomness="same", chunk_size=2)(t.zeros(5, 2)), t.rand(2)


def _flipped(t: Any) -> Any:
    f = t.func
    one = f.vmap(lambda x: t.bernoulli(x * 1, p=0.5), randomness="different")(t.zeros(3, 4))
    return one, f.vmap(lambda x: x.clone().bernoulli_(0.25), randomness="different")(t.zeros(3, 4))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "checkpoint around": _checkpointed,
    "hooks on saved tensors": _packed,
    "hooks": _hooked,
    "in a loop": _in_a_loop,
    "through a layer": _through_a_layer,
    "seen inside": _seen_inside,
    "requires_grad of results": _required,
    "constant": _constant,
    "values read": _until,
    "arguments written to": _written,
    "indices": _indexed,
    "an index out of range": lambda t: t.func.vmap(lambda i: t.arange(3)[i])(t.tensor([0, 5])) + 1,
    "unused": lambda t: t.func.grad(lambda a, b: b.sum(), argnums=(0, 1))(_random(t, 3), _random(t, 3)),
    "independent": lambda t: t.func.grad(lambda a: t.tensor(3.0))(_random(t, 3)),
    "begun anew": _begun_anew,
    "drawn anew": _drawn_anew,
    "interrupted": _interrupted,
    "drawn in chunks": _drawn_in_chunks,
    "flipped": _flipped,
    "kron of a part": lambda t: t.func.jacrev(lambda x: t.kron(x[:2, :2], x))(_random(t, 3, 4)),
    "backward inside": lambda t: t.func.grad(lambda x: (x.backward(), x)[1])(t.tensor(3.0)),
    "complex": lambda t: t.func.vmap(t.func.grad(lambda x: (x * x * x.conj()).abs().sum()))(
        t.complex(_random(t, 2, 3), _random(t, 2, 3, seed=1))
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str) -> None:
    found = [outcome(t, PROGRAMS[name]) for t in (reference(), candidate())]
    assert not differences(*found, scale=30.0, strides=False), differences(*found, scale=30.0, strides=False)


def _times_called(t: Any) -> int:
    calls: list[int] = []
    f, p, x = t.func, _random(t, 3).requires_grad_(), _random(t, 3)
    product = lambda x: (calls.append(1), x * p)[1]  # noqa: E731
    total = lambda x: product(x).sum() ** 2  # noqa: E731
    f.grad(total)(x), f.vmap(product)(_rows(t)), f.jacrev(product)(x), f.jacfwd(product)(x), f.hessian(total)(x)
    f.jvp(product, (x,), (x,)), f.vjp(product, x), f.vmap(f.grad(total))(_rows(t))
    return len(calls)


def test_functions_run_once() -> None:
    assert _times_called(candidate()) == _times_called(reference())


class _Squares:
    """A data set whose samples are transformed where they are fetched."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        t = candidate()
        return t.func.vmap(t.func.grad(lambda x: (x**2).sum()))(t.ones(2, 3) * i)


def test_in_a_worker() -> None:
    loader = candidate().utils.data.DataLoader(_Squares(), batch_size=2, num_workers=1)
    assert [b.sum().item() for b in loader] == [12.0, 60.0]


def test_without_content() -> None:
    t = candidate()
    assert t.func.vmap(lambda a: a.sum() * a)(t.ones(2, 3, device="meta")).shape == (2, 3)


def test_draws_differ_from_example_to_example() -> None:
    t = candidate()
    inner = t.func.vmap(lambda x: x + t.rand(3), randomness="different")
    drawn = t.func.vmap(inner, randomness="different")(t.zeros(2, 4, 3))
    assert len(set(drawn.flatten().tolist())) == 24
    same = t.func.vmap(lambda x: x + t.rand(3), randomness="same")(t.zeros(2, 3))
    assert (same[0] == same[1]).all()


def test_a_call_that_comes_again_is_traced_no_more() -> None:
    """Tracing this took 150 ms of CPU time at each step; recorded it takes 5."""
    t = candidate()
    net = t.nn.Sequential(t.nn.Linear(1, 8), t.nn.ReLU(), t.nn.Linear(8, 8), t.nn.ReLU(), t.nn.Linear(8, 1))
    params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
    loss = lambda p, x, y: ((t.func.functional_call(net, p, (x,)) - y) ** 2).mean()  # noqa: E731

    def task(x: Any) -> Any:
        g = t.func.grad(loss)(params, x, x.sin())
        return loss({k: v - 0.1 * g[k] for k, v in params.items()}, x, x.cos())

    def step() -> float:
        begun = time.process_time()
        t.func.vmap(task)(t.randn(4, 5, 1)).sum().backward()
        for p in params.values():
            p.grad = None
        return time.process_time() - begun

    times = sorted([step() for _ in range(30)][15:])
    assert times[len(times) // 3] < 0.04
