"""The differentiated form of an entry, made once from `jax.vjp`.

The function that `jax.vjp` returns is a pytree whose leaves, the residuals, are what a backward pass needs of the forward
one. Most of them are cheap functions of the operation's inputs or outputs (`relu`: is the result positive?), and keeping
those instead costs no memory: somebody holds them already. So residuals are *re-rooted*: each is traced back through
cheap primitives to inputs ("in", i), outputs ("out", j) or, failing that, to itself ("extra", k), and the backward kernel
recomputes it from there. Within one XLA program the recomputation is shared with the forward pass or fused away.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, tree_util
from jax._src import core as _core
from jax._src.interpreters import ad as _ad
from jax._src.lax.control_flow.loops import scan_p
from jax.extend import core as jex_core
from jax.interpreters import ad, partial_eval

from ..compile.context import x64
from ..compile.kernel import Entry, Kernel, unaliased
from ..compile.tracing import of_jaxpr, traced, with_results
from ..run import templates
from ..run.capture import unobserved
from ..types.dtypes import scalar_name
from ..types.foreign_errors import refuse_foreign
from ..types.value import Aval
from .half_precision import in_single
from .nodes import node_type

_EXPENSIVE = frozenset(
    """dot_general ragged_dot_general conv_general_dilated sort gather scatter scatter-add scatter_add scatter_mul scatter_min
    scatter_max while scan cond fft rng_bit_generator random_bits threefry2x32 reduce_window reduce_window_max reduce_window_min
    reduce_window_sum select_and_scatter_add select_and_gather_add cumsum cumprod cummax cummin cumlogsumexp cholesky
    triangular_solve lu eigh eig svd qr householder_product schur top_k argmax argmin custom_call ffi_call pure_callback
    io_callback custom_vjp_call custom_vjp_call_jaxpr linear_solve custom_linear_solve lgamma digamma
    igamma igammac igamma_grad_a random_gamma_grad regularized_incomplete_beta erf_inv bessel_i0e bessel_i1e polygamma zeta
    tridiagonal tridiagonal_solve geqrf approx_top_k times times_transposed batched linear columns attention lstm lstm_states
    gru gru_states rnn""".split()
)


class GradForm:
    """How an entry runs forward and backward when the inputs in `mask` want a gradient.

    kernel: the forward kernel, the entry's own when nothing extra has to be kept.
    roots:  what a node saves, as ("in", i), ("out", j) or ("extra", k).
    wanted: the indices of the inputs in `mask`.
    not_needed: names of what PyTorch's derivative does not save where these inputs, and no others, want a gradient.
    kept:   roots that backward does without, but PyTorch's derivative saves: to overwrite them is an error there too.
    """

    __slots__ = ("entry", "kernel", "roots", "not_needed", "kept", "wanted", "n_out", "name", "out_avals", "in_avals", "has_extra",
                 "node_type", "_recompute", "_vjp_tree", "_backwards", "_full_backwards", "_for_tracers", "_template")  # fmt: skip

    def __init__(self, entry: Entry, mask: int) -> None:
        self.entry = entry
        self.wanted = tuple(i for i in range(len(entry.in_avals)) if mask >> i & 1)
        self.n_out = entry.n_out
        self.name = entry.grad_name
        self.out_avals = entry.kernel.out_avals[: entry.n_out]
        self.in_avals = entry.in_avals
        self._backwards: dict[Any, Entry] = {}
        self._full_backwards: dict[Any, Entry] = {}
        self.node_type = node_type(self.name or "UnnamedBackward0")
        self._for_tracers: Any = None
        self._recompute: Any = None
        self._vjp_tree: Any = None
        self._template: tuple[Any, Any] = (None, None)  # the template of this form, and the sizes that are filled in
        names = {entry.operand_names[i] for i in self.wanted} if entry.saved else frozenset[str]()
        self.not_needed = frozenset([n for n, of in entry.saved.items() if of and of.isdisjoint(names)])
        self._derive()
        if any([kind == "in" and self._named(kind, k) & self.not_needed for kind, k in self.roots]):  # noqa: C419
            self._differentiate()
            self._template = (None, None)
            self._drop_unused()
        saved = set(entry.saved) - self.not_needed
        places = [("out", k) for k in range(self.n_out)] + [("in", k) for k in range(len(self.in_avals))]
        known = {*self.roots, *(places[self.n_out :] if self.has_extra else ())}
        self.kept = tuple([p for p in places if p not in known and self._named(*p) & saved]) if saved else ()

    def _named(self, kind: str, k: int) -> set[str]:
        """The names by which `saved` and `unsaved` may mean an output or an input."""
        if kind == "out":
            return {f"result{k or ''}"}
        names = self.entry.operand_names
        return {names[k]} if k < len(names) else set()

    def is_unsaved(self, kind: str, k: int) -> bool:
        """Does PyTorch's derivative do without this input ("in") or output ("out")? Then overwriting it is no error."""
        unsaved = self.entry.unsaved | self.not_needed
        return bool(unsaved) and not self._named(kind, k).isdisjoint(unsaved)

    def _drop_unused(self) -> None:
        """Keep no root that the gradients do not depend on: to JAX the indices of a sum at indices are needed in any case."""
        backward = self._make_backward((True,) * self.n_out).kernel
        with x64():
            jaxpr = jax.make_jaxpr(backward.fn)(*[a.struct for a in backward.in_avals]).jaxpr
        used = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1][: len(self.roots)]
        avals, recover = self.saved_avals(), self._recompute

        def recover_from_used(saved: Any) -> list[Any]:
            given = iter(saved)
            return recover(
                [next(given) if u else jnp.zeros(a.shape, a.dtype.np) for u, a in zip(used, avals, strict=True)]
            )

        self._recompute = recover_from_used
        self.roots = tuple([root for root, u in zip(self.roots, used, strict=True) if u])

    def _derive(self) -> None:
        filled_pattern = self.entry.kernel._filled_pattern
        template = getattr(filled_pattern, "template", None)
        mask = sum([1 << i for i in self.wanted])
        filled = None if template is None else template.form(mask, filled_pattern.v)
        if filled is not None:
            self.roots, self.has_extra, self._recompute, self._vjp_tree = (
                filled.roots,
                filled.pattern is not None,
                None,
                None,
            )
            self._template = filled, filled_pattern.v
            self.kernel = (
                self.entry.kernel
                if filled.pattern is None
                else self._kernel(None, filled.forward_pattern(filled_pattern.v))
            )
            if templates.MODE == "check":
                derived, own = self._derive_traced(), self.kernel
                filled.compare(self.entry.name, filled_pattern.v, derived)
                self.kernel = own
            return
        derived = self._derive_traced()
        if template is not None:
            n_visible = len(self.entry.kernel.out_avals)

            def derive(closed: Any, structs: Any) -> Derived:
                opens = self.entry.op is not None
                return Derived(self.entry.name, _inlined(closed), structs, self.wanted, self.n_out, n_visible, opens)

            self._template = (
                template.learn_form(mask, filled_pattern.v, derived, derive, self.kernel, self.n_out),
                filled_pattern.v,
            )

    def _derived(self) -> Derived:
        """The operation differentiated at these sizes."""
        entry = self.entry
        closed = entry.kernel.host_jaxpr if entry.kernel._filled_pattern is None else entry.kernel.trace()
        fn = entry.kernel.fn if closed is None else _inlined(closed)
        structs = [a.struct for a in entry.in_avals]
        n_visible = len(entry.kernel.out_avals)
        return Derived(entry.name, fn, structs, self.wanted, self.n_out, n_visible, entry.op is not None)

    def _derive_traced(self) -> Derived:
        """Differentiate, and make this form of that."""
        found = self._derived()
        self.roots, self._recompute, self._vjp_tree, self.has_extra = (
            found.roots,
            found.recover,
            found.tree,
            bool(found.extras),
        )
        keep = found.kept(self.n_out, len(self.entry.kernel.out_avals)) if found.extras else None
        self.kernel = self.entry.kernel if keep is None else self._kernel(keep, None)
        return found

    def _kernel(self, keep: Any, filled_pattern: Any) -> Kernel:
        """The forward kernel that gives what backward needs besides."""
        entry = self.entry
        slot, checks = entry.kernel.slot, list(entry.kernel.checks)
        name = entry.name + "_fwd"
        if filled_pattern is not None:

            def traced_now(*args: Any) -> Any:
                return of_jaxpr(self._derived().kept(self.n_out, len(entry.kernel.out_avals)), name)(*args)

            made = Kernel(name, traced_now, entry.in_avals, slot, checks, filled_pattern=filled_pattern)
        else:  # by a kernel's own jaxpr, inputs that are handed back are copied
            own = None if entry.kernel._filled_pattern is None and entry.kernel.host_jaxpr is None else keep
            made = Kernel(name, of_jaxpr(keep, name), entry.in_avals, slot, checks, own)
        made.guards = entry.kernel.guards
        return made

    def _differentiate(self) -> None:
        """Differentiate a form whose forward kernel was filled in: a backward kernel is to be traced."""
        if self._recompute is None:
            roots, kernel = self.roots, self.kernel
            self._derive_traced()
            self.kernel = kernel
            if roots != self.roots:
                raise RuntimeError(
                    f"jaxtorch: {self.entry.name}: a derivative keeps other values than its template says"
                )

    def backward(self, present: tuple[bool, ...]) -> Entry:
        """The backward entry, for the outputs that did receive a cotangent.

        It maps (saved values, the cotangents present) to the gradients of the wanted inputs.
        """
        found = self._backwards.get(present)
        if found is None:
            try:
                with _tracing(self.entry):
                    found = self._backwards[present] = self._make_backward(present)
            except Exception as error:
                refuse_foreign(self.name or self.entry.name, error)
                raise
        return found

    def for_tracers(self) -> Any:
        """The form for values that a JAX transformation traces, or with tangents: it runs the operation itself, whose derivatives
        JAX knows, instead of the forward kernel that was made by differentiating it."""
        if self._for_tracers is None:
            self._for_tracers = _TracedForm(self)
        return self._for_tracers

    def saved_avals(self) -> list[Aval]:
        return [
            self.in_avals[k] if kind == "in" else self.kernel.out_avals[k if kind == "out" else self.n_out + k]
            for kind, k in self.roots
        ]

    def _make_backward(self, present: tuple[bool, ...]) -> Entry:
        outs, wanted, in_avals = self.out_avals, self.wanted, self.in_avals
        avals = (*self.saved_avals(), *[a for a, p in zip(outs, present, strict=True) if p])

        recover, tree, n_saved = self._recompute, self._vjp_tree, len(self.roots)

        def backward(*args: Any) -> tuple[Any, ...]:
            if recover is not None:
                return _backward_of(tree, recover, n_saved, outs, wanted, in_avals, present)(*args)
            self._differentiate()
            return _backward_of(self._vjp_tree, self._recompute, n_saved, outs, wanted, in_avals, present)(*args)

        single = in_single(backward, avals)
        name = self.name or self.entry.name + "_bwd"
        form, v = self._template
        filled_pattern = None if form is None else form.backward_pattern(present, v)
        kernel = Kernel(name, single, avals, self.entry.kernel.slot, filled_pattern=filled_pattern)
        if form is not None and filled_pattern is None:

            def symbolic(form: Any) -> Any:
                fn = _backward_of(form.tree, form.recover, n_saved, form.outs, wanted, form.in_avals, present)
                types = [*form.saved, *[a for a, p in zip(form.outs, present, strict=True) if p]]
                return in_single(fn, tuple(types)), types

            form.learn_backward(present, v, kernel, symbolic)
        elif filled_pattern is not None and templates.MODE == "check":
            templates.compare(name, filled_pattern.closed_jaxpr(), unaliased(single, kernel.slot.device.type), avals)
        return self._as_derivative(Entry(self.entry.op, kernel, None, self.entry.static), present)

    def _as_derivative(self, made: Entry, present: tuple[bool, ...]) -> Entry:
        made.grad_name, made.is_derivative = self.name, True
        if self.entry.is_derivative:
            used = frozenset[int]().union(*[s for s, p in zip(self.entry.dependencies(), present, strict=True) if p])
            made.undefined_outputs = frozenset([k for k, i in enumerate(self.wanted) if i not in used])
        return made

    def full_backward(self, present: tuple[bool, ...]) -> Entry:
        """The backward entry as a function of (all inputs, the cotangents present).

        Used under `create_graph` where an extra root, which has no history of its own, would cut the graph.
        """
        found = self._full_backwards.get(present)
        if found is not None:
            return found
        fn, n_out, n_in = self.entry.kernel.fn, self.n_out, len(self.in_avals)
        outs, wanted, in_avals = self.out_avals, self.wanted, self.in_avals

        def backward(*args: Any) -> tuple[Any, ...]:
            inputs = args[:n_in]

            def of_wanted(*some: Any) -> Any:
                full = list(inputs)
                for i, x in zip(wanted, some, strict=True):
                    full[i] = x
                return tuple(fn(*full)[:n_out])

            _, vjp = jax.vjp(of_wanted, *[inputs[i] for i in wanted])
            grads = vjp(tuple(_cotangents(outs, present, args[n_in:])))
            return tuple(_torch_gradient(g, in_avals[i]) for g, i in zip(grads, wanted, strict=True))

        avals = [*in_avals, *[a for a, p in zip(outs, present, strict=True) if p]]
        single = in_single(backward, tuple(avals))
        kernel = Kernel(self.name or self.entry.name + "_bwd", single, tuple(avals), self.entry.kernel.slot)
        found = self._full_backwards[present] = Entry(self.entry.op, kernel, None, self.entry.static)
        return self._as_derivative(found, present)


