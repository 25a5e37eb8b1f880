"""`torch.autograd.functional`: Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.random.jax_draws import mapping_at
from .._core.tensor.tensor import Tensor
from .._core.transforms.vmap import Level
from .._core.types.grad_mode import enable_grad
from . import forward_ad
from ._gradients import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def _as_tuple(x: Any, what: str | None = None, where: str | None = None) -> Any:
    """Whether `x` is a tuple, and its tensors; TypeError if they are not tensors. Without names: the tuple."""
    if what is None and where is None:
        return x if isinstance(x, tuple) else (x,)
    several = isinstance(x, tuple)
    found = x if several else (x,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            if several:
                raise TypeError(
                    f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                    f"has type {type(t)}."
                )
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the given {what} has type "
                f"{type(t)}."
            )
    return several, found


def _prepared(inputs: Tensors, create_graph: bool, graph: bool = True) -> Tensors:
    """The inputs as the function gets them: new tensors, connected to the given ones under create_graph. graph: they are to require
    a gradient in any case."""
    return tuple(
        [t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(graph) for t in inputs]
    )


def _outputs_of(func: Function, inputs: Tensors, where: str) -> tuple[bool, Tensors]:
    return _as_tuple(func(*inputs), "outputs of the user-provided function", where)


def _require_outputs(outputs: Tensors, strict: bool) -> None:
    for i, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )


def _require_some(tensors: Tensors) -> None:
    if not tensors:
        raise AssertionError("Expected at least one tensor")


def _require_dependence(first: Tensors) -> None:
    for i, g in enumerate(first):
        if not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{i} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
                "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                "function for example)."
            )


def _gradients(outputs: Tensors, inputs: Tensors, vectors: Any, create_graph: bool) -> tuple[Any, ...]:
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in pairs], inputs, [v for _, v in pairs],
        allow_unused=True, create_graph=create_graph, retain_graph=True,
    )  # fmt: skip


def _filled(grads: Any, like: Tensors, strict: bool, create_graph: bool, message: str, what: str) -> Tensors:
    """Gradients with zeros where there are none; errors in strict mode."""
    found = []
    for i, (g, t) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(message.format(i))
            g = functions["zeros_like"](t)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode "
                "when create_graph=True."
            )
        found.append(g)
    return tuple(found)


_INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)


def _vectors(v: Any, like: Tensors, several: bool, where: str, required: str, create_graph: bool) -> Any:
    """The vectors of a product, checked against the tensors they belong to; `required` says when v may be None."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(required)
        return (None,) if where == "vjp" else (functions["ones_like"](like[0]),)
    _, found = _as_tuple(v, "v", where)
    found = _prepared(found, create_graph, False)
    if len(found) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}.")
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if several else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.shape} but got {a.shape}.")
    return found


_NEED_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
_NEED_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def _result(tensors: Tensors, several: bool, create_graph: bool) -> Any:
    if not create_graph:
        tensors = tuple([t.detach() for t in tensors])
    return tensors if several else tensors[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors, or tuples of them, without their graph unless it was asked for. Libraries call it, as they do the next two."""
    if create_graph:
        return inputs
    return tuple([t.detach() if isinstance(t, Tensor) else _grad_postprocess(t, False) for t in inputs])


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """A tuple as its only element where False says that there was no tuple; a second answer is for what it holds."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple([part[0] for part in res])
    return res if outer else res[0]


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """For each tensor the columns of an identity matrix, over all elements of all tensors, that are its own."""
    total, start, found = sum(tensor_numels), 0, []
    for t, n in zip(tensors, tensor_numels, strict=True):
        chunk = functions["zeros"](total, n, dtype=t.dtype, device=t.device)
        chunk.diagonal(-start).fill_(1)
        found.append(chunk)
        start += n
    return tuple(found)


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(outputs, product of v with the Jacobian of func): v has the shape of the outputs, the product that of the inputs."""
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "vjp")
        given = _prepared(given, create_graph)
        out_several, outputs = _outputs_of(func, given, "vjp")
        _require_outputs(outputs, strict)
        vectors = _vectors(v, outputs, out_several, "vjp", _NEED_OUTPUT, create_graph)
        grads = _gradients(outputs, given, vectors, create_graph)
        product = _filled(grads, given, strict, create_graph, _INDEPENDENT, "vjp")
    return _result(outputs, out_several, create_graph), _result(product, several, create_graph)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(outputs, product of the Jacobian of func with v): v has the shape of the inputs, the product that of the outputs."""
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "jvp")
        given = _prepared(given, create_graph)
        vectors = _vectors(v, given, several, "jvp", _NEED_INPUT, create_graph)
        out_several, outputs = _outputs_of(func, given, "jvp")
        _require_outputs(outputs, strict)
        # The vector-Jacobian product is linear in its vector: its own derivative is the product wanted.
        dummies = tuple([functions["zeros_like"](o, requires_grad=True) for o in outputs])
        grads = _filled(_gradients(outputs, given, dummies, True), given, strict, False, _INDEPENDENT, "vjp")
        found = _gradients(grads, dummies, vectors, create_graph)
        product = _filled(found, outputs, False, False, "", "jvp")
    if strict and create_graph and not all(p.requires_grad for p in product):
        raise RuntimeError(
            "The jvp of the user-provided function is independent of input 0. This is not allowed in strict mode when "
            "create_graph=True."
        )
    return _result(outputs, out_several, create_graph), _result(product, out_several, create_graph)


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of func: shape (*output, *input), for several outputs or inputs a tuple (of tuples).

    strategy: "forward-mode" (with vectorize=True) differentiates along each element of the inputs; "reverse-mode" makes every
    row a backward pass of its own, recorded into one program.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", "jacobian")
        given = _prepared(given, create_graph)
        out_several, outputs = _outputs_of(func, given, "jacobian")
        _require_outputs(outputs, strict)
        if strict and vectorize:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            _require_some(outputs)
        rows = tuple([_rows(out, i, given, create_graph, strict, vectorize) for i, out in enumerate(outputs)])
    if not create_graph:
        rows = tuple([tuple([t.detach() for t in row]) for row in rows])
    found = tuple([row if several else row[0] for row in rows])
    return found if out_several else found[0]


