"""`nn.Module`, case by case against PyTorch: registration, iteration, conversion, state and hooks."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import jaxtorch as candidate
from module_kit import check, lines, parity

REGISTRATION = lines("""
    m = Bare(); m.x = P(1)
    m = Bare(); m.x = R()
    m = Bare(); m.x = B(T(1))
    m = Bare(); m.x = T(1); m.x
    Bare().register_parameter('x', P(1))
    Bare().register_buffer('x', T(1))
    Bare().add_module('x', R())
    Bare()(1)
    repr(Bare())
    Bare().register_forward_hook(print)
    list(Bare().parameters())
    Bare().state_dict()
    Bare().training
    del Bare().x
    M(3)
    M(a=3)
    M()(1)
    Net().register_parameter('', P(1))
    Net().register_parameter('a.b', P(1))
    Net().register_parameter(5, P(1))
    Net().register_parameter('plain', P(1))
    Net().register_parameter('first', P(1))
    Net().register_parameter('forward', P(1))
    n = Net(); n.register_parameter('scale', P(2)); n.scale
    Net().register_parameter('z', T(1))
    Net().register_parameter('z', 3)
    Net().register_parameter('z', 's')
    Net().register_parameter('z', R())
    Net().register_parameter('z', P(1) * 2)
    Net().register_buffer('', T(1))
    Net().register_buffer('a.b', T(1))
    Net().register_buffer(5, T(1))
    Net().register_buffer('scale', T(1))
    Net().register_buffer('training', T(1))
    Net().register_buffer('z', 3)
    Net().register_buffer('z', R())
    n = Net(); n.register_buffer('z', P(1)); held(n)
    n = Norm(); n.register_buffer('cache', T(2)); held(n)
    n = Norm(); n.register_buffer('mean', None, persistent=False); held(n), list(n.state_dict())
    Net().add_module('', R())
    Net().add_module('a.b', R())
    Net().add_module(5, R())
    Net().add_module('scale', R())
    Net().add_module('plain', R())
    Net().add_module('z', 3)
    Net().add_module('z', T(1))
    n = Net(); n.add_module('first', R()); names(n)
    n = Net(); n.scale = T(1)
    n = Net(); n.scale = 3
    n = Net(); n.scale = R()
    n = Net(); n.scale = None; held(n), n.scale
    n = Net(); n.first = T(1)
    n = Net(); n.first = 's'
    n = Net(); n.first = P(1); held(n)
    n = Net(); n.first = None; held(n)
    n = Net(); n.absent = R(); names(n)
    n = Net(); n.plain = R(); held(n)
    n = Net(); n.plain = P(1); held(n)
    n = Net(); n.plain = B(T(1))
    n = Norm(); n.mean = 3
    n = Norm(); n.mean = T(4); held(n), n.mean
    n = Norm(); n.mean = None; held(n), list(n.state_dict())
    n = Norm(); n.mean = P(1); held(n)
    n = Norm(); n.cache = R(); held(n)
    n = Norm(); n.cache = P(1); held(n)
    n = Norm(); n.cache = T(2); held(n)
    n = Norm(); n.cache = B(T(2)); held(n)
    n = Norm(); n.z = B(T(2), persistent=False); held(n), type(n.z).__name__
    n = Norm(); n.bias = P(2); held(n)
    n = Norm(); n.bias = B(T(1))
    n = Net(); n.first = B(T(1))
    n = Norm(); del n.mean; held(n)
    n = Norm(); del n.cache; held(n)
    n = Norm(); del n.weight; held(n)
    n = Net(); del n.first; held(n)
    n = Net(); del n.plain; held(n)
    del Net().nothing
    Net().nothing
    n = Net(); n.nothing = 3; n.nothing
    o = OldBuffers(); o.b = B(T(1)); list(o.state_dict())
    o = OldBuffers(); o.b = B(T(1), persistent=False)
    sorted(set(dir(Net())) - set(dir(Net)))
    [name for name in dir(S(R())) if name[0].isdigit()]
    Net().get_submodule('')
    Net().get_submodule('first')
    Net().get_submodule('zz')
    Net().get_submodule('first.zz')
    Net().get_submodule('first.weight')
    Net().get_submodule('scale.x')
    Net().get_submodule('plain')
    Net().get_submodule('absent')
    Net().get_parameter('first.weight')
    Net().get_parameter('')
    Net().get_parameter('zz')
    Net().get_parameter('first.zz')
    Net().get_parameter('first')
    Net().get_parameter('norm.mean')
    Net().get_parameter('norm.bias')
    Net().get_buffer('norm.mean')
    Net().get_buffer('scale')
    Net().get_buffer('zz')
    Net().get_buffer('norm')
    Net().get_buffer('scale.x')
    Net().set_submodule('', R())
    n = Net(); n.set_submodule('first', R()); names(n)
    n = Net(); n.set_submodule('norm.inner', R()); n
    Net().set_submodule('norm.inner', R(), strict=True)
    Net().set_submodule('zz.b', R())
    Net().set_submodule('scale', R())
    Net().set_submodule('first', 3)
