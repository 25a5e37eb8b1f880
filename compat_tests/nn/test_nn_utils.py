"""`torch.nn.utils` against PyTorch: parametrizations, weight and spectral normalisation, pruning, fusion, skip_init."""

from __future__ import annotations

from typing import Any

import pytest

from module_kit import check, lines, parity
from parity import parity_test


def batch(torch: Any, *shape: int) -> Any:
    torch.manual_seed(3)
    return torch.randn(*shape)


NORMALISED = {
    "weight": lambda torch, u: u.parametrizations.weight_norm(torch.nn.Linear(5, 3)),
    "weight-conv": lambda torch, u: u.parametrizations.weight_norm(torch.nn.Conv1d(4, 3, 2), dim=1),
    "weight-whole": lambda torch, u: u.parametrizations.weight_norm(torch.nn.Linear(5, 3), dim=None),
    "spectral": lambda torch, u: u.parametrizations.spectral_norm(torch.nn.Linear(5, 3)),
    "spectral-conv": lambda torch, u: u.parametrizations.spectral_norm(
        torch.nn.ConvTranspose1d(4, 3, 2), n_power_iterations=2
    ),
    "orthogonal": lambda torch, u: u.parametrizations.orthogonal(torch.nn.Linear(4, 4)),
    "orthogonal-tall": lambda torch, u: u.parametrizations.orthogonal(torch.nn.Linear(5, 3), orthogonal_map="cayley"),
    "orthogonal-wide": lambda torch, u: u.parametrizations.orthogonal(torch.nn.Linear(3, 5)),
    "householder": lambda torch, u: u.parametrizations.orthogonal(torch.nn.Linear(5, 3), use_trivialization=False),
    "old-weight": lambda torch, u: u.weight_norm(torch.nn.Linear(5, 3)),
    "old-spectral": lambda torch, u: u.spectral_norm(torch.nn.Conv1d(4, 3, 2)),
}


@pytest.mark.parametrize("name", list(NORMALISED))
@parity_test
def test_training(torch: Any, name: str) -> Any:
    torch.manual_seed(0)
    m = NORMALISED[name](torch, torch.nn.utils)
    start = {k: v.clone() for k, v in m.state_dict().items()}
    conv = isinstance(m, torch.nn.Conv1d | torch.nn.ConvTranspose1d)
    x = batch(torch, 2, 4, 5) if conv else batch(torch, 2, m.in_features)
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    outs = []
    for _ in range(3):
        optimizer.zero_grad()
        out = m(x)
        (out * out).sum().backward()
        optimizer.step()
        outs.append(out.detach())
    m.eval()
    end = dict(m.state_dict())
    grads = {k: p.grad for k, p in m.named_parameters()}
    plain = [{k: (v.shape, v.flatten()) for k, v in tensors.items()} for tensors in (start, end, grads)]
    return [plain, outs, m(x).detach(), m.weight.detach().flatten()]


