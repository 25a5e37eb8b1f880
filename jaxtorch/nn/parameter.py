"""`Parameter` and `Buffer`, the tensors that modules register, and their forms without a shape."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

from .._core.define.op import functions
from .._core.define.signature import need_kind
from .._core.dispatch.torch_function import admit, disabled_torch_function
from .._core.tensor import views
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.storage import HELD, Alias, Storage
from .._core.tensor.tensor import Tensor, is_inference
from .._core.types.grad_mode import state
from .._core.types.reference_counts import counted

_SLOTS = ("_value", "_alias", "_node", "_index", "_rg", "_grad", "_layout", "_ver", "_hooks", "_post_hooks")


def _as_class(t: Tensor, cls: type) -> Any:
    """Tensor `t`, which nothing else holds yet, as an instance of `cls`."""
    admit(cls)
    out = object.__new__(cls)
    for name in _SLOTS:
        object.__setattr__(out, name, getattr(t, name))
    return out


def settle(t: Tensor) -> None:
    """Let a tensor own its value again when the tensors it shared memory with are gone.

    `Parameter(torch.empty(...))` shares memory with an argument that is gone by the time it is registered.
    """
    alias = t._alias
    if (
        type(alias) is Alias
        and not alias.chain
        and alias.base is None
        and not alias.no_grad
        and t._node is None
        and alias.storage.host is None
        and next(counted((alias.storage,))) == HELD  # no other tensor reads it
    ):
        value = t._read()
        if alias.storage.inferred:
            t._inferred = True
        t._ver = alias.version.n - alias.version.hidden
        t._alias = None
        t._value = value


def _same_memory(cls: type, data: Tensor, requires_grad: bool) -> Any:
    """A leaf of class `cls` on the memory of `data`."""
    if is_sparse(data):
        raise NotImplementedError(f"{cls.__name__}(): a sparse tensor cannot be a parameter; make one of its values")
    aval = data._read().aval
    if requires_grad and not (aval.dtype.is_floating_point or aval.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if requires_grad and is_inference(data) and not state.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if requires_grad.__class__ is not bool:
        raise TypeError(f"{cls.__name__}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
    out = _as_class(views.detached(data), cls)
    out._rg = requires_grad
    return out


class _ParameterMeta(type):
    """Makes tensors of other classes that were marked as parameters instances of `Parameter`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and bool(getattr(instance, "_is_param", False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a Module registers as its parameter when it is assigned to an attribute.

    data: shares its memory with the parameter; RuntimeError if it is integral while requires_grad is True.
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)  # pyright: ignore[reportAssignmentType]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = functions["empty"](0)
        if not isinstance(data, Tensor):
            raise AttributeError(
                f"'{type(data).__name__}' object has no attribute 'detach': {cls.__name__}() takes a Tensor"
            )
        kind = type(data)
        if kind is Tensor or kind is Parameter:
            return _same_memory(cls, data, requires_grad)
        out = _same_memory(kind, data, requires_grad)
        out._is_param = True
        return out

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.detach().clone(), self.requires_grad)
        settle(copied)
        memo[id(self)] = copied
        return copied

    def __copy__(self) -> Any:
        copied = Parameter(self.data, self.requires_grad)
        vars(copied).update(self.__dict__)
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        attributes = dict(self.__dict__)
        parts = (self.detach(), self.requires_grad, OrderedDict())
        return (_rebuild_parameter_with_state, (*parts, attributes)) if attributes else (_rebuild_parameter, parts)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter from its pickled parts; hooks on gradients are not pickled."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    parameter = Parameter(data, requires_grad)
    vars(parameter).update(state)
    return parameter


class _BufferMeta(type):
    """Makes any tensor that was marked as a buffer an instance of `Buffer`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and bool(getattr(instance, "_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a Module registers as its buffer when it is assigned to an attribute.

    A plain tensor on the memory of `data` comes back, marked. persistent: is it part of the state_dict?
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)  # pyright: ignore[reportAssignmentType]

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = functions["empty"](0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach': Buffer() takes a Tensor")
        kind = Tensor if isinstance(data, (Parameter, UninitializedTensorMixin)) else type(data)
        out = _same_memory(kind, data, data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


class _NoMemory(Alias):
    """The alias of a tensor without a shape: operations read their operands through it, and are told so."""

    __slots__ = ()
    shaped = False

    def read(self, t: Any) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter in an operation. This error happens when you are "
            "using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(t).__name__}` objects. When "
            "using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    peek = read


def _without_memory(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    out = _as_class(functions["empty"](0, device=device, dtype=dtype), cls)
    out._alias = _NoMemory(Storage(out._value, 0, out), (), None, 0)
    need_kind(cls.__name__, "requires_grad", "bool", requires_grad)
    out._wanted = requires_grad  # kept from the engine, which has other errors for leaves that require gradients
    return out


def _converting(name: str) -> Any:
    """A method that changes type or place: of an empty tensor, as there is no content yet."""

    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.data
        after = getattr(before, name)(*args, **kwargs)
        return self if after is before else after

    convert.__name__ = convert.__qualname__ = name
    return convert


def _forbidden(name: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._alias.read(self)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet. It can change type and device; nothing else."""

    __slots__ = ()

    cls_to_become: Any = None
    _alias: Any
    _rg: bool
    _wanted: bool
    dtype: Any
    device: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Make this tensor, in place, an ordinary parameter or buffer of `shape` with arbitrary content."""
        device = self.device if device is None else device
        fresh = functions["empty"](shape, device=device, dtype=self.dtype if dtype is None else dtype)
        if fresh.is_meta != self.device.type.startswith("meta"):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type."
            )
        self._take(fresh)
        self._alias = None
        self._rg = self.__dict__.pop("_wanted")
        self.__class__ = self.cls_to_become

    def _take(self, fresh: Any) -> None:
        self._value: Any = fresh._read()

    @property
    def data(self) -> Any:
        return functions["empty"](0, device=self.device, dtype=self.dtype)

    @data.setter
    def data(self, value: Any) -> None:
        self._take(value)

    @property
    def requires_grad(self) -> bool:
        return self._wanted

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._wanted = bool(value)

    is_leaf = property(lambda self: True)
    grad_fn = property(lambda self: None)
    ndim = property(lambda self: 1)

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self, **kwargs: Any) -> str:
        return f"<{type(self).__name__}>"

    def __copy__(self) -> Any:
        kind, given = self.__reduce_ex__(2)
        return kind(*given)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    to = _converting("to")
    cpu, cuda = _converting("cpu"), _converting("cuda")
    half, float, double, bfloat16 = (_converting(n) for n in ("half", "float", "double", "bfloat16"))
    char, short, int, long = (_converting(n) for n in ("char", "short", "int", "long"))
    numel, dim, stride, type = (_forbidden(n) for n in ("numel", "dim", "stride", "type"))
    requires_grad_, register_hook = _forbidden("requires_grad_"), _forbidden("register_hook")
    _rebind, _write = _forbidden("_rebind"), _forbidden("_write")  # what every operation in place ends in
    __len__, __getitem__, __setitem__ = (_forbidden(n) for n in ("__len__", "__getitem__", "__setitem__"))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize` makes it an ordinary one."""

    __slots__ = ()

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_memory(cls, requires_grad, device, dtype)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize` makes it an ordinary one."""

    __slots__ = ()

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        out = _without_memory(cls, requires_grad, device, dtype)
        out.persistent = persistent
        out._is_buffer = True
        return out


def is_lazy(param: Any) -> bool:
    """Is this a parameter or buffer without a shape?"""
    return isinstance(param, UninitializedTensorMixin)