""")

ITERATION = lines("""
    [n for n, _ in Net().named_parameters()]
    [n for n, _ in Net().named_parameters('pre', recurse=False)]
    [n for n, _ in Net().named_buffers('pre')]
    [n for n, _ in Net().named_modules(prefix='pre')]
    [n for n, _ in Net().named_children()], len(list(Net().children())), len(list(Net().modules()))
    a = R(); q = S(OD(a=a, b=S(a, L(1, 1)), c=a));
        [n for n, _ in q.named_modules()], [n for n, _ in q.named_children()]
    a = L(1, 1); q = S(OD(a=a, b=S(a), c=a)); [n for n, _ in q.named_modules(remove_duplicate=False)]
    a = L(1, 1); q = S(OD(a=a, b=S(a), c=a)); [n for n, _ in q.named_parameters()]
    a = L(1, 1); q = S(OD(a=a, b=S(a), c=a)); [n for n, _ in q.named_parameters(remove_duplicate=False)]
    memo = set(); q = S(R(), R());
        [n for n, _ in q.named_modules(memo)], len(memo), list(q.named_modules(memo))
    len(list(Net().parameters())), len(list(Net().buffers())), len(list(Net().parameters(recurse=False)))
    Net().train('x')
    Net().train(0)
    n = Net(); n.eval() is n, n.training, n.norm.training, n.train().first.training
    [p.requires_grad for p in Net().requires_grad_(False).parameters()]
    seen = []; n = Net(); n.apply(lambda m: seen.append(type(m).__name__)) is n, seen
    Net().apply(3)
    t = Times(); t(x).sum().backward(); before = t.w.grad; t.zero_grad(); before, t.w.grad
    t = Times(); t(x).sum().backward(); before = t.w.grad; t.zero_grad(False); before is t.w.grad, t.w.grad
    Net()
    M()
    S()
    S(L(1, 1), S(R()))
    e = M(); e.extra_repr = lambda: 'one'; e
    e = M(); e.extra_repr = lambda: 'one'; e.inner = R(); e
    e = M(); e.extra_repr = lambda: 'one\\ntwo'; e
    Net() == Net(), len({Net(), Net()})
    Net().share_memory().scale.is_shared()
