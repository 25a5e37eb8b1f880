"""`pickle_module=` of `torch.save` and `torch.load`, next to PyTorch's: other modules' picklers and unpicklers, files across."""

from __future__ import annotations

import collections
import io
import operator
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from parity import candidate, reference

theirs, ours = reference(), candidate()
both = pytest.mark.parametrize("t", [theirs, ours], ids=["torch", "jaxtorch"])
zipped = pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])


class Old:
    """A class that files name, and that programs have renamed since."""

    def __init__(self) -> None:
        self.x = 1


class New:
    x: int


class Renaming(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return New if name == "Old" else super().find_class(module, name)


class RenamingInPython(pickle._Unpickler):  # type: ignore[name-defined]
    def find_class(self, module: str, name: str) -> Any:
        return New if name == "Old" else super().find_class(module, name)


class Marking(pickle._Pickler):  # type: ignore[name-defined]
    """Writes a string in the place of a function."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        super().save("HELPER" if obj is helper else obj, save_persistent_id)


class Reducing(pickle.Pickler):
    """The same as C's pickler allows it."""

    def reducer_override(self, obj: Any) -> Any:
        return (str.upper, ("helper",)) if obj is helper else NotImplemented


def helper() -> None:
    """A function to be saved."""


def as_module(**changed: Any) -> Any:
    """`pickle` with other classes."""
    return SimpleNamespace(**{**vars(pickle), "__name__": "others", **changed})


def content(t: Any) -> Any:
    x = t.arange(6.0).reshape(2, 3)
    layer = t.nn.Linear(2, 2)
    return {
        "x": x,
        "view": x[1],
        "old": Old(),
        "f": helper,
        "m": layer,
        "d": t.float16,
        "o": collections.OrderedDict(a=x.t()),
    }


def file_of(t: Any, new: bool, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(content(t), file, _use_new_zipfile_serialization=new, **options)
    file.seek(0)
    return file


def check(t: Any, found: Any, kind: type, f: Any) -> None:
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["o"]["a"].shape == (3, 2)
    found["x"][1, 0] = 9
    assert found["view"].tolist() == [9, 4, 5]
    assert type(found["m"]) is t.nn.Linear and found["m"](t.ones(2)).shape == (2,)
    assert found["d"] is t.float16
    assert type(found["old"]) is kind and found["old"].x == 1
    assert found["f"] is f or found["f"] == f


@both
@zipped
@pytest.mark.parametrize("unpickler", [Renaming, RenamingInPython])
def test_an_unpickler_that_renames(t: Any, new: bool, unpickler: type) -> None:
    module = as_module(Unpickler=unpickler)
    check(t, t.load(file_of(t, new), pickle_module=module, weights_only=False), New, helper)


@zipped
@pytest.mark.parametrize("pickler", [Marking, Reducing])
def test_a_pickler_that_reduces(new: bool, pickler: type) -> None:
    """PyTorch reads what jaxtorch writes so, and the reverse."""
    module = as_module(Pickler=pickler)
    for writer, reader in ((theirs, ours), (ours, theirs), (ours, ours)):
        file = file_of(writer, new, pickle_module=module)
        check(reader, reader.load(file, weights_only=False), Old, "HELPER")


@both
@zipped
def test_cloudpickle_writes_functions_by_their_code(t: Any, new: bool) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    w = t.ones(2)
    counts = {"n": 3}
    file = io.BytesIO()
    t.save(
        {"f": lambda x: x * w * counts["n"], "w": w},
        file,
        pickle_module=cloudpickle,
        _use_new_zipfile_serialization=new,
    )
    file.seek(0)
    found = t.load(file, weights_only=False)
    assert found["f"](t.ones(2)).tolist() == [3, 3]
    found["w"].mul_(2)
    assert found["f"](t.ones(2)).tolist() == [6, 6]
    with pytest.raises((pickle.PicklingError, AttributeError)):
        t.save(lambda x: x, io.BytesIO(), _use_new_zipfile_serialization=new)


FUNCTIONS = [
    "nn.functional.relu",
    "nn.functional.gelu",
    "relu",
    "tanh",
    "special.erf",
    "special.expit",
    "linalg.det",
    "concat",
    "clip",
    "linalg.norm",
    "fft.fft",
    "nn.init.ones_",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_pytorchs_names_in_files(name: str) -> None:
    """A model that holds `torch.relu` as an attribute, say."""
    for writer, reader in ((theirs, ours), (ours, theirs), (ours, ours)):
        file = io.BytesIO()
        writer.save({"f": operator.attrgetter(name)(writer), "type": str}, file)
        file.seek(0)
        found = reader.load(file, weights_only=False)

        def called(f: Any, t: Any) -> Any:
            x = t.zeros(2, 2) if name == "nn.init.ones_" else t.ones(2, 2)
            return f(*{"concat": ([x, x],), "clip": (x, 0)}.get(name, (x,))).shape

        assert called(found["f"], reader) == called(operator.attrgetter(name)(writer), writer)
        assert found["type"] is str


class Here(pickle.Unpickler):
    """Takes what a pickle names in PyTorch from jaxtorch, as a program does whose `torch` it is."""

    def find_class(self, module: str, name: str) -> Any:
        ours_too = module == "torch" or module.startswith("torch.")
        return super().find_class("jax" + module if ours_too else module, name)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("protocol", [2, 5])
def test_pythons_pickles_of_pytorch_are_read(protocol: int) -> None:
    def things(t: Any) -> dict[str, Any]:
        x = t.arange(6.0).reshape(2, 3)
        return {
            "transposed": x.t(), "part": x[1], "half": x.bfloat16(), "complex": x * 1j, "leaf": x.clone().requires_grad_(),
            "sparse": x.to_sparse(), "type": x.dtype, "size": x.shape, "device": x.device,
            "parameter": t.nn.Parameter(x[0]), "storage": t.storage.TypedStorage([1.0, 2.0], _internal=True),
        }  # fmt: skip

    found = Here(io.BytesIO(pickle.dumps(things(theirs), protocol))).load()
    for name, wanted in things(ours).items():
        got = found[name]
        assert type(got) is type(wanted) and str(got) == str(wanted), name
        assert getattr(got, "requires_grad", None) == getattr(wanted, "requires_grad", None), name
    assert found["transposed"].stride() == (1, 3)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@zipped
def test_storages_in_files(new: bool) -> None:
    """Memory saved itself, across and beside a tensor on it: what is read back shares, and has the same type."""

    def kinds(t: Any) -> Any:
        x = t.arange(4.0)
        typed = t.storage.TypedStorage(wrap_storage=x.untyped_storage(), dtype=x.dtype, _internal=True)
        return [{"x": x, "s": typed}, typed] + [t.ones(2).untyped_storage()] * new  # PyTorch reads none in old files

    for writer, reader in ((theirs, ours), (ours, theirs), (ours, ours)):
        for obj, own in zip(kinds(writer), kinds(reader), strict=True):
            file = io.BytesIO()
            writer.save(obj, file, _use_new_zipfile_serialization=new)
            file.seek(0)
            found = reader.load(file, weights_only=False)
            if isinstance(found, dict):
                assert type(found["s"]) is reader.storage.TypedStorage and list(found["s"]) == [0, 1, 2, 3]
                found["s"][1] = 9.0
                assert found["x"].tolist() == [0, 9, 2, 3]
            else:
                assert type(found) is reader.storage.TypedStorage
                assert found.nbytes() == own.nbytes() and found.tolist()[-1] in (3.0, 63)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        x = ours.ones(2)
        ours.save([x, x.untyped_storage()], io.BytesIO())
