"""Derivatives of functions: `grad`, `vjp`, `jvp`, Jacobians and Hessians: recorded (`_by_recording.py`), or by JAX's
transformations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core.define.op import functions
from .._core.run import traced_kernels
from .._core.tensor.sparse_value import is_sparse, refuse_compressed
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import set_grad_enabled, state
from ..autograd import forward_ad
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import TreeSpec, treespec_leaf
from ..utils._pytree import tree_flatten as flatten
from ..utils._pytree import tree_unflatten as unflatten
from . import _by_recording, _sparse_inputs
from ._jax_calls import (
    Call,
    Watch,
    array_of,
    aux_tensors,
    check_smooth,
    conj,
    differentiable,
    is_inexact,
    out_tensors,
    refuse_nested,
)

Argnums = int | tuple[int, ...]


def _chosen(argnums: Any, n: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate by, checked as PyTorch does."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    if not all(isinstance(a, int) for a in given):
        raise RuntimeError(f"argnums elements must be int, got: {argnums}")
    found = []
    for a in given:
        if not -n <= a < n:
            raise RuntimeError(f"Got argnum={a}, but only {n} positional inputs")
        found.append(a % n)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


class Problem:
    """A call and which of its arguments it is differentiated by.

    moving: the positions, among the call's tensors, of those in the chosen arguments. spec: their structure.
    """

    def __init__(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any, forward: bool = False
    ) -> None:
        chosen = _chosen(argnums, len(args))
        self.call = Call(func, args, kwargs)
        by: Any = args[chosen[0]] if isinstance(argnums, int) else tuple([args[i] for i in chosen])
        leaves, self.spec = flatten(by)
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
            if not is_inexact(x):
                if forward:
                    raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        begins, position = [], 0
        for a in args:
            begins.append(position)
            position += sum([isinstance(x, Tensor) for x in flatten(a)[0]])
        self.moving = []
        for i in chosen:
            self.moving.extend(range(begins[i], begins[i] + len(flatten(args[i])[0])))
        self.inputs: list[Tensor] = leaves

    def full(self, arrays: list[Any], moving: Any) -> list[Any]:
        full = list(arrays)
        for i, x in zip(self.moving, moving, strict=True):
            full[i] = x
        return full


def no_saved_hooks() -> Any:
    """Context in which there must be no `saved_tensors_hooks`."""
    return disable_saved_tensors_hooks(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
    )


def with_aux(out: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return out, ()
    if not isinstance(out, tuple) or len(out) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return out


def _check_scalar(out: Any, name: str) -> None:
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(out)}")
    aval = out._value.aval
    if aval.ndim:
        raise RuntimeError(
            f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {aval.ndim} dims. Maybe you wanted to use "
            "the vjp or jacrev APIs instead?"
        )
    if aval.dtype.is_complex and (out._rg or not state.taped):
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {aval.dtype}")


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns (gradient, value) of a scalar-valued one, or (gradient, (value, aux)).

    argnums: the position, or a tuple of positions, of the arguments to differentiate by.
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with no_saved_hooks():
            problem = Problem(func, args, kwargs, argnums)
            refuse_compressed(flatten(args)[0])
            if any([is_sparse(x) for x in problem.inputs]):  # noqa: C419
                return by_sparse(args, kwargs)
            return _by_recording.by_tape(lambda: recorded(problem), lambda: traced_by_jax(problem))

    def by_sparse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        chosen = _chosen(argnums, len(args))
        by = args[chosen[0]] if isinstance(argnums, int) else tuple([args[i] for i in chosen])
        run = _sparse_inputs.Pass(args, chosen, by)
        out, aux = with_aux(run.run(func, kwargs), has_aux, name)
        _check_scalar(out, name)
        more, spec = aux_tensors(aux)
        grads = run.gradients([out], [None], False, run.leads_outside([out]))
        value = run.result(out)
        return grads, (value, unflatten([run.result(t) for t in more], spec)) if has_aux else value

    def recorded(problem: Problem) -> Any:
        aux_spec = [treespec_leaf()]

        def run(tensors: list[Tensor]) -> Any:
            out, aux = with_aux(problem.call.of(tensors), has_aux, name)
            _check_scalar(out, name)
            found, aux_spec[0] = aux_tensors(aux)
            return out, found

        found, value, rest = _by_recording.gradients(_by_recording.Problem(problem.call.tensors, problem.moving), run)
        grads = unflatten(found, problem.spec)
        return grads, (value, unflatten(rest, aux_spec[0])) if has_aux else value

    def traced_by_jax(problem: Problem) -> Any:
        call, aux_spec = problem.call, [treespec_leaf()]

        def run(arrays: list[Any]) -> list[Any]:
            def loss(*moving: Any) -> Any:
                out, written = call.run(problem.full(arrays, moving))
                out, aux = with_aux(out, has_aux, name)
                _check_scalar(out, name)
                found, aux_spec[0] = aux_tensors(aux)
                return array_of(out), [*map(array_of, found), *written]

            value, vjp, rest = jax.vjp(loss, *[arrays[i] for i in problem.moving], has_aux=True)
            return [*[conj(g) for g in vjp(as_cotangents([value], [jnp.ones_like(value)])[0])], value, *rest]

        outs = differentiable(run, call.tensors)
        n, m = len(problem.moving), aux_spec[0].num_leaves
        call.finish(outs[n + 1 + m :])
        value = outs[n]
        grads = unflatten(outs[:n], problem.spec)
        return grads, (value, unflatten(outs[n + 1 : n + 1 + m], aux_spec[0])) if has_aux else value

    return wrapper


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of a scalar-valued one, or (gradient, aux).

    argnums: the position, or a tuple of positions, of the arguments to differentiate by; the gradient has their structure.

        >>> cube = lambda x: x**3
        >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(outputs, vjp_fn[, aux]): `vjp_fn(cotangents)` gives the tuple of gradients of the primals.

    The function runs once here; again where its results have a part in a graph, or a call is captured by `torch.compile`.
    """
    with no_saved_hooks():
        problem = Problem(func, primals, {}, tuple(range(len(primals)))) if primals else None
        refuse_compressed(flatten(primals)[0])
        if problem is not None and any([is_sparse(x) for x in problem.inputs]):  # noqa: C419
            return _vjp_by_sparse(func, primals, has_aux)
        by_jax = functools.partial(_vjp_by_jax, problem, func, primals, has_aux)
        if problem is None:
            return by_jax()
        return _by_recording.by_tape(lambda: _vjp_recorded(problem, has_aux), by_jax)


