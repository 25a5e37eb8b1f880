"""Unpicklers of files of tensors: one that calls only what builds tensors, and one for files that are trusted."""

from __future__ import annotations

import importlib
import pickle
import pickletools
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from .._core.tensor.tensor import Tensor
from ..nn.parameter import Parameter
from .rebuilding import ABSENT, GLOBALS, FromOutside, shortened


def _named(full: str) -> Any:
    """What jaxtorch has for a name in a file; None if nothing of its own."""
    if full in ABSENT:
        raise NotImplementedError(f"the file has {ABSENT[full]} ({full}): jaxtorch has none")
    return GLOBALS.get(full)


def _written_in_c(module: str, name: str) -> tuple[str, str]:
    """The public name of a function that PyTorch has in C++; no name for the class that has most of them as attributes."""
    if (module, name) == ("torch._C", "_VariableFunctionsClass"):
        return "torch", ""
    family = module.removeprefix("torch._C._")
    if family in ("special", "linalg", "fft") and name.startswith(family + "_"):
        return f"torch.{family}", name.removeprefix(family + "_")
    return module, name


class _Resolving:
    """What a file of tensors asks of an unpickler; `storage_of` gives the storage that a persistent id names."""

    storage_of: Callable[[Any], Any]

    def persistent_load(self, pid: Any) -> Any:
        return self.storage_of(pid)

    def find_class(self, module: str, name: str) -> Any:
        found = _named(f"{'builtins' if module == '__builtin__' else module}.{name}")
        if found is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            module, name = _written_in_c(module, name)
            module = "jaxtorch" + module.removeprefix("torch")
            if not name:
                return importlib.import_module(module)
            try:
                return super().find_class(module, name)  # type: ignore[misc]
            except (ImportError, AttributeError):
                shown = "torch" + module.removeprefix("jaxtorch")
                raise AttributeError(f"the file needs {shown}.{name}, which jaxtorch does not have yet") from None
        return super().find_class(module, name)  # type: ignore[misc]


class Unpickler(_Resolving, pickle._Unpickler):  # Python's own, whose steps can be checked
    """Reads an object."""


class _InC(_Resolving, pickle.Unpickler):
    """The same on C's unpickler, for those of others that are derived from it."""


def unpickler_of(module: Any) -> type:
    """An unpickler that does what `module.Unpickler` does besides: renames classes, say."""
    theirs = module.Unpickler
    if theirs in (pickle.Unpickler, pickle._Unpickler):
        return Unpickler
    bases = (Unpickler, theirs) if issubclass(theirs, pickle._Unpickler) else (theirs, _InC)
    return type("Unpickler", bases, {"persistent_load": _Resolving.persistent_load})


safe: dict[str, Any] = {}
"""What `add_safe_globals` has allowed, by full name."""


_FAILED = "Weights only load failed."


def _refuse(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"{_FAILED} WeightsUnpickler error: {what} To load it all the same, where the file comes from a source you trust, pass "
        "weights_only=False: it then may run any code."
    )


_NESTED = 10_000  # items of tuples in tuples that are keys


def _keys(args: Any) -> Iterator[Any]:
    """What a set, Counter or OrderedDict made of these arguments will hash."""
    for content in args if type(args) is tuple else ():
        for item in content if type(content) in (list, tuple) else ():
            if type(item) is tuple:
                yield item
            elif type(item) is list and item and type(item[0]) is tuple:
                yield item[0]


