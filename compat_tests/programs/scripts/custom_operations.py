"""Operations registered with torch.library, with gradients, fake implementations and mutation."""

import torch
from torch.library import Library, custom_op, register_autograd, register_fake


@custom_op("demo::scaled_sin", mutates_args=())
def scaled_sin(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return torch.sin(x) * scale


@scaled_sin.register_fake
def _(x, scale=2.0):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    x, ctx.scale = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * torch.cos(x) * ctx.scale, None


scaled_sin.register_autograd(backward, setup_context=setup_context)
x = torch.linspace(0, 1, 4, requires_grad=True)
y = scaled_sin(x, scale=3.0)
y.sum().backward()
print(y.tolist(), x.grad.tolist())
print(torch.ops.demo.scaled_sin(x).tolist(), torch.ops.demo.scaled_sin.default(x.detach()).tolist())
print(tuple(torch.ops.demo.scaled_sin(torch.empty(3, 2, device="meta")).shape))


@custom_op("demo::fill_square", mutates_args={"out"})
def fill_square(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x * x)


target = torch.zeros(3)
print(fill_square(torch.arange(3.0), target), target.tolist())

library = Library("demo2", "DEF")
library.define("weighted(Tensor x, Tensor? w=None, *, int times=1) -> Tensor")
library.impl("weighted", lambda x, w=None, *, times=1: (x if w is None else x * w) * times, "CompositeImplicitAutograd")
w = torch.tensor([2.0, 3.0], requires_grad=True)
out = torch.ops.demo2.weighted(torch.ones(2), w, times=4)
out.sum().backward()
print(out.tolist(), w.grad.tolist(), torch.ops.demo2.weighted(torch.ones(1)).tolist())


@custom_op("demo::no_gradient", mutates_args=())
def no_gradient(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


try:
    no_gradient(w).sum().backward()
except (RuntimeError, NotImplementedError) as error:
    print("no formula", "demo" in str(error))
try:
    torch.ops.demo.missing
except AttributeError as error:
    print(type(error).__name__)
print(torch.ops.aten.add(torch.ones(1), 2).tolist(), torch.ops.aten.mm.default(torch.eye(2), torch.eye(2)).tolist())
print(callable(register_autograd), callable(register_fake))
