"""pyro: variational inference of a regression and of a mixture, and HMC."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import HMC, MCMC, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoDiagonalNormal, AutoMultivariateNormal

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 2 * x + 0.5 + 0.1 * torch.randn(20)


def model(x, y=None):
    a = pyro.sample("a", dist.Normal(0.0, 2.0))
    b = pyro.sample("b", dist.Normal(0.0, 2.0))
    s = pyro.sample("s", dist.LogNormal(0.0, 0.5))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(a * x + b, s), obs=y)


for Guide in (AutoDiagonalNormal, AutoMultivariateNormal):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    guide = Guide(model)
    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    for _ in range(5):
        print(Guide.__name__, svi.step(x, y))
    print({k: v.tolist() for k, v in guide.median().items()})
print(Predictive(model, guide=guide, num_samples=7)(x)["y"].shape)


@config_enumerate
def mixture(data):
    w = pyro.sample("w", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("components", 2):
        loc = pyro.sample("loc", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        z = pyro.sample("z", dist.Categorical(w))
        pyro.sample("obs", dist.Normal(loc[z], 1.0), obs=data)


pyro.clear_param_store()
guide = AutoDelta(pyro.poutine.block(mixture, expose=["w", "loc"]))
svi = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
for _ in range(4):
    print(svi.step(data))
pyro.set_rng_seed(2)
mcmc = MCMC(
    HMC(model, step_size=0.05, num_steps=3, adapt_step_size=False), num_samples=5, warmup_steps=2, disable_progbar=True
)
mcmc.run(x, y)
print({k: v.mean().item() for k, v in mcmc.get_samples().items()})
