"""Classes of `autograd.Function`, with which transformations are tried."""

from __future__ import annotations

from typing import Any


def functions_of(t: Any) -> dict[str, Any]:
    """By name: with and without a rule for `vmap`, a `jvp`, gradients that do not come, a second derivative."""

    class Product(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y, (x > y)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            x, y = ctx.saved_tensors
            return a * y + b * x, None

    class Ruled(t.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x.sin() * y, x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            first = None if g is None else g * x.cos() * y
            return (first if h is None else h if first is None else first + h), None if g is None else g * x.sin()

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            x, y = (
                a.movedim(d, 0) if d is not None else a.expand(info.batch_size, *a.shape)
                for a, d in zip((x, y), in_dims, strict=True)
            )
            return Ruled.apply(x, y), (0, 0)

    class Partial(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any, factor: float = 2.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[2]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None, None

    class Once(t.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

    return {"Product": Product, "Ruled": Ruled, "Partial": Partial, "Once": Once}
