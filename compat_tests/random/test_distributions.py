"""`torch.distributions`: PyTorch's numbers for samples, densities, moments, divergences; its texts and errors."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

from parity import attempt, candidate, differences, outcome


def module(torch: Any) -> Any:
    return importlib.import_module(torch.__name__ + ".distributions")


def _pos(t: Any, *shape: int) -> Any:
    n = 1
    for s in shape:
        n *= s
    return t.linspace(0.4, 2.5, n).reshape(shape)


def _real(t: Any, *shape: int) -> Any:
    return _pos(t, *shape) - 1.3


def _tril(t: Any, n: int) -> Any:
    return (_real(t, n, n).tril(-1) + t.eye(n)) * 1.5


Make = Callable[[Any, Any], Any]
CASES: dict[str, Make] = {
    "Normal": lambda t, d: d.Normal(_real(t, 3), _pos(t, 2, 3)),
    "Normal numbers": lambda t, d: d.Normal(0, 1.5),
    "Uniform": lambda t, d: d.Uniform(_real(t, 3), _real(t, 3) + 1.5),
    "Exponential": lambda t, d: d.Exponential(_pos(t, 3)),
    "Gamma": lambda t, d: d.Gamma(_pos(t, 3), _pos(t, 2, 3)),
    "Chi2": lambda t, d: d.Chi2(_pos(t, 3) * 2),
    "Beta": lambda t, d: d.Beta(_pos(t, 3), _pos(t, 3) + 0.3),
    "Dirichlet": lambda t, d: d.Dirichlet(_pos(t, 2, 3)),
    "Cauchy": lambda t, d: d.Cauchy(_real(t, 3), _pos(t, 3)),
    "Laplace": lambda t, d: d.Laplace(_real(t, 3), _pos(t, 3)),
    "Poisson": lambda t, d: d.Poisson(_pos(t, 3) * 3),
    "Bernoulli": lambda t, d: d.Bernoulli(t.tensor([0.1, 0.5, 0.9])),
    "Bernoulli logits": lambda t, d: d.Bernoulli(logits=_real(t, 3)),
    "Geometric": lambda t, d: d.Geometric(t.tensor([0.1, 0.5, 0.9])),
    "Categorical": lambda t, d: d.Categorical(_pos(t, 2, 4)),
    "Categorical logits": lambda t, d: d.Categorical(logits=_real(t, 2, 4)),
    "OneHotCategorical": lambda t, d: d.OneHotCategorical(_pos(t, 2, 4)),
    "OneHotCategoricalStraightThrough": lambda t, d: d.OneHotCategoricalStraightThrough(logits=_real(t, 2, 4)),
    "Binomial": lambda t, d: d.Binomial(5, t.tensor([0.1, 0.5, 0.8])),
    "NegativeBinomial": lambda t, d: d.NegativeBinomial(t.tensor([2.0, 5.0, 3.0]), t.tensor([0.1, 0.5, 0.8])),
    "Multinomial": lambda t, d: d.Multinomial(6, _pos(t, 2, 4)),
    "StudentT": lambda t, d: d.StudentT(_pos(t, 3) * 3, _real(t, 3), _pos(t, 3)),
    "FisherSnedecor": lambda t, d: d.FisherSnedecor(_pos(t, 3) * 3, _pos(t, 3) * 5),
    "LogNormal": lambda t, d: d.LogNormal(_real(t, 3), _pos(t, 3)),
    "LogisticNormal": lambda t, d: d.LogisticNormal(_real(t, 2, 3), _pos(t, 2, 3)),
    "HalfNormal": lambda t, d: d.HalfNormal(_pos(t, 3)),
    "HalfCauchy": lambda t, d: d.HalfCauchy(_pos(t, 3)),
    "InverseGamma": lambda t, d: d.InverseGamma(_pos(t, 3) + 1, _pos(t, 3)),
    "Gumbel": lambda t, d: d.Gumbel(_real(t, 3), _pos(t, 3)),
    "Pareto": lambda t, d: d.Pareto(_pos(t, 3), _pos(t, 3) + 1),
    "Weibull": lambda t, d: d.Weibull(_pos(t, 3), _pos(t, 3) + 1),
    "Kumaraswamy": lambda t, d: d.Kumaraswamy(_pos(t, 3), _pos(t, 3) + 1),
    "MultivariateNormal": lambda t, d: d.MultivariateNormal(_real(t, 2, 3), scale_tril=_tril(t, 3)),
    "MultivariateNormal covariance": lambda t, d: d.MultivariateNormal(_real(t, 3), _tril(t, 3) @ _tril(t, 3).mT),
    "LowRankMultivariateNormal": lambda t, d: d.LowRankMultivariateNormal(_real(t, 3), _real(t, 3, 2), _pos(t, 3)),
    "MixtureSameFamily": lambda t, d: d.MixtureSameFamily(
        d.Categorical(_pos(t, 2, 3)), d.Normal(_real(t, 2, 3), _pos(t, 2, 3))
    ),
    "MixtureSameFamily vectors": lambda t, d: d.MixtureSameFamily(
        d.Categorical(_pos(t, 3)), d.Independent(d.Normal(_real(t, 3, 2), _pos(t, 3, 2)), 1)
    ),
    "Wishart covariance": lambda t, d: d.Wishart(5, _tril(t, 3) @ _tril(t, 3).mT),
    "RelaxedBernoulli": lambda t, d: d.RelaxedBernoulli(t.tensor(0.7), t.tensor([0.1, 0.5, 0.9])),
    "RelaxedOneHotCategorical": lambda t, d: d.RelaxedOneHotCategorical(t.tensor(0.7), _pos(t, 2, 4)),
    "Independent": lambda t, d: d.Independent(d.Normal(_real(t, 2, 3), _pos(t, 2, 3)), 1),
    "VonMises": lambda t, d: d.VonMises(_real(t, 3), _pos(t, 2, 3)),
    "VonMises wide": lambda t, d: d.VonMises(0.5, 1e-6),
    "LKJCholesky": lambda t, d: d.LKJCholesky(3, 1.5),
    "LKJCholesky batch": lambda t, d: d.LKJCholesky(2, _pos(t, 2)),
    "GeneralizedPareto": lambda t, d: d.GeneralizedPareto(0.5, _pos(t, 5), t.tensor([0.0, -0.5, 0.3, 0.6, 1.2])),
    "ContinuousBernoulli": lambda t, d: d.ContinuousBernoulli(t.tensor([0.1, 0.4995, 0.5, 0.8])),
    "ContinuousBernoulli logits": lambda t, d: d.ContinuousBernoulli(logits=_real(t, 3)),
    "Wishart": lambda t, d: d.Wishart(t.tensor([3.0, 4.5]), _tril(t, 2) @ _tril(t, 2).mT),
    "Wishart factor": lambda t, d: d.Wishart(4.0, scale_tril=_tril(t, 3)),
    "Wishart precision": lambda t, d: d.Wishart(4.0, precision_matrix=_tril(t, 2) @ _tril(t, 2).mT),
    "TransformedDistribution": lambda t, d: d.TransformedDistribution(
        d.Normal(_real(t, 3), _pos(t, 3)), [d.TanhTransform(), d.AffineTransform(1.0, 2.0)]
    ),
    "TransformedDistribution composed": lambda t, d: d.TransformedDistribution(
        d.Independent(d.Uniform(t.zeros(4), t.ones(4)), 1),
        [d.SigmoidTransform().inv, d.ReshapeTransform((4,), (2, 2)), d.IndependentTransform(d.ExpTransform(), 2)],
    ),
}  # fmt: skip


def check(body: Any, scale: float = 30) -> None:
    want, got = outcome(reference, body), outcome(candidate(), body)
    found = [d for d in differences(want, got, scale=scale, strides=False) if ".grad_fn" not in d]
    assert not found, "\n".join(found[:10])


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str):
    """Samples with PyTorch's own numbers, and every function of them."""

    def body(torch: Any) -> Any:
        d = module(torch)
        p = CASES[name](torch, d)
        seen: dict[str, Any] = {"shapes": (tuple(p.batch_shape), tuple(p.event_shape)), "text": repr(p)}
        torch.manual_seed(3)
        x = seen["sample"] = p.sample((4,))
        if p.has_rsample:
            torch.manual_seed(5)
            seen["rsample"] = p.rsample((2, 2)).detach()
        seen["log_prob"] = p.log_prob(x)
        for what in ("mean", "variance", "stddev", "mode", "support"):
            found = attempt(lambda: getattr(p, what))  # noqa: B023
            seen[what] = repr(found) if what == "support" else found
        for what in ("entropy", "enumerate_support", "perplexity"):
            seen[what] = attempt(getattr(p, what))
        seen["cdf"] = attempt(lambda: p.cdf(x))
        u = torch.full(tuple(x.shape), 0.3)
        seen["icdf"] = attempt(lambda: p.icdf(u))
        seen["flags"] = p.has_rsample, p.has_enumerate_support
        wide = p.expand((5, *p.batch_shape))
        torch.manual_seed(7)
        seen["expanded"] = (tuple(wide.batch_shape), wide.sample(), wide.log_prob(x[0]))
        return seen

    check(body)