""")

CONVERSION = lines("""
    [(k, v.dtype) for k, v in Net().double().state_dict().items()]
    [(k, v.dtype) for k, v in Net().half().state_dict().items()]
    [(k, v.dtype) for k, v in Net().bfloat16().float().state_dict().items()]
    [(k, v.dtype) for k, v in Norm().type(torch.float64).state_dict().items()]
    n = Norm(); n.to(torch.float64) is n, n.mean.dtype, n.count.dtype, n.cache.dtype
    Norm().to()
    Norm().to(torch.int32)
    Norm().to(dtype=torch.bool)
    Norm().to('foo')
    Norm().to(dtype='x')
    Norm().to('cpu', torch.float64).weight.dtype
    Norm().to(device='cpu', dtype=torch.float64, non_blocking=True).weight.dtype
    Norm().to(T(1, dtype=torch.float64)).weight.dtype
    Norm().to(tensor=T(1, dtype=torch.float64)).weight.dtype
    Norm().to(torch.complex64).weight.dtype
    Norm().to('meta').weight
    Norm().to('meta').to('cpu')
    Norm().to('meta').cpu()
    Norm().to_empty()
    n = Norm().to('meta').to_empty(device='cpu');
        type(n.weight).__name__, n.weight.shape, n.weight.device, n.weight.is_leaf
    n = L(1, 1); w = n.weight; w.grad = T(1, 1); g = w.grad; n.double();
        n.weight is w, w.grad is g, w.grad.dtype, w.dtype
    n = L(1, 1); w = n.weight; w.grad = T(1, 1); n.to('meta');
        n.weight is w, n.weight.requires_grad, n.weight.grad.device
    n = L(1, 1); n.weight.requires_grad_(False); n.double().weight
    n = L(2, 2); d = n.weight.detach(); n.double(); d.fill_(9); n.weight
    a = L(1, 1); b = L(1, 1); b.weight = a.weight; S(a, b).double(); a.weight is b.weight
    n = L(2, 2).to(torch.float32); w = n.weight; v = w.view(-1); n.float();
        v.data_ptr() == n.weight.data_ptr()
""")

STATE = lines("""
    Net().state_dict()
    Net().state_dict()._metadata
    list(Net().state_dict(prefix='p.'))
    Net().state_dict(destination={})
    Net().state_dict({}, 'p.', True)
    S(Norm()).state_dict(keep_vars=True)
    n = Net(); s = n.state_dict(); s['scale'].fill_(7); n.scale, s['scale'].requires_grad
    load(lambda s: None)
    load(drop('first.weight'))
    load(drop('first.weight', 'norm.count'), False)
    load(put(u=1, v__w=2, first__zz=3, scale__x=4, first__weight__x=5, plain=6))
    load(put(u=1, first__zz=3), False)
    load(put(first__weight=T(4, 4), scale=T(2), first__bias='x', norm__count=3))
    load(put(first__weight=T(4, 4)), False)
    load(lambda s: (s.pop('scale'), s.update(z=1, first__weight=1)))
    load(put(scale=T(1) * 5))
    load(put(first__weight=T(3, 2, dtype=torch.int64)), assign=True)
    Net().load_state_dict([1])
    Net().load_state_dict({}, strict=False)
    r = load(drop('scale'), False); r.missing_keys, r == (['scale'], []), str(r)
    n = Net(); s = n.state_dict(); s = {k: v + 1 for k, v in s.items()}; n.load_state_dict(s);
        n.norm.count, n.norm.mean
    n = Net(); w = n.scale; v = w._version; n.load_state_dict({**n.state_dict(), 'scale': T(())});
        n.scale is w, w._version - v
    n = Net(); s = n.state_dict(); n.load_state_dict({k: v.double() for k, v in s.items()}); n.scale.dtype
    n = Norm().to('meta'); n.load_state_dict(Norm().state_dict())
    n = Norm().to('meta'); s = Norm().state_dict(); n.load_state_dict(s, assign=True);
        n.mean is s['mean'], n.weight
    n = Norm(); p = P(3); s = {**n.state_dict(), 'weight': p}; n.weight.requires_grad_(False);
        n.load_state_dict(s, assign=True); n.weight is p, p
    load(lambda s: None, cls=Extra)
    Extra().state_dict()
    load(drop('_extra_state'), cls=Extra)
    load(drop('_extra_state'), False, cls=Extra)
    e = Extra(); e.load_state_dict({'_extra_state': {'x': 5}}); e.x
    load(put(_extra_state=3, first___extra_state=4))
    n = L(1, 1); n.register_state_dict_post_hook(hook('post')); n.register_state_dict_pre_hook(hook('pre'));
        S(n).state_dict(); log
    n = L(1, 1); n._register_state_dict_hook(hook('private', {'q': 1})); n.state_dict(), S(n).state_dict()
    n = L(1, 1); n.register_state_dict_post_hook(hook('post', 3)); n.state_dict()
    n = L(1, 1); h = hook('post'); n.register_state_dict_post_hook(h); n._register_state_dict_hook(h)
    n = L(1, 1); n.register_load_state_dict_pre_hook(hook('pre'));
        n._register_load_state_dict_pre_hook(hook('bare'));
        n.register_load_state_dict_post_hook(hook('post')); q = S(n); q.load_state_dict(q.state_dict()); log
    n = L(1, 1); n.register_load_state_dict_post_hook(hook('post', 3)); n.load_state_dict(n.state_dict())
    n = L(1, 1); n.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear());
        n.load_state_dict({'weight': T(1, 1)})
    n = L(1, 1); n.register_load_state_dict_pre_hook(hook('pre')); c = copy.deepcopy(n);
        h = list(c._load_state_dict_pre_hooks.values())[0]; h.module() is c
    n = Net(); n.register_forward_hook(hook('f')); c = copy.deepcopy(n);
        held(c) == held(n), c.scale is n.scale, len(c._forward_hooks)
    n = Net(); c = copy.deepcopy(n); c.first.weight.data.fill_(0); n.first.weight
    a = L(1, 1); c = copy.deepcopy(S(a, a)); c[0] is c[1], c[0].weight is c[1].weight, c[0] is a
    n = M.__new__(M); n.__setstate__({'_parameters': {}, '_buffers': {}, '_modules': {}, 'training': True});
        n(1) if 0 else n, n.state_dict(), n.__dict__['_load_state_dict_post_hooks']
