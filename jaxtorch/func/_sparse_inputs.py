"""`grad` and `vjp` by sparse tensors: through autograd, on tensors that begin a history of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import enable_grad, state
from ..autograd._gradients import grad
from ..utils._pytree import tree_flatten as flatten
from ..utils._pytree import tree_unflatten as unflatten


class Pass:
    """Arguments of which some are differentiated by (`leaves`, in the structure `spec`), and what stands for these (`inside`)."""

    def __init__(self, args: Sequence[Any], chosen: Sequence[int], by: Any) -> None:
        if state.taped or state.transforms:
            raise NotImplementedError(
                "jaxtorch: derivatives by sparse tensors inside another transformation of torch.func"
            )
        self.leaves, self.spec = flatten(by)
        self.inside: list[Tensor] = []
        for x in self.leaves:
            if not (x.is_floating_point() or x.is_complex()):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            self.inside.append(x.clone() if x.requires_grad and state.grad else x.detach().requires_grad_())
        rest = iter(self.inside)
        self.args = list(args)
        for i in chosen:
            own, spec = flatten(args[i])
            self.args[i] = unflatten([next(rest) for _ in own], spec)

    def run(self, func: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        with enable_grad():
            return func(*self.args, **kwargs)

    def result(self, t: Tensor) -> Tensor:
        """A result outside of the function: an argument is that argument, and there is a history where it leads outside."""
        for x, inside in zip(self.leaves, self.inside, strict=True):
            if t is inside:
                return x
        return t if self.leads_outside([t]) else t.detach()

    def leads_outside(self, outs: list[Tensor]) -> bool:
        """Do results depend on a tensor that requires a gradient, and is none of those that the function was given?"""
        if not state.grad:
            return False
        if any(x.requires_grad for x in self.leaves):
            return True
        pending, seen, own = [t.grad_fn for t in outs], set(), {id(getattr(x, "_values_part", x)) for x in self.inside}
        while pending:
            node = pending.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None and id(variable) not in own:
                return True
            pending.extend([below for below, _ in node.next_functions])
        return False

    def gradients(self, outs: list[Tensor], cotangents: list[Any], keep: bool, graph: bool) -> Any:
        """The gradients, in the structure of what is differentiated by; zeros where the results do not depend on it."""
        pairs = [(o, c) for o, c in zip(outs, cotangents, strict=True) if o.requires_grad]
        found: Sequence[Any] = [None] * len(self.inside)
        if pairs:
            roots, given = zip(*pairs, strict=True)
            found = grad(roots, self.inside, given, keep or graph, graph, allow_unused=True)
        return unflatten(
            [functions["zeros_like"](x) if g is None else g for x, g in zip(self.leaves, found, strict=True)], self.spec
        )