@pytest.mark.parametrize(
    "name",
    [
        "Normal",
        "Gamma",
        "Laplace",
        "StudentT",
        "LogNormal",
        "MultivariateNormal",
        "Gumbel",
        "Weibull",
        "ContinuousBernoulli",
    ],
)
def test_gradients(name: str):
    def body(torch: Any) -> Any:
        d = module(torch)
        given = [_pos(torch, 3).requires_grad_() for _ in range(3)]
        made = {
            "MultivariateNormal": lambda: d.MultivariateNormal(given[0], scale_tril=given[1].diag()),
            "StudentT": lambda: d.StudentT(*given),
        }.get(name, lambda: getattr(d, name)(*given[:2]))()
        torch.manual_seed(1)
        x = made.rsample((3,))
        return torch.autograd.grad((x * x).sum() + made.log_prob(x.detach()).sum(), given, allow_unused=True)

    check(body, 100)


PAIRS = [
    ("Bernoulli", "Bernoulli logits"), ("Beta", "Beta"), ("Binomial", "Binomial"), ("Categorical", "Categorical logits"),
    ("OneHotCategorical", "OneHotCategorical"), ("Dirichlet", "Dirichlet"), ("Exponential", "Exponential"), ("Gamma", "Gamma"),
    ("Gumbel", "Gumbel"), ("Geometric", "Geometric"), ("HalfNormal", "HalfNormal"), ("Laplace", "Laplace"), ("Chi2", "Gamma"),
    ("MultivariateNormal", "MultivariateNormal covariance"), ("Normal", "Normal numbers"), ("Pareto", "Pareto"),
    ("Poisson", "Poisson"), ("LogNormal", "LogNormal"), ("Uniform", "Uniform"), ("Exponential", "Gamma"),
    ("Gamma", "Exponential"), ("Exponential", "Normal"), ("Gamma", "Normal"), ("Laplace", "Normal"), ("Normal", "Gumbel"),
    ("Normal", "Laplace"), ("Uniform", "Normal"), ("Uniform", "Exponential"), ("Cauchy", "Cauchy"), ("Independent", "Independent"),
    ("Normal", "Uniform"), ("Normal", "Categorical"), ("TransformedDistribution", "TransformedDistribution"),
]  # fmt: skip


