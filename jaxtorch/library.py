"""`torch.library`: operations defined in Python by a schema, which then stand in `torch.ops`."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from ._core.tensor.tensor import Tensor as _Tensor
from ._core.types.device import device as _device
from ._core.types.warn_once import deprecated as _deprecated
from ._library import operators as _operators
from ._library import schema as _schema
from ._library.operators import OpOverload
from ._library.schema import infer as infer_schema
from ._private_names.absent import absent_function as _absent_function
from .utils._pytree import tree_leaves as _leaves

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip

_pending_fakes: dict[str, Callable[..., Any]] = {}
"""Fake implementations that were registered before their operation, by its qualified name."""
_pending_kernels: dict[str, dict[str, Callable[..., Any]]] = {}
"""Implementations that were registered before their operation, by its qualified name and their keys."""
_defining: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
"""The libraries of kind 'DEF', by their namespaces."""


def fallthrough_kernel() -> None:
    """Stands for 'no implementation for this key'; not to be called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """A namespace of operations to define ('DEF') or to implement ('IMPL', 'FRAGMENT').

    What a library has defined is gone once nothing holds the library, unless it is destroyed otherwise.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _defining:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in "
                    "a single TORCH_LIBRARY block. If you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL"
                )
            _defining[ns] = self
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._defined: list[OpOverload] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operation by its schema; returns its name."""
        parsed = _schema.parse(schema)
        made = _operators.define(self.ns, parsed)
        made.tags = list(tags) if isinstance(tags, (tuple, list)) else [tags]
        self._defined.append(made)
        made.fake = _pending_fakes.pop(made.name(), None)
        for key, kernel in _pending_kernels.pop(made.name(), {}).items():
            _implement(made, key, kernel)
        return parsed.name + (f".{parsed.overload_name}" if parsed.overload_name else "")

    def _find(self, op_name: Any) -> OpOverload:
        if isinstance(op_name, OpOverload):
            return op_name
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        return _operators.find(name)

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = False
    ) -> None:  # fmt: skip
        """Give an operation of the library an implementation. dispatch_key: for which device; by default the library's own."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if fn is not fallthrough_kernel:
            if isinstance(op_name, str) and "::" not in op_name:
                op_name = f"{self.ns}::{op_name}"
            _implement(op_name, key, fn)

    def _register_fake(self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, **kwargs: Any) -> None:
        self._find(op_name).fake = fn

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """NotImplementedError: jaxtorch has no dispatcher to fall back from."""
        raise NotImplementedError("torch.library.Library.fallback: jaxtorch has no dispatch keys")

    def _destroy(self) -> None:
        for overload in self._defined:
            _operators.remove(overload)
        self._defined.clear()


_kept: list[Library] = []


def _library(ns: str, lib: Library | None) -> Library:
    if lib is None:
        lib = Library(ns, "FRAGMENT")
        _kept.append(lib)
    return lib


def _implement(op: str | OpOverload, key: str, fn: Callable[..., Any]) -> None:
    """Give an operation an implementation for a dispatch key, when it is defined if it is not yet."""
    if isinstance(op, str):
        try:
            op = _operators.find(op)
        except RuntimeError:
            _pending_kernels.setdefault(op, {})[key] = fn
            return
    if key == "Meta":
        op.fake = fn
    else:
        op.kernels[key] = fn


def _named(op: Any) -> str:
    """The qualified name of an operation; ValueError where what is given has no namespace."""
    if not isinstance(op, str):
        return op.name() if isinstance(op, OpOverload) else op._qualname
    if op.count("::") != 1:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {op}. The qualname passed to the torch.library APIs '
            "must consist of a namespace and a name, e.g. aten::sin"
        )
    return op


def _found(op: Any) -> OpOverload:
    """An operation that has been defined; AttributeError where it has not, as for `torch.ops.namespace.name`."""
    name = _named(op)
    try:
        return _operators.find(name)
    except RuntimeError:
        space, _, rest = name.partition("::")
        raise AttributeError(f"'_OpNamespace' '{space}' object has no attribute '{rest}'") from None


def define(qualname: str, schema: Any = None, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Define `namespace::name` by a schema without a name: `(Tensor x) -> Tensor`."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    if not isinstance(schema, str):
        raise ValueError(f"define(qualname, schema, ...): expected schema to be instance of str, got {type(schema)}")
    ns, _, name = qualname.partition("::")
    _library(ns, lib).define(name + schema, tags=tags)


_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xla": "XLA", "meta": "Meta", "default": "CompositeExplicitAutograd"}


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register an implementation for kinds of devices ('cpu', 'cuda', 'default' for all); a decorator without `func`.

    The operation may be defined later. The older form `impl(library, name, dispatch_key="")` is a decorator too.
    """
    if isinstance(qualname, Library):
        library = qualname

        def of_library(fn: Callable[..., Any]) -> Any:
            library.impl(types, fn, func or "")
            return fn

        return of_library

    def register(fn: Callable[..., Any]) -> Any:
        for kind in [types] if isinstance(types, str) else types:
            _implement(_named(qualname), _KEYS.get(kind, kind), fn)
        return fn

    return register if func is None else (register(func), None)[1]


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register an implementation for kinds of devices, or for all where `device_types` is None."""
    return impl(_named(op), "default" if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: Any, func: Any = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Any:
    """Register the function that runs for tensors on 'meta': it gives results of the right shape. A decorator without `func`.

    The operation may be defined later, or never, as in libraries whose compiled part is absent.
    """

    name = _named(op)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        try:
            _operators.find(name).fake = fn
        except RuntimeError:
            _pending_fakes[name] = fn
        return fn

    return register if func is None else register(func)


@_deprecated(
    "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
    "`torch.library.impl_abstract` in a future version of PyTorch."
)
def impl_abstract(qualname: str, func: Any = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """The old name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Register the gradient: `backward(ctx, *grads)` gives one for each argument, None where there is none.

    setup_context(ctx, inputs, output) keeps what backward needs, after the forward pass. RuntimeError for an operation that
    writes to its arguments, AttributeError for one that has not been defined.
    """
    overload = _found(op)
    if any(a.is_write for a in overload._schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {overload._schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
    overload.backward = backward
    overload.setup_context = setup_context


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Register the rule for `torch.func.vmap`: `func(info, in_dims, *args)` returns (outputs, the dimension of the examples in each).

    info: `batch_size` and `randomness`. Without a rule `vmap` batches what the operation is made of.
    """

    def register(fn: Callable[..., Any]) -> None:
        _found(op).vmap = fn

    return register if func is None else register(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Under autocast for `device_type` ('cpu' or 'cuda'), cast the arguments to `cast_inputs` and run without autocast.

    As with `torch.amp.custom_fwd`, the tensors that are cast are those in floating point on that device, but for float64.
    """
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"register_autocast({op}): got unexpected type for op: {type(op)}")
    if _device(device_type).type not in ("cpu", "cuda"):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    _found(op).casts[device_type] = cast_inputs


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("torch.library.register_torch_dispatch: jaxtorch has no __torch_dispatch__")


class CustomOpDef:
    """What `custom_op` makes of a function: call it, or register more for it."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = None) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._qualname = f"{namespace}::{name}"
        self._lib = Library(namespace, "FRAGMENT")
        _kept.append(self._lib)
        _operators.packets.pop((namespace, name), None)  # a second definition takes the place of the first
        self._lib.define(name + schema, tags=tags or ())
        self._opoverload = _operators.find(self._qualname)
        self._opoverload.custom = True

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """An implementation for kinds of devices; a decorator without `fn`."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        register_kernel(self._qualname, device_types, _without_sharing(fn, self._name))
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function for tensors on 'meta'."""
        return register_fake(self._qualname, fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """The gradient; see `torch.library.register_autograd`."""
        register_autograd(self._qualname, backward, setup_context=setup_context)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """What arguments are cast to under autocast; see `torch.library.register_autocast`."""
        register_autocast(self._qualname, device_type, cast_inputs)

    def register_vmap(self, func: Any = None) -> Any:
        """The rule for `torch.func.vmap`; see `torch.library.register_vmap`."""
        return register_vmap(self._qualname, func)


def _without_sharing(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of a custom operation, whose results may share no memory with its arguments and each other: RuntimeError."""

    @functools.wraps(fn)
    def checked(*args: Any, **kwargs: Any) -> Any:
        found = fn(*args, **kwargs)
        seen = [x for x in _leaves((args, kwargs)) if isinstance(x, _Tensor)]
        for x in _leaves(found):
            if isinstance(x, _Tensor):
                if any(x is s or (x._alias and s._alias and x._alias.storage is s._alias.storage) for s in seen):
                    raise RuntimeError(
                        f"{name} (with implementation in {fn.__module__}): The output of this custom operator (1) must not also be "
                        "an input to this custom operator and (2) may not alias any inputs to this custom operator or other returns. "
                        "The most common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. "
                        "Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                        "custom operator to not return y."
                    )
                seen.append(x)
        return found

    return checked


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function the operation `namespace::name`; a decorator without `fn`.

    mutates_args: the names of the arguments it writes to. device_types: for which devices it is; all by default.
    schema: without a name; by default from the function's annotations. It has no gradient until one is registered.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        ns, _, short = name.partition("::")
        if not short:
            raise ValueError(f"custom_op(): expected a name such as 'mylib::{name}', got {name!r}")
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(ns, short, text, function, tags)
        made.register_kernel(device_types, function)
        made.__doc__ = inspect.getdoc(function)
        return made

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """An operation as `custom_op` makes it, whose function may call Triton kernels: jaxtorch runs none, and `wrap_triton` says so."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


get_ctx = _absent_function("torch.library.get_ctx", "shapes in jaxtorch are always numbers")
get_kernel = _absent_function("torch.library.get_kernel", "jaxtorch has no dispatcher whose kernels could be taken out")
opcheck = _absent_function("torch.library.opcheck")
wrap_triton = _absent_function(
    "torch.library.wrap_triton", "jaxtorch runs no Triton kernels; see jax.experimental.pallas"
)