def _vjp_by_sparse(func: Any, primals: Any, has_aux: bool) -> Any:
    name = "vjp(f, *primals)"
    run = _sparse_inputs.Pass(primals, range(len(primals)), primals)
    out, aux = with_aux(run.run(func, {}), has_aux, name)
    found, spec = out_tensors(out, name)
    check_smooth(found)
    more, more_spec = aux_tensors(aux)
    results, graph = [run.result(t) for t in found], run.leads_outside(found)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The gradients of the primals for cotangents in the structure of the outputs."""
        cts, given = flatten(cotangents)
        _check_cotangents(cts, given, results, spec)
        wanted = state.grad if create_graph is None else create_graph
        return run.gradients(found, cts, retain_graph, wanted and (graph or any(c.requires_grad for c in cts)))

    return (
        unflatten(results, spec),
        vjp_fn,
        *([unflatten([run.result(t) for t in more], more_spec)] if has_aux else []),
    )


def _vjp_recorded(problem: Problem, has_aux: bool) -> Any:
    name = "vjp(f, *primals)"
    specs = [treespec_leaf()] * 2
    call = problem.call
    primal_values = [t._read() for t in call.tensors]

    def run(tensors: list[Tensor]) -> Any:
        out, aux = with_aux(call.of(tensors), has_aux, name)
        found, specs[0] = out_tensors(out, name)
        check_smooth(found)
        more, specs[1] = aux_tensors(aux)
        return found, more

    back = _by_recording.Pullback(_by_recording.Problem(call.tensors, problem.moving), run)
    outs = back.results
    if any([t._read() is not v for t, v in zip(call.tensors, primal_values, strict=True)]):  # noqa: C419
        primal_values = [t._read() for t in call.tensors]  # by the function itself

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The gradients of the primals for cotangents in the structure of the outputs."""
        cts, spec = flatten(cotangents)
        _check_cotangents(cts, spec, outs, specs[0])
        _check_primals(call.tensors, primal_values)
        with set_grad_enabled(state.grad if create_graph is None else create_graph):
            return unflatten(back(cts, retain_graph), problem.spec)

    return (unflatten(outs, specs[0]), vjp_fn, *([unflatten(back.more, specs[1])] if has_aux else []))


def _check_primals(tensors: list[Tensor], values: list[Any]) -> None:
    if any([t._read() is not v for t, v in zip(tensors, values, strict=True)]):  # noqa: C419
        raise RuntimeError(
            "vjp_fn: one of the primals has been modified by an inplace operation since vjp(f, *primals)"
        )


