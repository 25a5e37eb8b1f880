"""A walk through tensors and automatic differentiation, for reading beside its output.

    python examples/tensors_and_autograd.py

Written for PyTorch: with `import torch` in place of `import jaxtorch as torch` it runs there too,
and prints the same.
"""

import numpy as np

import jaxtorch as torch


def title(text):
    print(f"\n== {text}")


title("Tensors")
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(x)
print(x.shape, x.dtype, x.device, x.stride())
print(x + torch.arange(3))  # a float and an int64 tensor: the result is float32
print(x @ x.t())

title("Views share memory with what they view")
row, columns = x[1], x.t()
row.mul_(10)
columns[0, 0] = -1
x[:, 2] = 0
print(x)
print(row, columns.is_contiguous(), columns.data_ptr() == x.data_ptr())

title("So do tensors and NumPy arrays")
array = np.zeros(3, dtype=np.float32)
shared = torch.from_numpy(array)
array[0] = 7  # seen by the tensor
shared.add_(1)  # seen by the array
print(shared, array)

title("Recording derivatives")
w = torch.tensor([2.0, -3.0], requires_grad=True)
y = (w**2).sum()
print(y)
print(y.grad_fn.name(), [function.name() for function, _ in y.grad_fn.next_functions])
y.backward()
print(w.grad)  # dy/dw = 2w

title("Gradients add up until they are zeroed")
(3 * w).sum().backward()
print(w.grad)  # 2w + 3
w.grad.zero_()
(3 * w).sum().backward()
print(w.grad)

title("Derivatives of derivatives")
z = torch.tensor(2.0, requires_grad=True)
(first,) = torch.autograd.grad(z**3, z, create_graph=True)
(second,) = torch.autograd.grad(first, z)
print(first.item(), second.item())  # 3z^2 = 12, 6z = 12

title("What autograd refuses")
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a.exp()
b.add_(1)  # exp's derivative needs its result, which is gone now
try:
    b.sum().backward()
except RuntimeError as error:
    print("RuntimeError:", str(error).split(":")[0])

title("Training by hand: a line through four points")
points = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
targets = 2 * points + 1


def line():
    torch.manual_seed(0)
    return torch.nn.Linear(1, 1)


learning_rate = 0.1
net = line()
for step in range(100):
    net.zero_grad()
    loss = torch.nn.functional.mse_loss(net(points), targets)
    loss.backward()
    for p in net.parameters():
        p.data.sub_(p.grad.data * learning_rate)
    if step % 25 == 0:
        print(f"step {step:2}: loss {loss.item():.4f}")
by_hand = net.weight.item(), net.bias.item()
print(f"weight {by_hand[0]:.3f}, bias {by_hand[1]:.3f}")

title("The same with an optimizer")
net = line()
optimizer = torch.optim.SGD(net.parameters(), lr=learning_rate)
for _ in range(100):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(points), targets)
    loss.backward()
    optimizer.step()
print(f"weight {net.weight.item():.3f}, bias {net.bias.item():.3f}")
print("as by hand:", np.allclose(by_hand, (net.weight.item(), net.bias.item())))
