"""`Optimizer`: parameter groups, state, and the one instruction that updates all parameters.

A subclass says what state it keeps and gives its update rule as a pure function on lists of arrays, made of optax's parts.
`step` records one instruction for each group: parameters, gradients and state go in, new parameters and new state come
out, and in the compiled program the old ones' memory is reused. Hyperparameters enter as numbers of the program, so a
schedule never compiles anything.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Self

import numpy as np

from .._core.compile.kernel import Kernel
from .._core.define.signature import need_kind
from .._core.dispatch import torch_dispatch
from .._core.record import deferred_errors, program
from .._core.run import capture
from .._core.run.capture import Again
from .._core.tensor.sparse_value import NoContent, is_sparse
from .._core.tensor.tensor import Tensor, wrap
from .._core.types import dtypes
from .._core.types.device import cpu
from .._core.types.removable_handle import RemovableHandle
from .._core.types.value import Value, aval_of, wrap_number
from .._private_names.absent import undefined
from ..utils._foreach_utils import _group_tensors_by_device_and_dtype
from ._borrowed import (
    _capturable_doc,  # noqa: F401
    _default_to_fused_or_foreach,  # noqa: F401
    _differentiable_doc,  # noqa: F401
    _disable_dynamo_if_unsupported,  # noqa: F401
    _foreach_doc,  # noqa: F401
    _foreach_supported_types,  # noqa: F401
    _fused_doc,  # noqa: F401
    _get_capturable_supported_devices,  # noqa: F401
    _get_scalar_dtype,  # noqa: F401
    _get_value,  # noqa: F401
    _maximize_doc,  # noqa: F401
    _params_doc,  # noqa: F401
    _stack_if_compiling,  # noqa: F401
    _to_scalar,  # noqa: F401
    _use_grad_for_differentiable,  # noqa: F401
    _view_as_real,  # noqa: F401
)
from ._options import sent
from ._state import undone_steps
from ._state.shared_memory import meet
from ._update_rules import differentiable as _differentiable
from ._update_rules import one_operation_at_a_time
from ._update_rules.joined_updates import joined, make_kernel


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_global_optimizer_pre_hooks: dict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_pre_hooks)
    _global_optimizer_pre_hooks[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_post_hooks)
    _global_optimizer_post_hooks[handle.id] = hook
    return handle


def _counted(step: Callable[..., Any]) -> Callable[..., Any]:
    """The `step` of a subclass with its hooks, without gradient recording; at its end the step's program is complete."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]  # the hooks see it among the arguments, as PyTorch's do
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # wraps another optimizer and never called `__init__`
            return step(*args, **kwargs)
        if self._optimizer_step_pre_hooks or _global_optimizer_pre_hooks:
            for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
        differentiable = self.__dict__.get("defaults", _NO_OPTIONS).get("differentiable", False)
        if differentiable.__class__ is not bool:
            need_kind("set_grad_enabled", "enabled", "bool", differentiable)
        undo = undone_steps.begin(self) if deferred_errors.steps_must_look() else None
        if torch_dispatch.opened and torch_dispatch.active() and one_operation_at_a_time.is_ours(step):
            result = one_operation_at_a_time.run(self, *args[1:], **kwargs)
        else:
            result = step(*args, **kwargs)
        if self._optimizer_step_post_hooks or _global_optimizer_post_hooks:
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
        for slot in self._slots():
            program.close(slot)
        if undo is not None:
            undo.settle()
        return result

    return wrapper


_NO_OPTIONS: dict[str, Any] = {}  # of a wrapper that has hooks and no options