def _vjp_by_jax(problem: Problem | None, func: Any, primals: Any, has_aux: bool) -> Any:
    name = "vjp(f, *primals)"
    call = Call(func, primals, {}) if problem is None else problem.call
    specs = [treespec_leaf()] * 2
    first: list[Any] = []

    def transposed(arrays: list[Any]) -> Any:
        def outputs(*xs: Any) -> Any:
            out, written = call.run(list(xs))
            out, aux = with_aux(out, has_aux, name)
            found, specs[0] = out_tensors(out, name)
            check_smooth(found)
            more, specs[1] = aux_tensors(aux)
            return [array_of(t) for t in found], [*map(array_of, more), *written]

        return jax.vjp(outputs, *arrays, has_aux=True)

    def forward(arrays: list[Any]) -> list[Any]:
        values, back, rest = transposed(arrays)
        if not first:
            first.extend([arrays, values, back])
        return [*values, *rest]

    primal_values = [t._read() for t in call.tensors]
    watch = Watch()
    made = differentiable(forward, call.tensors, watch)
    n, m = specs[0].num_leaves, specs[1].num_leaves
    outs, aux = made[:n], made[n : n + m]
    call.finish(made[n + m :])

    def pull(arrays: list[Any]) -> list[Any]:
        k = len(call.tensors)
        if all([a is b for a, b in zip(arrays, first[0], strict=False)]):  # noqa: C419
            values, back = first[1:]
        else:  # autograd differentiates by the primals: run the function again
            with watch.same_numbers():
                values, back, _ = transposed(arrays[:k])
        return [conj(g) for g in back(as_cotangents(values, arrays[k:]))]

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The gradients of the primals for cotangents in the structure of the outputs."""
        cts, spec = flatten(cotangents)
        _check_cotangents(cts, spec, outs, specs[0])
        if problem is None:
            return ()
        _check_primals(call.tensors, primal_values)
        with set_grad_enabled(state.grad if create_graph is None else create_graph):
            return unflatten(differentiable(pull, [*call.tensors, *cts], watch), problem.spec)

    return (unflatten(outs, specs[0]), vjp_fn, *([unflatten(aux, specs[1])] if has_aux else []))


def _check_cotangents(given: list[Any], spec: TreeSpec, outs: list[Any], out_spec: TreeSpec) -> None:
    """Are cotangents of the outputs' structure and shapes?"""
    if spec != out_spec:
        raise RuntimeError(
            "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
            f"cotangents: {spec}, primal output: {out_spec}"
        )
    for i, (c, o) in enumerate(zip(given, outs, strict=True)):
        if c.shape != o.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {c.shape} and output[{i}] has a shape of {o.shape}."
            )


def as_cotangents(values: list[Any], given: Any) -> list[Any]:
    """Cotangents in the types that JAX wants: no numbers for integers, and complex conjugates."""
    return [
        conj(c).astype(v.dtype) if jnp.issubdtype(v.dtype, jnp.inexact) else np.zeros(v.shape, jax.dtypes.float0)
        for v, c in zip(values, given, strict=True)
    ]