MORE_PAIRS = [
    ("ContinuousBernoulli", "ContinuousBernoulli logits"), ("ContinuousBernoulli", "Exponential"),
    ("ContinuousBernoulli", "Normal"), ("ContinuousBernoulli", "Uniform wide"), ("ContinuousBernoulli", "Uniform"),
    ("ContinuousBernoulli", "Pareto"), ("Beta", "ContinuousBernoulli"), ("Beta", "Exponential"), ("Beta", "Gamma"),
    ("Beta", "Normal"), ("Beta", "Uniform wide"), ("Beta", "Uniform"), ("Beta", "Pareto"), ("Bernoulli", "Poisson"),
    ("Exponential", "Gumbel"), ("Exponential", "ContinuousBernoulli"), ("Gamma", "Gumbel"), ("Gumbel", "Normal"),
    ("Gumbel", "Beta"), ("Pareto", "Exponential"), ("Pareto", "Gamma flat"), ("Pareto", "Normal flat"), ("Pareto", "Uniform"),
    ("Uniform unit", "Beta"), ("Uniform wide", "Beta"), ("Uniform unit", "ContinuousBernoulli"),
    ("Uniform inside", "ContinuousBernoulli"),
    ("Uniform unit", "Gamma flat"),
    ("Uniform", "Gumbel"), ("Uniform high", "Pareto"), ("Uniform", "Pareto"),
    ("LowRankMultivariateNormal", "LowRankMultivariateNormal"), ("LowRankMultivariateNormal", "MultivariateNormal covariance"),
    ("MultivariateNormal covariance", "LowRankMultivariateNormal"),
]  # fmt: skip
EXTRA: dict[str, Make] = {
    "ContinuousBernoulli": lambda t, d: d.ContinuousBernoulli(t.tensor([0.1, 0.4995, 0.9])),
    "Gamma flat": lambda t, d: d.Gamma(_pos(t, 3), _pos(t, 3)),
    "Normal flat": lambda t, d: d.Normal(_real(t, 3), _pos(t, 3)),
}
RANGES = {
    "Uniform wide": (-1.0, 2.0),
    "Uniform unit": (0.0, 0.75),
    "Uniform inside": (0.1, 0.75),
    "Uniform high": (3.0, 5.0),
}