class Optimizer:
    """Base of all optimizers.

    params: an iterable of tensors, of (name, tensor) pairs, or of dictionaries that each describe a group.
    defaults: the options of groups that do not set their own.
    """

    OptimizerPreHook = Callable[[Self, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None]
    OptimizerPostHook = Callable[[Self, tuple[Any, ...], dict[str, Any]], None]
    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls._hook_step()

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        import optax  # noqa: F401  # for the rules, 90 ms: here rather than in the first step

        self.defaults = defaults
        self._hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _hooks(self) -> None:
        for name in (
            "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        ):  # fmt: skip
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    @classmethod
    def _hook_step(cls) -> None:
        """Have the class's `step` call the hooks, once."""
        if not getattr(cls.step, "hooked", False):
            cls.step = _counted(cls.step)
            cls.step.hooked = True  # type: ignore[attr-defined]

    def _patch_step_function(self) -> None:
        """What wrappers of another optimizer call in place of `__init__`, once they have the tables of hooks."""
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
        self._hook_step()

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """A `step` that calls the optimizer's hooks before and after `func`."""
        return _counted(func)

    def _optimizer_step_code(self) -> None:
        """Nothing; a name in PyTorch's profiles."""

    def _accelerator_graph_capture_health_check(self) -> None:
        """Nothing: no step is captured on an accelerator by itself."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False
    ) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        """Parallel lists, divided by the device and element type of the tensors in the first."""
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # -- hooks

    def _register(self, table: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        hooks = getattr(self, table)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new (args, kwargs)."""
        return self._register("_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._register("_optimizer_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._register("_optimizer_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return self._register("_optimizer_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`; it may return another one."""
        return self._register("_optimizer_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._register("_optimizer_load_state_dict_post_hooks", hook, prepend)

    # -- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with options of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        params = list(params)
        if params and all(isinstance(p, tuple) for p in params):
            param_group["param_names"] = [p[0] for p in params]
            params = [p[1] for p in params]
        elif any(isinstance(p, tuple) for p in params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_type_name(p)}")
            if is_sparse(p):
                raise NotImplementedError(
                    "jaxtorch: a sparse tensor cannot be an optimizer's parameter; optimize its values"
                )
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            given = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{given} names to the optimizer"
            )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _slots(self) -> set[Any]:
        groups = getattr(self, "param_groups", ())  # a wrapper of another optimizer may have none
        return {p._value.aval.slot for group in groups for p in group["params"]}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                else:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once."""
        raise undefined(self, "step")

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[Any, dict[str, float]]:
        """For step number `count`: what is part of a group's update program, and the numbers that enter it (see `Again`)."""
        raise NotImplementedError

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """State and options as plain data: parameters are replaced by their numbers."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take state and options from `state_dict()` of an optimizer over parameters of the same shapes.

        As in PyTorch, tensors that have the parameter's type and device already are taken over, not copied: steps write to them.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_number = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in by_number:
                state[by_number[k]] = {name: _adapted(by_number[k], name, x) for name, x in v.items()}
            else:
                state[k] = v
        updated = []
        for old, new in zip(groups, saved, strict=True):
            new["params"] = old["params"]
            if "param_names" in old and "param_names" not in new:
                new["param_names"] = old["param_names"]
            updated.append(new)
        self.__setstate__({"state": state, "param_groups": updated})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _adapted(param: Tensor, name: str, x: Any) -> Any:
    """A loaded state tensor with the parameter's type and device; step counts stay as they are."""
    if isinstance(x, Tensor):
        if name == "step":
            return x
        if param.is_floating_point():
            return x.to(dtype=param.dtype, device=param.device)
        return x.to(device=param.device)
    if isinstance(x, dict):
        return {k: _adapted(param, k, v) for k, v in x.items()}
    if isinstance(x, Iterable) and not isinstance(x, str):
        return type(x)(_adapted(param, name, v) for v in x)  # type: ignore[call-arg]
    return x


def _type_name(x: Any) -> str:
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


# -- the update instruction


_NO_SPARSE: dict[str, str] = dict.fromkeys(
    ("Adam", "AdamW"), "Adam does not support sparse gradients, please consider SparseAdam instead"
)
_kernels: dict[Any, Kernel] = {}


def update(
    name: str,
    rule: Callable[..., Any],
    static: tuple[Any, ...],
    params: list[Tensor],
    grads: list[Tensor],
    states: list[list[Tensor]],
    numbers: dict[str, Any],
    again: Again | None = None,
    graph: bool = False,
) -> None:
    """Record one instruction that updates all of `params` and `states` in place.

    rule(params, grads, states, numbers, *static) -> (new params, new states): a pure function; `states` holds one
    list of arrays for each kind of state, in the order of the parameters; `numbers` are 0-dimensional float64 arrays
    by name. Complex arrays reach the rule as real ones with a last dimension of 2. Parameters of several types or
    devices take an instruction for each. `again` lets `torch.compile` replay the step: without it, it is not captured.
    With `graph` the update is an operation that autograd knows.
    """
    if len(params) > 1 and meet(params, grads):
        for i, p in enumerate(params):
            update(name, rule, static, [p], [grads[i]], [[kind[i]] for kind in states], numbers, again, graph)
        return
    values = [p._read() for p in params]
    try:
        values += [g._read() for g in grads]
    except NoContent:
        raise RuntimeError(_NO_SPARSE.get(name, f"{name} does not support sparse gradients")) from None
    for kind in states:
        values += [s._read() for s in kind]
    key = (name, static, len(states), tuple(numbers), *[v.aval for v in values])
    kernel = None if graph else _kernels.get(key)
    if kernel is None:
        apart: dict[Any, list[int]] = {}
        for i, p in enumerate(params):
            apart.setdefault((p._value.aval.dtype, p._value.aval.slot), []).append(i)
        if len(apart) > 1:
            for some in apart.values():
                chosen = [[kind[i] for i in some] for kind in (params, grads, *states)]
                update(name, rule, static, chosen[0], chosen[1], chosen[2:], numbers, again, graph)
            return
    if graph:
        _differentiable.update(name, rule, static, params, grads, states, numbers)
        return
    values += [wrap_number(x if x.__class__ is float else sent(x)) for x in numbers.values()]
    if capture.active is not None:
        capture.active.updates(name, again, list(numbers), values[len(values) - len(numbers) :])
    if kernel is None:
        n = len(params)
        kinds = [values[i * n : (i + 1) * n] for i in range(2 + len(states))]
        kernel = _kernels[key] = make_kernel(name, joined(rule, kinds), static, n, len(states), tuple(numbers), values)
    outs = program.emit(kernel, values)
    for t, out in zip(chain(params, *states), outs, strict=True):
        t._write(out)


def host_number(x: float) -> Tensor:
    """A 0-dimensional tensor that stays on the host: a step count, in float32 or, where that is the default, float64."""
    kind = dtypes.float64 if dtypes.default() is dtypes.float64 else dtypes.float32
    return wrap(Value(aval_of((), kind, cpu.slot), np.asarray(x, kind.np)))


def by_step(params: Sequence[Any], states: list[dict[str, Any]]) -> dict[float, list[int]]:
    """Advance each parameter's step count; the positions that share one, by count.

    The counts live on the host, so the numbers made of them (bias corrections) enter the program as inputs.
    """
    groups: dict[float, list[int]] = {}
    shared: dict[Any, Value] = {}
    for i, state in enumerate(states):
        step = state["step"]
        if not isinstance(step, Tensor):
            step = state["step"] = host_number(step)
        old = step._read()
        array, aval = old.array, old.aval
        count = float(array if isinstance(array, np.ndarray) else step.item()) + 1.0
        value = shared.get((count, aval))
        if value is None:
            value = shared[count, aval] = Value(aval, np.asarray(count, aval.dtype.np))
        step._write(value)
        groups.setdefault(count, []).append(i)
    return groups


# -- what other libraries' optimizers import

ParamsT = Any
_params_t = Any
StateDict = dict[str, Any]
