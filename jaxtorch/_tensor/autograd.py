"""A tensor's part in autograd."""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import Any

from .._core.autograd import backward as engine
from .._core.autograd.hook_results import GradDtype
from .._core.compile.kernel import Entry, Kernel
from .._core.define.op import functions
from .._core.dispatch import torch_dispatch
from .._core.graph.nodes import GradientSink, Node, entered_kinds, leaf_hooks, shown
from .._core.random import jax_draws
from .._core.run import capture
from .._core.tensor import aliasing, views
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor, apply_entry, version_of
from .._core.tensor.tensor import is_inference as _inferred
from .._core.transforms.forward_mode import is_dual
from .._core.transforms.vmap import is_mapped_at
from .._core.types.device import default_device
from .._core.types.dtypes import scalar_name
from .._core.types.grad_mode import finished, no_grad, state
from .._core.types.removable_handle import RemovableHandle
from .._core.types.value import DETACHED
from .._core.types.warn_once import once, warn
from .._ops.types.constants import preserve_format
from ._members import Members
from .properties import member as _member  # noqa: F401
from .sparse_gradients import carrier, to_values

MEMBERS = Members()
member = MEMBERS.member


def _get_requires_grad(self: Tensor) -> bool:
    if self._alias is not None:
        self._alias.peek(self)
    return self._rg


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    dtype = self._value.aval.dtype
    if value and shown(self._node) is None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    _require(self, value)


def _shown_requires_grad(self: Tensor) -> bool:
    """As PyTorch shows it: to a function that is mapped, or moves along tangents, its arguments' own history is out of sight, and to
    one that is differentiated that of its other arguments."""
    asked = _get_requires_grad(self)
    if not (asked and state.working) or is_sparse(self):
        return asked
    if any([type(at) is frozenset and id(self) in at for at in state.working]):  # noqa: C419
        return False
    at, value = state.working[-1], self._value
    if at is None or type(at) is frozenset:
        return asked
    return not (is_dual(value) if at == "tangents" else is_mapped_at(at, value))


MEMBERS["requires_grad"] = property(
    _shown_requires_grad, _set_requires_grad, doc="Is a gradient to be computed for this tensor?"
)


@member
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for a gradient, or stop asking; leaves only."""
    if not isinstance(requires_grad, bool):
        raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    if state.transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() inside of a function that torch.func transforms, where it has no "
            "effect: use torch.func's own derivatives (grad, vjp, jacrev, ...) there, or call it outside"
        )
    return _require(self, requires_grad)


def _require(self: Tensor, requires_grad: bool) -> Tensor:
    if shown(self._node) is not None:
        if not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        return self
    dtype = self._value.aval.dtype
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if requires_grad and _inferred(self) and not state.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    alias = self._alias
    if alias is not None and alias.base is not None:
        alias.own = self._rg = bool(requires_grad)
        self._node = None
        if alias.base._rg and not alias.own:
            views.drop_gradients(self)
        return self
    self._rg = bool(requires_grad)
    if alias is not None:
        alias.reconsider()
    return self


def _get_grad(self: Tensor) -> Tensor | None:
    if self._grad is None and shown(self._node) is not None and not _retains(self):
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
            "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
        )
    return self._grad


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        mine, other = self._value.aval, value._value.aval
        asked = None if self._hooks is None else self._hooks.get(GradDtype.KEY)
        wanted = mine.dtype if asked is None else asked.dtype
        if wanted is not None and wanted is not other.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{scalar_name(other.dtype).lower()}' to a tensor with "
                f"grad_dtype '{scalar_name(wanted)}'. A gradient has the tensor's own dtype unless the tensor's grad_dtype "
                "is set to another one, or to None for any"
            )
        if mine.slot is not other.slot:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{other.slot.device.type}' to a tensor with device "
                f"type '{mine.slot.device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if mine.shape != other.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(other.shape)}' to a tensor of size '{list(mine.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )
    self._grad = value


def _del_grad(self: Tensor) -> None:
    self._grad = None


MEMBERS["grad"] = property(_get_grad, _set_grad, _del_grad, doc="The accumulated gradient; None before any backward().")


def _get_grad_fn(self: Tensor) -> Any:
    if self._alias is not None:
        aliasing.check_place(self)
        views.regenerate_grad_fn(self)
    return shown(self._node)


MEMBERS["grad_fn"] = property(_get_grad_fn, doc="The autograd node that made this tensor; None for a leaf.")
MEMBERS["is_leaf"] = property(
    lambda self: _get_grad_fn(self) is None, doc="Does no autograd node stand behind this tensor?"
)
MEMBERS["output_nr"] = property(lambda self: self._index, doc="Which output of `grad_fn` this tensor is.")
MEMBERS["_grad_fn"] = MEMBERS["grad_fn"]


def _retains(t: Tensor) -> bool:
    node = t._node
    return node is not None and bool(node.retains) and t._index in node.retains


MEMBERS["retains_grad"] = property(_retains, doc="Will `.grad` of this non-leaf be filled during backward?")


@member
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad` during backward."""
    if state.transforms and (_get_requires_grad(self) or not jax_draws.is_mapping()):
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
            "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
            "call retain_grad() outside of a function being transformed instead."
        )
    if not _get_requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if not _retains(self) and shown(self._node) is not None and _get_grad_fn(self) is not None:
        self._node.retain(self._index, self)


