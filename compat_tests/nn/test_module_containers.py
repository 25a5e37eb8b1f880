"""Parameters, buffers and containers of modules and parameters, case by case against PyTorch."""

from __future__ import annotations

import pytest
import torch as reference

import jaxtorch as candidate
from module_kit import check, lines, outcome, parity

PARAMETERS = lines("""
    P(2)
    nn.Parameter(T(2), False)
    nn.Parameter(T(2), requires_grad=False).requires_grad
    nn.Parameter()
    nn.Parameter(torch.arange(3))
    nn.Parameter(torch.arange(3), requires_grad=False)
    nn.Parameter(T(2) * 3).is_leaf
    nn.Parameter(x * 2).is_leaf, nn.Parameter(x * 2).grad_fn
    d = T(2); p = nn.Parameter(d); d.add_(1); p, p.data_ptr() == d.data_ptr(), p._version == d._version
    d = T(2); p = nn.Parameter(d); p.data.add_(1); d
    d = T(3, 2).t(); p = nn.Parameter(d); p.stride(), p.shape
    d = T(4); p = nn.Parameter(d[1:3]); d[1] = 9; p, p.storage_offset()
    n = L(2, 2); w = n.weight; v = w.detach(); v.fill_(3); n.weight
    p = P(2); [type(r).__name__ for r in (p * 2, p.data, p.detach(), p.clone(), p[0], p.double(), p.view(2))]
    p = P(2); p.to(p.dtype) is p, isinstance(p, torch.Tensor), isinstance(T(1), nn.Parameter), isinstance(p,
        nn.Buffer)
    SubParameter(T(1)).shape, type(SubParameter(T(1))).__name__, isinstance(SubParameter(T(1)), nn.Parameter)
    p = P(2); p.foo = 3; p.grad = T(2); c = copy.deepcopy(p); c, c.grad, c.__dict__, type(c).__name__
    p = P(2); c = copy.deepcopy([p, p]); c[0] is c[1]
    type(copy.deepcopy(SubParameter(T(1)))).__name__
    (x * P(2)).sum().backward(); x.grad
    b = B(T(1)); type(b).__name__, isinstance(b, nn.Buffer), b.persistent, b.requires_grad,
        isinstance(B(P(1)), nn.Parameter)
    B(), B(T(1), persistent=False).persistent, B(x).requires_grad
    d = T(2); b = B(d); d.add_(1); b
    U(), UB(), isinstance(U(), nn.Parameter), isinstance(UB(), nn.Buffer), nn.parameter.is_lazy(U())
    U().shape
    U().size(), U().dtype, U().device, U().requires_grad, U().is_leaf, U().grad_fn, U().grad, U().ndim,
        U().is_floating_point()
    U(False).requires_grad, U(True, 'meta', torch.float64).dtype, U(device='meta').device
    U().data, U().half().dtype, U().to(torch.float64).dtype
    u = U(); u.cpu() is u
    U().share_memory_()
    u = U(); u.materialize((2, 3)); type(u).__name__, u.shape, u.requires_grad, u.is_leaf, (u * 2).shape
    u = U(dtype=torch.float64); u.materialize(2); u.dtype
    u = U(); u.materialize((2,), dtype=torch.float64); u.dtype
    u = U(device='meta'); u.materialize((2,), device='cpu')
    b = UB(); b.materialize((2,)); type(b).__name__, b.shape, b.requires_grad, UB(persistent=False).persistent
    u = copy.deepcopy(U(True, None, torch.float64)); u, u.dtype
    m = M(); m.p = U(); m.double(); m.p, m.p.dtype, list(m._parameters)
    m = M(); m.p = U(); list(m.parameters())
    n = L(1, 1); n.load_state_dict({'weight': U(), 'bias': T(1)})
""")

LAZY_ERRORS = lines("""
    U() + 1
    U().sum()
    U().clone()
    U().detach()
    U().numel()
    U().add_(1)
    torch.add(U(), 1)
    len(U())
    U()[0]
    U().tolist()
    U().requires_grad_(False)
    U().zero_()
    U() == 1
""")

