"""Registered operations and how a call finds its Python function.

The order, as in PyTorch: an implementation for autograd; on the device 'meta' the fake implementation; the one for the
device; the one for all devices. What is implemented for a device is not looked into by autograd: its derivative is what
`register_autograd` gives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .._core.dispatch import torch_dispatch
from .._core.random import jax_draws
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad, state
from .._core.types.warn_once import warn
from .._private_names import absent_names
from .._private_names.absent import absent_function
from ..amp._settings import settings
from ..amp.autocast_mode import autocast, cast_floats
from ..autograd._function_in_jax import is_traced
from ..autograd._function_vmap import owner
from ..autograd._function_vmap import run as run_rule
from ..autograd.function import Function
from ..autograd.graph import increment_version
from .schema import Schema

_WHOLE = ("CompositeImplicitAutograd",)
_ANY_DEVICE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "BackendSelect", "default")


def _tensors(args: Any) -> Iterator[Tensor]:
    for x in args:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x)


class WarnNotImplemented(Function):
    """The way back from a result that an operator's kernel has computed where autograd does not see it."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Tensor, *origins: Tensor) -> Tensor:
        ctx.operator, ctx.count = name, len(origins)
        return result.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        warn(
            f"{ctx.operator}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. "
            "This may lead to silently incorrect behavior. If the operator is differentiable, register its derivative "
            "(torch.library.register_autograd)."
        )
        return (None,) * (2 + ctx.count)


class OpOverload:
    """One operation with one schema, such as `torch.ops.mylib.mul.default`."""

    def __init__(self, namespace: str, name: str, schema: Schema) -> None:
        self.namespace = namespace
        self._opname = name
        self._overloadname = schema.overload_name or "default"
        self._schema = schema
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.casts: dict[str, Any] = {}  # under autocast for a kind of device, the type that its arguments are cast to
        self.tags: list[Any] = []
        self.custom = False  # of `custom_op`: calls count as writes, and only a registered formula differentiates them
        self.__name__ = f"{name}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch.ops.{namespace}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def name(self) -> str:
        """`namespace::name`, with the overload where there is one."""
        overload = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{overload}"

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All the overloads of the name."""
        return packets[self.namespace, self._opname]

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Is there an implementation for a key?"""
        return str(key).rpartition(".")[2] in self.kernels

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        values, named = self._schema.bind(args, kwargs, self.name())
        result = self._schema.checked(self._run(values, named))
        if self.custom:
            given = {**dict(zip([a.name for a in self._schema.arguments], values, strict=False)), **named}
            increment_version(list(_tensors([given[a.name] for a in self._schema.arguments if a.is_write])))
        return result

    def _run(self, values: list[Any], named: dict[str, Any]) -> Any:
        if state.casts is not None:
            for kind in settings.enabled:
                if kind in self.casts:
                    dtype = self.casts[kind]
                    with autocast(kind, enabled=False):
                        return self._run(cast_floats(values, kind, dtype), cast_floats(named, kind, dtype))
                if f"Autocast{kind.upper()}" in self.kernels:  # which goes on without autocast
                    return self.kernels[f"Autocast{kind.upper()}"](*values, **named)
        if self.vmap is not None and jax_draws.is_mapping():
            trace = owner(values)
            mapped = jax_draws.mapped_by(trace)
            if mapped is not None:
                return run_rule(self.vmap, self.name(), tuple(values), named, mapped, trace)
        if state.grad:
            for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
                if key in self.kernels:
                    return self.kernels[key](*values, **named)
        for key in _WHOLE:
            if key in self.kernels:
                return self.kernels[key](*values, **named)
        flat = list(_tensors([*values, *named.values()]))
        if self.backward is None and not self.custom:
            return self._fallen_through(values, named, flat)
        if (state.grad and any(t.requires_grad for t in flat)) or is_traced(flat):
            return self._graded(values, named)
        with no_grad():
            return self._kernel(values)(*values, **named)

    def _kernel(self, values: list[Any]) -> Callable[..., Any]:
        kinds = [t.device.type for t in _tensors(values)]
        kind = next((k for k in kinds if k != "cpu"), kinds[0] if kinds else "cpu")
        if kind == "meta" and self.fake is not None:
            return self.fake
        for key in ({"xla": "XLA"}.get(kind, "Meta" if kind == "meta" else kind.upper()), *_ANY_DEVICE):
            if key in self.kernels:
                return self.kernels[key]
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{kind.upper()}' backend: it has "
            f"{'implementations for ' + ', '.join(self.kernels) if self.kernels else 'no implementation'}"
        )

    def _fallen_through(self, values: list[Any], named: dict[str, Any], flat: list[Tensor]) -> Any:
        """Run the kernel where nothing is registered for autograd, which sees the operations in it, as in PyTorch. A result that it
        cannot follow warns in backward and has no gradient."""
        result = self._kernel(values)(*values, **named)
        origins = [t for t in flat if t.requires_grad] if state.grad else []
        if not origins:
            return result

        def followed(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)(map(followed, x))
            lost = isinstance(x, Tensor) and not x.requires_grad and (x.is_floating_point() or x.is_complex())
            return WarnNotImplemented.apply(self.name(), x, *origins) if lost and all(x is not t for t in flat) else x

        return followed(result)

    def _graded(self, values: list[Any], named: dict[str, Any]) -> Any:
        overload, form = self, []

        class Registered:
            _everywhere = True

            @staticmethod
            def forward(*flat: Any) -> Any:
                given = _refill(values, iter(flat))
                with no_grad():
                    out = overload._kernel(given)(*given, **named)
                outs = out if isinstance(out, tuple) else (out,)
                form[:] = [isinstance(out, tuple), *map(_count, outs)]
                return tuple(_flattened(outs))

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.layout = _refill(values, iter(inputs))
                if overload.setup_context is not None:
                    kept = {"keyword_only_inputs": named} if named else {}
                    nested = _nested(output, form[1:])
                    overload.setup_context(
                        ctx=ctx, inputs=tuple(ctx.layout), output=tuple(nested) if form[0] else nested[0], **kept
                    )

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if overload.backward is None:
                    raise RuntimeError(
                        f"Trying to backward through {overload} but no autograd formula was registered. Please use "
                        "register_autograd to add one."
                    )
                found = overload.backward(ctx, *_nested(grads, form[1:]))
                found = list(found) if isinstance(found, (tuple, list)) else [found]
                return tuple(_flat_grads(ctx.layout, found))

        name = f"GeneratedBackwardFor_{self.namespace}_{self._opname}_{self._overloadname}"
        results = _nested(type(name, (Registered, Function), {}).apply(*_tensors(values)), form[1:])
        return tuple(results) if form[0] else results[0]