@member
def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is computed; what it returns, if anything, replaces the gradient."""
    if not _get_requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if _get_grad_fn(self) is not None or type(self._node) in entered_kinds:
        hooks = self._node.output_hooks(self._index)
    else:
        if self._hooks is None:
            self._hooks = OrderedDict()
        hooks = self._hooks
        if not leaf_hooks:
            leaf_hooks.append(True)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


MEMBERS["_post_accumulate_grad_hooks"] = property(
    lambda self: self._post_hooks, doc="The hooks that run after accumulation, by number; None if there never was one."
)


@member
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient has been added to this leaf's `.grad`."""
    if not _get_requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if _get_grad_fn(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = OrderedDict()
    if not leaf_hooks:
        leaf_hooks.append(True)
    handle = RemovableHandle(self._post_hooks)
    self._post_hooks[handle.id] = hook
    return handle


@member
def detach(self: Tensor) -> Tensor:
    """The same memory without its history."""
    return views.detached(self)


@member
def detach_(self: Tensor) -> Tensor:
    """Forget this tensor's history, in place."""
    if self._alias is not None and self._alias.base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
            "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
            "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
            "torch/optim/optimizer.py as the solution."
        )
    if shown(self._node) is not None:  # nodes that have saved it cannot tell any more where it came from
        version = version_of(self)
        self._value.guard = (version, version.n - version.hidden, DETACHED, self._layout)
    self._node, self._index, self._rg = None, 0, False
    if self._alias is not None:
        self._alias.reconsider()
    return self


def _get_data(self: Tensor) -> Tensor:
    if state.transforms and jax_draws.is_mapping() and jax_draws.is_example(self._value.array):
        raise RuntimeError("accessing `data` under vmap transform is not allowed")
    return views.detached(self, silent=True)


def _set_data(self: Tensor, value: Tensor) -> None:
    if state.transforms:
        where = "under vmap" if jax_draws.is_mapping() else "inside functorch"
        raise RuntimeError(f"mutating directly with `.data` {where} transform is not allowed.")
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._rg and not (value.is_floating_point() or value.is_complex()):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    capture.expose_memory(self)
    fresh = views.detached(value)
    self._value, self._layout = fresh._value, fresh._layout
    alias: Any = fresh._alias
    alias.silent = None
    self._alias = alias


MEMBERS["data"] = property(_get_data, _set_data, doc="The same memory without history, and without a version counter.")