SEQUENTIAL = lines("""
    S(3)
    S(None)
    S(OD(a=R()))
    S({'a': R()})
    S([R()])
    S(OD([('a.b', R())]))
    s()[0], s()[-1], s()[True]
    s()[3]
    s()[-4]
    s()['0']
    s()[1.5]
    names(s()[1:]), names(s()[::-1]), names(s()[5:]), names(S(OD(a=R(), b=R()))[1:])
    type(SubSequential(R())[:]).__name__, type(SubSequential(R()) * 2).__name__,
        type(SubSequential(R()) + S()).__name__
    names(s() + s()), names(s() * 2), names(2 * s())
    s() + [R()]
    s() * 0
    s() * 1.5
    q = s(); q += s(); names(q)
    q = s(); q += [R()]
    q = s(); q *= 2; names(q)
    q = s(); q *= 0
    q = s(); q *= 'x'
    len(s()), bool(S()), [type(m).__name__ for m in s()], S()(5)
    s()(T(1, 1))
    s()(1, 2)
    q = s(); q.append(R()) is q, names(q)
    s().append(3)
    q = s(); q.extend([R(), R()]) is q, names(q)
    s().extend([3])
    s().extend(R())
    q = s(); q.extend(q)
    q = s(); q.insert(1, L(9, 9)) is q, names(q)
    q = s(); q.insert(-1, L(9, 9)); names(q)
    q = s(); q.insert(3, R()); names(q)
    s().insert(9, R())
    s().insert(-9, R())
    q = S(OD(a=R(), b=R())); q.append(R()); names(q)
    S(OD(a=R(), b=R())).insert(0, R())
    q = s(); q.pop(0), names(q)
    q = s(); q.pop(-1), names(q)
    q = s(); q.pop(slice(0, 2)), names(q)
    s().pop(7)
    q = s(); q[0] = R(); q[-1] = R(); q[True] = L(1, 1); names(q)
    q = S(OD(a=R(), b=R())); q[1] = L(1, 1); names(q)
    q = s(); q[7] = R()
    q = s(); q[0] = 3
    q = s(); q['0'] = R()
    q = s(); q[0:1] = R()
    q = s(); del q[0]; names(q)
    q = s(); del q[-1]; names(q)
    q = s(); del q[0:2]; names(q)
    q = s(); del q[7]
    q = S(OD(a=R(), b=R(), c=R())); del q[1]; names(q)
""")

MODULE_LIST = lines("""
    ML()
    ML(3)
    ML([3])
    ML([None])
    ML(R())
    ML(R() for _ in range(2))
    ML([R(), R(), R(), L(1, 1)])
    ML([L(1, 1), L(1, 1), S(R()), S(R()), S(R())])
    ML([ML([R(), R()]), ML([R(), R()])])
    ml()[0], ml()[-1]
    ml()[3]
    ml()['0']
    ml()[1.5]
    names(ml()[1:]), names(ml()[::2]), type(SubList([R()])[:]).__name__, type(SubList([R()]) + [R()]).__name__
    names(ml() + ml()), names(ml() + [R()]), names(ml() + S(R()))
    ml() + 3
    ml() * 2
    ml()(1)
    q = ml(); q.append(R()) is q, names(q)
    ml().append(3)
    q = ml(); q.extend([R()]) is q, names(q)
    ml().extend(3)
    ml().extend(R())
    ml().extend([3])
    ml().extend({'a': R()})
    q = ml(); q.insert(1, L(9, 9)), names(q)
    q = ml(); q.insert(9, R()); names(q)
    ml().insert(-1, R())
    q = ml(); q.pop(0), names(q)
    q = ml(); q.pop(slice(0, 2)), names(q)
    ml().pop(5)
    q = ml(); q += [R()]; names(q)
    q = ml(); q[0] = R(); q[-1] = R(); names(q)
    q = ml(); q[7] = R()
    q = ml(); q[0] = 3
    q = ml(); q[0] = None; names(q)
    q = ml(); q[0:1] = [R()]
    q = ml(); del q[0]; names(q)
    q = ml(); del q[-1]; names(q)
    q = ml(); del q[0:2]; names(q)
    q = ml(); del q[7]
    [n for n, _ in ml().named_parameters()]
""")

MODULE_DICT = lines("""
    MD()
    md()
    MD(3)
    MD([('a', R())])
    MD([('a', R()), ('b', R(), 3)])
    MD([('a',)])
    MD([3])
    MD({'a': 3})
    MD({3: R()})
    MD({'a.b': R()})
    MD({'': R()})
    MD({'keys': R()})
    MD({'training': R()})
    MD({'a': None})
    MD(md())
    MD(a=R())
    md()['a'], md().a, list(md()), 'a' in md(), 'z' in md(), len(md())
    md()['z']
    md()[0]
    md().keys(), md().values(), md().items()
    md().pop('z')
    q = md(); q.pop('a'), names(q)
    md().update(3)
    q = md(); q.update([('z', R()), ('a', R())]), names(q)
    q = md(); q.update({'z': R(), 'c': R()}), names(q)
    q = md(); q.update(md()), names(q)
    q = md(); q.clear(), names(q)
    q = md(); del q['a']; names(q)
    q = md(); del q['z']
    q = md(); q['a'] = 3
    q = md(); q['pop'] = R()
    md()(1)
    md() | md()
    nn.Container(a=R()) if hasattr(nn, 'Container') else nn.modules.container.Container(a=R())
""")

