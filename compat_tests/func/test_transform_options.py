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


# -- what the generators found


def _straight_through(t: Any) -> Any:
    class Rounded(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return (x * y).round()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x * x

    return lambda x, y: Rounded.apply(x, y).sum()


for _product in ("hvp", "vhp"):
    for _strict in (False, True):

        def _of_what_is_not_symmetric(t: Any, name: str = _product, strict: bool = _strict) -> Any:
            x, y = t.tensor([0.5, 1.2]), t.tensor([2.0, 3.0])
            return getattr(t.autograd.functional, name)(_straight_through(t), (x, y), (y, x), strict=strict)

        SAMPLES[f"{_product}_of_a_gradient_that_is_not_symmetric_{_strict}"] = _of_what_is_not_symmetric


@case
def vectorized_jacobian_without_results(t: Any) -> Any:
    return t.autograd.functional.jacobian(lambda x: (), t.ones(2), vectorize=True)


@case
def forward_jacobian_without_arguments(t: Any) -> Any:
    return t.autograd.functional.jacobian(lambda: t.ones(2), (), vectorize=True, strategy="forward-mode")


@case
def forward_jacobians_of_nothing_are_not_nested(t: Any) -> Any:
    def rows(f: Any, x: Any) -> Any:
        return t.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode")

    return rows(lambda x: rows(lambda y: y * 2, x), t.ones(0))


@case
def random_columns_of_nothing_in_a_checkpoint(t: Any) -> Any:
    def rows(x: Any) -> Any:
        return t.func.jacfwd(lambda y: y * 2, randomness="different")(x)

    x = t.ones(0, requires_grad=True)
    return checkpoints(t).checkpoint(rows, x, use_reentrant=False).shape


_REFUSED = {
    "dropout": lambda t, x: t.nn.functional.dropout(x),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, 0.5, True),
    "feature_dropout": lambda t, x: t.nn.functional.feature_alpha_dropout(x, 0.5, True),
    "exponential": lambda t, x: x.clone().exponential_(),
    "cauchy": lambda t, x: x.clone().cauchy_(),
    "multinomial": lambda t, x: t.multinomial(x, 1),
    "poisson": lambda t, x: t.poisson(x),
}
for _name in _REFUSED:
    for _kind in ("complex64", "int64", "bool", "float32"):

        def _refused(t: Any, name: str = _name, kind: str = _kind) -> Any:
            return _said(lambda: t.func.vmap(lambda x: _REFUSED[name](t, x))(t.ones(2, 3).to(getattr(t, kind))))

        SAMPLES[f"{_name}_of_{_kind}_in_vmap"] = _refused


def _said(f: Any) -> Any:
    try:
        return f()
    except Exception as error:
        return type(error).__name__, str(error)[:40]


_VIEWS = {
    "of_the_argument": lambda t, x, w: x.view(-1),
    "of_what_is_computed": lambda t, x, w: x.sin().view(-1),
    "of_another": lambda t, x, w: w.view(-1),
    "row": lambda t, x, w: x[0],
    "pieces": lambda t, x, w: x.split(1),
}
for _name in _VIEWS:
    for _way in ("jacrev", "grad"):

        def _viewed(t: Any, name: str = _name, way: str = _way) -> Any:
            w = t.ones(3, requires_grad=True)

            def f(x: Any) -> Any:
                with t.no_grad():
                    out = _VIEWS[name](t, x, w)
                return out if way == "jacrev" or name == "row" else t.stack(list(out)).sum()

            return _said(lambda: getattr(t.func, way)(f)(t.ones(3) * 0.4))

        SAMPLES[f"view_under_no_grad_{_name}_{_way}"] = _viewed


@pytest.mark.parametrize("order", ["backward", "both"])
def test_gradcheck_goes_back_first(order: str) -> None:
    def of(t: Any) -> Any:
        def f(x: Any) -> Any:
            return checkpoints(t).checkpoint(lambda y: y**2, x, use_reentrant=True)

        x = t.ones(2, dtype=t.float64, requires_grad=True)
        return _said(lambda: t.autograd.gradcheck(f, x, check_forward_ad=order == "both"))

    Table({"case": of}).check("case")


@case
def batched_gradients_through_a_checkpoint(t: Any) -> Any:
    def f(x: Any) -> Any:
        return checkpoints(t).checkpoint(lambda y: y**2, x, use_reentrant=False)

    return t.autograd.gradcheck(f, t.ones(2, dtype=t.float64, requires_grad=True), check_batched_grad=True)


