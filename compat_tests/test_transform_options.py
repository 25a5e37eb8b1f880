"""Options of transformations: a sample of `fuzz_transform_options.py`, and programs that once differed from PyTorch."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from fuzz_transform_options import FUNCTIONS, OPTIONS, TRANSFORMATIONS, Case, cases, compare, parse
from transform_kit import Table, checkpoints

SAMPLES = Table()
case = SAMPLES.case


@pytest.mark.parametrize("one", cases(7, 60), ids=str)
def test_composition(one: Case) -> None:
    assert compare(one) == ""


def test_cases_are_distinct_and_can_be_read_back() -> None:
    found = cases(0, 2000)
    assert len(set(found)) == 2000
    assert all(parse(str(c)) == c for c in found)
    specs = [spec for c in found for spec in c.chain]
    assert {spec.split(" ")[0] for spec in specs} == set(TRANSFORMATIONS)
    assert {c.function for c in found} == set(FUNCTIONS)
    for name, options in OPTIONS.items():
        asked = " ".join(spec for spec in specs if spec.split(" ")[0] == name)
        assert all(f"{option}=" in asked for option in options), name


# -- the graph of gradients leads only to what they are computed from


@case
def gradient_that_does_not_depend(t: Any) -> Any:
    w, x = t.tensor(1.5, requires_grad=True), t.ones(2, 2, requires_grad=True)
    found = []
    for f in (lambda x: w * x, lambda x: w.exp() * x, lambda x: (x @ x.mT) * w, lambda x: x.sin() + w * x):
        (g,) = t.autograd.grad(f(x).sum(), x, create_graph=True)
        found.append(t.autograd.grad(g.sum(), (x, w), allow_unused=True))
    return found


@case
def gradient_that_does_not_depend_is_unused(t: Any) -> Any:
    w, x = t.tensor(1.5, requires_grad=True), t.ones(2, requires_grad=True)
    (g,) = t.autograd.grad((w * x).sum(), x, create_graph=True)
    return t.autograd.grad(g.sum(), x)


@case
def gradients_of_a_product(t: Any) -> Any:
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    a, b = t.autograd.grad((x * y).sum(), (x, y), create_graph=True)
    return [t.autograd.grad(g.sum(), (x, y), retain_graph=True, allow_unused=True) for g in (a, b)]


@case
def gradients_that_depend_by_a_condition(t: Any) -> Any:
    x = t.tensor(0.4, requires_grad=True)
    found = []
    for f in (t.abs, t.relu, t.linalg.vector_norm, t.nn.functional.leaky_relu, lambda x: x.sign() * x):
        (g,) = t.autograd.grad(f(x), x, create_graph=True)
        found.append(t.autograd.grad(g, x))
    return found


@case
def strict_hessian_without_dependence(t: Any) -> Any:
    w = t.ones(2, requires_grad=True)
    return t.autograd.functional.hessian(lambda x: (w * x).sum(), t.ones(2), strict=True)


@case
def tangent_of_a_linear_function(t: Any) -> Any:
    x = t.ones(3, requires_grad=True)
    _, along = t.func.jvp(lambda y: y[t.tensor([0, 0])], (x,), (t.ones(3),))
    return along.requires_grad


# -- writing to what is differentiated by


@case
def view_of_an_argument_written(t: Any) -> Any:
    return t.func.grad(lambda x: (x[:1].add_(1), x.sum())[1])(t.ones(3))


@case
def leaf_written_along_tangents(t: Any) -> Any:
    x = t.ones(3, requires_grad=True)
    return t.func.jvp(lambda y: y.mul_(2), (x,), (t.ones(3),))


@case
def argument_written_in_a_nested_jacobian(t: Any) -> Any:
    return t.func.grad(lambda x: t.func.jacfwd(lambda y: y.mul_(2) * y)(x).sum())(t.ones(3))


@case
def leaf_written_in_vmap(t: Any) -> Any:
    return t.func.vmap(lambda y: y.mul_(2))(t.ones(3, requires_grad=True))


# -- gradients that leave a mapped function on several ways


@case
def auxiliary_results_of_a_jacobian(t: Any) -> Any:
    x = t.tensor([1.0, 2.0, 3.0])
    found = []
    for randomness in ("error", "different", "same"):

        def both(y: Any, randomness: str = randomness) -> Any:
            return t.func.jacfwd(lambda z: (z * z, z * z), has_aux=True, randomness=randomness)(y)

        _, back = t.func.vjp(both, x)
        found.append(back((t.ones(3, 3), t.ones(3))))
    return found


def _mapped_and_not(nested: bool, several: bool) -> Any:
    def run(t: Any) -> Any:
        w, x = t.tensor(3.0, requires_grad=True), t.arange(3.0)

        def f(y: Any) -> Any:
            u, v = (w * t.ones(2)).split(1) if several else (w * 2, w)
            return y * u * v, v * 3, u * u

        dims = (0, None, None)
        g = t.func.vmap(f, out_dims=dims)
        found = t.func.vmap(g, out_dims=dims)(t.stack([x, x])) if nested else g(x)
        total: Any = sum(y.sum() for y in found)
        total.backward()
        return w.grad

    return run


for _nested in (False, True):
    for _several in (False, True):
        SAMPLES[f"mapped_and_not_{_nested}_{_several}"] = _mapped_and_not(_nested, _several)


@case
def closed_over_by_a_jacobian_with_auxiliary_results(t: Any) -> Any:
    w = t.tensor(3.0, requires_grad=True)
    first, second = t.func.jacfwd(lambda y: (w * y, w * 2), has_aux=True)(t.arange(3.0))
    (first.sum() + second.sum()).backward()
    return w.grad


# -- what functions take and give


def _pulled(*args: Any, **options: Any) -> Any:
    def run(t: Any) -> Any:
        _, back = t.func.vjp(lambda x: (x.sin(), x * 3), t.ones(2, requires_grad=True))
        ones = [t.ones(2) if a is None else (t.ones(2), t.ones(2)) if a == 2 else a for a in args]
        found = [back(*ones, **options)]
        return [g.requires_grad for g in found[0]], found, back(*ones) if options.get("retain_graph") is False else None

    return run


SAMPLES["vjp_of_two"] = _pulled(2)
SAMPLES["vjp_by_position"] = _pulled(None, None)
SAMPLES["vjp_of_nothing"] = _pulled()
SAMPLES["vjp_with_an_unknown_option"] = _pulled(2, other=True)
SAMPLES["vjp_without_a_graph"] = _pulled(2, create_graph=False)
SAMPLES["vjp_with_a_graph"] = _pulled(2, create_graph=True)
SAMPLES["vjp_that_keeps_the_graph"] = _pulled(2, True)
SAMPLES["vjp_that_frees_the_graph"] = _pulled(2, retain_graph=False)


@case
def strict_jvp_that_branches(t: Any) -> Any:
    x = t.ones(2)
    found = t.func.jvp(lambda y: y * 2 if y.sum() > 0 else y, (x,), (x,), strict=True)
    with contextlib.suppress(RuntimeError):
        t.func.jvp(lambda y: (y, t.ones(1)), (x,), (x,), strict=True)
        found = "an output that does not move was taken"
    return found


@case
def checkpoint_debug_with_contexts(t: Any) -> Any:
    def contexts() -> Any:
        return contextlib.nullcontext(), contextlib.nullcontext()

    return checkpoints(t).checkpoint(t.sin, t.ones(1), use_reentrant=False, context_fn=contexts, debug=True)


@case
def forward_jacobian_looks_at_inputs_first(t: Any) -> Any:
    return t.autograd.functional.jacobian(lambda x: x, {"a": t.ones(1)}, strategy="forward-mode")


@case
def forward_jacobians_are_lists(t: Any) -> Any:
    g, x = t.autograd.functional, t.ones(2)
    options = {"vectorize": True, "strategy": "forward-mode"}
    return [
        g.jacobian(lambda x, y: (x * y, x), (x, x), **options),
        g.jacobian(lambda x: (x, x * 2), x, **options),
        g.jacobian(lambda x, y: x * y, (x, x), **options),
        g.hessian(lambda x, y: (x * y).sum(), (x, x), vectorize=True, outer_jacobian_strategy="forward-mode"),
    ]


@case
def randomness_is_refused_before_types(t: Any) -> Any:
    return t.func.vmap(lambda x: t.randn_like(x))(t.arange(3))


# -- gradcheck


def _checked(name: str, **options: Any) -> Any:
    def run(t: Any) -> Any:
        return getattr(t.autograd, name)(lambda x: x.sin(), t.ones(2, dtype=t.float64, requires_grad=True), **options)

    return run


for _n, _options in enumerate([
    {"check_batched_grad": True}, {"check_batched_forward_grad": True},
    {"check_forward_ad": True, "check_batched_forward_grad": True}, {"check_backward_ad": False},
    {"check_forward_ad": True, "check_backward_ad": False, "check_batched_grad": True},
    {"check_forward_ad": True, "check_backward_ad": False},
]):  # fmt: skip
    SAMPLES[f"gradcheck_{_n}"] = _checked("gradcheck", **_options)

for _n, _options in enumerate([
    {"check_batched_grad": True}, {"check_rev_over_rev": False}, {"check_fwd_over_rev": True, "check_rev_over_rev": False},
    {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False},
    {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False, "check_batched_grad": True},
]):  # fmt: skip
    SAMPLES[f"gradgradcheck_{_n}"] = _checked("gradgradcheck", **_options)


def _function(t: Any, kind: str) -> Any:
    class Own(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            if kind == "minds":
                return g * 2 * x
            if kind == "invents":
                return t.ones_like(x) if g is None else g * 2 * x
            if kind == "reads":
                g = None if g is None else t.tensor(g.tolist(), dtype=t.float64)
            return None if g is None else g * 2 * x

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return t.tensor(g.tolist(), dtype=t.float64) if kind == "reads" else g

    return Own.apply


for _kind in ("minds", "invents", "reads", "bears"):
    for _options in ({}, {"check_undefined_grad": False}, {"check_batched_grad": True}):

        def _of_function(t: Any, kind: str = _kind, options: Any = _options) -> Any:
            x = t.ones(2, dtype=t.float64, requires_grad=True)
            return t.autograd.gradcheck(_function(t, kind), x, **options)

        SAMPLES[f"gradcheck_of_a_function_that_{_kind}_{''.join(_options)}"] = _of_function


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    SAMPLES.check(name)
