"""Tensors from Python data and NumPy, conversions between types, and windows, as PyTorch has them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import jaxtorch
import jaxtorch.signal.windows
from expressions import outcome, rows, same

SAME = rows(r"""
torch.tensor(1)
torch.tensor(True)
torch.tensor(1.5)
torch.tensor(1j)
torch.tensor([])
torch.tensor([[]])
torch.tensor([[],[]]).shape
torch.tensor([1,2.])
torch.tensor([True,1])
torch.tensor([True,1.5])
torch.tensor([1,1j])
torch.tensor([[1,2],[3,4.]])
torch.tensor([[1,2],[3]])
torch.tensor([[1,2],3])
torch.tensor([1,[2,3]])
torch.tensor([np.array([1,2]),torch.tensor([3,4.])])
torch.tensor([[1,2],torch.ones(2,requires_grad=True)])
torch.tensor([np.array([[1]]),torch.ones(1,1)])
torch.tensor([(1,2),torch.tensor([3,4],dtype=torch.bfloat16)])
torch.tensor([[1],torch.tensor(2)])
torch.tensor([[1],torch.tensor([2,3])])
torch.tensor([torch.tensor([1,2]),2.5])
torch.tensor([torch.tensor([True,False])])
torch.tensor([torch.tensor([1.,2])],dtype=torch.long)
torch.tensor([torch.tensor(1.5)],dtype=torch.uint8)
torch.tensor([torch.tensor(2.)],dtype=torch.bool)
torch.tensor([torch.tensor(1j)],dtype=torch.float)
torch.LongTensor([torch.tensor(1.5)])
torch.tensor([[1],[2,3]])
torch.tensor([[[1]],[[1,2]]])
torch.tensor("a")
torch.tensor(["a"])
torch.tensor(None)
torch.tensor([None])
torch.tensor([1,None])
torch.tensor([1,"a"])
torch.tensor({1:2})
torch.tensor({1,2})
torch.tensor(object())
torch.tensor([object()])
torch.tensor(I())
torch.tensor(F())
torch.tensor([I()])
torch.tensor([F()])
torch.tensor(L())
torch.tensor(range(4))
torch.tensor((1,2))
torch.tensor(x for x in [1])
torch.tensor(2**63)
torch.tensor(2**63-1)
torch.tensor(-2**63)
torch.tensor(2**64)
torch.tensor([2**63])
torch.tensor([2**64])
torch.tensor(2**63,dtype=torch.uint64)
torch.tensor(2**64-1,dtype=torch.uint64)
torch.tensor(300,dtype=torch.uint8)
torch.tensor(-1,dtype=torch.uint8)
torch.tensor(-300,dtype=torch.uint8)
torch.tensor([300],dtype=torch.uint8)
torch.tensor([-1],dtype=torch.uint8)
torch.tensor(200,dtype=torch.int8)
torch.tensor([128],dtype=torch.int8)
torch.tensor([2**40],dtype=torch.int32)
torch.tensor(2**40,dtype=torch.int32)
torch.tensor(1.7,dtype=torch.int32)
torch.tensor([1.7],dtype=torch.int32)
torch.tensor(nan,dtype=torch.int32)
torch.tensor(inf,dtype=torch.int64)
torch.tensor([inf],dtype=torch.int64)
torch.tensor(1e20,dtype=torch.int64)
torch.tensor([1e20],dtype=torch.int64)
torch.tensor(1e40)
torch.tensor(1e40,dtype=torch.float32)
torch.tensor(inf)
torch.tensor([1e40])
torch.tensor(1e10,dtype=torch.half)
torch.tensor([1e10],dtype=torch.half)
torch.tensor(2,dtype=torch.bool)
torch.tensor([0.5,0],dtype=torch.bool)
torch.tensor(0.5,dtype=torch.bool)
torch.tensor(1j,dtype=torch.float)
torch.tensor([1j],dtype=torch.float)
torch.tensor(1j,dtype=torch.int)
torch.tensor(1j,dtype=torch.bool)
torch.tensor(1+0j,dtype=torch.float)
torch.tensor([1+0j],dtype=torch.float)
torch.tensor(1,dtype=torch.complex64)
torch.tensor(np.float64(1.5))
torch.tensor(np.float32(1.5))
torch.tensor(np.int32(1))
torch.tensor(np.int16(1))
torch.tensor(np.bool_(True))
torch.tensor([np.float64(1.5)])
torch.tensor([np.float32(1.5)])
torch.tensor([np.int32(1)])
torch.tensor([np.int32(1),2])
torch.tensor([np.float32(1),np.float64(2)])
torch.tensor([1,np.float32(1)])
torch.tensor([np.float16(1)])
torch.tensor([np.bool_(True)])
torch.tensor([np.complex64(1)])
torch.tensor([np.uint8(1)])
torch.tensor([torch.tensor(1),torch.tensor(2)])
torch.tensor([torch.tensor(1.),torch.tensor(2)])
torch.tensor([torch.tensor(1.,dtype=torch.double),2])
torch.tensor([torch.tensor([1]),torch.tensor([2])])
torch.tensor([torch.tensor([1,2]),torch.tensor([2,3])])
torch.tensor([torch.tensor([1,2]),torch.tensor([2])])
torch.tensor([f,f])
torch.tensor([np.array([1,2]),np.array([3,4])])
torch.tensor([np.array([1.,2]),np.array([3,4])])
torch.tensor([np.array(1.),np.array(2)])
torch.tensor([[np.array([1,2])]])
torch.tensor(np.array([1,2],dtype=object))
torch.tensor(np.array(['a']))
torch.tensor(np.array([1,2],dtype='>i4'))
torch.tensor(np.array([1,2],dtype=np.longdouble))
torch.tensor(np.array([1.,2])[::-1])
torch.tensor(a[::2])
torch.tensor(a,dtype=torch.float)
torch.tensor(a).dtype
torch.tensor(torch.tensor(1))
torch.tensor(torch.zeros(2,requires_grad=True))
torch.tensor([torch.zeros(1,requires_grad=True)])
torch.tensor([1],requires_grad=True)
torch.tensor([1.],requires_grad=True)
torch.tensor(1,2)
torch.tensor(data=[1])
torch.tensor([1],dtype='int')
torch.tensor([1],dtype=int)
torch.tensor([1.5],dtype=float)
torch.tensor([1],device='cpu')
torch.tensor([1],device='meta')
torch.tensor([1],pin_memory=False)
torch.tensor([1],names=['a'])
torch.zeros(2,names=None)
torch.ones(2,names=('a',))
torch.empty(2,names=('a',))
torch.full((2,),1.0,names=('a',))
torch.zeros(2,memory_format=torch.contiguous_format)
torch.empty(2,memory_format=torch.contiguous_format).shape
hasattr(torch.ones(2),'names')
hasattr(torch.ones(2),'has_names')
torch.tensor(b'abc')
torch.tensor([b'a'])
torch.tensor(bytearray(b'ab'))
torch.tensor(memoryview(b'ab'))
torch.tensor(array.array('i',[1,2]))
torch.tensor([1e-50])
torch.tensor([[1,2],[3,4]],dtype=torch.bfloat16)
torch.tensor([1.1],dtype=torch.bfloat16)
torch.tensor(3.14159,dtype=torch.float16)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.]).to(torch.int32)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.int64)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.int32)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.int16)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.int8)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.uint8)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]).to(torch.bool)
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8).to(torch.int32)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8).to(torch.int64)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8).to(torch.uint8)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8).to(torch.int8)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8).to(torch.int16)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8,dtype=torch.double).to(torch.int32)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8,dtype=torch.double).to(torch.int64)[:8]
torch.tensor([nan,inf,-inf,1e20,-1.5,300.,-1.,3e9]*8,dtype=torch.double).to(torch.uint8)[:8]
torch.tensor([nan,inf,-inf,1e5,-1.5,300.,-1.,300.],dtype=torch.half).to(torch.int32)
torch.tensor([nan,inf,-inf,1e5,-1.5,300.,-1.,300.],dtype=torch.bfloat16).to(torch.uint8)
torch.tensor([300,-1,2**40,2**31]).to(torch.uint8)
torch.tensor([300,-1,2**40,2**31]).to(torch.int32)
torch.tensor([1+2j]).to(torch.float)
torch.tensor([1+2j,0,2j]).to(torch.bool)
torch.tensor([1+2j]).float()
torch.tensor([1+2j]).to(torch.int)
f.to('cpu') is f
f.to(torch.float) is f
f.to(torch.float,copy=True) is f
f.to(f) is f
f.to('meta')
f.to('meta').to('cpu')
f.to(dtype=torch.int,device='cpu')
f.to('cpu',torch.int)
f.to()
f.to(None)
f.to(torch.int,False,True)
f.to(torch.int,non_blocking=True)
f.to(device=None,dtype=None)
torch.zeros(2,3,4,5).to(memory_format=torch.channels_last).stride()
torch.zeros(3,4).t().to(torch.int).stride()
torch.zeros(3,4).t().clone().stride()
torch.zeros(3,4).t().clone(memory_format=torch.contiguous_format).stride()
torch.zeros(2,3,4,5).clone(memory_format=torch.channels_last).stride()
torch.zeros(2,3,4,5).float(memory_format=torch.channels_last).stride()
torch.zeros(3,4).t().double(memory_format=torch.contiguous_format).stride()
torch.result_type(f,1)
torch.result_type(1,2.)
torch.result_type(f.int(),1.)
torch.can_cast(torch.float,torch.int)
torch.promote_types(torch.int,torch.float)
torch.zeros(1,requires_grad=True).to(torch.double)
torch.zeros(1,requires_grad=True).double()
torch.zeros(1,requires_grad=True).to(torch.int)
torch.zeros(1,requires_grad=True).clone()
torch.zeros(1,requires_grad=True).type(torch.double)
torch.tensor(3).size(0)
torch.tensor(3).size(-2)
torch.tensor(3).stride(1)
setattr(torch.tensor([3]),'requires_grad',True)
torch.tensor([3]).requires_grad_()
torch.from_numpy([1])
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.zeros(3,np.float16))
torch.from_numpy(np.zeros(3,np.complex64))
torch.from_numpy(np.zeros((3,4)).T).stride()
torch.from_numpy(np.float64(3))
torch.from_numpy(np.broadcast_to(np.zeros(1),(3,)))
torch.hann_window(5)
torch.hann_window(5,periodic=False)
torch.hann_window(0)
torch.hann_window(1)
torch.hann_window(-1)
torch.hann_window(5,dtype=torch.int)
torch.hann_window(5.5)
torch.hamming_window(5)
torch.hamming_window(5,True,0.5,0.5)
torch.bartlett_window(5)
torch.bartlett_window(6,False)
torch.kaiser_window(5)
torch.kaiser_window(5,False,3.)
torch.kaiser_window(1)
torch.kaiser_window(-1)
torch.signal.windows.hann(5)
torch.signal.windows.hann(5,sym=False)
torch.signal.windows.gaussian(5,std=2.)
torch.signal.windows.gaussian(5,std=-2.)
torch.signal.windows.exponential(5)
torch.signal.windows.exponential(5,center=1)
torch.signal.windows.exponential(5,center=1,sym=False,tau=2.)
torch.signal.windows.kaiser(5)
torch.signal.windows.kaiser(5,beta=-1)
torch.signal.windows.cosine(5)
torch.signal.windows.nuttall(5)
torch.signal.windows.general_cosine(5,a=[.5,.5])
torch.signal.windows.general_cosine(5,a=[])
torch.signal.windows.general_cosine(5,a=1)
torch.signal.windows.general_hamming(5,alpha=.6)
torch.signal.windows.blackman(-1)
torch.signal.windows.blackman(0)
torch.signal.windows.blackman(1)
torch.signal.windows.bartlett(5)
torch.signal.windows.hamming(5,dtype=torch.int)
torch.signal.windows.hamming(5,dtype=torch.half)
torch.signal.windows.__all__
""")
OTHER_WORDS = rows(r"""
torch.tensor()
f.to(torch.int,'cpu')
f.to(foo=1)
torch.from_numpy(np.zeros(3)[::-1])
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