for _kept in ("computed", "leaf", "several"):

    def _inside(t: Any, kept: str = _kept) -> Any:
        w = t.tensor(1.5, requires_grad=True)

        class Enabled(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                with t.enable_grad():
                    return {"computed": w * x, "leaf": w, "several": (w * x, w * 2)}[kept]

        out = Enabled.apply(t.tensor(2.0))
        return [(y.requires_grad, y.grad_fn is None) for y in (out if kept == "several" else (out,))], w.requires_grad

    SAMPLES[f"graph_of_a_function_without_gradients_{_kept}"] = _inside


@case
def saved_without_gradients(t: Any) -> Any:
    class Number(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

    x = t.ones(2, requires_grad=True)
    return Number.apply(x.detach(), 2), t.no_grad()(Number.apply)(x, 2), _said(lambda: Number.apply(x, 2))


@case
def reentrant_checkpoint_without_gradients(t: Any) -> Any:
    w = t.tensor(1.5, requires_grad=True)
    out = checkpoints(t).checkpoint(t.enable_grad()(lambda x: w * x), t.tensor(2.0), use_reentrant=True)
    return out.requires_grad


for _stop in (True, False):

    def _moments(t: Any, stop: bool = _stop) -> Any:
        norm, x = t.nn.BatchNorm1d(1), t.tensor([[0.4], [0.8], [1.2]], requires_grad=True)
        checkpoints(t).checkpoint(norm, x, use_reentrant=False, early_stop=stop).sin().sum().backward()
        return norm.running_mean, norm.running_var, norm.num_batches_tracked, x.grad

    SAMPLES[f"moments_of_a_checkpointed_norm_{_stop}"] = _moments


@case
def arguments_that_do_not_count(t: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        seen.append((x.requires_grad, y.requires_grad))
        return (x * x * y).sum()

    x, y = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    t.func.grad(f)(x, y).sum().backward()
    t.func.jacrev(f, argnums=1)(x, y)
    t.func.grad(lambda a, b: t.func.grad(lambda c: f(c, b))(a).sum())(x, y)
    inner = _said(lambda: t.func.grad(lambda a, b: t.autograd.grad((a * b).sum(), b)[0].sum())(x, y))
    product = _said(
        lambda: t.func.grad(lambda a, b: t.autograd.functional.vjp(lambda c: (c * a).sum(), b)[1].sum())(x, y)
    )
    return seen, x.grad, y.grad, inner, product


for _name in ("jacrev", "jacfwd"):
    for _place, _given in enumerate([("r", "c"), ("c", "r"), ("r", "3", "c"), ("r", "l")]):

        def _complex_arguments(t: Any, name: str = _name, given: Any = _given) -> Any:
            c, r = t.ones(2, dtype=t.complex64), t.ones(2)
            args = [{"r": r, "c": c, "3": 3, "l": [3, c]}[k] for k in given]
            place = given.index("r")
            return _said(lambda: getattr(t.func, name)(lambda *x: x[place] * 2, argnums=place)(*args))

        SAMPLES[f"{_name}_beside_complex_arguments_{_place}"] = _complex_arguments


@case
def complex_normal_numbers_have_no_gradient(t: Any) -> Any:
    x = t.ones(2, dtype=t.complex64, requires_grad=True)
    with t.no_grad():
        shape = t.normal(x, 1.0).shape
    return shape, _said(lambda: t.normal(x, 1.0)), t.normal(x.real, 1.0).requires_grad


@case
def product_of_a_complex_scalar(t: Any) -> Any:
    x = t.ones(2, dtype=t.complex64)
    return _said(lambda: t.autograd.functional.vjp(lambda y: (y * y).sum(), x)), t.autograd.functional.vjp(
        lambda y: (y * y.conj()).real.sum(), x
    )


@case
def moments_under_vmap_of_what_is_the_same_for_all(t: Any) -> Any:
    norm, x = t.nn.BatchNorm1d(1), t.tensor([[0.4], [0.8], [1.2]])
    out = t.func.vmap(lambda w: t.func.functional_call(norm, {"weight": w}, x))(t.ones(2, 1))
    return out, norm.running_mean, norm.running_var


# -- what is overwritten is saved as it was, also where hooks pack it


_OVERWRITING: dict[str, tuple[Any, ...]] = {
    "abs_": (), "cos_": (), "digamma_": (), "erf_": (), "log_": (), "log1p_": (), "sin_": (), "square_": (),
    "atan2_": ("y",), "clamp_": ("y", "y"), "div_": ("y",), "float_power_": (2.0,), "hypot_": ("y",), "lerp_": ("y", "y"),
    "mul_": ("y",), "pow_": (2.0,), "xlogy_": ("y",), "addmv_": ("m", "y"), "cumprod_": (0,), "fmod_": ("y",), "__imul__": ("y",),
    "index_reduce_": (0, "i", "y", "prod"), "__ipow__": ("y",), "masked_fill_": ("b", 0.5),
}  # fmt: skip
for _name in _OVERWRITING:
    for _way in ("hooks", "checkpoint", "view"):

        def _overwritten(t: Any, name: str = _name, way: str = _way) -> Any:
            x, y = (t.tensor(v, requires_grad=True) for v in ([0.4, 0.6, 0.8], [0.3, 0.5, 0.45]))

            def f(x: Any, y: Any) -> Any:
                given = {"y": y, "m": y.outer(y), "i": t.tensor([0, 1, 0]), "b": t.tensor([True, False, True])}
                z = (x * 1).to(t.float64) if name == "float_power_" else x * 1
                getattr(z.view(3) if way == "view" else z, name)(*[given.get(a, a) for a in _OVERWRITING[name]])
                return (z * z * x).sum()

            if way in ("checkpoint", "view"):
                out = checkpoints(t).checkpoint(f, x, y, use_reentrant=False)
            else:
                with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
                    out = f(x, y)
            out.backward()
            return x.grad, y.grad

        SAMPLES[f"{_name}_saved_{_way}"] = _overwritten


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    SAMPLES.check(name)