def _refill(values: Any, flat: Iterator[Any]) -> list[Any]:
    """`values` with its tensors, also in lists, replaced in order."""
    filled: list[Any] = []
    for x in values:
        if isinstance(x, Tensor):
            filled.append(next(flat))
        elif isinstance(x, (list, tuple)):
            filled.append(type(x)(_refill(x, flat)))
        else:
            filled.append(x)
    return filled


def _count(result: Any) -> int | None:
    """How many items a result holds that is a list; None for one that is none."""
    return len(result) if isinstance(result, (list, tuple)) else None


def _flattened(results: Any) -> Iterator[Any]:
    """Results with the items of lists among them one by one."""
    for x in results:
        yield from x if isinstance(x, (list, tuple)) else (x,)


def _nested(flat: Any, counts: list[int | None]) -> list[Any]:
    """The inverse of `_flattened`, also for their gradients."""
    rest = iter(flat)
    return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in counts]


def _flat_grads(values: Any, grads: Any) -> Iterator[Any]:
    """The gradients of the tensors among `values`, from one gradient for each argument."""
    for x, g in zip(values, grads, strict=True):
        if isinstance(x, Tensor):
            yield g
        elif isinstance(x, (list, tuple)) and any(True for _ in _tensors(x)):
            yield from _flat_grads(x, g if g is not None else [None] * len(x))


class OpOverloadPacket:
    """An operation with all its overloads, such as `torch.ops.mylib.mul`."""

    def __init__(self, namespace: str, name: str) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self.namespace = namespace
        self.__name__ = name
        self.found: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self.found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.found:
            return self.found[name]
        raise AttributeError(f"The underlying op of '{self._qualified_op_name}' has no overload name '{name}'")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        errors = []
        for overload in self.found.values():
            try:
                overload._schema.bind(args, kwargs, overload.name())
            except RuntimeError as error:
                errors.append(error)
                continue
            return overload(*args, **kwargs)
        raise errors[0]


_LISTS = frozenset(("chunk", "split", "split_with_sizes", "unbind", "unsafe_split", "unsafe_split_with_sizes"))
"""Operations whose results are a list."""


@functools.cache
def overloads() -> dict[str, list[str]]:
    """The overloads of each of ATen's operations, from the table that `scripts/aten_overloads.py` writes."""
    lines = Path(__file__).with_name("_overloads.txt").read_text("utf-8").splitlines()
    pairs = [line.split(": ") for line in lines]
    return {name: found.split() for found, names in pairs for name in names.split()}


