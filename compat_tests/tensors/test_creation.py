"""Factory functions, legacy constructors, type information and defaults, as PyTorch has them."""

from __future__ import annotations

import pytest
import torch

import jaxtorch
from expressions import outcome, rows, same

SAME = rows(r"""
torch.arange(5)
torch.arange(5.)
torch.arange(1,5)
torch.arange(1,5,2.)
torch.arange(5,1,-1)
torch.arange(5,1)
torch.arange(1,5,0)
torch.arange(1,5,-1)
torch.arange(float('nan'))
torch.arange(float('inf'))
torch.arange(torch.tensor(5))
torch.arange(torch.tensor(5.))
torch.arange(True)
torch.arange(1,5,step=2)
torch.arange(end=5)
torch.arange(start=1,end=5)
torch.arange(0,5,dtype=torch.float)
torch.arange(0,2.5,dtype=torch.int)
torch.arange(0.5,2.5,0.5,dtype=torch.int)
torch.arange(5,dtype=torch.bool)
torch.arange(2,dtype=torch.bool)
torch.arange(5,dtype=torch.complex64)
torch.arange(1j)
torch.arange(300,dtype=torch.uint8)
torch.arange("a")
torch.arange(0,1,0.1)[3].item()
torch.arange(3,dtype=torch.float16)
torch.arange(0,5,out=torch.empty(0,dtype=torch.int32))
torch.arange(0,5,out=torch.empty(5,dtype=torch.float32))
torch.arange(5,requires_grad=True)
torch.arange(5.,requires_grad=True)
torch.range(0,5)
torch.range(0,5,2)
torch.range(5,0)
torch.range(0,5,dtype=torch.int)
torch.range(0,5,0)
torch.linspace(0,1,5)
torch.linspace(0,10,3,dtype=torch.int)
torch.linspace(4.3,-3,50,dtype=torch.int64)
torch.linspace(-39,54,37,dtype=torch.int64).tolist()
torch.linspace(0,3e38,5).tolist()
torch.linspace(0.1,-2.3,57).tolist()
torch.linspace(0.1,-2.3,57,dtype=torch.float64).tolist()
torch.linspace(0.1,-2.3,57,dtype=torch.bfloat16).tolist()
torch.linspace(0.1,-2.3,57,dtype=torch.float16).tolist()
torch.linspace(0,1e39,3)
torch.linspace(0,300,3,dtype=torch.uint8)
torch.linspace(0,2**64,3)
torch.linspace(0,1,-1)
torch.linspace(0,1,0)
torch.linspace(0,1,1)
torch.linspace(torch.tensor(0.),torch.tensor(1.),3)
torch.linspace(torch.tensor([0.,1]),torch.tensor(1.),3)
torch.linspace(torch.tensor(0),1,3)
torch.linspace(0,1j,3)
torch.linspace(0,1j,3,dtype=torch.float)
torch.linspace(0,1,steps=3,dtype=torch.float64)
torch.linspace(start=0,end=1,steps=3)
torch.linspace(0,7,4,dtype=torch.bool)
torch.linspace(0,1,3,dtype=torch.half)
torch.linspace(-10,10,7,dtype=torch.long)
torch.logspace(0,2,3)
torch.logspace(0,2,3,base=2)
torch.logspace(0,2,3,dtype=torch.int)
torch.logspace(0,2,-3)
torch.logspace(0,2,1)
torch.logspace(0,2,3,-2)
torch.eye(3)
torch.eye(2,3)
torch.eye(-1)
torch.eye(2,-1)
torch.eye(2,dtype=torch.bool)
torch.eye(n=2,m=1)
torch.eye(2.5)
torch.tril_indices(3,3)
torch.tril_indices(3,4,1)
torch.tril_indices(3,4,-2,dtype=torch.int32)
torch.tril_indices(-3,4)
torch.tril_indices(3,-4)
torch.tril_indices(3,4,dtype=torch.float)
torch.tril_indices(row=2,col=2,offset=0)
torch.triu_indices(3,3)
torch.triu_indices(3,4,-1)
torch.meshgrid(torch.arange(2),torch.arange(3))
torch.meshgrid(torch.arange(2),torch.arange(3),indexing='xy')
torch.meshgrid([torch.arange(2),torch.arange(3)],indexing='ij')
torch.meshgrid(torch.arange(2),indexing='zz')
torch.meshgrid(torch.zeros(2,2))
torch.meshgrid(torch.zeros(2),torch.zeros(2).int())
torch.meshgrid()
torch.meshgrid(torch.tensor(1),torch.arange(3),indexing='ij')
torch.meshgrid(torch.arange(2),torch.arange(3),indexing='xy')[0].stride()
torch.cartesian_prod(torch.arange(2),torch.arange(3))
torch.cartesian_prod(torch.arange(2))
torch.cartesian_prod()
torch.cartesian_prod(torch.zeros(2,2))
torch.combinations(torch.arange(3))
torch.combinations(torch.arange(3),r=2,with_replacement=True)
torch.combinations(torch.arange(3),r=0)
torch.combinations(torch.arange(3),r=1)
torch.combinations(torch.arange(3),r=4)
torch.combinations(torch.arange(3),r=-1)
torch.combinations(torch.zeros(2,2))
torch.vander(torch.tensor([1,2,3]))
torch.vander(torch.tensor([1,2,3]),N=2,increasing=True)
torch.vander(torch.zeros(2,2))
torch.vander(torch.tensor([1,2,3]),N=-1)
torch.block_diag(torch.ones(2,2),torch.tensor(3),torch.arange(2))
torch.block_diag()
torch.block_diag(torch.zeros(1,1,1))
torch.full((2,),True)
torch.full((2,),1)
torch.full((2,),1.)
torch.full((2,),1j)
torch.full((2,),1,dtype=torch.float)
torch.full((2,),2.5,dtype=torch.int)
torch.full((2,),2.5,dtype=torch.bool)
torch.full((2,),300,dtype=torch.uint8)
torch.full((2,),-1,dtype=torch.uint8)
torch.full((2,),1j,dtype=torch.float)
torch.full(2,1)
torch.full((2,),torch.tensor(3))
torch.full((2,),torch.tensor([3]))
torch.full((2,),"a")
torch.full((2,),float('inf'),dtype=torch.int)
torch.full((2,),1e10,dtype=torch.half)
torch.full((2,),2**70)
torch.full((2,),1,out=torch.empty(2,dtype=torch.half))
torch.full(size=(2,),fill_value=1)
torch.zeros("a")
torch.zeros(2.5)
torch.zeros((2,2.5))
torch.zeros(())
torch.zeros([])
torch.zeros()
torch.zeros(torch.tensor(3))
torch.zeros(torch.tensor([3]))
torch.zeros(np.int64(3))
torch.zeros((np.int64(3),2)).shape
torch.zeros(2,3,out=torch.empty(0)).shape
torch.zeros(2,out=torch.empty(0,dtype=torch.int))
torch.zeros(2,requires_grad=True)
torch.zeros(2,dtype=torch.int,requires_grad=True)
torch.zeros(True)
torch.zeros(-1)
torch.zeros(2,dtype='float32')
torch.zeros(2,dtype=float)
torch.zeros(2,dtype=int).dtype
torch.zeros(2,dtype=bool).dtype
torch.zeros(2,dtype=complex).dtype
torch.zeros(2,dtype=np.float32)
torch.zeros(2,device='foo')
torch.zeros(2,foo=1)
torch.zeros_like(f,dtype=torch.int)
torch.zeros_like([1])
torch.zeros_like(1)
torch.empty(2,3,4,5,memory_format=torch.channels_last).stride()
torch.empty(2,3,memory_format=torch.channels_last).stride()
torch.empty_like(torch.zeros(2,3,4,5),memory_format=torch.channels_last).stride()
torch.empty_strided((2,3),(1,2)).stride()
torch.empty_strided((2,3),(1,))
torch.empty_permuted((2,3,4),(2,0,1)).stride()
torch.empty_permuted((2,3,4),(2,0))
torch.ones_like(torch.zeros(3,4).t()).stride()
torch.ones(3,4).t().new_zeros(2,2)
f.new_tensor([1,2])
f.new_tensor(torch.tensor([1,2]))
f.new_full((2,),3)
f.int().new_full((2,),3.7)
f.new_full(2,3)
f.new_empty((2,3)).shape
f.new_empty(2,3).shape
f.new_empty(2).shape
f.new_ones(size=(2,)).shape
f.new_zeros(())
f.new_empty_strided((2,3),(1,2)).stride()
f.new()
f.new(3).shape
f.new([1,2])
f.new((1,2))
f.new(torch.tensor([1.,2]))
f.new(torch.Size([2,3])).shape
f.new(2,3).shape
f.int().new([1.5])
f.new(torch.tensor([1,2]))
torch.Tensor()
torch.Tensor(3).shape
torch.Tensor(2,3).shape
torch.Tensor([1,2])
torch.Tensor((1,2))
torch.Tensor(torch.tensor([1.,2]))
torch.Tensor(torch.tensor([1,2]))
torch.Tensor(torch.Size([2])).shape
torch.Tensor(np.array([1,2]))
torch.Tensor(2.5)
torch.Tensor("a")
torch.Tensor([])
torch.Tensor([[1,2],[3,4]])
torch.Tensor(True)
torch.FloatTensor([1,2])
torch.LongTensor(3).shape
torch.LongTensor([1.5])
torch.LongTensor([1,2])
torch.BoolTensor([0,2])
torch.ByteTensor([1,300])
torch.HalfTensor([1])
torch.DoubleTensor([1])
torch.IntTensor(torch.tensor([1]))
torch.FloatTensor
torch.FloatTensor.dtype
torch.FloatTensor(2,3).shape
isinstance(f,torch.FloatTensor)
isinstance(f,torch.LongTensor)
issubclass(torch.Tensor,torch.FloatTensor)
torch.Tensor(2,device='cpu').shape
torch.Tensor([1,2],device='cpu')
f.type('torch.LongTensor')
f.type(torch.LongTensor).dtype
(f > 0).type(torch.Tensor)
torch.tensor([1, 2]).type('torch.Tensor')
f.type(torch.float64).dtype
f.type('foo')
f.type(int)
f.type()
torch.finfo(torch.float32)
torch.finfo(float)
torch.finfo(complex)
torch.finfo(int)
torch.finfo(None)
torch.finfo('float32')
torch.iinfo(int)
torch.iinfo(bool)
torch.iinfo(float)
torch.iinfo(None)
torch.finfo()
torch.finfo(torch.int)
torch.finfo(torch.bfloat16)
torch.finfo(torch.float16)
torch.finfo(torch.float64)
torch.finfo(torch.complex64)
torch.finfo(torch.float8_e5m2)
torch.finfo(torch.float8_e4m3fn)
torch.finfo(torch.float8_e8m0fnu)
torch.iinfo(torch.int8)
torch.iinfo(torch.uint8)
torch.iinfo(torch.float)
torch.iinfo(torch.bool)
torch.iinfo(torch.uint64)
[getattr(torch.finfo(torch.float32),a) for a in ('bits','eps','max','min','tiny','smallest_normal','resolution','dtype')]
[getattr(torch.iinfo(torch.int32),a) for a in ('bits','max','min','dtype')]
torch.finfo(torch.float)==torch.finfo(torch.float32)
torch.finfo(torch.bfloat16).resolution
torch.is_tensor(f)
torch.is_floating_point(f)
torch.is_complex(f)
torch.is_complex(1)
torch.is_signed(f)
torch.is_nonzero(f)
torch.is_nonzero(torch.tensor(1))
torch.numel(f)
torch.numel(1)
torch.get_default_dtype()
torch.get_default_device()
torch.tensor(1.).dtype
torch.Tensor([1]).dtype
torch.scalar_tensor(3)
torch.scalar_tensor(3,dtype=torch.int)
torch.scalar_tensor(True)
torch.float32.to_complex()
torch.float32.is_floating_point
torch.int32.is_signed
torch.float32.itemsize
torch.complex64.to_real()
torch.int32.to_complex()
torch.int32.to_real()
torch.complex(f,f)
torch.complex(f,f.double())
torch.complex(f.int(),f)
torch.polar(f,f)
torch.empty((2,),dtype=torch.int).new_tensor(2.5)
torch.fill(f,2)
f.fill_(torch.tensor([1.]))
f.fill_(torch.tensor([1.,2]))
f.fill_(1j)
f.int().fill_(2.7)
f.int().fill_(float('inf'))
f.bool().fill_(2)
f.byte().fill_(300)
f.byte().fill_(-1)
torch.Tensor.__new__(torch.Tensor,[1,2])
torch.as_tensor([1,2])
torch.as_tensor(f) is f
torch.as_tensor(f,dtype=torch.float) is f
torch.asarray(f) is f
torch.asarray([1,2],copy=False)
torch.asarray(np.zeros(2),copy=False)
torch.asarray(f,copy=True) is f
torch.asarray(f,dtype=torch.int,copy=False)
torch.asarray(1)
torch.asarray(bytearray(b"abcd"))
torch.asarray(bytearray(b"abcdefgh"),dtype=torch.float32)
torch.asarray(b"abcd")
torch.asarray(f,requires_grad=True)
torch.frombuffer(bytearray(b"abcdefgh"),dtype=torch.int32)
torch.frombuffer(bytearray(b"abcdefghi"),dtype=torch.int32)
torch.frombuffer(bytearray(b""),dtype=torch.int32)
torch.frombuffer(bytearray(b"abcdefgh"),dtype=torch.int32,count=3)
torch.frombuffer(bytearray(b"abcdefgh"),dtype=torch.int32,offset=4)
torch.frombuffer(bytearray(b"abcdefgh"),dtype=torch.int32,offset=9)
torch.frombuffer(1,dtype=torch.int32)
""")
OTHER_WORDS = rows(r"""
torch.arange()
torch.linspace(0,1)
torch.linspace(0,1,2.5)
torch.zeros((2,),(3,))
torch.zeros((True,2))
torch.Tensor([1,2],dtype=torch.int)
torch.iinfo()
f.fill_("a")
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


def test_default_dtype_reaches_factories_and_promotion():
    for module in (torch, jaxtorch):
        module.set_default_dtype(module.float64)
        try:
            made = [module.ones(2), module.tensor(1.5), module.tensor(1) / 2, module.arange(1.0), module.rand(2)]
        finally:
            module.set_default_dtype(module.float32)
        assert [str(t.dtype) for t in made] == ["torch.float64"] * 5
        assert made[2].item() == 0.5  # worked out after the default was set back
        assert module.get_default_dtype() is module.float32


def test_default_device():
    for module in (torch, jaxtorch):
        module.set_default_device("meta")
        try:
            assert module.zeros(2).device.type == "meta"
            assert module.rand(2).device.type == "meta"
            assert module.arange(3).shape == (3,)
        finally:
            module.set_default_device(None)
        with module.device("meta"):
            assert module.tensor([1.0]).device.type == "meta"
        assert module.zeros(1).device.type == "cpu"


class Tagged(jaxtorch.Tensor):
    """A subclass with an attribute of its own."""

    tag = "none"


def test_subclasses_share_memory_and_history():
    data = jaxtorch.zeros(3)
    made = jaxtorch.Tensor._make_subclass(Tagged, data, True)
    assert type(made) is Tagged and made.is_leaf and made.requires_grad
    data.add_(1)
    assert made.tolist() == [1, 1, 1]
    source = jaxtorch.ones(2, requires_grad=True)
    other = (source * 2).as_subclass(Tagged)
    assert isinstance(other, Tagged) and other.tag == "none"
    other.backward(jaxtorch.ones(2))
    assert source.grad.tolist() == [2, 2]


def test_numpy_of_a_tensor_with_strides_of_its_own():
    """A result that inherits its operand's memory order gives NumPy the right elements."""
    for module in (torch, jaxtorch):
        t = module.arange(12.0).reshape(3, 4).t() + 0
        array = t.numpy()
        assert array.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
        array[0, 1] = 50
        assert t[0, 1].item() == 50 and t.stride() == (1, 4)