""")

FORWARD_HOOKS = lines("""
    t = Times(); t.register_forward_pre_hook(hook('a'));
        t.register_forward_pre_hook(hook('b'), with_kwargs=True);
        t.register_forward_pre_hook(hook('c'), prepend=True); t(x, k=3); log
    t = Times(); t.register_forward_hook(hook('a')); t.register_forward_hook(hook('b'), with_kwargs=True);
        t.register_forward_hook(hook('c'), prepend=True); t(x, k=3); log
    t = Times(); t.register_forward_pre_hook(hook('a', T(2) * 2)); t(x)
    t = Times(); t.register_forward_pre_hook(hook('a', (T(2) * 2, 1))); t(x)
    t = Times(); t.register_forward_pre_hook(hook('a', ((T(2) * 2,), {'k': 3})), with_kwargs=True); t(x)
    t = Times(); t.register_forward_pre_hook(hook('a', 5), with_kwargs=True); t(x)
    t = Times(); t.register_forward_pre_hook(hook('a', (1, 2, 3)), with_kwargs=True); t(x)
    t = Times(); t.register_forward_hook(hook('a', 5)); t.register_forward_hook(hook('b')); t(x), log
    f = Fails(); f.register_forward_hook(hook('a')); f.register_forward_hook(hook('b'), always_call=True);
        f(1)
    f = Fails(); f.register_forward_hook(hook('b'), always_call=True, with_kwargs=True);
        f(1) if 0 else None; failure(f, 1), log
    f = Fails(); f.register_forward_hook(fail, always_call=True);
        f.register_forward_hook(hook('b'), always_call=True); failure(f, 1), log
    t = Times(); t.register_forward_hook(fail); t.register_forward_hook(hook('b'), always_call=True);
        t.register_forward_hook(hook('c')); failure(t, x), log
    t = Times(); t.register_forward_hook(fail, always_call=True);
        t.register_forward_hook(hook('b'), always_call=True); failure(t, x), log
    t = Times(); h = t.register_forward_hook(hook('a'), with_kwargs=True, always_call=True); h.remove();
        h.remove(); t(x); log, t._forward_hooks_with_kwargs, t._forward_hooks_always_called
    t = Times(); h = t.register_forward_hook(hook('a')).__enter__(); t(x); h.__exit__(None, None, None);
        t(x); log
    g = hooks.register_module_forward_pre_hook(hook('pre'));
        k = hooks.register_module_forward_hook(hook('f')); t = Times();
        t.register_forward_hook(hook('own')); t.register_forward_pre_hook(hook('ownpre')); S(t)(x);
        g.remove(); k.remove(); t(x); log
    k = hooks.register_module_forward_hook(fail, always_call=True); r = failure(Fails(), 1);
        k.remove(); r
    r = [hooks.register_module_parameter_registration_hook(hook('p')),
        hooks.register_module_buffer_registration_hook(hook('b')),
        hooks.register_module_module_registration_hook(hook('m'))]; n = S(Norm()); n[0].mean = T(1);
        n[0].weight = None; n[0].z = B(T(1)); n.q = None; n[0].weight = P(1); n.q = R(); n.q = None;
        n[0].mean = None; [h.remove() for h in r]; log
    h = hooks.register_module_parameter_registration_hook(lambda m, n, p: nn.Parameter(p.detach() * 0 + 5));
        n = L(1, 1); h.remove(); n.weight, L(1, 1).weight
