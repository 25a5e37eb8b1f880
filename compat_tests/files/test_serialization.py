"""`torch.save` and `torch.load`: PyTorch reads what jaxtorch writes, and the reverse."""

from __future__ import annotations

import io
import os
import pickle
import struct
import tarfile
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch

BOTH_WAYS = [(jaxtorch, torch), (torch, jaxtorch), (jaxtorch, jaxtorch)]
ways = pytest.mark.parametrize("writer, reader", BOTH_WAYS, ids=lambda m: m.__name__)

OBJECTS = {
    "float32": "t.arange(6.0).reshape(2, 3)",
    "float64": "t.arange(3, dtype=t.float64)",
    "float16": "t.ones(2, dtype=t.float16)",
    "bfloat16": "t.tensor([1.5, -2.0], dtype=t.bfloat16)",
    "bool": "t.tensor([True, False])",
    "uint8": "t.tensor([1, 255], dtype=t.uint8)",
    "uint16": "t.tensor([1, 65535], dtype=t.uint16)",
    "int64": "t.tensor([2**40, -1])",
    "complex64": "t.tensor([1 + 2j])",
    "0-d": "t.tensor(3.5)",
    "empty": "t.empty(0, 3)",
    "requires grad": "t.ones(2, requires_grad=True)",
    "parameter": "t.nn.Parameter(t.ones(2, 2), requires_grad=False)",
    "transposed": "t.arange(6.0).reshape(2, 3).t()",
    "channels last": "t.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=t.channels_last)",
    "slice": "t.arange(12.0).reshape(3, 4)[1:, 1:3]",
    "expanded": "t.arange(2.0)[:, None].expand(2, 3)",
    "conj": "t.tensor([1 + 2j]).conj()",
    "real view": "t.view_as_real(t.tensor([1 + 2j, 3j]))[1]",
    "numbers": "{'a': 1, 'b': 2.5, 'c': 1j, 'd': None, 'e': True, 'f': 2**70}",
    "containers": "[(1, 2), {3}, {'x': [t.ones(1)]}, 'text', b'bytes', bytearray(b'x')]",
    "ordered": "OrderedDict(a=t.ones(1), b=OrderedDict())",
    "size": "t.Size([1, 2])",
    "dtype": "[t.float16, t.int64, t.bool]",
    "device": "[t.device('cpu'), t.device('cuda', 1)]",
    "layout": "t.strided",
}


def make(expression: str, library: ModuleType) -> Any:
    return eval(expression, {"t": library, "OrderedDict": OrderedDict})


def through(obj: Any, writer: Any, reader: Any, **options: Any) -> Any:
    buffer = io.BytesIO()
    writer.save(obj, buffer)
    buffer.seek(0)
    return reader.load(buffer, **options)


def seen(x: Any) -> Any:
    """An object as plain data that does not tell the libraries apart."""
    if isinstance(x, (torch.Tensor, jaxtorch.Tensor)):
        facts = type(x).__name__, str(x.dtype), tuple(x.shape), x.stride(), x.storage_offset(), x.requires_grad
        return *facts, x.detach().tolist()
    if isinstance(x, dict):
        return type(x).__name__, [(k, seen(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple, set)):
        return type(x).__name__, [seen(v) for v in x]
    if isinstance(x, (int, float, complex, str, bytes, bytearray, type(None))):
        return type(x).__name__, x
    return type(x).__name__, str(x)


@ways
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_survive(name: str, writer: Any, reader: Any):
    found = through(make(OBJECTS[name], writer), writer, reader)
    assert seen(found) == seen(through(make(OBJECTS[name], torch), torch, torch))


@ways
def test_tensors_on_one_memory_still_share_it(writer: Any, reader: Any):
    base = writer.arange(6.0)
    found = through({"base": base, "part": base[1:3], "again": base}, writer, reader)
    assert found["again"] is found["base"]
    found["part"][0] = 9
    assert found["base"].tolist() == [0, 9, 2, 3, 4, 5]
    found["base"][2] = 7
    assert found["part"].tolist() == [9, 7]


@ways
def test_a_negated_view_keeps_its_values(writer: Any, reader: Any):
    """Which of the two libraries marks it as negated is their own affair."""
    values = writer.tensor([1 + 2j, 3 - 4j])
    assert through(values.conj().imag, writer, reader).tolist() == [-2, 4]
    found = through([values, values.conj()], writer, reader)
    assert [x.tolist() for x in found] == [[1 + 2j, 3 - 4j], [1 - 2j, 3 + 4j]]


@ways
def test_a_part_brings_the_whole_memory(writer: Any, reader: Any):
    buffer = io.BytesIO()
    writer.save(writer.arange(100.0)[3:4], buffer)
    assert len(zipfile.ZipFile(buffer).read("archive/data/0")) == 400
    buffer.seek(0)
    assert reader.load(buffer).storage_offset() == 3


def network(t: Any) -> Any:
    t.manual_seed(3)
    return t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2), t.nn.Flatten(), t.nn.Linear(8, 2))


