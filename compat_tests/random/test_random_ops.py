"""Random tensors: values from a seed, errors, layouts and gradient nodes, as PyTorch has them."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import jaxtorch
from expressions import outcome, rows, same
from jaxtorch._core.random import generator as core_random
from jaxtorch.random import fork_rng
from parity import parity_test

SAME = rows(r"""
torch.binomial(torch.full((300,), 3.), torch.full((300,), 0.3))
torch.binomial(torch.full((300,), 100.), torch.full((300,), 0.7))
torch.binomial(torch.full((300,), 1000.), torch.full((300,), 0.05))
torch.binomial(torch.ones(3), torch.rand(2, 1))
torch.binomial(torch.ones(3), torch.ones(3).double())
torch.binomial(torch.ones(3).int(), torch.ones(3))
torch.rand(3,dtype=torch.int)
torch.randn(3,dtype=torch.int)
torch.rand(3,dtype=torch.bool)
torch.randn(3,dtype=torch.bool)
torch.rand(-1)
torch.rand(3,dtype=torch.float8_e5m2)
torch.randn(3,dtype=torch.float8_e5m2)
torch.rand(2.5)
torch.rand("a")
torch.rand((2,3))
torch.rand([2,3]).shape
torch.rand(size=(2,)).shape
torch.rand(2,True)
torch.randint(5,5,(2,))
torch.randint(5,(2,),dtype=torch.bool)
torch.randint(10,dtype=torch.int,size=(2,))
torch.randint(2,size=(2,))
torch.randint(low=2,high=5,size=(2,))
torch.randint(10,3)
torch.randint(300,(3,),dtype=torch.uint8)
torch.randint(0,256,(3,),dtype=torch.uint8)
torch.randint(3,(3,),dtype=torch.complex64)
torch.randint(3,(3,),dtype=torch.float8_e5m2)
torch.randint(3,(3,),dtype=torch.uint16)
torch.randint(2.5,(3,))
torch.randperm(-1)
torch.randperm(300,dtype=torch.uint8)
torch.randperm(3,dtype=torch.bool)
torch.randperm(3,dtype=torch.float)
torch.randperm(2049,dtype=torch.half)
torch.randperm(2.5)
torch.rand_like(i)
torch.randn_like(i)
torch.rand_like(i,dtype=torch.float)
torch.randint_like(f,5)
torch.randint_like(i,2,5)
torch.randint_like(b,2)
torch.normal(0.,1.,(2,))
torch.normal(0,1,(2,))
torch.normal(0,-1,(2,))
torch.normal(f)
torch.normal(f,-1.)
torch.normal(f,f-1)
torch.normal(f,torch.ones(2))
torch.normal(f,torch.ones(2,3))
torch.normal(torch.ones(2,3),torch.ones(6))
torch.normal(0.,f)
torch.normal(i,1.)
torch.normal(i,i)
torch.normal(0.,i)
torch.normal(f,torch.ones(3,dtype=torch.double))
torch.normal(c,1.)
torch.normal(mean=torch.zeros(3), std=torch.zeros(3))
torch.normal(0,1,size=(2,),dtype=torch.int)
torch.bernoulli(f+2)
torch.bernoulli(i)
torch.bernoulli(f,0.5)
torch.bernoulli(f,2)
torch.bernoulli(f,p=-1)
torch.bernoulli(i,0.5)
torch.bernoulli(c)
torch.bernoulli(h)
f.bernoulli(0.3)
f.bernoulli()
f.bernoulli_()
f.bernoulli_(0.2)
f.bernoulli_(2)
f.bernoulli_(torch.tensor([0.1,0.2,3.]))
f.bernoulli_(torch.tensor([0.1,0.2]))
f.bernoulli_(torch.tensor(0.5))
f.bernoulli_(torch.tensor([1,0,1]))
f.bernoulli_(torch.tensor([.1,.9,.5],dtype=torch.double))
i.bernoulli_(0.5)
c.bernoulli_(0.5)
b.bernoulli_(0.5)
i.normal_()
b.normal_()
f.normal_(0,-1)
f.normal_(std=2)
rg.normal_()
rg.uniform_()
i.uniform_()
f.uniform_(2,1)
f.uniform_(0,float('inf'))
f.uniform_(float('-inf'),0)
f.uniform_(float('nan'),0)
f.uniform_(-3e38,3e38)
c.uniform_()
c.normal_()
f.random_()
f.random_(5)
f.random_(2,5)
f.random_(5,2)
f.random_(0)
f.random_(**{'from':1,'to':3})
f.random_(2,None)
u.random_(300)
u.random_(0,300)
u.random_(-1,3)
b.random_()
c.random_()
i.exponential_()
f.exponential_(-1)
f.exponential_(0)
f.exponential_(lambd=2.)
c.exponential_()
b.exponential_()
i.geometric_(0.5)
f.geometric_(0)
f.geometric_(1)
f.geometric_(0.5)
b.geometric_(0.5)
c.geometric_(0.5)
i.cauchy_()
f.cauchy_(0,-1)
f.cauchy_(0,0)
f.cauchy_(1,2)
i.log_normal_()
f.log_normal_(0,-1)
f.log_normal_(0,0)
f.log_normal_()
torch.poisson(i)
torch.poisson(f-1)
torch.poisson(f)
torch.poisson(l)
torch.multinomial(f,2)
torch.multinomial(i,2)
torch.multinomial(torch.ones(3),4)
torch.multinomial(torch.ones(3),0)
torch.multinomial(torch.ones(2,3,4),1)
torch.multinomial(torch.ones(3)-2,1)
torch.rand(3,generator=torch.Generator(),out=torch.empty(5))
torch.rand(3,out=torch.empty(5,dtype=torch.int))
torch.rand(3,out=torch.empty(3,dtype=torch.double))
torch.rand(3,out=torch.empty(3,dtype=torch.double),dtype=torch.float)
torch.randperm(3,out=torch.empty(3,dtype=torch.int))
torch.randperm(3,out=torch.empty(3,dtype=torch.float))
torch.normal(0.,1.,(3,),out=torch.empty(3,dtype=torch.double))
torch.normal(f,1.,out=torch.empty(3,dtype=torch.double))
torch.multinomial(torch.ones(3),2,out=torch.empty(2,dtype=torch.int32))
torch.bernoulli(f,out=torch.empty(3,dtype=torch.double))
torch.bernoulli(f,out=torch.empty(3,dtype=torch.int))
torch.rand(3,device='meta')
torch.rand(3,requires_grad=True)
torch.rand(3,layout=torch.strided)
(rg*2).normal_()
(rg*2).bernoulli_(0.5)
(rg*2).uniform_()
(rg*2).random_()
(rg*2).exponential_()
(rg*2).geometric_(0.5)
(rg*2).cauchy_()
(rg*2).log_normal_()
(rg*2+.5).bernoulli()
torch.bernoulli(rg*2+.5)
torch.normal(rg,1.)
torch.normal(0.,rg)
torch.normal(rg,rg+1)
torch.poisson(rg)
torch.multinomial(rg+1,1)
torch.rand_like(rg)
torch.rand_like(rg,requires_grad=True)
torch.rand_like(torch.zeros(3,4).t()).stride()
torch.randn_like(torch.zeros(3,4).t()).stride()
torch.randn_like(torch.zeros(3,4).t(),memory_format=torch.contiguous_format).stride()
torch.randn_like(torch.zeros(2,3,4,5),memory_format=torch.channels_last).stride()
torch.manual_seed("a")
torch.manual_seed(1.5)
torch.manual_seed(2**64)
torch.manual_seed(-1).initial_seed()
torch.Generator().manual_seed(1.5)
torch.Generator('cpu').device
torch.Generator(device=torch.device('cpu')).initial_seed()
torch.dropout(f,0.5,True)
torch.dropout(torch.ones(3,4).t(),0.5,True)
torch.dropout(torch.ones(2,3,4).permute(2,0,1),0.5,True)
torch.empty(3).normal_(0,1,generator=torch.Generator().manual_seed(1))
torch.zeros(3).expand(2,3).normal_()
torch.empty(0).normal_(0,-1)
torch.empty(0).multinomial(1)
torch.empty(0,3).multinomial(1)
torch.empty(2,0).multinomial(1)
u16.random_()
u16.random_(70000)
torch.zeros(3,dtype=torch.half).random_(65505)
torch.zeros(3,dtype=torch.half).random_(65520)
torch.zeros(3,dtype=torch.half).random_(-70000,0)
torch.zeros(3,dtype=torch.half).random_(0,2**40)
torch.zeros(3,dtype=torch.bfloat16).random_(0,2**40)
torch.zeros(3,dtype=torch.int16).random_(70000)
""")
OTHER_WORDS = rows(r"""
torch.rand()
torch.rand((2,),(3,))
torch.randint(10)
torch.normal(0,1)
torch.normal(0.,1.)
f.random_(from_=1,to=3)
torch.rand(3,generator=3)
torch.rand(3,names=None)
torch.rand(3,foo=1)
torch.empty(3).normal_(0,1,torch.Generator().manual_seed(1))
""")


@pytest.mark.parametrize("expression", SAME)
def test_same_as_pytorch(expression):
    """The same dtype, shape, strides, history and values; the same exception with the same message."""
    same(outcome(torch, expression), outcome(jaxtorch, expression))


@pytest.mark.parametrize("expression", OTHER_WORDS)
def test_same_exception(expression):
    """The same type of exception; the message says the same in other words."""
    wanted = outcome(torch, expression)
    assert isinstance(wanted, tuple)
    same(wanted, outcome(jaxtorch, expression), messages=False)


DRAWS = (
    "rand({n})", "randn({n})", "randint(10, ({n},))", "randint(2**40, ({n},))", "rand({n}, dtype=torch.float64)",
    "randn({n}, dtype=torch.float64)", "empty({n}).bernoulli_(0.3)", "empty({n}).exponential_()", "empty({n}).uniform_(-2, 3)",
    "empty({n}).normal_(1, 2)", "poisson(torch.full((min({n}, 200),), 3.0))", "randperm(min({n}, 5000))",
)  # fmt: skip
SIZES = (0, 1, 3, 8, 15, 16, 17, 31, 64, 100, 300, 623, 624, 625, 1000, 5000, 70000)


@pytest.mark.parametrize("seed", range(6))
def test_streams_stay_in_step(seed):
    """Draws of all kinds and sizes one after another: the same numbers, and the same state, set back at times."""
    choose = random.Random(seed)
    torch.manual_seed(seed)
    jaxtorch.manual_seed(seed)
    for _ in range(50):
        expression = "torch." + choose.choice(DRAWS).format(n=choose.choice(SIZES))
        wanted, got = (eval(expression, {"torch": module}).numpy() for module in (torch, jaxtorch))
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=3e-6, atol=3e-7, err_msg=expression)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=expression)
        if choose.random() < 0.2:
            state = torch.get_rng_state().numpy()
            # The normal sample kept for later is a double of its own, which may differ in its last bit.
            np.testing.assert_array_equal(jaxtorch.get_rng_state().numpy()[:5024], state[:5024], err_msg=expression)
            if choose.random() < 0.5:
                jaxtorch.set_rng_state(jaxtorch.tensor(state))


LAYOUTS = {
    "transposed": lambda torch: torch.zeros(30, 4).t(),
    "permuted": lambda torch: torch.zeros(2, 3, 4).permute(2, 0, 1),
    "strided": lambda torch: torch.zeros(6, 8)[::2, ::3],
    "row": lambda torch: torch.zeros(4, 5)[1],
    "column": lambda torch: torch.zeros(20, 5)[:, 1],
}
FILLS = {
    "normal": lambda t: t.normal_(1, 2),
    "uniform": lambda t: t.uniform_(1, 2),
    "bernoulli": lambda t: t.bernoulli_(0.4),
    "random": lambda t: t.random_(100),
    "exponential": lambda t: t.exponential_(2),
    "geometric": lambda t: t.geometric_(0.2),
    "cauchy": lambda t: t.cauchy_(),
    "log_normal": lambda t: t.log_normal_(),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_fills_views_in_the_order_of_memory(layout, fill):
    """In-place draws reach the base of a view, in PyTorch's order."""
    seen = []
    for module in (torch, jaxtorch):
        module.manual_seed(5)
        view = LAYOUTS[layout](module)
        result = FILLS[fill](view)
        assert result is view
        base = view._base if view._base is not None else view
        seen.append((view.stride(), view.numpy().copy(), base.numpy().copy()))
    assert seen[0][0] == seen[1][0]
    for wanted, got in zip(seen[0][1:], seen[1][1:], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-7)


