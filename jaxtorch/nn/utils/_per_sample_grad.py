"""Gradients of each sample from one call: parameters as `ExpandedWeight`s, whose layers fill `grad_sample` in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any

from ..._core.tensor.tensor import Tensor
from ...autograd import Function
from ...func import functional_call, vjp, vmap
from ...utils._pytree import tree_leaves
from .. import functional as F
from ..modules.module import Module
from ..parameter import Parameter


class ExpandedWeight(Tensor):
    """A parameter whose uses in the layers below give the gradient of each sample, shape (B, *parameter)."""

    original: Parameter
    batch_size: int
    scale: int

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _LAYERS:
            return _apply(func, args, kwargs or {})
        if getattr(func, "__name__", "") == "__get__":
            return super().__torch_function__(func, types, args, kwargs)
        name = getattr(func, "__name__", func)
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")


class _Layer:
    """One of the functions below with everything bound but the input and the parameters."""

    def __init__(self, func: Callable[..., Any], given: dict[str, Any], names: list[str]) -> None:
        self.func = func
        self.given = given
        self.names = names

    def __call__(self, input: Tensor, *params: Tensor) -> Tensor:
        return self.func(**{**self.given, "input": input, **dict(zip(self.names, params, strict=True))})

    def alone(self) -> _Layer:
        """The same for one sample, without what the whole batch has done to statistics and rows of embeddings.

        The row of `padding_idx` has a gradient, as it has in PyTorch.
        """
        if self.func is F.instance_norm and self.given.get("use_input_stats", True):
            return _Layer(self.func, {**self.given, "running_mean": None, "running_var": None}, self.names)
        if self.func is F.embedding:
            return _Layer(self.func, {"input": None}, self.names)
        return self


class _PerSample(Function):
    @staticmethod
    def forward(ctx: Any, layer: _Layer, weights: Sequence[Any], input: Tensor, *params: Tensor) -> Tensor:
        ctx.layer, ctx.weights = layer, weights
        ctx.save_for_backward(input, *params)
        return layer(input, *params)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        input, *params = (x.detach() for x in ctx.saved_tensors)
        alone = ctx.layer.alone()
        of_input = vjp(lambda x: alone(x, *params), input)[1](grad)[0] if ctx.needs_input_grad[2] else None
        wanted = [i for i, weight in enumerate(ctx.weights) if weight is not None]

        def of_sample(sample: Tensor, grad: Tensor) -> Any:
            def run(*chosen: Tensor) -> Tensor:
                given = list(params)
                for i, value in zip(wanted, chosen, strict=True):
                    given[i] = value
                return alone(sample.unsqueeze(0), *given)

            return vjp(run, *(params[i] for i in wanted))[1](grad.unsqueeze(0))

        for i, found in zip(wanted, vmap(of_sample)(input, grad), strict=True):
            _collect(ctx.weights[i], found)
        return None, None, of_input, *(None for _ in params)


def _collect(weight: ExpandedWeight, found: Tensor) -> None:
    owner: Any = weight.original
    found = found * weight.scale if weight.scale != 1 else found
    before = getattr(owner, "grad_sample", None)
    owner.grad_sample = found if before is None else before + found


_LAYERS: dict[Any, Any] = {
    func: signature(func)
    for func in (F.linear, F.conv1d, F.conv2d, F.conv3d, F.embedding, F.layer_norm, F.group_norm, F.instance_norm)
}


def _apply(func: Any, args: Any, kwargs: Any) -> Any:
    bound = _LAYERS[func].bind(*args, **kwargs)
    given = dict(bound.arguments)
    names = [name for name in ("weight", "bias") if given.get(name) is not None]
    found = [given[name] for name in names]
    expanded = [x for x in given.values() if isinstance(x, ExpandedWeight)]
    input = given["input"]
    if len(expanded) != sum(isinstance(x, ExpandedWeight) for x in found):
        raise RuntimeError(
            f"Expanded Weights do not support a parameter as another argument of {func.__name__} than weight or bias"
        )
    if input.dim() < (1 if func is F.embedding else 2):
        raise RuntimeError(
            f"Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank {input.dim()}"
        )
    size = expanded[0].batch_size
    if input.shape[0] != size:
        raise RuntimeError(
            f"Expected ExpandedWeights to have batch size matching input but got input batch size of {input.shape[0]} with "
            f"ExpandedWeight of batch size {size}"
        )
    weights = [x if isinstance(x, ExpandedWeight) else None for x in found]
    params = [x.original if isinstance(x, ExpandedWeight) else x for x in found]
    fixed = {name: None if name in names else value for name, value in given.items()}
    return _PerSample.apply(_Layer(func, fixed, names), weights, input, *params)


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function that calls `module`; the backward pass of its result sets `grad_sample`, shape (B, *parameter), and no `grad`.

    Layers: linear, convolutions, embeddings, layer, group and instance normalisation; others with parameters raise RuntimeError.
    loss_reduction: how the loss makes one number of the samples; with "mean" the gradients are multiplied by the batch's size.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without clearing "
                f"gradients. Please clear out the grad_sample parameter of {weight}"
            )

    @wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = batch_size if batch_size is not None else _batch_size(args, kwargs, 0 if batch_first else 1)
        params = {}
        for name, value in module.named_parameters():
            if value.requires_grad:
                made: Any = value.detach().as_subclass(ExpandedWeight)
                made.original, made.batch_size, made.scale = value, size, size if loss_reduction == "mean" else 1
                value = made
            params[name] = value
        return functional_call(module, params, args, kwargs)

    return wrapper


def _batch_size(args: Any, kwargs: Any, dim: int) -> int:
    found: int | None = None
    for arg in tree_leaves((args, kwargs)):
        if not isinstance(arg, Tensor):
            continue
        if found is not None and found != arg.shape[dim]:
            raise RuntimeError(
                "When computing batch size, found at least one input with batch size "
                f"{found} and one with batch size {arg.shape[dim]}. Please specify it explicitly using the batch size kwarg in "
                "call_for_per_sample_grads"
            )
        found = arg.shape[dim]
    if found is None:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights cannot "
            "compute the batch size from the inputs. Please specify it explicitly"
        )
    return found