PREPARE = "; ".join(
    [
        "nn = torch.nn",
        "u = nn.utils",
        "P = u.parametrize",
        "Z = u.parametrizations",
        "import pickle, importlib",
        "pr = importlib.import_module(u.__name__ + '.prune')",
        "L = lambda *s: nn.Linear(*(s or (3, 2)))",
        "R = P.register_parametrization",
        "Sym = type('Sym', (nn.Module,), dict(forward=lambda s, X: X.triu() + X.triu(1).mT, right_inverse=lambda s, A: A.triu()))",
        "Bad = type('Bad', (nn.Module,), dict(forward=lambda s, X: X[0]))",
        "NoInv = type('NoInv', (nn.Module,), dict(forward=lambda s, X: X * 2))",
        "Two = type('Two', (nn.Module,), dict(forward=lambda s, a, b: a + b, right_inverse=lambda s, x: (x * .5, x * .5)))",
        "Dt = type('Dt', (nn.Module,), dict(forward=lambda s, X: X.double()))",
        "held = lambda m: (m, list(m.state_dict()), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()])",
        "q = L(3, 3)",
    ]
)
PARAMETRIZE = lines("""
    held(R(q, 'weight', Sym())), q.weight
    R(q, 'weight', Sym()); held(R(q, 'weight', NoInv()))
    held(R(q, 'weight', Two())), q.parametrizations.weight.original0.requires_grad
    R(q, 'weight', Bad())
    R(q, 'weight', Dt())
    held(R(q, 'weight', Dt(), unsafe=True)), q.weight.dtype
    R(q, 'weight', Sym()); R(q, 'weight', Bad())
    R(q, 'foo', Sym())
    R(q, 'weight', Sym()); P.remove_parametrizations(q, 'weight'); held(q), q.weight, type(q).__name__
    R(q, 'weight', Sym()); P.remove_parametrizations(q, 'weight', leave_parametrized=False); q.weight
    R(q, 'weight', Two()); held(P.remove_parametrizations(q, 'weight'))
    R(q, 'weight', Two()); P.remove_parametrizations(q, 'weight', leave_parametrized=False)
    P.remove_parametrizations(q, 'weight')
    R(q, 'weight', Sym()); q.weight = torch.ones(3, 3); q.weight, q.parametrizations.weight.original
    R(q, 'weight', NoInv()); q.weight = torch.ones(3, 3)
    R(q, 'weight', Sym()); a = q.weight is q.weight; c = P.cached(); c.__enter__(); b = q.weight is q.weight; c.__exit__(None, None,
      None); a, b, q.weight is q.weight
    R(q, 'weight', Sym()); P.is_parametrized(q), P.is_parametrized(q, 'bias'), P.type_before_parametrizations(q).__name__
    R(q, 'weight', Sym()); c = copy.deepcopy(q); held(c), torch.equal(c.weight, q.weight), isinstance(c, nn.Linear)
    R(q, 'weight', Sym()); pickle.dumps(q)
    R(q, 'weight', Sym()); n = L(3, 3); held(P.transfer_parametrizations_and_params(q, n)), torch.equal(n.weight, q.weight)
    R(q, 'weight', Sym()); n = R(L(3, 3), 'weight', Sym()); n.load_state_dict(q.state_dict()), torch.equal(n.weight, q.weight)
    held(R(nn.BatchNorm1d(2), 'running_mean', NoInv()))
    P.ParametrizationList([], q.weight)
    o = q.weight; R(q, 'weight', Sym()); o is q.parametrizations.weight.original
""")
NORMS = lines("""
    held(u.weight_norm(L())), held(u.remove_weight_norm(u.weight_norm(L())))
    u.weight_norm(u.weight_norm(L()))
    u.remove_weight_norm(L())
    u.weight_norm(L(), 'foo')
    u.weight_norm(L(), dim=None).weight_g, u.weight_norm(L(), dim=1).weight_g.shape
    held(u.spectral_norm(L())), u.spectral_norm(L()).state_dict()._metadata, held(u.remove_spectral_norm(u.spectral_norm(L())))
    u.spectral_norm(L(), n_power_iterations=0)
    u.spectral_norm(u.spectral_norm(L()))
    u.remove_spectral_norm(L())
    m = u.spectral_norm(L()); n = u.spectral_norm(L()); n.load_state_dict(m.state_dict()); n(torch.ones(1, 3)), m(torch.ones(1, 3))
    held(Z.weight_norm(L())), held(Z.spectral_norm(L())), held(Z.orthogonal(L(4, 4)))
    Z.orthogonal(L(), 'foo')
    Z.orthogonal(L(), orthogonal_map='foo')
    Z.orthogonal(L(), 'bias')
    Z.spectral_norm(L(), n_power_iterations=0)
    m = Z.weight_norm(L()); old = u.weight_norm(L()); m.load_state_dict(old.state_dict()), torch.allclose(m.weight, old.weight)
    w = Z.orthogonal(L(5, 3)).weight; torch.allclose(w @ w.T, torch.eye(3), atol=1e-5)
    m = Z.orthogonal(L(4, 4)); m.weight = torch.eye(4); m.weight
    torch.norm_except_dim(torch.ones(3, 2, 4), 2, 1), torch.norm_except_dim(torch.ones(3, 2, 4), 2, -1)
    torch._weight_norm(torch.ones(3, 2, requires_grad=True), torch.ones(3, 1), 0)
""")
PRUNE = lines("""
    held(pr.identity(q, 'weight')), pr.is_pruned(q), q.weight_mask
    pr.random_unstructured(q, 'weight', .5); q.weight, q.weight_mask
    pr.l1_unstructured(q, 'weight', 4); q.weight, q.weight.grad_fn, q.weight_orig
    pr.random_structured(q, 'weight', 1, 0); q.weight
    pr.ln_structured(q, 'weight', .34, 2, -1); q.weight
    pr.l1_unstructured(q, 'weight', 2); pr.ln_structured(q, 'weight', 1, 1, 0); q.weight, len(list(q._forward_pre_hooks.values())[0])
    pr.l1_unstructured(q, 'weight', 2); pr.random_unstructured(q, 'weight', 2); q.weight_mask
    pr.l1_unstructured(q, 'bias', 1, importance_scores=torch.tensor([3., 1., 2.])); q.bias
    pr.custom_from_mask(q, 'weight', torch.eye(3)); q.weight, q(torch.ones(1, 3))
    n = L(3, 3); pr.global_unstructured([(q, 'weight'), (n, 'weight')], pr.L1Unstructured, amount=9); q.weight, n.weight_mask
    pr.l1_unstructured(q, 'weight', 4); pr.remove(q, 'weight'); held(q), q.weight, pr.is_pruned(q)
    pr.l1_unstructured(q, 'weight', 4); q(torch.ones(1, 3)).sum().backward(); q.weight_orig.grad
    pr.L1Unstructured(2).prune(torch.tensor([3., 1., -2., 4.]))
    pr.l1_unstructured(q, 'weight', 100)
    pr.l1_unstructured(q, 'weight', 1.5)
    pr.l1_unstructured(q, 'weight', 'a')
    pr.ln_structured(q, 'bias', 1, 2, 0)
    pr.ln_structured(q, 'weight', 1, 2, 5)
    pr.remove(q, 'weight')
    pr.global_unstructured(3, pr.L1Unstructured, amount=1)
    pr.custom_from_mask(q, 'weight', torch.eye(2))
""")
REST = lines("""
    torch.manual_seed(5); a = torch.rand(1); torch.manual_seed(5); m = u.skip_init(nn.Linear, 3, 2); m, torch.equal(a, torch.rand(1))
    u.skip_init(nn.Sequential)
    u.skip_init(int)
    u.stateless.functional_call(q, {'weight': torch.ones(3, 3), 'bias': torch.zeros(3)}, (torch.ones(1, 3),))
    u.stateless._functional_call(q, {'weight': torch.ones(3, 3)}, (torch.ones(1, 3),))
    given = {'weight': torch.ones(3, 3), 'bias': torch.zeros(3)}; w = q.weight; c = u.stateless._reparametrize_module(q,
      given); c.__enter__(); y = q(torch.ones(1, 3)); q.bias = None; c.__exit__(None, None, None); y, q.weight is w, q.bias, given
    c = nn.Conv2d(2, 3, 2).eval(); b = nn.BatchNorm2d(3).eval(); b.running_mean.add_(.5); b.running_var.mul_(2); x = torch.ones(1, 2,
      3, 3); f = u.fuse_conv_bn_eval(c, b); f, torch.allclose(f(x), b(c(x)), atol=1e-6), f.weight
    c = nn.ConvTranspose2d(2, 3, 2, bias=False).eval(); b = nn.BatchNorm2d(3).eval(); b.running_mean.add_(.5); x = torch.ones(1, 2, 3,
      3); f = u.fuse_conv_bn_eval(c, b, transpose=True); f.bias, torch.allclose(f(x), b(c(x)), atol=1e-6)
    b = nn.BatchNorm1d(3).eval(); b.running_mean.add_(.5); f = u.fuse_linear_bn_eval(q.eval(), b); f.bias, f.weight
    u.fuse_linear_bn_eval(q, nn.BatchNorm1d(3))
    u.fuse_linear_bn_eval(q.eval(), nn.BatchNorm1d(2).eval())
    u.convert_conv2d_weight_memory_format(nn.Sequential(nn.Conv2d(2, 3, 2)), torch.channels_last)[0].weight.stride()
    from_ = u.clip_grad_norm; p = nn.Parameter(torch.ones(2)); p.grad = torch.ones(2) * 3; from_([p], 1.), p.grad
    importlib.import_module(u.__name__ + '.weight_norm').WeightNorm.__name__, callable(u.weight_norm)
""")


@parity(PREPARE, parametrize=PARAMETRIZE, norms=NORMS, prune=PRUNE, rest=REST)
def test_texts_and_errors(case: str) -> None:
    check(case)