""")

BACKWARD_HOOKS = lines("""
    t = Times(); t.register_full_backward_hook(hook('a'));
        t.register_full_backward_hook(hook('b'), prepend=True);
        t.register_full_backward_pre_hook(hook('c'));
        t.register_full_backward_pre_hook(hook('d'), prepend=True); t.register_forward_hook(hook('f'));
        backward(t(x))
    t = Times(); t.register_full_backward_hook(hook('a')); r = t(x); type(r.grad_fn).__name__, r.requires_grad
    t = Times(); t.register_full_backward_hook(hook('a')); backward(t(x, T(1)))
    t = Times(); t.register_full_backward_hook(hook('a', (T(2) * 7,))); backward(t(x)), x.grad, t.w.grad
    t = Times(); t.register_full_backward_pre_hook(hook('a', (T(2) * 7,))); backward(t(x)), x.grad, t.w.grad
    t = Times(); t.register_full_backward_pre_hook(hook('a', [T(2) * 7]));
        t.register_full_backward_hook(hook('b')); backward(t(x)), x.grad
    t = Times(); t.register_full_backward_hook(hook('a', (1, 2, 3))); backward(t(x))
    t = Times(); t.register_full_backward_pre_hook(hook('a', (1, 2, 3))); backward(t(x))
    t = Times(); t.register_full_backward_hook(hook('a')); backward(t(T(2)))
    t = Times(); t.register_full_backward_hook(hook('a', (T(2),))); backward(t(T(2)))
    t = Times(); t.register_full_backward_pre_hook(hook('a')); backward(t(T(2)))
    t = Times(); t.register_full_backward_hook(hook('a')); torch.no_grad().__enter__(); r = t(x);
        torch.set_grad_enabled(True); r, r.grad_fn
    t = Times(lambda y, x: {'a': y}); t.register_full_backward_hook(hook('a')); t(x)
    t = Times(lambda y, x: [y]); t.register_full_backward_hook(hook('a')); t(x)
    t = Times(lambda y, x: (y, 's', y.detach())); t.register_full_backward_hook(hook('a')); r = t(x, 3);
        backward(r[0]), type(r).__name__, r[1], r[2].requires_grad
    t = Times(lambda y, x: NT(y, x)); t.register_full_backward_hook(hook('a')); r = t(x);
        type(r).__name__, backward(r.a)
    t = Times(lambda y, x: (y, y * 2)); t.register_full_backward_hook(hook('a')); backward(t(x)[1]), x.grad
    t = Times(); t.register_full_backward_hook(hook('a')); q = S(t, t);
        q.register_full_backward_hook(hook('q')); backward(q(x)), x.grad, t.w.grad
    t = Times(); t.register_full_backward_hook(hook('a')); r = t(x); r.sum().backward(retain_graph=True);
        r.sum().backward(); log, x.grad
    t = Times(); t.register_backward_hook(hook('a')); t.register_full_backward_hook(hook('b'))
    t = Times(); t.register_full_backward_hook(hook('a')); t.register_backward_hook(hook('b'))
    t = Times(); t.register_backward_hook(hook('a')); backward(t(x * 2))
    t = Times(lambda y, x: y + 1); t.register_backward_hook(hook('a')); len(backward(t(x * 2)))
    t = Times(lambda y, x: {'a': y}); t.register_backward_hook(hook('a')); len(backward(t(x * 2)['a']))
    t = Times(lambda y, x: (y, y + 1)); t.register_backward_hook(hook('a')); len(backward(t(x * 2)[0]))
    t = Times(); h = t.register_full_backward_hook(hook('a')); h.remove(); backward(t(x))
    a = hooks.register_module_full_backward_hook(hook('a'));
        b = hooks.register_module_full_backward_pre_hook(hook('b')); t = Times();
        t.register_full_backward_hook(hook('own')); t.register_full_backward_pre_hook(hook('ownpre'));
        r = backward(t(x)); a.remove(); b.remove(); r