def test_an_overwritten_tensor_passes_no_gradient_on():
    for fill in FILLS.values():
        x = jaxtorch.ones(3, requires_grad=True)
        y = x * 2
        fill(y)
        assert y.requires_grad
        y.backward(jaxtorch.ones(3))
        assert x.grad.tolist() == [0, 0, 0]


def test_a_generator_has_its_own_stream():
    for module in (torch, jaxtorch):
        module.manual_seed(0)
        first = module.rand(3).tolist()
        own = module.Generator().manual_seed(0)
        assert module.rand(3, generator=own).tolist() == first
        kept = own.get_state()
        again = module.randn(5, generator=own).tolist()
        own.set_state(kept)
        assert module.randn(5, generator=own).tolist() == again
        assert own.initial_seed() == 0


def test_fork_rng_restores_the_stream():
    jaxtorch.manual_seed(3)
    with fork_rng():
        inside = jaxtorch.rand(4).tolist()
    assert jaxtorch.rand(4).tolist() == inside


def test_every_draw_on_the_host_is_announced(monkeypatch):
    """`draw_observer` sees each array, and calling the same method again from the same state gives it again."""
    seen = []
    monkeypatch.setattr(core_random, "draw_observer", lambda *call: seen.append(call))
    jaxtorch.manual_seed(2)
    jaxtorch.rand(3)
    jaxtorch.empty(4).normal_()
    assert [call[2] for call in seen] == ["uniform", "normal"]
    jaxtorch.manual_seed(2)
    values, generator, method, arguments = seen[0]
    np.testing.assert_array_equal(getattr(generator.engine, method)(*arguments), values)