class OfEngine:
    """`torch.ops.aten.add`: an operation of jaxtorch; its overloads, `torch.ops.aten.add.Tensor`, are one Python function."""

    def __init__(
        self, name: str, fn: Callable[..., Any], packet: OfEngine | None = None, namespace: str = "aten"
    ) -> None:
        self.__name__ = name
        self.namespace = namespace
        self.__module__ = f"torch._ops.{namespace}" if packet is not None else f"torch.ops.{namespace}"
        self._opname, _, self._overloadname = name.partition(".")
        self._qualified_op_name = f"{namespace}::{self._opname}"
        self._overloadpacket = self.overloadpacket = self if packet is None else packet
        self._fn = fn
        self.writes = self._opname.endswith("_") and not self._opname.endswith("__")
        """Does it write to its first argument?"""

    def __deepcopy__(self, memo: Any) -> OfEngine:
        return self

    def __repr__(self) -> str:
        if self._overloadname:
            return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.namespace}::" + self.__name__.removesuffix(".default")

    def overloads(self) -> list[str]:
        """The names of the overloads; NotImplementedError for operations outside of ATen."""
        if self.namespace != "aten" or self._opname not in overloads():
            raise NotImplementedError(
                f"torch.ops.{self.namespace}.{self._opname}.overloads(): only those of ATen's and of custom operations are listed"
            )
        return list(overloads()[self._opname])

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplemented: modes are shown the operations that others are made of in the first place."""
        return NotImplemented

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The result as modes see it, with nobody asked."""
        result = self._fn(*args, **kwargs)
        if isinstance(result, tuple):
            return list(result) if self._opname in _LISTS else tuple(result)
        return result

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not torch_dispatch.opened or torch_dispatch.state.below:
            return self._fn(*args, **kwargs)
        if self._overloadname:
            return torch_dispatch.call(self, args, kwargs)
        if not torch_dispatch.state.modes:
            return self._fn(*args, **kwargs)
        if self._opname in torch_dispatch.rules:
            return torch_dispatch.rules[self._opname](*args, **kwargs)
        if self._opname.startswith(("_", "native_")) or self._opname.endswith(("_backward", "_forward")):
            return self.default(*args, **kwargs)
        raise torch_dispatch.refused(f"'{self}' without the name of an overload")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.__dict__.get("_overloadname", True):
            raise AttributeError(name)
        if self.namespace == "aten" and name not in overloads().get(self._opname, (name,)):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = OfEngine(f"{self.__name__}.{name}", self._fn, self, self.namespace)
        setattr(self, name, overload)
        return overload


_stand_ins: dict[str, OfEngine] = {}


def stand_in(name: str) -> OfEngine:
    """What names an operation of the engine's own to a policy."""
    if name not in _stand_ins:
        _stand_ins[name] = OfEngine(name, absent_function(f"torch.ops.aten.{name}", "jaxtorch has no dispatcher"))
    return _stand_ins[name]


built_in: list[Callable[[str, str], OfEngine | None]] = []
"""Give the operation of a namespace and a name that is jaxtorch's own, or None. `built_in.py` puts its function here."""


class Namespace(SimpleNamespace):
    """`torch.ops.mylib`: the operations of a namespace as attributes."""

    _name: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = packets.get((self._name, name))
        if packet is None and self._name == "aten" and name not in overloads():
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        if packet is None:
            packet = next((made for find in built_in if (made := find(self._name, name)) is not None), None)
            if packet is not None:
                packets[self._name, name] = packet
        if packet is None and absent_names.named(f"@{self._name}", name):
            api = f"torch.ops.{self._name}.{name}"  # also a key of libraries' tables
            absent = absent_function(api, absent_names.reason(api))
            packet = packets[self._name, name] = OfEngine(name, absent, None, self._name)
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return packet

    def __dir__(self) -> list[str]:
        return sorted(name for space, name in packets if space == self._name)


packets: dict[tuple[str, str], Any] = {}
namespaces: dict[str, Namespace] = {}


def namespace(name: str) -> Namespace:
    """The namespace `torch.ops.<name>`, which exists as soon as it is asked for."""
    if name not in namespaces:
        namespaces[name] = Namespace(_name=name)
    return namespaces[name]


def define(space: str, schema: Schema) -> OpOverload:
    """A new operation; RuntimeError where the name is taken."""
    packet = packets.setdefault((space, schema.name), OpOverloadPacket(space, schema.name))
    made = OpOverload(space, schema.name, schema)
    if not isinstance(packet, OpOverloadPacket) or made._overloadname in packet.found:
        raise RuntimeError(
            f"Tried to register an operator ({space}::{schema.text}) with the same name and overload twice"
        )
    packet.found[made._overloadname] = made
    return made


def find(qualified: str) -> OpOverload:
    """The operation `namespace::name` or `namespace::name.overload`; RuntimeError where there is none."""
    space, _, rest = qualified.partition("::")
    name, _, overload = rest.partition(".")
    packet = packets.get((space, name))
    if not isinstance(packet, OpOverloadPacket) or (overload or "default") not in packet.found:
        raise RuntimeError(f"operator {qualified} does not exist")
    return packet.found[overload or "default"]


def remove(overload: OpOverload) -> None:
    """Forget an operation."""
    packet = packets.get((overload.namespace, overload._opname))
    if isinstance(packet, OpOverloadPacket):
        packet.found.pop(overload._overloadname, None)
        if not packet.found:
            del packets[overload.namespace, overload._opname]
