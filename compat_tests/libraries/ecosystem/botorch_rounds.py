"""botorch: a Gaussian process fitted, analytic and Monte Carlo acquisition functions, optimised, several rounds."""

import warnings

import torch
from botorch.acquisition import ExpectedImprovement, LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def target(x):
    return torch.sin(3 * x[..., :1]) + x[..., 1:] ** 2 - x[..., :1] * 0.5


X = torch.rand(8, 2)
Y = target(X)
for turn in range(2):
    gp = SingleTaskGP(X, Y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    mll = ExactMarginalLogLikelihood(gp.likelihood, gp)
    fit_gpytorch_mll(mll)
    gp.eval()
    posterior = gp.posterior(torch.tensor([[0.2, 0.3], [0.7, 0.1]]))
    print(turn, posterior.mean.flatten().tolist(), posterior.variance.flatten().tolist())
    test = torch.tensor([[[0.5, 0.5]], [[0.1, 0.9]]])
    for f in (
        ExpectedImprovement(gp, Y.max()),
        LogExpectedImprovement(gp, Y.max()),
        UpperConfidenceBound(gp, beta=0.2),
    ):
        print(type(f).__name__, f(test).tolist())
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=1)
    f = qExpectedImprovement(gp, Y.max(), sampler=sampler)
    print(f(test.expand(2, 2, 2)).tolist())
    candidate, value = optimize_acqf(
        LogExpectedImprovement(gp, Y.max()),
        bounds=torch.stack([torch.zeros(2), torch.ones(2)]),
        q=1,
        num_restarts=2,
        raw_samples=16,
        options={"seed": 1},
    )
    print(candidate.flatten().tolist(), value.item())
    X = torch.cat([X, candidate])
    Y = torch.cat([Y, target(candidate)])
print(Y.max().item())