class Derived:
    """A function differentiated at some sizes: the jaxpr of its forward pass with its residuals, what these are read from, the
    outputs that are kept for them, and `tree` and `recover`, from which backward is made."""

    def __init__(
        self, name: str, fn: Any, structs: Any, wanted: tuple[int, ...], n_out: int, n_visible: int, opens: bool
    ) -> None:
        trees: list[Any] = []

        def forward(*args: Any) -> Any:
            def of_wanted(*some: Any) -> Any:
                full = list(args)
                for i, x in zip(wanted, some, strict=True):
                    full[i] = x
                outs = fn(*full)
                return tuple(outs[:n_out]), tuple(outs[n_out:])

            outs, vjp, checks = jax.vjp(of_wanted, *[args[i] for i in wanted], has_aux=True)
            leaves, tree = tree_util.tree_flatten(vjp)
            trees.append(tree)
            return (*outs, *checks, *leaves)

        with x64():
            closed = traced(f"{name}_fwd", forward, structs, opens)
            if any(eqn.primitive.name in ("jit", "pjit") for eqn in closed.jaxpr.eqns):
                closed = traced(f"{name}_fwd opened", _inlined(closed), structs, False)
        self.closed = closed
        self.tree = trees[-1]
        self.roots, self.extras, self.recover = _reroot(closed, n_out, n_visible)

    def kept(self, n_out: int, n_visible: int) -> Any:
        """The jaxpr of the forward kernel."""
        outs = self.closed.jaxpr.outvars
        return with_results(self.closed, [*outs[:n_out], *self.extras, *outs[n_out:n_visible]])


