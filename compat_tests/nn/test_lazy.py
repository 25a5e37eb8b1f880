"""Lazy modules against PyTorch: what they are before and after their first input, and the states they load."""

from __future__ import annotations

from module_kit import check, lines, parity

PREPARE = (
    "nn = torch.nn; x = torch.ones(4, 3, 5, 5); import pickle; "
    "show = lambda m: (m, type(m).__name__, list(m.state_dict()), [tuple(p.shape) for p in m.parameters()]); "
    "called = lambda m, *a: (show(m)[0].__repr__(), tuple(m(*a).shape), show(m)); filled = nn.LazyLinear(3); "
    "filled(torch.ones(2, 5))"
)
CASES = lines("""
    nn.LazyLinear(3), nn.LazyLinear(3, bias=False).state_dict(), nn.LazyLinear(3).has_uninitialized_params()
    called(nn.LazyLinear(3), x), called(nn.LazyLinear(3, bias=False), x)
    m = nn.LazyLinear(3); m(x); m.weight, m.bias
    called(nn.LazyConv1d(4, 2), x[0]), called(nn.LazyConv2d(4, 3, padding=1, padding_mode='circular'), x[0])
    called(nn.LazyConv2d(6, 3, groups=3), x), called(nn.LazyConv3d(4, 3, bias=False), x)
    nn.LazyConv2d(4, 3, groups=2)(x)
    nn.LazyConv2d(4, 3)(x[0, 0])
    called(nn.LazyConvTranspose1d(4, 2), x[0]), called(nn.LazyConvTranspose2d(4, 3), x), called(nn.LazyConvTranspose3d(2, 2), x)
    called(nn.LazyBatchNorm1d(), x[0]), called(nn.LazyBatchNorm2d(affine=False), x)
    called(nn.LazyBatchNorm3d(track_running_stats=False), x[None])
    nn.LazyBatchNorm1d()(x)
    called(nn.LazyInstanceNorm1d(), x[0]), called(nn.LazyInstanceNorm2d(affine=False), x), called(nn.LazyInstanceNorm3d(), x[None])
    called(nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2)), x)
    m = nn.LazyLinear(3); m.load_state_dict(filled.state_dict()); m, called(m, torch.ones(2, 5))
    m = nn.LazyLinear(3); m.load_state_dict(filled.state_dict()); m(torch.ones(2, 4))
    m = nn.LazyLinear(3); m.load_state_dict(nn.LazyLinear(3).state_dict()); m
    filled.load_state_dict(nn.LazyLinear(3).state_dict())
    called(copy.deepcopy(nn.LazyLinear(3)), x), called(pickle.loads(pickle.dumps(nn.LazyLinear(3))), x)
    m = nn.LazyLinear(3).half(); m.weight.dtype, m.double()(x.double()).dtype, m
    nn.LazyLinear(3).share_memory()
    m = nn.LazyLinear(3); m(torch.ones(2, 5)); m(torch.ones(2, 4))
    m = nn.LazyLinear(3); o = torch.optim.SGD(m.parameters(), lr=1.); m(x).sum().backward(); o.step(); m.bias.grad
    m = nn.modules.lazy.LazyModuleMixin; m.initialize_parameters(nn.LazyLinear(3))
    nn.Sequential(nn.LazyLinear(3))[0]._replicate_for_data_parallel()
    F = nn.functional; F.pdist(x[0, 0] * torch.arange(5.)[:, None]), F.pdist(x[0, 0], 1), F.pdist(x[0, 0, :1])
    nn.functional.pdist(x)
""")  # fmt: skip


@parity(PREPARE, lazy=CASES)
def test_lazy(case: str) -> None:
    check(case)