@ways
def test_a_state_dict_moves_between_libraries(writer: Any, reader: Any):
    model, other = network(writer), network(reader)
    with writer.no_grad():
        for p in model.parameters():
            p.add_(1)
    state = through(model.state_dict(), writer, reader)
    assert state._metadata == model.state_dict()._metadata
    other.load_state_dict(state)
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    ours, theirs = (m.eval()(t.from_numpy(x)).detach().numpy() for m, t in ((model, writer), (other, reader)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@ways
def test_an_optimizer_state_moves_between_libraries(writer: Any, reader: Any):
    def trained(t: Any) -> tuple[Any, Any]:
        p = t.nn.Parameter(t.ones(3))
        optimizer = t.optim.Adam([p], lr=0.1)
        (p * p).sum().backward()
        optimizer.step()
        return p, optimizer

    _, optimizer = trained(writer)
    state = through(optimizer.state_dict(), writer, reader)
    p, other = trained(reader)
    other.load_state_dict(state)
    other.step()
    assert p.tolist() == pytest.approx([0.8] * 3, rel=1e-4)


def test_a_whole_module_needs_trust():
    model = jaxtorch.nn.Linear(2, 2)
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear was not an allowed global"):
        through(model, jaxtorch, jaxtorch)
    found = through(model, jaxtorch, jaxtorch, weights_only=False)
    assert found(jaxtorch.ones(2)).tolist() == model(jaxtorch.ones(2)).tolist()


def test_pytorchs_module_loads_as_ours():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    found = through(model, torch, jaxtorch, weights_only=False)
    assert isinstance(found[0], jaxtorch.nn.Linear)
    np.testing.assert_allclose(found(jaxtorch.ones(2)).tolist(), model(torch.ones(2)).tolist(), rtol=1e-6)


class Harmful:
    def __reduce__(self) -> Any:
        return os.system, ("exit 3",)


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


ATTACKS = {
    "a function": lambda: Harmful(),
    "a class": lambda: Point(1),
    "a NumPy number": lambda: np.float64(3),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("library", [jaxtorch, torch], ids=lambda m: m.__name__)
def test_weights_only_calls_nothing_else(name: str, library: Any):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        through(ATTACKS[name](), torch, library)


RAW = {
    "instance": b"(ios\nsystem\nI1\n.",
    "extension": b"\x80\x02\x82\x01.",
    "calls a tensor type": b"\x80\x02ctorch\nTensor\n)R.",
    "builds a class": b"\x80\x02ctorch\nSize\n}b.",
    "calls data": b"\x80\x02X\x01\x00\x00\x00a)R.",
}


@pytest.mark.parametrize("name", RAW)
def test_weights_only_refuses_instructions(name: str):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", RAW[name])
        archive.writestr("archive/version", b"3\n")
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        jaxtorch.load(buffer)


def test_a_class_can_be_allowed():
    with jaxtorch.serialization.safe_globals([Point]):
        assert jaxtorch.serialization.get_safe_globals() == [Point]
        assert through(Point(4), jaxtorch, jaxtorch).x == 4
    assert jaxtorch.serialization.get_safe_globals() == []


def test_a_tensor_outside_its_memory_is_refused():
    buffer = io.BytesIO()
    jaxtorch.save(jaxtorch.ones(4), buffer)
    with zipfile.ZipFile(buffer) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    text = records["archive/data.pkl"]
    records["archive/data.pkl"] = text.replace(b"K\x04\x85", b"K\x7f\x85")
    assert records["archive/data.pkl"] != text
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    changed.seek(0)
    with pytest.raises(RuntimeError, match="do not fit a storage of 4 elements"):
        jaxtorch.load(changed)


def test_the_format_before_zip_is_read():
    base = torch.arange(6.0)
    buffer = io.BytesIO()
    state = {"base": base, "part": base[2:4], "p": torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))}
    torch.save(state, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    found = jaxtorch.load(buffer)
    assert seen(found) == seen(state)
    found["part"][0] = 9
    assert found["base"].tolist() == [0, 1, 9, 3, 4, 5]


@ways
def test_the_format_before_zip_is_written(writer: Any, reader: Any):
    base = writer.arange(6.0)
    state = {"base": base, "part": base[2:4], "p": writer.nn.Parameter(writer.ones(2)), "n": [1, {"x": None}]}
    buffer = io.BytesIO()
    writer.save(state, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert not zipfile.is_zipfile(buffer)
    buffer.seek(0)
    found = reader.load(buffer)
    assert seen(found) == seen(state)
    found["part"][0] = 9
    assert found["base"].tolist() == [0, 1, 9, 3, 4, 5]


def tar_file() -> bytes:
    """As PyTorch wrote before 0.1.10: records of pickles and raw numbers."""

    class Reference:
        def __init__(self, key: int) -> None:
            self.key = key

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return str(obj.key) if isinstance(obj, Reference) else None

    def pickled(*items: Any) -> bytes:
        return b"".join([pickle.dumps(x, protocol=2) for x in items])

    numbers = np.arange(6, dtype=np.float32)
    storages = pickled(1, (10, "cpu", torch.FloatStorage)) + struct.pack("<q", 6) + numbers.tobytes()
    storages += pickled([(11, 10, 2, 3)])
    tensors = pickled(2)
    for key, storage, size, stride, offset in ((20, 10, (2, 3), (1, 2), 0), (21, 11, (2,), (1,), 1)):
        tensors += pickled((key, storage, torch.FloatTensor)) + struct.pack("<ii", len(size), 0)
        tensors += (
            struct.pack(f"<{len(size)}q", *size) + struct.pack(f"<{len(size)}q", *stride) + struct.pack("<q", offset)
        )
    text = io.BytesIO()
    Pickler(text, protocol=2).dump({"a": Reference(20), "b": [Reference(21)]})
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in (("storages", storages), ("tensors", tensors), ("pickle", text.getvalue())):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_the_tar_format_is_read(tmp_path: Path):
    raw = tar_file()
    path = tmp_path / "old.pt"
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.load(path, weights_only=False)
    ours = jaxtorch.load(path, weights_only=False)
    assert seen(ours["a"]) == seen(theirs["a"])
    assert ours["b"][0].tolist() == theirs["b"][0].tolist() == [3, 4]
    ours["a"][1, 1] = 9
    assert ours["b"][0].tolist() == [9, 4]
    for library in (jaxtorch, torch):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="weights_only"):
            library.load(path)
    with pytest.raises((RuntimeError, tarfile.TarError)):
        jaxtorch.load(io.BytesIO(raw[:1300]), weights_only=False)


LOCATIONS = {
    "cpu": "'cpu'",
    "device": "t.device('cpu')",
    "dict": "{'cuda:0': 'cpu'}",
    "function": "lambda storage, location: storage",
    "function that leaves it": "lambda storage, location: None",
    "to meta": "'meta'",
    "none": "None",
    "unknown": "'nowhere'",
    "no function": "3",
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_map_location(name: str):
    def outcome(t: Any) -> Any:
        try:
            return str(through(torch.ones(2), torch, t, map_location=make(LOCATIONS[name], t)).device)
        except Exception as error:
            return type(error)

    assert outcome(jaxtorch) == outcome(torch)


def test_a_gpus_tensor_without_a_gpu():
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    with zipfile.ZipFile(buffer) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    records["archive/data.pkl"] = records["archive/data.pkl"].replace(b"\x03\x00\x00\x00cpu", b"\x06\x00\x00\x00cuda:0")
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in records.items():
            archive.writestr(name, content)
    for library in (jaxtorch, torch):
        changed.seek(0)
        if not library.cuda.is_available():
            with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
                library.load(changed)
        changed.seek(0)
        assert library.load(changed, map_location="cpu").tolist() == [1, 1]


def test_paths_and_replacement(tmp_path: Path):
    path = tmp_path / "state.pt"
    jaxtorch.save(jaxtorch.zeros(3), path)
    path.chmod(0o640)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        jaxtorch.save([jaxtorch.ones(3), lambda: 0], str(path))
    assert torch.load(path).tolist() == [0, 0, 0]  # the file is as it was
    jaxtorch.save(jaxtorch.ones(3), str(path))
    assert torch.load(str(path)).tolist() == [1, 1, 1]
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]
    assert zipfile.ZipFile(path).namelist()[0] == "state/data.pkl"
    assert jaxtorch.load(path, mmap=True).tolist() == torch.load(path, mmap=True).tolist() == [1, 1, 1]
    with pytest.raises(FileNotFoundError):
        jaxtorch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="Parent directory"):
        jaxtorch.save(1, tmp_path / "none" / "a.pt")


def test_storages_are_aligned(tmp_path: Path):
    path = tmp_path / "a.pt"
    jaxtorch.save([jaxtorch.ones(n) for n in (1, 2, 30)], path)
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for info in archive.infolist():
            if "/data/" in info.filename:
                file.seek(info.header_offset + 26)
                lengths = file.read(4)
                begin = info.header_offset + 30 + sum(np.frombuffer(lengths, "<u2").tolist())
                assert begin % 64 == 0


def test_wrong_arguments():
    for library in (jaxtorch, torch):
        with pytest.raises(AttributeError, match=r"write|seek"):
            library.load(3)
        with pytest.raises(RuntimeError, match="pickle_module"):
            library.load(io.BytesIO(), weights_only=True, pickle_module=pickle)
        with pytest.raises(AttributeError, match="Pickler"):
            library.save(1, io.BytesIO(), pickle_module=io)


def test_pickles_of_meta_tensors() -> None:
    found = []
    for module in (torch, jaxtorch):
        weight = pickle.loads(pickle.dumps(module.nn.Linear(2, 3, device="meta"))).weight
        t = pickle.loads(pickle.dumps(module.ones(2, 3, device="meta", dtype=module.int32).t()))
        kind = str(t.dtype).rpartition(".")[2]
        found.append((weight.is_meta, tuple(weight.shape), weight.requires_grad, t.is_meta, t.stride(), kind))
    assert found[0] == found[1]


def test_saving_to_what_is_no_file() -> None:
    for module in (torch, jaxtorch):
        with pytest.raises(
            AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write'"
        ):
            module.save(1, 3)