def test_more_divergences():
    """Between families, as one program: (case, case)."""

    def body(torch: Any) -> Any:
        d = module(torch)

        def made(name: str) -> Any:
            return (
                d.Uniform(*[torch.full((3,), x) for x in RANGES[name]])
                if name in RANGES
                else (CASES | EXTRA)[name](torch, d)
            )

        return [d.kl_divergence(made(p), made(q)) for p, q in MORE_PAIRS]

    check(body)


def test_every_divergence_is_registered():
    ours, theirs = ({(p.__name__, q.__name__) for p, q in module(t).kl._KL_REGISTRY} for t in (candidate(), reference))
    assert not theirs - ours


def test_wrong_arguments_of_the_rarer_families():
    bodies = [
        lambda t, d: d.LKJCholesky(1), lambda t, d: d.VonMises(t.zeros(2), -t.ones(2)), lambda t, d: d.Wishart(1, t.eye(3)),
        lambda t, d: d.Wishart(4, t.eye(3), scale_tril=t.eye(3)), lambda t, d: d.ContinuousBernoulli(),
        lambda t, d: d.GeneralizedPareto(0.0, -1.0, 0.0), lambda t, d: d.ContinuousBernoulli(t.tensor(1.5), validate_args=True),
        lambda t, d: d.GeneralizedPareto(0.0, 1.0, -0.5).log_prob(t.tensor(3.0)),
    ]  # fmt: skip
    for body in bodies:
        check(lambda t, body=body: body(t, module(t)))


@pytest.mark.parametrize("p, q", PAIRS)
def test_divergences(p: str, q: str):
    def body(torch: Any) -> Any:
        d = module(torch)
        other = CASES[q](torch, d)
        return d.kl_divergence(CASES[p](torch, d), other)

    check(body)


TRANSFORMS: dict[str, Make] = {
    "Exp": lambda t, d: (d.ExpTransform(), _real(t, 4)),
    "Power": lambda t, d: (d.PowerTransform(t.tensor(2.0)), _pos(t, 4)),
    "Sigmoid": lambda t, d: (d.SigmoidTransform(), _real(t, 4)),
    "Tanh": lambda t, d: (d.TanhTransform(), _real(t, 4)),
    "Softplus": lambda t, d: (d.SoftplusTransform(), _real(t, 4)),
    "Abs": lambda t, d: (d.AbsTransform(), _real(t, 4)),
    "Affine": lambda t, d: (d.AffineTransform(_real(t, 4), _pos(t, 4), event_dim=1), _real(t, 2, 4)),
    "Softmax": lambda t, d: (d.SoftmaxTransform(), _real(t, 2, 4)),
    "StickBreaking": lambda t, d: (d.StickBreakingTransform(), _real(t, 2, 4)),
    "CorrCholesky": lambda t, d: (d.CorrCholeskyTransform(), _real(t, 2, 6)),
    "LowerCholesky": lambda t, d: (d.LowerCholeskyTransform(), _real(t, 2, 3, 3)),
    "PositiveDefinite": lambda t, d: (d.PositiveDefiniteTransform(), _real(t, 3, 3)),
    "Reshape": lambda t, d: (d.ReshapeTransform((4,), (2, 2)), _real(t, 3, 4)),
    "Compose": lambda t, d: (d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, -2.0)]), _real(t, 4)),
    "Cat": lambda t, d: (d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [1, 3]), _real(t, 4)),
    "Stack": lambda t, d: (d.StackTransform([d.ExpTransform(), d.TanhTransform()], 1), _real(t, 3, 2)),
    "Cumulative": lambda t, d: (d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), _real(t, 4)),
    "Cached": lambda t, d: (d.TanhTransform(cache_size=1), _real(t, 4)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str):
    def body(torch: Any) -> Any:
        transform, x = TRANSFORMS[name](torch, module(torch))
        y = transform(x)
        back = attempt(lambda: transform.inv(y))
        return (
            y, back, attempt(lambda: transform.log_abs_det_jacobian(x, y)), tuple(transform.forward_shape(x.shape)),
            tuple(transform.inverse_shape(y.shape)), transform.bijective, repr(transform), repr(transform.inv),
            repr(transform.domain), repr(transform.codomain), transform.domain.event_dim, transform == transform.inv.inv,
            transform.codomain.check(y), back is x,
        )  # fmt: skip

    check(body)