def _backward_of(tree: Any, recover: Any, n_saved: int, outs: Any, wanted: Any, in_avals: Any, present: Any) -> Any:
    """The function of (saved values, the cotangents present) that gives the gradients of the wanted inputs."""

    def backward(*args: Any) -> tuple[Any, ...]:
        vjp = tree_util.tree_unflatten(tree, recover(args[:n_saved]))
        grads = vjp(tuple(_cotangents(outs, present, args[n_saved:])))
        return tuple(_torch_gradient(g, in_avals[i]) for g, i in zip(grads, wanted, strict=True))

    return backward


class _TracedForm(GradForm):
    """Saves the inputs and differentiates the operation in backward."""

    __slots__ = ()

    def __init__(self, form: GradForm) -> None:
        for name in (
            "entry",
            "not_needed",
            "wanted",
            "n_out",
            "name",
            "out_avals",
            "in_avals",
            "node_type",
            "_full_backwards",
        ):
            setattr(self, name, getattr(form, name))
        self.kernel = form.entry.kernel
        self.roots, self.kept = tuple([("in", i) for i in range(len(form.in_avals))]), ()
        self.has_extra = False

    def backward(self, present: tuple[bool, ...]) -> Entry:
        return self.full_backward(present)


def _cotangents(outs: tuple[Aval, ...], present: tuple[bool, ...], given: Any) -> list[Any]:
    """All outputs' cotangents in JAX's convention, which for complex numbers conjugates PyTorch's."""
    rest = iter(given)
    full = []
    for aval, here in zip(outs, present, strict=True):
        if here:
            ct = next(rest)
            full.append(jnp.conj(ct) if aval.dtype.is_complex else ct)
        elif aval.dtype.is_floating_point or aval.dtype.is_complex:  # no array of zeros: 0 times infinity is NaN
            full.append(ad.Zero(core.ShapedArray(aval.shape, aval.dtype.np)))
        else:
            full.append(np.zeros(aval.shape, jax.dtypes.float0))
    return full


