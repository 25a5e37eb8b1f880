"""`torch.distributions`: probability distributions, their transforms, and divergences."""

from __future__ import annotations

from . import _kl_more as _kl_more
from . import constraints, transforms
from ._continuous.beta import Beta
from ._continuous.cauchy import Cauchy
from ._continuous.chi2 import Chi2
from ._continuous.continuous_bernoulli import ContinuousBernoulli
from ._continuous.dirichlet import Dirichlet
from ._continuous.exponential import Exponential
from ._continuous.fishersnedecor import FisherSnedecor
from ._continuous.gamma import Gamma
from ._continuous.generalized_pareto import GeneralizedPareto
from ._continuous.gumbel import Gumbel
from ._continuous.half_cauchy import HalfCauchy
from ._continuous.half_normal import HalfNormal
from ._continuous.inverse_gamma import InverseGamma
from ._continuous.kumaraswamy import Kumaraswamy
from ._continuous.laplace import Laplace
from ._continuous.log_normal import LogNormal
from ._continuous.normal import Normal
from ._continuous.pareto import Pareto
from ._continuous.relaxed_bernoulli import RelaxedBernoulli
from ._continuous.studentT import StudentT
from ._continuous.uniform import Uniform
from ._continuous.von_mises import VonMises
from ._continuous.weibull import Weibull
from ._discrete.bernoulli import Bernoulli
from ._discrete.binomial import Binomial
from ._discrete.categorical import Categorical
from ._discrete.geometric import Geometric
from ._discrete.multinomial import Multinomial
from ._discrete.negative_binomial import NegativeBinomial
from ._discrete.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from ._discrete.poisson import Poisson
from ._multivariate.lkj_cholesky import LKJCholesky
from ._multivariate.logistic_normal import LogisticNormal
from ._multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal
from ._multivariate.multivariate_normal import MultivariateNormal
from ._multivariate.relaxed_categorical import RelaxedOneHotCategorical
from ._multivariate.wishart import Wishart
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .transformed_distribution import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]  # fmt: skip
