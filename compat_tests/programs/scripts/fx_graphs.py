"""Tracing, running and changing graphs with torch.fx."""

import math

import torch
import torch.fx
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.w = nn.Parameter(torch.ones(4, 1, 1))
        self.register_buffer("b", torch.full((1,), 0.5))

    def forward(self, x, scale: float = 2.0):
        y = self.bn(self.conv(x))
        y = F.relu(y * self.w + self.b, inplace=False)
        n, c = y.shape[0], y.size(1)
        a, b = torch.chunk(y, 2, dim=1)
        y = torch.cat([a - 1, 1 - b], dim=1)
        return torch.flatten(y, 1).view(n, -1).sum(dim=-1) ** scale / math.sqrt(c), {"y": y[:, 0:2]}


torch.manual_seed(0)
m = nn.Sequential(Block()).eval()


class Top(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
        self.l = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        s, _ = self.b(x)
        return self.l(s.unsqueeze(-1).repeat(1, 2))


torch.manual_seed(0)
top = Top().eval()
g = torch.fx.symbolic_trace(top)
x = torch.randn(2, 3, 4, 4)
print(torch.allclose(g(x), top(x)))
for n in g.graph.nodes:
    print(n.op, n.name, n.target if isinstance(n.target, str) else n.target.__name__)


class Rep(torch.fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target is F.relu:
            return super().call_function(torch.sigmoid, args[:1], {})
        return super().call_function(target, args, kwargs)


t = Rep(g).transform()
print(t(x)[0], torch.fx.Interpreter(g).run(x)[0])
g.graph.lint()
for n in g.graph.nodes:
    if n.op == "call_function" and n.target in (torch.relu, F.relu):
        with g.graph.inserting_after(n):
            new = g.graph.call_function(torch.tanh, (n.args[0],))
        n.replace_all_uses_with(new)
        g.graph.erase_node(n)
g.recompile()
print(g(x))
import copy

print(torch.equal(copy.deepcopy(g)(x), g(x)))


@torch.fx.wrap
def helper(x, k):
    return x if x.sum() > 0 else k


def f(x, y=3):
    return helper(x, y) + y


q = torch.fx.symbolic_trace(f)
print(q(torch.ones(2)))
try:
    torch.fx.symbolic_trace(lambda x: x + 1 if x.sum() > 0 else x)
except Exception as e:
    print(type(e).__name__, e)


def g(x, y):
    a = torch.clamp(x, min=0.0, max=1.0)
    return (
        {"a": a, "b": [torch.cat((a, y), 0), x.reshape(shape=(2, 1))]},
        x[..., 0],
        torch.sum(x, dim=[0], keepdim=True),
    )


drawn = torch.fx.symbolic_trace(g)
print(drawn.graph)
print(drawn.code)

# proxies of a graph of one's own, without a trace
own = torch.fx.Graph()
tracer = torch.fx.proxy.GraphAppendingTracer(own)
a, b = (torch.fx.Proxy(own.placeholder(n), tracer=tracer) for n in "ab")
torch._assert(a.shape[-1] == 3, "as long as b")
torch.broadcast_tensors(a[..., :1], b)
torch.cat([a, b], dim=1)
torch.where(a > 0, a, b)
own.output((torch.einsum("ij,j->i", a, b).node, torch.einsum("ij,j->i", [a, b]).node))
print([(n.op, n.name, str(n.args), str(n.kwargs)) for n in own.nodes])
for n in list(own.nodes):
    if n.name in ("broadcast_tensors", "cat", "where"):
        own.erase_node(n)
print(torch.fx.GraphModule({}, own)(torch.ones(3, 3), torch.arange(3.0)))


class Functional(torch.nn.Module):
    def forward(self, x):
        F = torch.nn.functional
        x = F.dropout(F.relu(F.max_pool2d(x, 2)), p=0.3, training=False)
        x = F.softmax(F.gelu(F.avg_pool2d(F.conv2d(x, x), 1)).flatten(1), dim=1)
        return F.cross_entropy(x, F.one_hot(x.argmax(1), 4)), torch.norm(x, dim=1), torch.split(x, 2, 1)


print(torch.fx.symbolic_trace(Functional()).graph)
print(torch.fx.symbolic_trace(Functional()).code)
print(torch.fx.symbolic_trace(torch.nn.functional.leaky_relu)(torch.tensor([-1.0, 2.0])))
