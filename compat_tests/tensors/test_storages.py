"""Storages: their methods, what shares memory with them, and that copies, deep copies and files keep that."""

from __future__ import annotations

import copy
import io
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity import parity_test

METHODS = """float double half int long short char byte bool bfloat16 complex_double complex_float cpu clone is_pinned get_device
    is_sparse is_cuda is_hpu type size nbytes element_size __len__ resizable is_shared pickle_storage_type hpu pin_memory device
    filename __copy__ tolist untyped share_memory_ is_sparse_csr float8_e5m2""".split()
KINDS = """Float Double Half BFloat16 Long Int Short Char Byte Bool ComplexFloat ComplexDouble QInt8 QUInt8 QInt32 QUInt4x2
    QUInt2x4""".split()


def told(call: Callable[[], Any]) -> Any:
    """What a call gives, as text where it is a storage, or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:  # which one is what we compare
            return type(error).__name__
    return str(found).replace("jaxtorch", "torch") if "torage" in type(found).__name__ else found


@pytest.mark.parametrize("name", METHODS)
@parity_test
def test_method(torch: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = torch.arange(3.0).storage()

    def asked(storage: Any) -> Any:
        found = getattr(storage, name)
        return found() if callable(found) else found

    return [told(lambda s=s: str(asked(s)).replace("jaxtorch", "torch")) for s in (typed, typed.untyped())]


@pytest.mark.parametrize("kind", KINDS)
@parity_test
def test_class(torch: Any, kind: str) -> Any:
    made = getattr(torch, kind + "Storage")
    s = made([1, 0, 1])
    return [
        str(made.dtype), s.type(), s.size(), s.nbytes(), s.element_size(), s.tolist(), s[1], isinstance(s, made), str(s.fill_(1)),
        issubclass(made, torch.TypedStorage), isinstance(s, torch.Storage), told(lambda: made(1, 2)), told(lambda: made(2.5)),
        str(made()), s.pickle_storage_type(),
    ]  # fmt: skip


@parity_test
def test_elements_and_bytes(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = torch.arange(3.0).storage()
    u = s.untyped()
    seen: list[Any] = []
    for index in (0, -1, 3, 12, -13, None, "a", 1.0, slice(0, 2), slice(None, None, 2)):
        seen += [told(lambda i=index: s[i]), told(lambda i=index: u[i])]
    for index, value in (
        (0, 4), (-1, 9.0), (7, 1), ("a", 1), (slice(0, 2), 7), (slice(0, 3, 2), 1), (slice(0, 2), [7, 8]), (0, "a"), (0, 300),
        (0, torch.tensor(4.0)), (slice(0, 2), torch.tensor([1.0, 2.0])),
    ):  # fmt: skip
        seen += [told(lambda i=index, v=value: s.__setitem__(i, v)), s.tolist()]
        if not isinstance(value, torch.Tensor):
            seen += [told(lambda i=index, v=value: u.__setitem__(i, v)), u.tolist()]
    other = torch.arange(12, dtype=torch.uint8).untyped_storage()
    seen += [told(lambda: s.copy_(other)), told(lambda: u.copy_(torch.zeros(4).untyped_storage())), u.tolist()]
    u.byteswap(torch.int16)
    seen += [
        u.tolist(),
        told(lambda: u.fill_(300)),
        told(lambda: u.fill_("a")),
        told(u.new),
        u == s.untyped(),
        u == u.clone(),
    ]
    for wrong in (3.0, "ab", -1):
        seen.append(told(lambda w=wrong: torch.UntypedStorage(w)))
    seen += [
        told(lambda: torch.UntypedStorage([1, 2])),
        told(lambda: torch.UntypedStorage(3, device="meta").device.type),
    ]
    return seen


@parity_test
def test_bytes_that_are_shared(torch: Any) -> Any:
    """A slice of a storage is on its memory, and so is what the old constructors make of a storage."""
    a = torch.zeros(4)
    part = a.untyped_storage()[4:12]
    part.fill_(1)
    seen = [a.tolist()]
    a.fill_(2)
    x = torch.tensor([]).set_(part)
    seen += [part.tolist(), x.tolist()]
    x.add_(1)
    y = a * 2
    a[2] = 9
    seen += [a.tolist(), x.tolist(), y.tolist(), part.resizable(), part.data_ptr() - a.data_ptr()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers = (
            lambda a: torch.FloatTensor(a.storage()), lambda a: torch.FloatTensor(a.untyped_storage()),
            lambda a: torch.Tensor(a.storage()), lambda a: a.new(a.storage()), lambda a: a.new(storage=a.untyped_storage()),
            lambda a: torch.DoubleTensor(a.storage()), lambda a: torch.tensor([1]).set_(a.storage()),
        )  # fmt: skip
        for make in makers:

            def write(make: Any = make) -> Any:
                a = torch.zeros(3)
                make(a).fill_(2)
                return a.tolist()

            seen.append(told(write))
    return seen


SETTINGS = [
    (1, (4,)), (1, (4,), (2,)), (0, (2, 2)), (5, (0,)), (-1, (2,)), (100, (3,)), (0, (2, 2), (3,)), (0, (2,), (0,)), (0,), (2, (1,)),
    (0, (), ()), (0, (2,), (-1,)),
]  # fmt: skip
SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "storage": lambda t, a: a.untyped_storage(),
    "tensor": lambda t, a: a,
    "view": lambda t, a: a[1:],
    "numpy": lambda t, a: t.from_numpy(np.zeros(3, np.float32)).untyped_storage(),
}


@pytest.mark.parametrize("source", list(SOURCES))
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@parity_test
def test_set(torch: Any, source: str, setting: Any) -> Any:
    """`set_` beyond the storage makes it grow; the offset counts from that of a tensor."""
    a = torch.arange(3.0)
    x, b = torch.zeros(2), a[:2]

    def run() -> Any:
        x.set_(SOURCES[source](torch, a), *setting)
        if x.numel():
            (x[0] if x.dim() else x).fill_(7.0)
        seen = [tuple(x.shape), x.stride(), x.storage_offset(), x.untyped_storage().nbytes(), x._version]
        return seen, a.tolist(), b.tolist(), a.untyped_storage().nbytes()

    return told(run)


@parity_test
def test_memory_that_cannot_grow(torch: Any) -> Any:
    def shown() -> Any:
        x = torch.zeros(3)
        array = x.numpy()
        return x.resize_(10).shape, array

    x = torch.from_numpy(np.zeros(3))
    seen = [told(lambda: x.resize_(2).shape), told(lambda: x.resize_(20)), told(lambda: x.untyped_storage().resize_(0))]
    seen += [told(shown), told(lambda: torch.ones(50, out=x)), x.untyped_storage().resizable()]
    return [*seen, told(lambda: torch.frombuffer(bytearray(12), dtype=torch.float32).resize_(5))]


# -- copies of what shares memory


PARTS: list[Callable[[Any, Any], Any]] = [
    lambda t, a: a, lambda t, a: a.storage(), lambda t, a: a.untyped_storage(), lambda t, a: a[1:], lambda t, a: a[::2],
    lambda t, a: a.view(-1, 1), lambda t, a: a.detach(), lambda t, a: a.data, lambda t, a: t.nn.Parameter(a),
]  # fmt: skip


def _holdings(torch: Any, draw: random.Random) -> list[Any]:
    """Tensors and storages, some of which share memory."""
    made: list[Any] = []
    bases = [torch.arange(float(draw.choice([1, 4, 6]))) for _ in range(draw.choice([1, 2]))]
    for _ in range(draw.randint(2, 5)):
        base, find = draw.choice(bases), draw.choice(PARTS)
        made.append(draw.choice(made) if made and draw.random() < 0.1 else find(torch, base))
    return made


def _through_file(torch: Any, held: Any) -> Any:
    file = io.BytesIO()
    torch.save(held, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "deepcopy": lambda torch, held: copy.deepcopy(held),
    "deepcopy in a dictionary": lambda torch, held: list(copy.deepcopy({"a": held[:1], "b": held[1:]}).values()),
    "deepcopy each": lambda torch, held: [copy.deepcopy(x) for x in held],
    "copy each": lambda torch, held: [copy.copy(x) for x in held],
    "file": _through_file,
    "pickle": lambda torch, held: pickle.loads(pickle.dumps([x for x in held if type(x).__name__ != "UntypedStorage"])),
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("seed", range(12))
@parity_test
def test_copies_share_what_the_originals_share(torch: Any, way: str, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = _holdings(torch, random.Random(seed))

        def run() -> Any:
            found = WAYS[way](torch, held)
            copies = [x for part in found for x in (part if isinstance(part, list) else [part])]
            seen: list[Any] = [[type(x).__name__ for x in copies]]
            for i, x in enumerate(copies):
                with torch.no_grad():
                    x.fill_(i + 5)
                seen.append([y.tolist() for y in (*copies, *held)])
            return seen

        return told(run)


@pytest.mark.parametrize("size", [0, 8, 20])
@pytest.mark.parametrize("read", ["tolist", "sum", "numpy", "clone", "fill_", "view"])
def test_what_lies_beyond_a_smaller_storage_is_not_read(read: str, size: int) -> None:
    """PyTorch reads whatever is there, or crashes."""
    import jaxtorch as torch

    x = torch.arange(6.0)
    later, arguments = x[4:], {"fill_": (1.0,), "view": (3, 2)}.get(read, ())
    x.untyped_storage().resize_(size)
    for t in (x, later):
        if read != "view" or t is x:
            with pytest.raises(RuntimeError, match="out of bounds for storage of size"):
                getattr(t, read)(*arguments).tolist()
    x.untyped_storage().resize_(24)
    assert x[: size // 4].tolist() == [float(k) for k in range(size // 4)]


@parity_test
def test_other_memory_for_a_tensor_with_a_history(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as error:  # in jaxtorch from `set_`, in PyTorch from the derivative
        (x * 2).set_(torch.zeros(2)).sum().backward()
    return torch.tensor([str(error.value) == "derivative for set_ is not implemented"])