PARAMETER_LIST = lines("""
    PL()
    pl()
    PL(3)
    PL(P(2))
    PL(T(2))
    PL([P(2, 2), P(())])
    PL([None])
    PL([R()])
    PL([torch.arange(3)])
    PL([T(2, dtype=torch.float64), B(T(1))])
    pl()[0], pl()[1], pl()[-1]
    pl()[9]
    pl()['0']
    pl()[1.0]
    pl()[1:]
    list(pl()), len(pl())
    pl()(1)
    pl() + pl()
    q = pl(); q.append(P(3)) is q, held(q)
    q = pl(); q.append(3); held(q)
    q = pl(); q.extend([P(1), 2]) is q, held(q)
    pl().extend(3)
    pl().extend(P(1))
    q = pl(); q.extend(pl()); held(q)
    q = pl(); q += [P(1)]; held(q)
    q = pl(); q[0] = P(3); q[-1] = T(3); held(q), q
    q = pl(); q[9] = P(1)
    q = pl(); q[0] = 3
    q = pl(); q['0'] = P(1)
    q = pl(); q[0:1] = P(1)
    q = pl(); del q[0]
    q = pl(); q.pop()
    list(pl().state_dict()), [n for n, _ in pl().named_parameters()]
    copy.deepcopy(pl())
""")

PARAMETER_DICT = lines("""
    PD()
    pd()
    PD(3)
    PD([('b', P(1)), ('a', P(2))])
    PD({'b': P(1), 'a': P(2)})
    PD(OD([('b', P(1)), ('a', P(2))]))
    PD({'a.b': P(1)})
    PD({'': P(1)})
    PD({3: P(1)})
    PD({'keys': P(1)})
    PD({'a': None})
    PD({'a': R()})
    PD([('a', P(1), 3)])
    PD([3])
    pd()['a'], pd().a, pd()['c'], list(pd()), list(reversed(pd())), 'a' in pd(), len(pd())
    pd()['z']
    pd().keys(), list(pd().items()), list(pd().values())
    q = pd(); q.pop('a'), held(q)
    pd().pop('z')
    q = pd(); q.popitem(), held(q)
    PD().popitem()
    pd().get('a'), pd().get('z'), pd().get('z', 5)
    q = pd(); q.setdefault('z', T(1)), q.setdefault('a', 3), q.setdefault('y'), held(q)
    pd().fromkeys(['x', 'y']), pd().fromkeys(['x', 'y'], T(2))
    q = pd(); c = q.copy(); c, c is q, c['a'] is q['a']
    pd() | pd()
    pd() | {'z': P(1)}
    {'z': P(1)} | pd()
    pd() | 3
    3 | pd()
    q = pd(); q |= {'z': P(1)}; q
    q = pd(); q |= [('z', 1)]; q
    q = pd(); q.update({'z': P(1), 'y': 2}); q
    q = pd(); q.update(pd()); q
    q = pd(); q.clear(), held(q), len(q)
    q = pd(); del q['c']; q
    q = pd(); del q['z']
    q = pd(); q['a'] = 4
    q = pd(); q['z'] = T(1); q
    q = pd(); q[3] = T(1)
    q = pd(); q.n = P(1); list(q), held(q)
    pd()(1)
    list(pd().state_dict())
""")


@parity(parameters=PARAMETERS)
def test_parameters(case: str) -> None:
    check(case)


@pytest.mark.parametrize("case", LAZY_ERRORS)
def test_tensor_without_shape_refuses(case: str) -> None:
    """PyTorch's message names its C function; ours the same way out."""
    expected, actual = outcome(reference, case), outcome(candidate, case)
    for text in (expected, actual):
        assert text.startswith("ValueError: Attempted to use an uninitialized parameter in ")
        assert "When using LazyModules Call `forward` with a dummy batch" in text


@parity("s = lambda: S(L(1, 2), R(), L(2, 3))", sequential=SEQUENTIAL)
def test_sequential(case: str) -> None:
    check(case)


@parity("ml = lambda: ML([L(1, 2), R(), L(2, 3)])", module_list=MODULE_LIST)
def test_module_list(case: str) -> None:
    check(case)


@parity("md = lambda: MD({'a': L(1, 2), 'b': R()})", module_dict=MODULE_DICT)
def test_module_dict(case: str) -> None:
    check(case)


@parity("pl = lambda: PL([P(2), T(1), 3, 'x'])", parameter_list=PARAMETER_LIST)
def test_parameter_list(case: str) -> None:
    check(case)


@parity("pd = lambda: PD({'a': P(2), 'b': T(1), 'c': 3})", parameter_dict=PARAMETER_DICT)
def test_parameter_dict(case: str) -> None:
    check(case)