@member
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the gradients of this tensor to the `.grad` of the leaves it was computed from.

    gradient: the gradient with respect to this tensor itself, or a sequence that begins with it; may be left out for a tensor with
    a single element.
    """
    gradients = (gradient,) if gradient is None or isinstance(gradient, Tensor) else tuple(gradient)[:1]
    run_backward((self,), gradients, retain_graph, create_graph, inputs)


def run_backward(tensors: Any, gradients: Any, retain_graph: Any, create_graph: bool, inputs: Any) -> None:
    """`torch.autograd.backward` on checked sequences."""
    if state.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms."
        )
    if create_graph:
        once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
            "which can cause a memory leak. torch.autograd.grad does not; or set the .grad of the parameters to None after use."
        )
    if retain_graph is None:
        retain_graph = create_graph
    targets = None
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) or hasattr(inputs, "_fields") else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = make_roots(tensors, gradients, retain_graph, create_graph)
    if inputs is not None:
        for t in inputs:
            if isinstance(t, Tensor):
                retain_grad(t)
        targets = engine.GradientTargets(list(inputs), accumulate=True)
    engine.run(roots, retain_graph=retain_graph, create_graph=create_graph, targets=targets)
    program = default_device().slot.program
    if program is not None:
        program.backwards += 1
        if not (retain_graph or finished):
            finished.append(True)


def _check_flag(given: Any) -> None:
    """Errors of Python's for what is neither a flag nor a small whole number."""
    if given is not True and given is not False:
        number = operator.index(given)
        if not 0 <= number < 256:
            raise OverflowError(
                f"unsigned byte integer is {'less than minimum' if number < 0 else 'greater than maximum'}"
            )


def make_roots(tensors: Any, gradients: Any, *flags: Any) -> list[tuple[Any, Tensor]]:
    """Pairs of root and gradient, with PyTorch's errors for those that do not fit, and for flags that are none."""
    if len(gradients) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    roots, ungraded = [], -1
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=False)):
        if is_sparse(t) and isinstance(g, Tensor):
            t, g = carrier(t), to_values(g, t)
        if not isinstance(t, Tensor):
            if not isinstance(t, tuple):
                raise AssertionError("Expected output to be a torch.Tensor")
            target, index = engine.edge_of(t)
            aval = target.form.out_avals[index] if isinstance(target, Node) else target._value.aval
        else:
            aval = t._value.aval
            if not _get_requires_grad(t) or type(t._node) is GradientSink:
                ungraded = i if ungraded < 0 else ungraded
                if g is None:
                    continue
        if g is None:
            if aval.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not aval.dtype.is_floating_point:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {aval.dtype!r}"
                )
            g = _shown_ones(t) if torch_dispatch.opened and torch_dispatch.active() else _ones(aval)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        else:
            given = g._value.aval
            if given.shape != aval.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {given.size} and output[{i}] has a shape of "
                    f"{aval.size}."
                )
            if given.dtype.is_complex != aval.dtype.is_complex:
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                    f"grad_output[{i}] has a dtype of {given.dtype!r} and output[{i}] has a dtype of {aval.dtype!r}."
                )
            if given.dtype is not aval.dtype:
                g = functions["_cast"](g, aval.dtype)
        roots.append((t, g))
    for flag in flags:
        _check_flag(flag)
    if ungraded >= 0:
        raise RuntimeError(f"element {ungraded} of tensors does not require grad and does not have a grad_fn")
    return roots


_one_entries: dict[Any, Any] = {}


def _shown_ones(t: Any) -> Tensor:
    """The same where a mode is to see how it is made."""
    if not isinstance(t, Tensor):
        raise torch_dispatch.refused("the gradient of a GradientEdge")
    with no_grad():
        return functions["ones_like"](t, memory_format=preserve_format)


def _ones(aval: Any) -> Tensor:
    """A gradient of ones, as a constant of the program."""
    entry = _one_entries.get(aval)
    if entry is None:
        import jax.numpy as jnp

        with capture.unobserved():
            kernel = Kernel("ones", lambda: (jnp.ones(aval.shape, aval.dtype.np),), (), aval.slot)
        entry = _one_entries[aval] = Entry(None, kernel, None)
    return apply_entry(entry, [])


@member
def is_inference(self: Tensor) -> bool:
    """Was the tensor made in inference mode?"""
    return _inferred(self)
