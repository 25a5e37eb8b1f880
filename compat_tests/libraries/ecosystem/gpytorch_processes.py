"""gpytorch: exact and variational Gaussian processes, trained and asked for their predictions."""

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 20)
y = torch.sin(x * 6) + torch.randn(20) * 0.1


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, likelihood)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item(), model.covar_module.base_kernel.lengthscale.item(), likelihood.noise.item())
model.eval(), likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    found = likelihood(model(torch.tensor([0.1, 0.55])))
    print(found.mean.tolist(), found.variance.tolist(), [v.tolist() for v in found.confidence_region()])


class Approximate(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


model = Approximate(x[::4].clone())
likelihood = gpytorch.likelihoods.GaussianLikelihood()
objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
model.train()
for _ in range(3):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
model.eval()
print(model(torch.tensor([0.3])).mean.item())