""")


@parity(
    registration=REGISTRATION,
    iteration=ITERATION,
    conversion=CONVERSION,
    state=STATE,
    forward_hooks=FORWARD_HOOKS,
    backward_hooks=BACKWARD_HOOKS,
)
def test_same_as_pytorch(case: str) -> None:
    check(case)


class Pickled(candidate.nn.Module):
    """At module level, so that pickle finds it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = candidate.nn.Parameter(candidate.ones(2))
        self.register_buffer("b", candidate.zeros(1))
        self.inner = candidate.nn.Sequential(candidate.nn.ModuleList([candidate.nn.Module()]))


def test_pickle_keeps_a_module() -> None:
    module = Pickled().eval()
    module.w.note = "mine"
    module.w.requires_grad_(False)
    buffer = io.BytesIO()
    pickle.dump((module, module.w), buffer)
    buffer.seek(0)
    copied, w = pickle.load(buffer)
    assert w is copied.w
    assert (repr(copied), copied.training, w.note, w.requires_grad) == (repr(module), False, "mine", False)
    assert type(w) is candidate.nn.Parameter
    assert w.tolist() == [1.0, 1.0]
    assert pickle.loads(pickle.dumps(candidate.nn.UninitializedParameter())).requires_grad


def test_call_depth_returns_to_zero_after_a_failure() -> None:
    from jaxtorch._core.record import module_depth

    depths = []

    class Inner(candidate.nn.Module):
        def forward(self, fail: bool) -> None:
            depths.append(module_depth.depth)
            if fail:
                raise ValueError("boom")

    hooked = Inner()
    hooked.register_forward_hook(lambda *a: None)
    for module in (Inner(), hooked):
        outer = candidate.nn.Sequential(candidate.nn.Sequential(module))
        outer(False)
        with pytest.raises(ValueError, match="boom"):
            outer(True)
        assert module_depth.depth == 0
    assert depths == [3, 3, 3, 3]


def test_registered_parameter_owns_its_memory_once_the_argument_is_gone() -> None:
    """Sharing costs a look-up a read, so it ends when nobody shares; not before, or writes would get lost."""
    module = candidate.nn.Module()
    module.alone = candidate.nn.Parameter(candidate.ones(2))
    assert module.alone._alias is None
    data = candidate.ones(2)
    module.shared = candidate.nn.Parameter(data)
    data.add_(1)
    assert module.shared.tolist() == [2.0, 2.0]
    module.shared.data.add_(1)
    assert data.tolist() == [3.0, 3.0]


def test_compile_goes_through_torch_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def compile(fn: Any, **options: Any) -> Any:
        given.append(options)
        return lambda x: ("compiled", fn(x))

    monkeypatch.setattr(candidate, "compile", compile, raising=False)
    module = candidate.nn.Sequential()
    module.compile(mode="default")
    assert module(5) == ("compiled", 5)
    assert given == [{"mode": "default"}]
    assert copy.deepcopy(module)(5) == 5