def tangent_of(value: Any, tangent: Any) -> Any:
    """A tangent as an array: JAX has none for integers."""
    return jnp.zeros(value.shape, value.dtype) if tangent.dtype == jax.dtypes.float0 else tangent


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(outputs, derivatives of the outputs along the tangents[, aux])."""
    name = "jvp(f, primals, tangents)"
    refuse_nested()
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"{name}: Expected {what} to be a tuple. E.g. it should be valid to call f(*{what}).")
    own, spec = flatten(primals)
    moves, moves_spec = flatten(tangents)
    if spec != moves_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {moves_spec}"
        )
    if not own:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    for what, items in (("primals", own), ("tangents", moves)):
        for x in items:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"{name}: Expected {what} to be tensors, got unsupported type {type(x)}")
    refuse_compressed([*own, *moves])
    for p, t in zip(own, moves, strict=True):
        if p.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(p.shape)} while the given forward gradient is of size {list(t.shape)}."
            )
        if not is_inexact(p):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {p.dtype}")
    by_jax = functools.partial(_jvp_by_jax, func, primals, own, moves, strict, has_aux)
    return _by_recording.by_tape(lambda: _jvp_recorded(func, primals, own, moves, strict, has_aux), by_jax)


def _jvp_recorded(func: Any, primals: Any, own: list[Tensor], moves: list[Tensor], strict: bool, has_aux: bool) -> Any:
    name = "jvp(f, primals, tangents)"
    specs = [treespec_leaf()] * 2
    call = Call(func, primals, {})

    def run(tensors: list[Tensor]) -> Any:
        out, aux = with_aux(call.of(tensors), has_aux, f"{name}, has_aux=True" if has_aux else name)
        found, specs[0] = out_tensors(out, name)
        refuse_compressed(found)
        more, specs[1] = aux_tensors(aux)
        return found, more

    outs, along, rest = _by_recording.along(run, own, moves, functools.partial(_independent, name) if strict else None)
    found = (unflatten(outs, specs[0]), unflatten(along, specs[0]))
    return (*found, unflatten(rest, specs[1])) if has_aux else found


def _jvp_by_jax(func: Any, primals: Any, own: list[Tensor], moves: list[Tensor], strict: bool, has_aux: bool) -> Any:
    name = "jvp(f, primals, tangents)"
    call = Call(func, primals, {})
    specs = [treespec_leaf()] * 2
    k = len(own)

    def run(arrays: list[Any]) -> list[Any]:
        def outputs(*xs: Any) -> Any:
            with traced_kernels.following_tangents():
                out, written = call.run(list(xs))
            out, aux = with_aux(out, has_aux, f"{name}, has_aux=True" if has_aux else name)
            found, specs[0] = out_tensors(out, name)
            refuse_compressed(found)
            more, specs[1] = aux_tensors(aux)
            return [array_of(t) for t in found], [*map(array_of, more), *written]

        given = [t.astype(x.dtype) for x, t in zip(arrays[:k], arrays[k:], strict=True)]
        if strict:
            _check_dependence(outputs, arrays[:k], name)
        values, along, rest = jax.jvp(outputs, tuple(arrays[:k]), tuple(given), has_aux=True)
        return [*values, *[tangent_of(v, t) for v, t in zip(values, along, strict=True)], *rest]

    made = differentiable(run, [*own, *moves])
    n, m = specs[0].num_leaves, specs[1].num_leaves
    call.finish(made[2 * n + m :])
    found = (unflatten(made[:n], specs[0]), unflatten(made[n : 2 * n], specs[0]))
    return (*found, unflatten(made[2 * n : 2 * n + m], specs[1])) if has_aux else found


def _check_dependence(outputs: Any, arrays: list[Any], name: str) -> None:
    """RuntimeError if an output does not depend on the inputs."""
    from jax.interpreters import partial_eval

    closed = jax.make_jaxpr(lambda *xs: outputs(*xs)[0])(*arrays)
    for k in range(len(closed.jaxpr.outvars)):
        wanted = [i == k for i in range(len(closed.jaxpr.outvars))]
        _, used = partial_eval.dce_jaxpr(closed.jaxpr, wanted)
        if not any(used):
            _independent(name)


def _independent(name: str) -> None:
    raise RuntimeError(
        f"{name[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
    )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(outputs, jvp_fn): `jvp_fn(*tangents)` gives the derivative at the primals along the tangents.

    Where the function returns what is no tensor, jvp_fn gives that.
    """
    own, spec = flatten(primals)
    own = [x.clone() if isinstance(x, Tensor) else x for x in own]  # the function may write to what it is given
    out = func(*primals)
    for x in own:
        if isinstance(x, Tensor) and not is_inexact(x):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    rest, out_spec = flatten(out)

    def tensors_of(*args: Any) -> list[Tensor]:
        nonlocal rest, out_spec
        rest, out_spec = flatten(func(*args))
        return [x for x in rest if isinstance(x, Tensor)]

    def along(tangents: Any) -> Any:
        if not any(isinstance(x, Tensor) for x in rest):
            return unflatten(rest, out_spec)
        moves = flatten(tangents)[0]
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(p, t) for p, t in zip(own, moves, strict=True)]
            found = [forward_ad.unpack_dual(o) for o in tensors_of(*unflatten(duals, spec))]
        lines = iter([functions["zeros_like"](u.primal.detach()) if u.tangent is None else u.tangent for u in found])
        return unflatten([next(lines) if isinstance(x, Tensor) else x for x in rest], out_spec)

    along(unflatten([functions["zeros_like"](x.detach()) for x in own], spec))

    def jvp_fn(*tangents: Any) -> Any:
        """The derivative along tangents in the structure of the primals."""
        moves, moves_spec = flatten(tangents)
        if moves_spec != spec:
            raise RuntimeError(f"Expected the tangents {moves_spec} to have the same argspec as the primals {spec}")
        for i, (p, t) in enumerate(zip(own, moves, strict=True)):
            if p.shape != t.shape:
                raise RuntimeError(
                    f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the shape {p.shape} of the "
                    "corresponding primal."
                )
            if p.dtype != t.dtype:
                raise RuntimeError(
                    f"tangent:{i} with dtype {t.dtype} in flattened pytree doesn't match the dtype {p.dtype} of the "
                    "corresponding primal."
                )
        return along(tangents)

    return out, jvp_fn