def test_drawing_on_a_device_takes_a_key_that_moves_on():
    """The program that accelerators run, traced on the CPU: right range, moments, and another key each time."""
    slot = jaxtorch.device("cpu").slot
    jaxtorch.manual_seed(1)
    keys = [core_random.key_of(None, slot).tolist() for _ in range(2)]
    assert keys[0] != keys[1]
    from jaxtorch._core.tensor.tensor import from_host
    from jaxtorch._ops.random.random import _draw_on

    def drawn(kind, a, b, dtype=jaxtorch.float32):
        key = from_host(core_random.key_of(None, slot))
        return _draw_on(key, a, b, kind, (20000,), dtype, jaxtorch.device("cpu")).numpy()

    uniform = drawn("uniform", -1.0, 3.0)
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    normal = drawn("normal", 2.0, 3.0)
    assert abs(normal.mean() - 2) < 0.1 and abs(normal.std() - 3) < 0.1
    whole = drawn("integers", -2, 5, jaxtorch.int64)
    assert set(whole.tolist()) == set(range(-2, 5))
    assert abs(drawn("bernoulli", 0.3, 0.0).mean() - 0.3) < 0.02
    assert abs(drawn("exponential", 2.0, 0.0).mean() - 0.5) < 0.02
    assert abs(drawn("geometric", 0.25, 0.0).mean() - 4) < 0.2
    assert sorted(drawn("randperm", 0.0, 0.0, jaxtorch.int64).tolist()) == list(range(20000))


@pytest.mark.parametrize("own", [True, False])
@parity_test
def test_probabilities_of_bernoulli_in_place_have_a_gradient_of_zero(torch, own):
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    x = torch.ones(2, requires_grad=own)
    y = x * 1
    y.bernoulli_(p)
    (y * 3).sum().backward()
    return y, y.requires_grad, type(y.grad_fn).__name__, p.grad, x.grad