CONSTRAINTS = (
    "real positive nonnegative unit_interval simplex lower_cholesky corr_cholesky positive_definite real_vector boolean one_hot "
    "nonnegative_integer positive_integer symmetric square lower_triangular positive_semidefinite"
).split()


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name: str):
    def body(torch: Any) -> Any:
        d = module(torch)
        c = getattr(d.constraints, name)
        seen = [repr(c), c.is_discrete, c.event_dim]
        for x in (_real(torch, 2, 2), torch.eye(2), _pos(torch, 3, 3), torch.tensor([[0.2, 0.8], [1.0, 0.0]])):
            seen.append(attempt(lambda: c.check(x)))  # noqa: B023
        for registry in (d.transform_to, d.biject_to):
            transform = attempt(lambda: registry(c))  # noqa: B023
            seen.append(repr(transform) if not hasattr(transform, "kind") else transform.kind)
        return seen

    check(body)


BAD: dict[str, Make] = {
    "scale": lambda t, d: d.Normal(0.0, -1.0),
    "probs": lambda t, d: d.Bernoulli(1.5),
    "both": lambda t, d: d.Bernoulli(0.5, 0.5),
    "neither": lambda t, d: d.Categorical(),
    "value": lambda t, d: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
    "kind": lambda t, d: d.Normal(0.0, 1.0).log_prob(1.0),
    "shape": lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "event": lambda t, d: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "argument": lambda t, d: d.Normal("a", 1.0),
    "transforms": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "cache": lambda t, d: d.ExpTransform(cache_size=2),
    "mixture": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3)), d.Normal(t.zeros(2), 1.0)),
    "independent": lambda t, d: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    "unvalidated": lambda t, d: d.Normal(0.0, -1.0, validate_args=False).mean,
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name: str):
    def body(torch: Any) -> Any:
        found = attempt(lambda: BAD[name](torch, module(torch)))
        return (found.kind, found.message) if hasattr(found, "kind") else found

    check(body)


LACKING = {
    "Categorical.rsample": lambda t, d: d.Categorical(t.ones(3)).rsample(),
    "VonMises.entropy": lambda t, d: d.VonMises(t.ones(1), t.ones(1)).entropy(),
    "Transform.sign": lambda t, d: d.Transform().sign,
}


@pytest.mark.parametrize("name", LACKING)
def test_what_a_class_does_not_define_is_named(name: str):
    """PyTorch's error has no text."""
    kinds = [attempt(lambda: LACKING[name](t, module(t))) for t in (reference, candidate())]  # noqa: B023
    assert [k.kind for k in kinds] == ["NotImplementedError"] * 2
    assert kinds[1].message == f"{name} is not implemented"


def test_all_names():
    for place in ("", ".transforms", ".constraints", ".kl", ".utils", ".constraint_registry"):
        names = importlib.import_module("torch.distributions" + place).__all__
        ours = importlib.import_module("jaxtorch.distributions" + place)
        assert not [n for n in names if not hasattr(ours, n)], place


def test_public_paths():
    """Each class is found where PyTorch's is, says so, and is pickled by that path."""
    ours: Any = importlib.import_module("jaxtorch.distributions")
    classes = {n: c for n, c in vars(module(reference)).items() if isinstance(c, type)}
    assert len(classes) > 60
    for name, cls in classes.items():
        found = getattr(ours, name)
        assert found.__module__ == "jax" + cls.__module__
        home = importlib.import_module(found.__module__)
        assert (home.__name__, getattr(home, name)) == (found.__module__, found)
        assert getattr(ours, home.__name__.rpartition(".")[2]) is home
        assert pickle.loads(pickle.dumps(found)) is found