_scan_rule = getattr(_ad, "fancy_transposes", {}).get(scan_p)


def _transposed_scan(cts: Any, *args: Any, length: int, num_carry: int, **params: Any) -> Any:
    """JAX's rule for a scan, but where the gradient of an output over all steps is a zero, each step gets one of its own size."""
    found = list(cts)
    for i in range(num_carry, len(found)):
        if type(found[i]) is ad.Zero:
            found[i] = ad.Zero(_core.mapped_leading_aval(length, found[i].aval))
    assert _scan_rule is not None
    return _scan_rule(found, *args, length=length, num_carry=num_carry, **params)


if (
    _scan_rule is not None and "num_carry" in inspect.signature(_scan_rule).parameters
):  # JAX from 0.12 on does it itself
    _ad.fancy_transposes[scan_p] = _transposed_scan


def _torch_gradient(g: Any, aval: Aval) -> Any:
    return jnp.conj(g) if aval.dtype.is_complex else g


def grad_form(entry: Entry, mask: int) -> GradForm:
    """The entry's differentiated form for the inputs in the bit set `mask`."""
    form = entry.forms.get(mask)
    if form is None:
        _refuse(entry, mask)
        try:
            with _tracing(entry):
                form = entry.forms[mask] = GradForm(entry, mask)
        except Exception as error:
            if entry.op is not None:
                refuse_foreign(entry.op.name, error)
            raise
    return form