class RestrictedUnpickler(Unpickler):
    """Reads tensors and plain containers, and calls nothing but what builds them."""

    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        found = safe.get(full)
        if found is None:
            found = _named(full)
        if found is not None:
            return found
        raise _refuse(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the context manager "
            f"`torch.serialization.safe_globals([{full}])` to allow it if you trust this class or function."
        )

    def _hashable(self, keys: Any) -> None:
        """Keys must not be tuples so deep, or so often in one another, that hashing them ends the process or never ends."""
        pending, n = list(keys), 0
        while pending:
            x = pending.pop()
            if type(x) is tuple:
                pending.extend(x)
                n += len(x)
                if n > _NESTED:
                    raise _refuse("The file has a key of too many nested tuples.")

    def _filled(self, at: int, kinds: tuple[type, ...]) -> None:
        """Only containers may be filled."""
        if len(self.stack) >= -at and type(self.stack[at]) not in (*kinds, *safe.values()):
            raise _refuse(f"Trying to fill a {type(self.stack[at]).__name__}, expected {kinds[0].__name__}.")

    def _setitem(self) -> None:
        self._filled(-3, (dict, OrderedDict, Counter))
        self._hashable(self.stack[-2:-1])
        pickle._Unpickler.load_setitem(self)  # type: ignore[attr-defined]

    def _setitems(self) -> None:
        self._hashable(self.stack[::2])
        self._take(pickle._Unpickler.load_setitems, (dict, OrderedDict, Counter))  # type: ignore[attr-defined]

    def _additems(self) -> None:
        self._hashable(self.stack)
        self._take(pickle._Unpickler.load_additems, (set,))  # type: ignore[attr-defined]

    def _append(self) -> None:
        self._filled(-2, (list,))
        pickle._Unpickler.load_append(self)  # type: ignore[attr-defined]

    def _appends(self) -> None:
        self._take(pickle._Unpickler.load_appends, (list,))  # type: ignore[attr-defined]

    def _take(self, step: Callable[..., None], kinds: tuple[type, ...]) -> None:
        """Take a step that fills what lies beneath the mark."""
        items = self.pop_mark()  # pyright: ignore[reportAttributeAccessIssue]
        self._filled(-1, kinds)
        self.metastack.append(self.stack)  # pyright: ignore[reportAttributeAccessIssue]
        self.stack = items
        self.append = items.append
        step(self)

    def _frozenset(self) -> None:
        self._hashable(self.stack)
        pickle._Unpickler.load_frozenset(self)  # type: ignore[attr-defined]

    def _check(self, called: Any) -> None:
        """Only what `find_class` gave may be called, and no tensor or dtype that it gave."""
        for allowed in (*GLOBALS.values(), *safe.values()):
            if called is allowed and callable(allowed):
                return
        raise _refuse(f"Trying to call {shortened(called)}, which is not an allowed global.")

    def _step(self, step: Callable[..., None], called: Any) -> None:
        """Take a step that calls something: an error of what the user has allowed is the user's."""
        if all(called is not allowed for allowed in safe.values()):
            step(self)
            return
        try:
            step(self)
        except Exception as error:
            raise FromOutside(error) from error

    def _reduce(self) -> None:
        self._check(self.stack[-2])
        if self.stack[-2] in (Tensor, Parameter):
            raise _refuse(f"Trying to call {self.stack[-2].__name__} directly.")
        if self.stack[-2] in (set, Counter, OrderedDict):
            self._hashable(_keys(self.stack[-1]))
        self._step(pickle._Unpickler.load_reduce, self.stack[-2])  # type: ignore[attr-defined]

    def _newobj(self) -> None:
        self._check(self.stack[-2])
        self._step(pickle._Unpickler.load_newobj, self.stack[-2])  # type: ignore[attr-defined]

    def _build(self) -> None:
        target, state = self.stack[-2], self.stack[-1]
        if type(target) in (OrderedDict, Counter) and isinstance(state, dict):
            target.__dict__.update(state)
        elif type(target) in safe.values():
            self._step(pickle._Unpickler.load_build, type(target))  # type: ignore[attr-defined]
            return
        else:
            raise _refuse(f"Can only build Tensor, Parameter, OrderedDict or allowed types, but got {type(target)}.")
        del self.stack[-1]

    def _forbidden(self) -> None:
        raise _refuse("The file uses a pickle instruction that is not allowed.")

    dispatch: dict[int, Any] = dict(pickle._Unpickler.dispatch)
    dispatch[pickle.REDUCE[0]] = _reduce
    dispatch[pickle.NEWOBJ[0]] = _newobj
    dispatch[pickle.BUILD[0]] = _build
    dispatch[pickle.APPEND[0]] = _append
    dispatch[pickle.APPENDS[0]] = _appends
    dispatch[pickle.SETITEM[0]] = _setitem
    dispatch[pickle.SETITEMS[0]] = _setitems
    dispatch[pickle.ADDITEMS[0]] = _additems
    dispatch[pickle.FROZENSET[0]] = _frozenset
    for _code in (pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEXT_BUFFER):
        dispatch[_code[0]] = _forbidden


_CORRUPT = (ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, RecursionError, TypeError,
            ValueError, struct.error)  # fmt: skip
"""What Python's unpickler raises where a pickle is damaged, besides its own error."""


def _is_of_pickle(error: BaseException) -> bool:
    """Has the unpickler itself raised this, not what it called? The one in C would have raised UnpicklingError."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == pickle.__file__


def unpickle(file: IO[bytes], storage_of: Callable[[Any], Any], kind: type, options: dict[str, Any]) -> Any:
    """Read one pickle by this kind of unpickler. With `RestrictedUnpickler`, UnpicklingError for all that is wrong with it;
    RuntimeError for its tensors."""
    reader = kind(file, **options)
    reader.storage_of = storage_of
    if kind is not RestrictedUnpickler:
        try:
            return reader.load()
        except FromOutside as outside:
            raise outside.error from None
        except (LookupError, struct.error) as error:
            if _is_of_pickle(error):
                raise pickle.UnpicklingError(f"The file is corrupt: {type(error).__name__}: {error}") from error
            raise
    try:
        return reader.load()
    except FromOutside as outside:
        raise outside.error from None
    except pickle.UnpicklingError as error:
        if str(error).startswith(_FAILED):
            raise
        raise pickle.UnpicklingError(f"{_FAILED} The file is corrupt: {error}") from error
    except _CORRUPT as error:
        raise pickle.UnpicklingError(f"{_FAILED} The file is corrupt: {type(error).__name__}: {error}") from error


def _named_in(text: bytes) -> Iterator[str]:
    """The globals that a pickle names, read without running it."""
    memo: dict[int, str] = {}
    strings = ["", ""]
    for code, given, _ in pickletools.genops(text):
        name, argument = code.name, cast(Any, given)
        if name in ("GLOBAL", "INST"):
            yield argument.replace(" ", ".")
        elif name == "STACK_GLOBAL":
            yield f"{strings[-2]}.{strings[-1]}"
        elif "UNICODE" in name or "STRING" in name:
            strings.append(argument)
        elif name == "MEMOIZE":
            memo[len(memo)] = strings[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = strings[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            strings.append(memo.get(argument, ""))


def unsafe_globals(text: bytes) -> list[str]:
    """The globals that a pickle names and that `weights_only` does not allow, each once."""
    try:
        found = dict.fromkeys(_named_in(text))
    except (ValueError, struct.error) as error:
        raise pickle.UnpicklingError(f"the file is corrupt: {error}") from error
    found = {n.replace("__builtin__.", "builtins."): None for n in found}
    return [n for n in found if n not in GLOBALS and n not in safe and n not in ABSENT]
