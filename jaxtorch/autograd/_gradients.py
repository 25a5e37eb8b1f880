"""`torch.autograd.backward` and `grad`: a pass through the graph for the leaves, or for chosen inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, overload

from .._core.autograd import backward as _engine
from .._core.define.op import functions
from .._core.dispatch import torch_function as _overrides
from .._core.tensor.sparse_value import is_sparse as _is_sparse
from .._core.tensor.tensor import Tensor
from .._tensor.autograd import make_roots as _make_roots
from .._tensor.autograd import run_backward as _run_backward
from .graph import GradientEdge


def _tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, (Tensor, GradientEdge)) else tuple(x)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of the sum of `tensors` to the `.grad` of the leaves.

    grad_tensors: the gradient with respect to each of `tensors`; None for those with a single element.
    inputs: restrict the leaves whose `.grad` is changed.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
            )
        grad_tensors = grad_variables
    tensors = _tuple(tensors)
    if _overrides.asks(tensors):
        named = {"retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        return _overrides.answer(backward, tensors, (tensors,), {"grad_tensors": grad_tensors, **named})
    grads = [None] * len(tensors) if grad_tensors is None else list(_tuple(grad_tensors))
    _run_backward(tensors, grads, retain_graph, create_graph, inputs)


@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: dict[Any, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[Any, Tensor]: ...
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Any,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    `inputs` may be a dict; its keys are then those of a dict of gradients.

    RuntimeError where an input was not used in the graph, unless `allow_unused` (None then) or `materialize_grads` (zeros).
    With respect to a subclass of `Tensor`, or of one, the gradients are of that class.
    """
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
                "supported"
            )
        given = (
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, grad(outputs, tuple(inputs.values()), *given), strict=True))
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
            "of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if retain_graph is None:
        retain_graph = create_graph
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    if _overrides.asks((*outputs, *inputs)):
        named = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph, "only_inputs": only_inputs,
            "allow_unused": allow_unused, "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads,
        }  # fmt: skip
        return _overrides.answer(grad, (*outputs, *inputs), (outputs, inputs), named)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grads = [None] * len(outputs) if grad_outputs is None else list(_tuple(grad_outputs))
    if is_grads_batched:
        if not grads:
            raise IndexError("list index out of range")
        if all(g is None for g in grads):
            raise ValueError("is_grads_batched needs gradients of the outputs that have a dimension of examples")
        rows = [
            grad(outputs, inputs, [None if g is None else g[i] for g in grads], True, create_graph, True, allow_unused)
            for i in range(next(g for g in grads if g is not None).shape[0])
        ]
        joined: Any = [None if col[0] is None else functions["stack"](list(col)) for col in zip(*rows, strict=True)]
        return tuple(
            [
                _zeros(t, create_graph) if g is None and materialize_grads else g
                for t, g in zip(inputs, joined, strict=True)
            ]
        )
    roots = _make_roots(outputs, grads, retain_graph, create_graph, allow_unused)
    for t in inputs:
        if isinstance(t, Tensor) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    targets = _engine.GradientTargets([t._parts[-1] if _is_sparse(t) else t for t in inputs])
    _engine.run(roots, retain_graph=retain_graph, create_graph=create_graph, targets=targets)
    found: list[Any] = []
    for position, (t, g) in enumerate(zip(inputs, targets.found, strict=True)):
        if g is not None and _is_sparse(t):
            g = t._gradient(g)
        if g is None:
            if materialize_grads:
                g = _zeros(t, create_graph)
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
        found.append(g)
    return tuple(found)


def _zeros(t: Tensor, create_graph: bool) -> Tensor:
    made = functions["zeros_like"](t.detach())
    made._rg = create_graph
    return made


backward.__module__ = grad.__module__ = __package__
