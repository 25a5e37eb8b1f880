"""Modules of settings, as PyTorch's compiler has them: a name that is not known is refused, a known one keeps what it is set to."""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib
import pickle
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

from .._core.types.warn_once import deprecated

_NOTHING = object()


class SubConfigProxy:
    """A group of settings: `config.triton.cudagraphs`."""

    def __init__(self, config: ConfigModule, prefix: str) -> None:
        super().__setattr__("_config", config)
        super().__setattr__("_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, self._prefix + name)


class ConfigModule(ModuleType):
    """A module whose attributes are settings. Names that PyTorch has not raise AttributeError, as in PyTorch."""

    _defaults: dict[str, Any]
    _values: dict[str, Any]
    """What has been set."""
    _aliases: dict[str, str]
    _find: Callable[[str, str], Any]

    def _name(self, name: str) -> str:
        return f"{self.__name__.replace('jaxtorch', 'torch', 1)}.{name}"

    def _place(self, name: str) -> tuple[ConfigModule, str]:
        """The module that holds a setting, and its name there: a setting may be another's second name."""
        target = self._aliases.get(name)
        if target is None:
            return self, name
        module, _, other = target.rpartition(".")
        if target in self._defaults or not module:
            return self, target
        return importlib.import_module("jax" + module), other  # pyright: ignore[reportReturnType]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        holder, key = self._place(name)
        if holder is not self:
            return getattr(holder, key)
        value = self._values.get(key, self._defaults.get(key, _NOTHING))
        if value is not _NOTHING:
            return value
        if any(k.startswith(name + ".") for k in self._defaults):
            group = self.__dict__[name] = SubConfigProxy(self, name + ".")
            return group
        with contextlib.suppress(AttributeError):
            return self._find(self._name("")[:-1], name)
        raise AttributeError(f"{self._name(name)} does not exist")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        holder, key = self._place(name)
        if holder is not self:
            setattr(holder, key, value)
        elif key in self._defaults:
            self._values[key] = value
        else:
            raise AttributeError(f"{self._name(name)} does not exist")

    def __delattr__(self, name: str) -> None:
        holder, key = self._place(name)
        if key not in holder._defaults:
            raise KeyError(name)
        holder._values[key] = _NOTHING

    def _is_default(self, name: str) -> bool:
        """Has the setting never been set?"""
        holder, key = self._place(name)
        return key not in holder._values

    def get_type(self, config_name: str) -> type:
        """The type of the value that a setting begins with."""
        return type(self._defaults[self._place(config_name)[1]])

    @deprecated(
        "`config.to_dict()` has been deprecated. It no longer changes the underlying config. use `config.get_config_copy()` instead "
        "if you just want a copy of the config"
    )
    def to_dict(self) -> dict[str, Any]:
        """All settings by name; those of groups as `group.name`."""
        return self._all()

    def _all(self) -> dict[str, Any]:
        return {n: v for n, v in (self._defaults | self._values).items() if v is not _NOTHING}

    @deprecated(
        "`config.shallow_copy_dict()` has been deprecated. It no longer changes the underlying config. use "
        "`config.get_config_copy()` instead if you just want a copy of the config"
    )
    def shallow_copy_dict(self) -> dict[str, Any]:
        """What `to_dict` gives."""
        return self._all()

    def get_config_copy(self) -> dict[str, Any]:
        """All settings by name, copied to their depth."""
        return copy.deepcopy(self._all())

    get_serializable_config_copy = get_config_copy

    def save_config(self) -> bytes:
        """All settings, pickled."""
        return pickle.dumps(self._all(), protocol=2)

    def save_config_portable(self, *, ignore_private_configs: bool = True) -> dict[str, Any]:
        """All settings by name, without those that begin with an underscore."""
        private = lambda name: any(part.startswith("_") for part in name.split("."))  # noqa: E731
        return {n: v for n, v in self._all().items() if not (ignore_private_configs and private(n))}

    def load_config(self, maybe_pickled_config: bytes | dict[str, Any]) -> None:
        """Set what `save_config` or `get_config_copy` gave; names that are not known are passed over."""
        given = maybe_pickled_config
        for name, value in (given if isinstance(given, dict) else pickle.loads(given)).items():
            if self._place(name)[1] in self._place(name)[0]._defaults:
                setattr(self, name, value)

    def codegen_config(self) -> str:
        """Lines of Python that set what has been changed."""
        changed = [n for n in self._defaults if self._values.get(n, _NOTHING) is not _NOTHING]
        return "\n".join(f"{self._name(n)} = {self._values[n]!r}" for n in changed)

    def get_hash(self) -> bytes:
        """A number for the settings as they are: equal for equal ones."""
        return hashlib.md5(repr(sorted(self.save_config_portable().items())).encode()).digest()

    def patch(self, arg1: str | dict[str, Any] | None = None, arg2: Any = _NOTHING, **kwargs: Any) -> ConfigPatch:
        """Context or decorator with other values: `patch(name=value)`, `patch({name: value})` or `patch(name, value)`."""
        if arg1 is None:
            changes = kwargs
        elif isinstance(arg1, str) and arg2 is not _NOTHING:
            changes = {arg1: arg2}
        else:
            assert isinstance(arg1, dict), "first argument must be a dict when passing a single positional arg to patch"
            changes = arg1
        assert arg1 is None or not kwargs, "cannot pass both positional and keyword arguments to patch"
        return ConfigPatch(self, changes)

    def _make_closure_patcher(self, **changes: Any) -> Callable[[], Callable[[], None]]:
        """A function that sets the values and gives one that sets them back."""

        def change() -> Callable[[], None]:
            patch = self.patch(**changes)
            patch.__enter__()
            return lambda: patch.__exit__(None, None, None)

        return change


class ConfigPatch(contextlib.ContextDecorator):
    """What `patch` gives: other values inside a `with` statement or a function."""

    def __init__(self, config: ConfigModule, changes: dict[str, Any]) -> None:
        self.config, self.changes, self.before = config, changes, {}

    def __enter__(self) -> None:
        assert not self.before, "prior should be empty when entering ConfigPatch"
        self.before = {name: getattr(self.config, name) for name in self.changes}
        for name, value in self.changes.items():
            setattr(self.config, name, value)

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for name, value in self.before.items():
            setattr(self.config, name, value)
        self.before = {}

    def _recreate_cm(self) -> ConfigPatch:
        return ConfigPatch(self.config, self.changes)


def become_settings(
    module: ModuleType, given: dict[str, str], find: Callable[[str, str], Any], begin: dict[str, Any]
) -> None:
    """Make a module one of settings.

    given: by name the values as Python writes them, or `=other`, the setting whose second name this is.
    find:  what stands for a name of PyTorch's module that is no setting; AttributeError where there is none.
    begin: values with which settings begin instead, where that depends on the environment.
    """
    made: Any = module
    held = vars(made)
    held["_find"] = find
    held["_aliases"] = {name: text[1:] for name, text in given.items() if text.startswith("=")}
    held["_defaults"] = {n: ast.literal_eval(text) for n, text in given.items() if not text.startswith("=")}
    held["_defaults"].update(begin)
    held["_values"] = {}
    made.__class__ = ConfigModule
