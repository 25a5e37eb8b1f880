"""Classes and modes with `__torch_function__`."""

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like

HANDLED = {}


def implements(function):
    def register(implementation):
        HANDLED[function] = implementation
        return implementation

    return register


class Scalar:
    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, cls)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.mean)
def mean(x):
    return float(x.value) / x.n


@implements(torch.add)
def add(x, y):
    return Scalar(x.n, x.value + y.value) if isinstance(x, Scalar) and isinstance(y, Scalar) else "mixed"


@implements(torch.stack)
def stack(items, dim=0):
    return f"{len(items)} stacked along {dim}"


d = Scalar(5, 2)
print(torch.mean(d), torch.add(d, d).value, torch.add(torch.ones(2), d))
print(torch.stack([d, d], dim=1), is_tensor_like(d), is_tensor_like(3), has_torch_function((d, 1)))
try:
    torch.mul(d, 2)
except TypeError as error:
    print(type(error).__name__, "torch.mul" in str(error))


class Logged(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Logged.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


x = torch.arange(4.0).reshape(2, 2).as_subclass(Logged)
made = [
    x + 1,
    1 - x,
    x @ x,
    x[0],
    x.T,
    x.clone(),
    torch.cat([x, x]),
    torch.nn.functional.relu(x),
    x.max(0).values,
    x.sum(),
]
print([type(t).__name__ for t in made], Logged.calls > 0, [t.tolist() for t in made])


class Metadata(torch.Tensor):
    @staticmethod
    def __new__(cls, data, note, **kwargs):
        return torch.as_tensor(data, **kwargs).as_subclass(cls)

    def __init__(self, data, note, **kwargs):
        self.note = note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        notes = [a.note for a in args if isinstance(a, Metadata) and hasattr(a, "note")]
        if isinstance(out, Metadata) and notes:
            out.note = notes[0]
        return out


t = Metadata([1.0, 2.0], "seen") * 2
print(type(t).__name__, t.note, t.tolist())


class Plain(torch.Tensor):
    pass


p = torch.nn.Parameter(torch.ones(2))
s = Plain([1.0, 2.0])
print(type(p * s).__name__, type(torch.nn.Linear(2, 2)(s)).__name__, type(p + 1).__name__, type(s.detach()).__name__)
loss = (s * p).sum()
loss.backward()
print(p.grad.tolist())


class Doubling(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 2 if func is torch.exp else out


with Doubling():
    print(torch.exp(torch.zeros(2)).tolist(), torch.log(torch.ones(1)).tolist())
    with Doubling():
        print(torch.exp(torch.zeros(1)).tolist())
print(torch.exp(torch.zeros(1)).tolist())


def mine(a):
    return handle_torch_function(mine, (a,), a) if has_torch_function((a,)) else "plain"


HANDLED[mine] = lambda a: "handled"
print(mine(d), mine(torch.ones(1)))


class Shown(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in (torch.Tensor.requires_grad_, torch.Tensor.__repr__):
            print(func.__name__, len(args), kwargs)
        return super().__torch_function__(func, types, args, kwargs)


# functions that PyTorch writes in Python pass on all their parameters, the others what they got
s = torch.arange(8.0).reshape(2, 4).as_subclass(Shown)
F = torch.nn.functional
(
    F.relu(s),
    torch.relu(s),
    s.relu(),
    F.gelu(s, approximate="tanh"),
    F.dropout(s, 0.5, False),
    F.softmax(s, 1),
    s.softmax(1),
)
(
    F.layer_norm(s, (4,)),
    F.normalize(s),
    F.mse_loss(s, s, reduction="sum"),
    F.max_pool1d(s, 2),
    F.pad(s, (1, 1)),
    F.linear(s, s),
)
torch.norm(s, dim=1), torch.split(s, 1), s.split(1, dim=1), s.unique(), torch.meshgrid(s[0], s[1], indexing="ij")
(
    torch.cdist(s, s),
    torch.tensordot(s, s, 2),
    torch.cat([s, s]),
    torch.nn.ReLU()(s),
    torch.nn.Softmax(-1)(s),
    s.sum(dim=0),
)


class Names(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(func.__name__, len(args), kwargs)
        return func(*args, **(kwargs or {}))


with Names():
    (
        F.elu(torch.ones(2)),
        torch.exp(torch.ones(2)),
        torch.ones(2).sum(dim=0),
        F.cross_entropy(torch.ones(2, 2), torch.tensor([0, 1])),
    )


class Declining:
    """Leaves every function to others; its operators answer."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rmod__(self, other):
        return "rmod"

    def __rand__(self, other):
        return "rand"

    def __gt__(self, other):
        return "gt"

    def __eq__(self, other):
        return "eq"


class Failing(Declining):
    """A TypeError of its own leaves the operation to the other side too."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise TypeError("not for me")


ones = torch.ones(2)
for kind in (Declining, Failing):
    x = kind()
    print(ones + x, ones @ x, ones % x, ones & x, ones < x, ones == x)
    y = ones
    y += x
    print(y)
    for fails in (lambda x=x: ones - x, lambda x=x: ones > x, lambda x=x: x * ones):
        try:
            print(fails())
        except TypeError as error:
            print(error)
    try:
        torch.add(ones, x)
    except TypeError as error:
        print(str(error)[:20])
