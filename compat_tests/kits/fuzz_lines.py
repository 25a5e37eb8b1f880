"""Writes random programs (fuzz_programs.py), line by line: views, in-place writes, shared memory, autograd."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz_compare import Program, names, new_scope, step


def _dense(t: Any) -> bool:
    """Do the elements fill their memory, in whatever order?"""
    step = 1
    for s, n in sorted((s, n) for n, s in zip(t.shape, t.stride(), strict=True) if n != 1):
        if s != step:
            return False
        step *= n
    return True


def _meet(a: Any, b: Any) -> bool:
    """Do two tensors reach into each other's memory?"""
    ends = []
    for t in (a, b):
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        ends.append((t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size()))
    return bool(a.numel() and b.numel()) and ends[0][0] < ends[1][1] and ends[1][0] < ends[0][1]


class Generator:
    """Writes one program, running it on PyTorch as it goes so that most lines make sense."""

    kinds: dict[Any, int] | None = None

    def __init__(self, torch: Any, seed: str, length: int = 18) -> None:
        self.torch, self.random, self.length = torch, random.Random(seed), length
        self.scope, self.program, self.count = new_scope(torch), [], 0

    def write(self) -> Program:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.add(self.create())
            while len(self.program) < self.length:
                kinds = self.kinds or KINDS
                (maker,) = self.random.choices(list(kinds), list(kinds.values()))
                line = maker(self)
                if line is not None:
                    self.add(line)
        return self.program

    def add(self, line: str) -> None:
        self.program.append(line)
        step(line, self.scope)

    # choices

    def new(self, letter: str = "t") -> str:
        self.count += 1
        return f"{letter}{self.count - 1}"

    def tensors(self) -> list[str]:
        return [n for n in names(self.scope) if isinstance(self.scope[n], self.torch.Tensor)]

    def tensor(self) -> str:
        """A tensor's name, the younger the likelier."""
        found = self.tensors()
        return self.random.choice(found[-3:] if self.random.random() < 0.6 else found) if found else "t0"

    def value(self, name: str) -> Any:
        return self.scope.get(name, self.torch.zeros(()))

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.value(name).shape)

    def axis(self, name: str) -> int:
        ndim = len(self.shape(name))
        return self.random.randrange(-ndim, ndim) if ndim else 0

    def size(self, name: str, axis: int) -> int:
        shape = self.shape(name)
        return shape[axis] if shape else 1

    def number(self) -> str:
        return self.random.choice(["2", "-1", "0.5", "3", "0", "-1.5"])

    def partner(self, name: str) -> str:
        """A tensor of the same shape where there is one, else any, else a number."""
        shape = self.shape(name)
        same = [n for n in self.tensors() if self.shape(n) in (shape, shape[1:], ())]
        if same and self.random.random() < 0.7:
            return self.random.choice(same)
        return self.number() if self.random.random() < 0.85 else self.tensor()

    def repeats(self, name: str) -> bool:
        """Has the tensor several elements in one place, in a way that PyTorch does not look for?"""
        places = np.zeros((), np.int64)
        value = self.value(name)
        for n, s in zip(value.shape, value.stride(), strict=True):
            if s != 0:  # expanded dimensions it does look for, but a part may have none
                places = np.add.outer(places, np.arange(n) * s)
        return len(np.unique(places)) < places.size

    def source(self, target: str, wanted: str) -> str:
        """What is to be read while `target` is written: a number instead of an operand that overlaps it unnoticed.

        PyTorch refuses a partial overlap of dense tensors. Of others, what is read depends on the order of its loop.
        """
        if wanted == target or wanted[0] != "t" or "torch" in wanted:
            return wanted
        a, b = self.value(target), self.value(wanted)
        if not a.is_floating_point() and b.requires_grad:
            return self.number()  # PyTorch would make an integer that requires a gradient, and cannot use it
        if a.untyped_storage()._cdata != b.untyped_storage()._cdata:
            return self.number() if _meet(a, b) else wanted  # by way of NumPy: PyTorch cannot tell
        same = a.shape == b.shape and a.stride() == b.stride() and a.data_ptr() == b.data_ptr()
        return wanted if same or (_dense(a) and _dense(b)) else self.number()

    def read_apart(self, target: str, wanted: str) -> str:
        """For writes to a part of `target`: the same part may be dense where the whole is not."""
        if wanted[0] != "t" or wanted not in self.scope:
            return wanted
        shared = _meet(self.value(target), self.value(wanted))
        if not self.value(target).is_floating_point() and self.value(wanted).requires_grad:
            return f"{wanted}.detach()"
        return f"{wanted}.clone()" if shared else wanted

    def index(self, shape: tuple[int, ...], advanced: bool) -> str:
        """An index expression for a tensor of this shape; now and then one that is out of range."""
        parts, r = [], self.random
        if advanced and shape and r.random() < 0.2:
            return f"torch.arange({int(np.prod(shape))}).reshape({shape}) % {r.choice([2, 3])} == 0"
        for size in shape[: r.randint(0, len(shape))] if shape else ():
            choice = r.random()
            if advanced and choice < 0.35 and size:
                chosen = [r.randrange(-size, size) for _ in range(r.randint(1, 2))]
                parts.append(f"torch.tensor({chosen})" if r.random() < 0.7 else f"{chosen}")
            elif choice < 0.3:
                parts.append(str(r.randrange(-size, size) if size and r.random() < 0.97 else size + 1))
            else:
                if choice < 0.4:
                    parts.append("None")
                start, stop = r.choice(["", "1", "-2"]), r.choice(["", "2", "-1"])
                parts.append(f"{start}:{stop}" + (":2" if r.random() < 0.2 else ""))
        if r.random() < 0.15:
            parts.append("...")
        return ", ".join(parts) or "..."

    def quietly(self, line: str) -> str:
        """Sometimes under no_grad, as optimizers and initialisers write."""
        wrapped = f"with torch.no_grad(): {line}"
        return wrapped if self.random.random() < 0.3 else line

    # lines

    def create(self) -> str:
        r = self.random
        # Few sizes and types: a kernel for shapes seen before costs nothing, one for new shapes 20 ms.
        shape = r.choice([(2,), (2, 3), (3, 3), (2, 3, 2), (1, 2), (), (3,), (2, 1), (2, 2)])
        count = int(np.prod(shape))
        dtype = r.choices(["float64", "float32", "int64"], [8, 1, 1])[0]
        values = np.array([r.randint(-4, 4) for _ in range(count)]).reshape(shape).tolist()
        grad = ", requires_grad=True" if dtype != "int64" and r.random() < 0.45 else ""
        return f"{self.new()} = torch.tensor({values}, dtype=torch.{dtype}{grad})"

    def view(self) -> str:
        x, r = self.tensor(), self.random
        shape, axis, other = self.shape(x), self.axis(x), self.axis(x)
        size, count = self.size(x, axis), int(np.prod(self.shape(x)))
        divisors = [d for d in (1, 2, 3, 4) if count and count % d == 0]
        flat = f"({r.choice(divisors)}, -1)" if divisors and r.random() < 0.7 else "(-1,)"
        forms = [
            f"view({flat})", f"reshape({flat})", "t()", f"transpose({axis}, {other})", f"select({axis}, 0)",
            f"narrow({axis}, {r.randint(0, max(0, size - 1))}, 1)", f"unsqueeze({axis})", "squeeze()",
            f"squeeze({axis})",
            f"expand({r.choice([1, 2])}, {', '.join('-1' for _ in shape) or '1'})", f"chunk(2, {axis})[0]",
            f"split(1, {axis})[-1]", f"unbind({axis})[-1]", "diagonal()", f"movedim({axis}, {other})",
            "flatten()", "detach()",
            f"unfold({axis}, {min(2, size)}, 1)", f"view_as({self.tensor()})", "data", "contiguous()",
            "mT", f"permute({', '.join(map(str, reversed(range(len(shape)))))})", f"flatten({axis}, -1)",
        ]  # fmt: skip
        if count > 3:
            forms.append(f"as_strided((2, 2), ({r.randint(1, 2)}, 1), {r.choice([0, 0, 1])})")
        return f"{self.new()} = {x}.{r.choice(forms)}"

    def basic_index(self) -> str:
        x = self.tensor()
        return f"{self.new()} = {x}[{self.index(self.shape(x), False)}]"

    def advanced_index(self) -> str:
        x = self.tensor()
        return f"{self.new()} = {x}[{self.index(self.shape(x), True)}]"

    def inexact(self, x: str) -> bool:
        """May this tensor get other last digits here? Not where its bits may be looked at: as integers, or as a NaN's."""
        seen = any("view(torch.int64)" in line for line in self.program)
        return not seen and not bool(self.value(x).isnan().any())

    def rare_view(self) -> str:
        """Views that change the element type, and views made where no gradient is recorded."""
        x, r = self.tensor(), self.random
        axis = self.axis(x)
        size = self.size(x, axis)
        value = self.value(x).detach()
        # Its bits are read where they must be the same: last digits and signs of zero may differ.
        exact = bool(((value == value.to(self.torch.int64)) & (value != 0)).all())
        forms = [
            f"swapaxes({axis}, 0)", f"tensor_split(2, {axis})[-1]", f"unflatten({axis}, (-1, 1))", "adjoint()", "ravel()",
            "real",
            "view(torch.int64)" if exact and r.random() < 0.5 else "view(torch.float64)" if exact else "mT", "squeeze((0, -1))", "T",
            f"select({axis}, {r.randrange(max(1, size))})", f"diagonal(0, {axis}, 0)", "expand_as(torch.zeros(2, 2, 3))",
        ]  # fmt: skip
        name = self.new()
        made = f"{name} = {x}.{r.choice(forms)}"
        return f"with torch.no_grad(): {made}" if r.random() < 0.2 else made

    def scattered_write(self) -> str:
        """Writes at indices, through views as well."""
        x, r = self.tensor(), self.random
        axis = self.axis(x)
        size = self.size(x, axis)
        if self.repeats(x) or not self.value(x).numel() or not self.shape(x) or 0 in self.value(x).stride():
            return self.quietly(f"{x}.zero_()")
        part = f"{x}.detach().narrow({axis}, 0, 1).clone()"
        at = f"torch.tensor([{r.randrange(max(1, size))}])"
        number = f"torch.tensor({self.number()}, dtype={x}.dtype)"
        forms = [
            f"index_put_(({at},), {number})", f"index_put_(({at},), {number}, accumulate=True)",
            f"index_add_({axis}, {at}, {part})", f"index_copy_({axis}, {at}, {part})",
            f"masked_fill_({x}.detach() < 0, {number})", f"masked_scatter_({x}.detach() < 0, {x}.detach().clone())",
            f"scatter_({axis}, torch.zeros({', '.join('1' for _ in self.shape(x))}, dtype=torch.int64), {self.number()})",
            f"scatter_add_({axis}, torch.zeros({', '.join('1' for _ in self.shape(x))}, dtype=torch.int64), {part})",
        ]  # fmt: skip
        return self.quietly(f"{x}.{r.choice(forms)}")

    def higher(self) -> str:
        """Derivatives of derivatives, and gradients of several at once."""
        x, y = self.tensor(), self.tensor()
        fresh = ".clone(memory_format=torch.contiguous_format)"
        forms = [
            f"{self.new()} = torch.autograd.grad(torch.autograd.grad(({x} ** 3).sum(), {x}, create_graph=True)[0].sum(), {x})[0]"
            f"{fresh}",
            f"({x} * {x}.detach()).sum().backward(create_graph=True)",
            f"torch.autograd.backward([{x}.sum(), ({y} * 2).sum()])",
            f"({x}.tanh() * {x}).sum().backward(inputs=[{x}])",
            f"{self.new()} = torch.autograd.grad(({x} * {y}.detach()).sum(), [{x}, {y}], allow_unused=True)[0]{fresh}",
        ]
        return self.random.choice(forms)

    def in_place(self) -> str:
        x, r = self.tensor(), self.random
        y = self.source(x, self.partner(x))
        if self.repeats(x):  # what changes an element twice depends on the order: jaxtorch refuses it
            return self.quietly(f"{x}.{r.choice(['zero_()', f'fill_({self.number()})'])}")
        axis = self.axis(x)
        forms = [
            f"add_({y})", f"mul_({y})", f"sub_({y})", "zero_()", "neg_()", "clamp_(-3, 3)",
            f"fill_({self.number()})",
            "relu_()", "tanh_()" if self.inexact(x) else "abs_()", f"copy_({y if y[0] == 't' else x})",
            f"masked_fill_({x} > 1, {self.number()})",
            f"index_fill_({axis}, torch.tensor([0]), {self.number()})" if self.size(x, axis) else "abs_()", f"add_({y}, alpha=2)",
            "transpose_(0, -1)", "squeeze_()", "unsqueeze_(0)", "t_()",
        ]  # fmt: skip
        weights = [3] * (len(forms) - 4) + [1] * 4
        form = r.choices(forms, weights)[0]
        if form in forms[-4:]:  # PyTorch counts them as writes: where backward needs the unchanged values it fails
            saved = any(self.value(n).requires_grad for n in self.tensors())
            kept = saved or self.value(x).is_inference()  # PyTorch refuses the write after it has made it
            return f"{x}.{form}" if not kept else f"{x}.neg_()"
        return self.quietly(f"{x}.{form}")

    def operator_in_place(self) -> str:
        x = self.tensor()
        if self.repeats(x):
            return self.quietly(f"{x}.zero_()")
        partner = self.source(x, self.partner(x))
        return self.quietly(f"{x} {self.random.choice(['+=', '-=', '*='])} {partner}")

    def assign(self) -> str:
        x, r = self.tensor(), self.random
        index = self.index(self.shape(x), r.random() < 0.5)
        symbol = r.choices(["=", "+=", "*="], [5, 1, 1])[0]
        if self.repeats(x):
            return self.quietly(f"{x}[{self.index(self.shape(x), False)}] = {self.number()}")
        given = self.number() if r.random() < 0.6 else self.partner(x)
        return self.quietly(f"{x}[{index}] {symbol} {self.read_apart(x, given)}")

    def operation(self) -> str:
        x, axis = self.tensor(), self.axis(self.tensor())
        y = self.partner(x)
        forms = [
            f"{x} + {y}", f"{x} * {y}", f"{x} - {y}", f"-{x}", f"{x}.relu()", f"{x}.tanh()",
            f"{x}.clone()", f"{x}.sum({axis})",
            f"{x}.mean()", f"torch.cat([{x}, {x}])",
            f"torch.stack([{x}, {y if y[0] == 't' else x}])", f"{x}.mT @ {x}",
            f"torch.where({x} > 0, {x}, {y})", f"{x}.repeat(2)", f"{x}.exp().clamp(0, 3)", f"{x} > {y}",
            f"{x}.double()",
            f"{x}.cumsum({axis})", f"{x} / 2", f"{x} ** 2", f"torch.zeros_like({x})",
        ]  # fmt: skip
        return f"{self.new()} = {self.random.choice(forms)}"

    def autograd(self) -> str:
        x, r = self.tensor(), self.random
        # The strides of a gradient that nobody has stored are how PyTorch happened to compute it (expanded, transposed).
        fresh = ".clone(memory_format=torch.contiguous_format)"
        forms = [
            f"{x}.sum().backward()", f"{x}.sum().backward(retain_graph=True)",
            f"({x} * {x}).sum().backward()",
            f"{x}.requires_grad_()", f"{x}.detach_()", f"{x}.retain_grad()",
            f"{x}.grad = None", f"{x}.grad.zero_()",
            f"{x}.grad.mul_(2)", f"{x}.requires_grad_(False)",
            f"{self.new()} = torch.autograd.grad({x}.sum(), {self.tensor()}, retain_graph=True)[0]{fresh}",
            f"{self.new()} = torch.autograd.grad(({x} * {x}).sum(), {x}, create_graph=True)[0]{fresh}",
            f"{self.new()} = {x}.grad",
        ]  # fmt: skip
        return r.choices(forms, [4, 4, 3, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1])[0]

    def array(self) -> str | None:
        r = self.random
        arrays = [n for n in names(self.scope) if n[0] == "a" and isinstance(self.scope[n], np.ndarray)]
        if not arrays or r.random() < 0.4:
            if r.random() < 0.5:
                x = self.tensor()
                return f"{self.new('a')} = {x}{r.choice(['', '.detach()'])}.numpy()"
            shape = r.choice(["4", "2, 3", "3, 2"])
            return f"{self.new('a')} = np.arange(12.0)[:{4 if shape == '4' else 6}].reshape({shape})"
        a = r.choice(arrays)
        ndim = np.ndim(self.scope[a])
        forms = [
            f"{self.new()} = torch.from_numpy({a})",
            f"{self.new()} = torch.as_tensor({a})",
            f"{a} *= 2",
            f"{a}[...] = 5",
        ]
        if ndim:
            forms += [
                f"{a}[0] = 7",
                f"{self.new('a')} = {a}[1:]",
                f"{self.new('a')} = {a}.T",
                f"{a}[-1:] += 1",
            ]
        return r.choice(forms)

    def read(self) -> str:
        """Demand a value in the middle: laziness must not show."""
        x = self.tensor()
        return self.random.choice([f"{x}.tolist()", f"{x}.sum().item()", f"bool(({x} > 0).any())", f"repr({x})"])

    def forget(self) -> str | None:
        found = names(self.scope)
        return f"del {self.random.choice(found)}" if len(found) > 4 else None


KINDS: dict[Callable[[Generator], str | None], int] = {
    Generator.create: 2, Generator.view: 7, Generator.basic_index: 3, Generator.advanced_index: 1,
    Generator.in_place: 6,
    Generator.operator_in_place: 2, Generator.assign: 4, Generator.operation: 5, Generator.autograd: 4,
    Generator.rare_view: 1, Generator.scattered_write: 1, Generator.higher: 1,
    Generator.array: 3, Generator.read: 2, Generator.forget: 1,
}  # fmt: skip
