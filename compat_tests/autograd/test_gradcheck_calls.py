"""How often `gradcheck` calls a function, and what tangents there are: of `linearize`, of draws, of a Function in a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

from parity import candidate, reference
from transform_kit import Table, checkpoints

SAMPLES = Table()
case = SAMPLES.case


def _said(f: Any) -> Any:
    try:
        return f()
    except Exception as error:
        return type(error).__name__, str(error)[:40]


@pytest.mark.parametrize("second", [False, True], ids=["gradcheck", "gradgradcheck"])
@pytest.mark.parametrize(
    "asked", ["", "check_forward_ad check_batched_forward_grad", "check_batched_grad", "-check_undefined_grad"]
)
@pytest.mark.parametrize("outputs", ["one", "two", "none"])
def test_gradcheck_calls_as_often_as_in_pytorch(outputs: str, asked: str, second: bool) -> None:
    """What the function counts, or keeps of its calls, is the same afterwards, and whether the arguments required gradients."""
    if outputs == "none" and (second or "forward" in asked):
        outputs = "two"
    if second and "forward" in asked:
        asked = "check_fwd_over_rev"
    options = {word.lstrip("-"): not word.startswith("-") for word in asked.split()}

    def of(t: Any) -> Any:
        calls: list[Any] = []

        def f(x: Any, y: Any) -> Any:
            calls.append((x.requires_grad, y.requires_grad))
            out = x * y.sum()
            return {"one": out, "two": (out, x.sin()), "none": (x * 0).detach()}[outputs]

        x, y = (t.tensor(n, dtype=t.float64, requires_grad=True) for n in ([0.3, 0.5], [0.7]))
        return getattr(t.autograd, "gradgradcheck" if second else "gradcheck")(f, (x, y), **options), calls

    Table({"case": of}).check("case")


@case
def gradcheck_by_tangents_alone(t: Any) -> Any:
    x = t.ones(2, dtype=t.float64, requires_grad=True)
    return _said(
        lambda: t.autograd.gradcheck(lambda x: x.detach() * 2, x, check_forward_ad=True, check_backward_ad=False)
    )


@case
def linearize_of_whole_numbers(t: Any) -> Any:
    return _said(lambda: t.func.linearize(lambda x: 2.0, t.ones(2, dtype=t.int64)))


def test_linearize_is_at_the_argument_as_it_was() -> None:
    """PyTorch computes it where the function's writing left the argument, several times."""

    def f(x: Any) -> Any:
        x.mul_(2)
        return x * x

    t = candidate()
    x = t.tensor([0.4, 1.0])
    out, along = t.func.linearize(f, x)
    y = reference().tensor([0.4, 1.0])
    expected, tangent = reference().func.jvp(f, (y,), (reference().ones(2),))
    assert (out.tolist(), along(t.ones(2)).tolist()) == (expected.tolist(), tangent.tolist())
    assert x.tolist() == y.tolist()


for _drawn in ("_standard_gamma", "_sample_dirichlet"):

    def _tangent_of_draws(t: Any, name: str = _drawn) -> Any:
        fw = t.autograd.forward_ad
        with fw.dual_level():
            return fw.unpack_dual(getattr(t, name)(fw.make_dual(t.ones(2), t.ones(2)))).tangent

    SAMPLES[f"tangent_of_{_drawn}"] = _tangent_of_draws


@case
def nested_tangents_of_a_function_in_a_checkpoint(t: Any) -> Any:
    """PyTorch's second tangents of a Function are 0; here only that there are some."""

    class Cube(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    def f(x: Any) -> Any:
        return t.func.jacfwd(t.func.jacfwd(Cube.apply))(x)

    return checkpoints(t).checkpoint(f, t.ones(2), use_reentrant=False).shape


@case
def jacobian_of_an_empty_view_made_under_no_grad(t: Any) -> Any:
    return _said(lambda: t.func.jacrev(lambda x: t.no_grad()(lambda y: y[:1])(x))(t.ones(0)))


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    SAMPLES.check(name)