def test_memory_is_shared_where_pytorch_shares_it():
    for module in (torch, jaxtorch):
        array = np.arange(3.0)
        shared, copied = module.as_tensor(array), module.tensor(array)
        converted = module.as_tensor(array, dtype=module.float32)
        array[0] = 7
        assert (shared[0].item(), copied[0].item(), converted[0].item()) == (7, 0, 0)
        shared[1] = 9
        assert array[1] == 9
        assert module.asarray(array)[1].item() == 9
        buffer = bytearray(4)
        window = module.frombuffer(buffer, dtype=module.uint8)
        buffer[2] = 5
        assert window.tolist() == [0, 0, 5, 0]


VALUES = [
    2.0**32 + 5, -(2.0**32) - 5, 3e9, -3e9, 70000.0, -70000.0, 2.0**40 + 7, 1e30, float("nan"), 2.0**63, -(2.0**63), 2.0**64,
    float("inf"), -float("inf"), -1.5, -2147483648.5, 2147483647.5, 255.9,
]  # fmt: skip


@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
def test_floats_that_do_not_fit_an_integer_type(source, target):
    """What x86 makes of them, in a program and on the host."""
    wanted, got = (
        torch_.tensor(VALUES, dtype=getattr(torch_, source)).to(getattr(torch_, target)).tolist()
        for torch_ in (torch, jaxtorch)
    )
    assert got == wanted
    if source != "bfloat16":
        with np.errstate(over="ignore"):
            array = np.array(VALUES).astype(source)
        wanted, got = (torch_.tensor(array, dtype=getattr(torch_, target)).tolist() for torch_ in (torch, jaxtorch))
        assert got == wanted


def test_copying_a_tensor_warns():
    for module in (torch, jaxtorch):
        with pytest.warns(UserWarning, match="To copy construct from a tensor"):
            module.tensor(module.zeros(2))