_REAL = frozenset(("geqrf", "nan_to_num", "scatter_reduce", "silu", "slice_scatter"))
"""Operations that PyTorch differentiates for real numbers only."""


_FIXED = {
    "_batch_norm_eval": ("native_batch_norm", "running_mean running_var"),
    "_batch_norm_train": ("native_batch_norm", "running_mean running_var"),
    "_fake_quantize_tensors": ("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "scale"),
    "_instance_norm": ("native_batch_norm", "running_mean running_var"),
    "_linalg_pinv": ("linalg_pinv", "atol rtol"),
    "_native_batch_norm": ("native_batch_norm", "running_mean running_var"),
    "binary_cross_entropy": ("binary_cross_entropy", "weight"),
    "binary_cross_entropy_with_logits": ("binary_cross_entropy_with_logits", "weight pos_weight"),
    "cross_entropy": ("nll_loss{}_forward", "weight"),
    "fake_quantize_per_channel_affine": ("fake_quantize_per_channel_affine_cachemask", "scale"),
    "multi_margin_loss": ("multi_margin_loss", "weight"),
    "nll_loss": ("nll_loss{}_forward", "weight"),
    "soft_margin_loss": ("soft_margin_loss", "target"),
}
"""Operands that may not require a gradient: PyTorch's name of the operation, and theirs."""


def _refuse(entry: Entry, mask: int) -> None:
    """Raise PyTorch's errors for what cannot be differentiated: operands that it holds for fixed, results of other types."""
    function, names = _FIXED.get(entry.op.name if entry.op is not None else "", ("", ""))
    by_probabilities = function.startswith("nll") and entry.in_avals[1].dtype.is_floating_point
    for k, name in enumerate(entry.operand_names if names and not by_probabilities else ()):
        if mask >> k & 1 and name in names.split() and (entry.in_avals[0].numel or name == "target"):
            raise RuntimeError(
                f"The function '{function.format('2d' if entry.in_avals[0].ndim > 2 else '')}' is not differentiable with respect "
                f"to argument '{name}'. This input cannot have requires_grad True."
            )
    for aval, wanted in zip(entry.kernel.out_avals, entry.out_float, strict=False):
        if not wanted:
            continue
        if aval.dtype.is_complex and entry.op is not None and entry.op.name in _REAL:
            raise RuntimeError(
                f"{entry.op.name} does not support automatic differentiation for outputs with complex dtype."
            )
        if not (aval.dtype.is_floating_point or aval.dtype.is_complex):
            raise RuntimeError(f"Autograd not support dtype: {scalar_name(aval.dtype)}")


def _tracing(entry: Entry) -> Any:
    """Context in which an entry is differentiated: one that is no operation's may have the user's own rules."""
    return contextlib.nullcontext() if entry.op is None else unobserved()


def _inlined(closed: Any) -> Any:
    """The function of a jaxpr with its inner `jit` calls opened, so that re-rooting sees single primitives."""

    def run(*args: Any) -> list[Any]:
        return _eval_inline(closed.jaxpr, closed.consts, args)

    return run


def _eval_inline(jaxpr: Any, consts: Any, args: Any) -> list[Any]:
    env: dict[Any, Any] = {}

    def read(v: Any) -> Any:
        return v.val if isinstance(v, jex_core.Literal) else env[v]

    for v, c in zip(jaxpr.constvars, consts, strict=True):
        env[v] = c
    for v, a in zip(jaxpr.invars, args, strict=True):
        env[v] = a
    for eqn in jaxpr.eqns:
        inputs = [read(v) for v in eqn.invars]
        if eqn.primitive.name in ("jit", "pjit") and not isinstance(eqn.params["jaxpr"], str):
            inner = eqn.params["jaxpr"]
            outs = _eval_inline(inner.jaxpr, inner.consts, inputs)
        else:
            outs = _bind(eqn, inputs)
        for v, o in zip(eqn.outvars, outs, strict=True):
            env[v] = o
    return [read(v) for v in jaxpr.outvars]


def _bind(eqn: Any, inputs: list[Any]) -> Any:
    """Apply the primitive of an equation to new inputs."""
    params = eqn.primitive.get_bind_params(eqn.params)
    with eqn.ctx.manager:
        outs = eqn.primitive.bind(*inputs, **params)
    return outs if eqn.primitive.multiple_results else [outs]


def _is_expensive(eqn: Any) -> bool:
    """Is what it gives kept rather than computed again? A function with stated derivatives (`rules.derivatives`) is what it calls."""
    if eqn.primitive.name == "custom_jvp_call":
        return any(map(_is_expensive, eqn.params["call_jaxpr"].eqns))
    if eqn.primitive.name in ("jit", "pjit"):
        return any(map(_is_expensive, eqn.params["jaxpr"].eqns))
    return eqn.primitive.name in _EXPENSIVE or bool(eqn.effects)


def _reroot(closed: Any, n_out: int, n_visible: int) -> tuple[tuple[tuple[str, int], ...], list[Any], Any]:
    """Where the residuals of a forward jaxpr can be read from: (roots, extra output variables, recover).

    `recover(saved)` gives the residuals from the values at the roots.
    """
    jaxpr = closed.jaxpr
    residuals = jaxpr.outvars[n_visible:]
    Literal = jex_core.Literal
    inputs = {v: i for i, v in enumerate(jaxpr.invars)}
    outputs: dict[Any, int] = {}
    for j, v in enumerate(jaxpr.outvars[:n_out]):
        if not isinstance(v, Literal):
            outputs.setdefault(v, j)
    constants = set(jaxpr.constvars)
    producer = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    roots: dict[Any, tuple[str, int]] = {}
    extras: list[Any] = []
    needed: set[int] = set()

    pending = [v for v in residuals if not isinstance(v, Literal)]
    seen: set[Any] = set()
    while pending:
        v = pending.pop()
        if v in seen or v in constants:
            continue
        seen.add(v)
        if v in inputs:
            roots[v] = ("in", inputs[v])
        elif v in outputs:
            roots[v] = ("out", outputs[v])
        else:
            eqn = producer[v]
            if _is_expensive(eqn):
                roots[v] = ("extra", len(extras))
                extras.append(v)
            else:
                needed.add(id(eqn))
                pending.extend(u for u in eqn.invars if not isinstance(u, Literal))
    order = list(roots)
    body = [eqn for eqn in jaxpr.eqns if id(eqn) in needed]
    constvars, consts = jaxpr.constvars, closed.consts

    def recover(saved: Any) -> list[Any]:
        env: dict[Any, Any] = dict(zip(constvars, consts, strict=True))
        env.update(zip(order, saved, strict=True))

        def read(v: Any) -> Any:
            return v.val if isinstance(v, Literal) else env[v]

        for eqn in body:
            for v, o in zip(eqn.outvars, _bind(eqn, [read(v) for v in eqn.invars]), strict=True):
                if v not in env:
                    env[v] = o
        return [read(v) for v in residuals]

    return tuple(roots[v] for v in order), extras, recover