def _forward_jacobian(func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian by forward mode: the function runs on dual tensors, once for each element of the inputs."""
    for given, name in ((create_graph, "create_graph"), (strict, "strict")):
        if given:
            raise (NotImplementedError if name == "create_graph" else RuntimeError)(
                f'torch.autograd.functional.jacobian: `{name}=True` and `strategy="forward-mode"` are not supported together '
                f'(yet). Please either set `{name}=False` or `strategy="reverse-mode"`.'
            )
    several, given = _as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
        )
    _require_some(given)
    out_several, like = False, ()
    columns: list[list[list[Tensor]]] = []  # for each input, for each of its elements: the tangents of the outputs
    for place, t in enumerate(given):
        columns.append([])
        for k in range(t.numel()):
            with (
                forward_ad.dual_level(),
                mapping_at(Level(1)),
            ):  # PyTorch goes through the columns with `vmap`: nothing is drawn
                direction = functions["zeros_like"](t.detach()).reshape(-1)
                direction[k] = 1
                moved = [*given]
                moved[place] = forward_ad.make_dual(t, direction.reshape(t.shape))
                out_several, outputs = _outputs_of(func, tuple(moved), "jacobian")
                found = [forward_ad.unpack_dual(o) for o in outputs]
            like = tuple([u.primal for u in found])
            columns[-1].append(
                [functions["zeros_like"](u.primal.detach()) if u.tangent is None else u.tangent for u in found]
            )
    if not any(columns):
        with forward_ad.dual_level(), mapping_at(Level(1)):
            out_several, like = _outputs_of(func, given, "jacobian")
    rows = []
    for j, o in enumerate(like):
        parts = []
        for t, column in zip(given, columns, strict=True):
            if column:
                made = functions["stack"]([c[j] for c in column], o.dim()).reshape((*o.shape, *t.shape))
            else:
                made = functions["zeros"]((*o.shape, *t.shape), dtype=o.dtype, device=o.device)
            parts.append(made)
        rows.append(parts if several else parts[0])  # PyTorch gives lists here
    return (rows if several else tuple(rows)) if out_several else rows[0]


def _rows(
    out: Tensor, number: int, inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> Tensors:  # fmt: skip
    """The Jacobians of one output with respect to each input; complex ones where they are vectorized."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    flat = out.reshape(-1)
    for j in range(out.numel()):
        vector = functions["ones_like"](flat[j].detach()) if vectorize else None
        grads = _gradients((flat[j],), inputs, (vector,), create_graph)
        message = f"Output {number} of the user-provided function is independent of input {{}}. This is not allowed in strict mode."
        filled = _filled(grads, inputs, strict, create_graph, message, "jacobian")
        for column, g in zip(columns, filled, strict=True):
            column.append(g)
    made = []
    for column, t in zip(columns, inputs, strict=True):
        if column:
            made.append(functions["stack"](column).view((*out.shape, *t.shape)))
        else:
            made.append(functions["zeros"]((*out.shape, *t.shape), dtype=t.dtype, device=t.device))
    return tuple(made)


def _scalar(func: Function, where: str) -> Function:
    """The function, checked to return one tensor with a single element."""

    def checked(*inputs: Tensor) -> Tensor:
        several, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", where)
        if several or not isinstance(outputs[0], Tensor):
            raise RuntimeError(f"The function given to {where} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
        return outputs[0].squeeze()

    return checked


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a function with a single-element result: shape (*input, *input), for several inputs nested tuples."""
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    several, given = _as_tuple(inputs, "inputs", "hessian")
    checked = _scalar(func, "hessian")

    def gradient(*args: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple([t.requires_grad_() for t in args])  # or else they are detached, and lose their tangents
        found = jacobian(checked, args, create_graph=True)
        if strict:
            _require_dependence(found)
        return found

    found = jacobian(
        gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return found if several else found[0][0]


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(result, product of v with the Hessian of func): v and the product have the shape of the inputs."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(result, product of the Hessian of func with v). A backward pass more than `vhp`."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(where: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool) -> Any:
    with enable_grad():
        several, given = _as_tuple(inputs, "inputs", where)
        given = _prepared(given, create_graph)
        vectors = _vectors(v, given, several, where, _NEED_INPUT, create_graph)
        out_several, outputs = _outputs_of(func, given, where)
        if out_several:
            raise RuntimeError(f"The function given to {where} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
        _require_outputs(outputs, strict)
        first = _filled(_gradients(outputs, given, (None,), True), given, strict, False, _INDEPENDENT, "jacobian")
        if strict:
            _require_dependence(first)
        if where == "hvp":  # as in `jvp`
            dummies = tuple([functions["zeros_like"](g, requires_grad=True) for g in given])
            pulled = _filled(_gradients(first, given, dummies, True), given, False, False, "", "hvp")
            found = _gradients(pulled, dummies, vectors, create_graph)
        else:
            found = _gradients(first, given, vectors, create_graph)
        product = _filled(found, given, strict, create_graph, _INDEPENDENT, "hessian")
    return _result(outputs, False, create_graph), _result(product, several, create_graph)
