"""More kinds of lines for random programs: what programs do less often than views, writes and backward passes.

Hooks, `autograd.Function`, `set_`, `resize_`, `.data`, several outputs written in place, other element types, copies. Used by
`fuzz_programs.py --wider`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz_compare import Program
from fuzz_lines import KINDS, Generator

FUNCTIONS = [
    """class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y + x
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g * (y + 1)).sum_to_size(x.shape), (g * x).sum_to_size(y.shape)""",
    """class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 2""",
    """class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        at = (x > 0).to(torch.int64)
        out = x * at
        ctx.mark_non_differentiable(at)
        ctx.save_for_backward(out)
        ctx.set_materialize_grads(False)
        return out, at
    @staticmethod
    def backward(ctx, g, none):
        (out,) = ctx.saved_tensors
        return None if g is None else g * (out != 0)""",
    """class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3""",
    """class Shape(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return None""",
]


class Wider(Generator):
    """Writes programs with the lines of `Generator` and those of this file."""

    kinds: dict[Callable[[Any], str | None], int]

    def write(self) -> Program:
        for text in self.random.sample(FUNCTIONS, 2):
            self.add(text)
        self.add("seen = []")
        return super().write()

    def same_shape(self, name: str) -> str:
        """A tensor of the same shape and type, or the same one."""
        own = self.value(name)
        found = [n for n in self.tensors() if self.shape(n) == self.shape(name) and self.value(n).dtype == own.dtype]
        return self.random.choice(found or [name])

    def hook(self) -> str | None:
        x, r = self.tensor(), self.random
        if self.value(x)._is_view() or any(".data = " in line or ".set_(" in line for line in self.program):
            return None  # PyTorch may crash
        forms = [
            f"h = {x}.register_hook(lambda g: g * 2)",
            f"h = {x}.register_hook(lambda g: seen.append(g.sum().item()))",
            f"h = {x}.register_hook(lambda g: None if g is None else torch.zeros_like(g))",
            f"h = {x}.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))",
            f"h = {x}.grad_fn.register_hook(lambda gi, go: seen.append(len(gi)))",
            "h.remove()",
            f"h = {x}.grad_fn.register_prehook(lambda go: tuple(None if g is None else g * 2 for g in go))",
            f"h = {x}.register_hook(lambda g: g.view(-1))",
            f"{x}.retain_grad()",
        ]
        return r.choice(forms)

    def function(self) -> str:
        x, r = self.tensor(), self.random
        made = [text.split("(")[0].removeprefix("class ") for text in self.program if text.startswith("class ")]
        name = r.choice(made)
        if name == "InPlace" and (self.repeats(x) or 0 in self.value(x).stride()):
            name = next(n for n in made if n != "InPlace")
        given = f"{x}, {self.same_shape(x)}" if name == "Double" else x
        call = f"{name}.apply({given})"
        if name == "Largest":
            return f"{self.new()}, {self.new()} = {call}"
        return self.quietly(f"{self.new()} = {call}")

    def several(self) -> str:
        """Views that come in several, and writes to one of them."""
        x, r = self.tensor(), self.random
        axis = self.axis(x)
        if self.repeats(x) or 0 in self.value(x).stride():
            return f"{self.new()} = {x}.clone()"
        made = r.choice([f"chunk(2, {axis})", f"split(1, {axis})", f"unbind({axis})", f"tensor_split(2, {axis})"])
        name = self.new()
        write = r.choice(
            [f"{name}.mul_(2)", f"{name}[...] = 1", f"{name}.zero_()", f"{name}.add_({name})", f"{x}.mul_(2)"]
        )
        return f"{name} = {x}.{made}[{r.choice([0, -1])}]; {write}"

    def memory(self) -> str | None:
        """`set_`, `resize_`, `.data =`, swaps of contents."""
        x, r = self.tensor(), self.random
        y = self.same_shape(x)
        viewed = self.value(x)._is_view() or any(self.value(t)._base is self.value(x) for t in self.tensors())
        if r.random() < 0.3 and not self.value(x).requires_grad and not viewed:
            return f"{x}.set_({y}.detach())"
        if r.random() < 0.3:
            shape = self.shape(x)
            free = self.value(x).numel() and not self.value(x)._is_view()  # PyTorch cannot show a resized view
            return f"{x}.resize_({tuple(reversed(shape))})" if free else None
        kept = viewed or self.value(x).is_inference()  # PyTorch cannot show one that was given normal memory
        new = f"{x}.data[...] = 2" if kept else f"{x}.data = {y}.data.clone()"
        forms = [
            new,
            new,
            f"{x}.data.mul_(2)" if not self.repeats(x) else f"{x}.data.zero_()",
            f"{x}.data[...] = 1",
            f"{x}.data.copy_({self.source(x, y)}.data)" if not self.repeats(x) else f"{x}.data.zero_()",
        ]
        return r.choice(forms)

    def typed(self) -> str:
        x, r = self.tensor(), self.random
        y = self.tensor()
        kind = r.choice(["float32", "int64", "float16", "bfloat16", "bool", "int8", "uint8", "complex64", "complex128"])
        forms = [
            f"{x}.clamp(0, 3).to(torch.{kind})",
            f"{x}.float()",
            f"{x}.long()",
            f"({x} > 0) & ({x} < 3)",
            f"{x}.clamp(0, 3).type(torch.{kind})",
            f"{x}.int() + {x}",
            f"{x}.to(torch.complex64).real",
            f"{x}.to(torch.complex128).conj()",
            f"{x}.to({y})",
            f"torch.zeros({tuple(self.shape(x))}, dtype=torch.{kind}) + {x}",
            f"{x}.type_as({y})",
        ]
        return f"{self.new()} = {r.choice(forms)}"

    def copied(self) -> str:
        x = self.tensor()
        forms = [
            f"copy.deepcopy({x})",
            f"copy.copy({x})",
            f"pickle.loads(pickle.dumps({x}))",
            f"torch.nn.Parameter({x})",
            f"torch.tensor({x})",
            f"{x}.clone().detach()",
            f"{x}.resolve_conj().new_tensor({x}.tolist())",
            f"{x}.new_zeros(2, 2)",
            f"torch.from_dlpack({x}.detach())",
            f"torch.empty_like({x}).copy_({x})",
            f"torch.as_tensor({x})",
            f"copy.deepcopy([{x}, {x}])[0]",
        ]
        return f"{self.new()} = {self.random.choice(forms)}"

    def chosen(self) -> str:
        """Joining and choosing, of several tensors."""
        x, r = self.tensor(), self.random
        y, axis = self.same_shape(x), self.axis(x)
        size = self.size(x, axis)
        at = f"torch.tensor([{', '.join(str(r.randrange(max(1, size))) for _ in range(2))}])"
        forms = [
            f"torch.where({x} > {y}, {x}, {y})",
            f"torch.where({y} > 0, 2.0, {x})",
            f"torch.cat([{x}, {y}], {axis})",
            f"torch.stack([{x}, {y}], {axis})",
            f"torch.maximum({x}, {y})",
            f"{x}.masked_fill({y} > 0, 1)",
            f"{x}.index_select({axis}, {at})" if size else f"{x} * 1",
            f"{x}.gather({axis}, torch.zeros_like({x}, dtype=torch.int64))" if size else f"{x} * 1",
            f"{x}.flip({axis})",
            f"{x}.roll(1, {axis})",
            f"{x}.max({axis})[0]" if size else f"{x} * 1",
            f"{x}.contiguous().sort(dim={axis}, stable=True)[0]",
            f"{x}.tril()",
            f"torch.einsum('...,...->...', {x}, {y})",
            f"{x}.softmax({axis})",
            f"{x}.prod({axis})",
            f"{x}.var({axis}, correction=0)",
            f"{x}.masked_select({y} > 0)",
            f"{x}[{y} > 0]",
            f"torch.addcmul({x}, {x}, {y}, value=2)",
            f"{x}.lerp({y}, 0.25)",
            f"{x}.expand_as({y})",
            f"torch.meshgrid({x}.flatten(), {y}.flatten(), indexing='ij')[0]",
            f"{x}.nonzero()",
            f"{x}.bool().any({axis})",
            f"torch.broadcast_to({x}, (2, *{x}.shape))",
            f"{x}.triu(1)",
            f"{x}.logsumexp({axis})" if size else f"{x} * 1",
        ]
        return f"{self.new()} = {r.choice(forms)}"

    def written(self) -> str:
        """Less usual writes."""
        x, r = self.tensor(), self.random
        if self.repeats(x) or 0 in self.value(x).stride() or not self.value(x).numel():
            return self.quietly(f"{x}.zero_()")
        y = self.read_apart(x, self.same_shape(x))
        axis = self.axis(x)
        forms = [
            f"{x}.addcmul_({y}, {y})",
            f"{x}.lerp_({y}, 0.5)",
            f"{x}.where({x} > 0, {y})",
            f"{x}.index_add_({axis}, torch.tensor([0]), {x}.detach().narrow({axis}, 0, 1).clone())"
            if self.shape(x)
            else f"{x}.neg_()",
            f"{x}[{x} > 0] = 2",
            f"{x}[{x}.detach() > 0] *= 2",
            f"{x}.masked_fill_({y} > 0, 1)",
            f"torch.add({x}, {y}, out={x})",
            f"{x}.exp_()" if r.random() < 0.2 else f"{x}.sigmoid_()",
            f"{x}.cumsum_({axis})",
            f"{x}.tril_()",
            f"{x}.abs_()",
            f"{x}.expand_as({x}).mul_(2)",
            f"{x}.unsqueeze(0)[0].add_(1)",
            f"{x}.view(-1)[::2] = 0",
            f"{x}.T.mul_(2)",
            f"{x}.copy_({y} * 2)",
            f"{x}[..., None].mul_(2)",
            f"{x}.select({axis}, 0).copy_({y}.select({axis}, 0))" if self.shape(x) else f"{x}.abs_()",
            f"{x}.div_(2)",
            f"{x}.pow_(2)",
            f"{x}.clamp_(min=0)",
            f"{x}.diagonal().fill_(3)",
            f"{x}.swapaxes(0, -1).add_(1)",
            f"{x}.put_(torch.tensor([0]), torch.tensor([1], dtype={x}.dtype))",
        ]
        return self.quietly(r.choice(forms))

    def gradients(self) -> str:
        x, y, r = self.tensor(), self.tensor(), self.random
        fresh = ".clone(memory_format=torch.contiguous_format)"
        forms = [
            f"g = torch.autograd.grad({x}.sum(), [{x}, {y}], allow_unused=True); {self.new()} = g[0]{fresh}",
            f"g = torch.autograd.grad(({x} * {x}).sum(), {y}, create_graph=True, allow_unused=True)[0]; (g * g).sum().backward()",
            f"g = torch.autograd.grad({x}.sum(), {y}, materialize_grads=True)[0]; {self.new()} = g{fresh}",
            f"torch.autograd.backward([{x}, {y}], [torch.ones_like({x}), torch.ones_like({y})])",
            f"{x}.backward(torch.ones_like({x}))",
            f"({x} ** 2).sum().backward(retain_graph=True); ({x} ** 2).sum().backward()",
            f"l = ({x} * {y}).sum(); l.backward(retain_graph=True); l.backward()",
            f"l = {x}.prod(); l.backward(); l.backward()",
            f"with torch.enable_grad(): {self.new()} = {x}.tanh()",
            f"with torch.inference_mode(): {self.new()} = {x} * 2",
            f"with torch.set_grad_enabled(False): {self.new()} = {x}.view(-1)",
            f"{x}.grad = torch.ones_like({x})",
            f"{x}.grad = {y}",
            f"{x}.backward(gradient={y}.detach(), inputs=[{y}])",
            f"{x}.sum().backward(create_graph=True); {x}.grad = None",
            f"{self.new()} = torch.autograd.grad({x}, {x}, torch.ones_like({x}), retain_graph=True)[0]{fresh}",
        ]
        return r.choice(forms)


Wider.kinds = {
    **KINDS,
    Wider.hook: 2,
    Wider.function: 3,
    Wider.several: 2,
    Wider.memory: 2,
    Wider.typed: 2,
    Wider.copied: 2,
    Wider.chosen: 4,
    Wider.written: 4,
    Wider.gradients: 3,
}
