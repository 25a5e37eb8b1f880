"""Sizes, strides, offsets and index plans: plain numbers, compared with what PyTorch reports."""

from __future__ import annotations

import random
import timeit
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from jaxtorch._core.tensor import indexing, strides, view_strides
from parity import candidate

Report = tuple[tuple[int, ...], tuple[int, ...], int]


def report(x: torch.Tensor) -> Report:
    return tuple(x.shape), x.stride(), x.storage_offset()


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the type and text of what it raises (PyTorch's C++ trace cut off)."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error).split("\nException raised from")[0]


def reported(result: Any) -> Any:
    return report(result) if isinstance(result, torch.Tensor) else [report(x) for x in result]


# name: what to call in PyTorch; ours is the function of that name on (size, stride, offset), arguments alike.
VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": torch.transpose,
    "swapaxes": torch.swapaxes,
    "permute": torch.permute,
    "movedim": torch.movedim,
    "t": torch.t,
    "mT": lambda x: x.mT,
    "squeeze": torch.squeeze,
    "unsqueeze": torch.unsqueeze,
    "expand": lambda x, size: x.expand(size),
    "select": torch.select,
    "narrow": torch.narrow,
    "slice_": torch.ops.aten.slice,
    "diagonal": torch.diagonal,
    "unfold": lambda x, *a: x.unfold(*a),
    "unbind": torch.unbind,
    "unflatten": torch.unflatten,
}


def layout_of(name: str, x: torch.Tensor, arguments: tuple[Any, ...]) -> Any:
    return getattr(view_strides if hasattr(view_strides, name) else strides, name)(*report(x), *arguments)


def base(size: tuple[int, ...], kind: str = "plain") -> torch.Tensor:
    x = torch.arange(int(np.prod(size)), dtype=torch.float32).reshape(size)
    if kind == "reversed":
        return x.permute(tuple(range(x.ndim))[::-1])
    if kind == "inner":
        return torch.arange(200.0).as_strided(size, tuple([3 * s for s in x.stride()]), 5)
    return x


CASES: list[tuple[str, tuple[int, ...], tuple[Any, ...]]] = [
    *[("transpose", s, a) for s in [(2, 3), ()] for a in [(0, 1), (0, 0), (-1, 0), (0, 2), (-3, 0)]],
    *[("swapaxes", (2, 3, 4), a) for a in [(0, 2), (1, 5)]],
    *[("permute", (2, 3), (a,)) for a in [(1, 0), (-1, 0), (0,), (0, 0), (0, -2), (0, 2), (5, 5), (0, 1, 1)]],
    ("permute", (), ((),)),
    *[("movedim", (2, 3, 4), a) for a in [(0, -1), ((0, 1), (-1, 0)), ((0, 1), (0,)), ((0, 0), (0, 1)), (0, 3)]],
    *[("movedim", (2, 3), a) for a in [((0, 1), (1, -1)), ((0, -2), (1, 0)), (-3, 0)]],
    ("movedim", (), (0, 0)),
    *[("t", s, ()) for s in [(), (3,), (2, 3), (2, 3, 4)]],
    *[("mT", s, ()) for s in [(), (3,), (2, 3), (2, 3, 4)]],
    *[("squeeze", (1, 2, 1), a) for a in [(), (0,), (1,), (-1,), (3,), ((0, 2),), ((0, 0),), ((0, 3),), ((),)]],
    *[("squeeze", (), a) for a in [(), (0,), (-1,), (1,), ((0,),), ((0, -1),)]],
    *[("unsqueeze", s, (d,)) for s in [(), (2, 3)] for d in [0, 1, 2, 3, -1, -2, -3, -4]],
    *[("expand", (2, 1), (a,)) for a in [(2, 3), (-1, 4), (5, -1, 0), (3,), (2, -2), (-1, 2, 1), (3, 1), ()]],
    *[("expand", (), (a,)) for a in [(), (0,), (3, 2), (-1,), (2, -1)]],
    *[("select", (2, 3), a) for a in [(0, 1), (-1, -1), (1, 3), (1, -4), (-1, 9), (2, 0), (-3, 0)]],
    *[("select", (), a) for a in [(0, 0), (3, 0)]],
    *[("narrow", (2, 3), a) for a in [(0, 0, 2), (0, 2, 0), (0, -1, 1), (1, 1, 2), (0, 0, 3), (0, 3, 0)]],
    *[("narrow", (2, 3), a) for a in [(0, -3, 1), (0, 0, -1), (2, 0, 1), (5, 0, -1), (1, 1, 3)]],
    ("narrow", (), (0, 0, 1)),
    *[("slice_", (2, 3), a) for a in [(1,), (-1, 1), (1, -9, 9, 2), (0, 3, 1), (1, 2, 1), (1, 0, 3, 0), (2, 0, 1)]],
    ("slice_", (), (0, 0, 1)),
    *[("diagonal", (2, 3), a) for a in [(), (1,), (-1,), (5,), (-5,), (0, 0, 0), (0, 0, 2), (1, -1, 0)]],
    *[("diagonal", (2, 3, 4), a) for a in [(1, -1, 0), (-1, -1, 0), (2, 0, 2), (0, 1, 2)]],
    *[("diagonal", s, ()) for s in [(), (3,)]],
    ("diagonal", (3,), (0, 0, -1)),
    *[("unfold", (2, 6), a) for a in [(1, 2, 1), (1, 2, 5), (1, 0, 1), (0, 3, 1), (0, 2, 0), (0, -1, 1), (2, 1, 1)]],
    *[("unfold", (), a) for a in [(0, 1, 1), (0, 0, 1), (0, 2, 1), (1, 1, 1)]],
    ("unfold", (2, 6), (0, 1, -1)),
    *[("unbind", s, (d,)) for s in [(), (2, 3), (0, 3)] for d in [0, 1, -1, 2]],
    *[("unflatten", (2, 6), (1, a)) for a in [(2, 3), (2, -1), (-1, -1), (4, -1), (), (2, 2), (2, -2), (1, 6, 1)]],
    *[("unflatten", (2, 0), (1, a)) for a in [(-1, 3), (0, -1), (0, 3)]],
    *[("unflatten", s, a) for s, a in [((2, 3), (2, (1,))), ((), (0, (1,))), ((), (0, ())), ((), (1, (1,)))]],
]


@pytest.mark.filterwarnings("ignore:Tensor.mT is deprecated on 0-D")
@pytest.mark.parametrize("kind", ["plain", "reversed", "inner"])
@pytest.mark.parametrize("name, size, arguments", CASES)
def test_view(name: str, size: tuple[int, ...], arguments: tuple[Any, ...], kind: str) -> None:
    x = base(size, kind)
    expected = outcome(lambda: reported(VIEWS[name](x, *arguments)))
    assert outcome(lambda: layout_of(name, x, arguments)) == expected


RESHAPES = [
    *[((2, 3), a) for a in [(6,), (3, 2), (-1,), (-1, 2), (4,), (-1, -1), (-1, 4), (-2, 3), (-1, 0), (1, 6, 1), ()]],
    *[((0, 3), a) for a in [(-1, 0), (-1, 3), (0, -1), (2, 0), (0, 3), (3, 0), (1,)]],
    *[((), a) for a in [(), (1,), (1, 1), (-1,), (2,)]],
    *[((4, 1, 3), a) for a in [(12,), (4, 3), (2, 2, 3), (4, 1, 1, 3), (1, 4, 3, 1)]],
]


@pytest.mark.parametrize("kind", ["plain", "reversed", "inner"])
@pytest.mark.parametrize("size, new", RESHAPES)
def test_reshape(size: tuple[int, ...], new: tuple[int, ...], kind: str) -> None:
    check_reshape(base(size, kind), new)


def check_reshape(x: torch.Tensor, new: tuple[int, ...]) -> None:
    size, stride, _ = report(x)
    assert outcome(lambda: strides.view(size, stride, new)) == outcome(lambda: report(x.view(new))[:2])
    expected = outcome(lambda: x.reshape(new)._is_view() if x.numel() else True)
    if x.numel() or isinstance(expected, tuple):
        assert outcome(lambda: strides.reshape_is_view(size, stride, new)) == expected


@pytest.mark.parametrize("size", [(), (3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dims", [(0, -1), (1, 2), (1, 0), (1, 1), (0, 1), (-2, -1), (0, 3)])
def test_flatten(size: tuple[int, ...], dims: tuple[int, int]) -> None:
    expected = outcome(lambda: tuple(base(size).flatten(*dims).shape))
    assert outcome(lambda: strides.flatten_size(size, *dims)) == expected


@pytest.mark.parametrize("arguments", [
    ((2, 2), (1,)), ((2, 2), (1, -1)), ((2, -2), (1, 1)), ((3, 3), (3, 1)), ((2, 2), (1, 1), -1), ((2, 2),
    (1, 1), 3),
    ((2, 2), (1, 1), 4), ((0,), (1,), 100), ((2,), (1,)), ((), ()),
])  # fmt: skip
def test_as_strided(arguments: tuple[Any, ...]) -> None:
    x = base((2, 3))[1]
    expected = outcome(lambda: report(x.as_strided(*arguments)))
    assert outcome(lambda: view_strides.as_strided(*report(x), *arguments, storage=6, itemsize=4)) == expected


@pytest.mark.parametrize("name, arguments", [
    *[("split", a) for a in [0, -1, 1, 2, 9, [1, 2], [2, 3], [3, -1], [], [5], [0, 5, 0]]],
    *[("chunk", a) for a in [0, -1, 1, 2, 3, 4, 9]],
    *[("tensor_split", a) for a in [0, -1, 1, 3, 7, (1,), (2, 1), (-1, 5), (), (9, -9)]],
])  # fmt: skip
@pytest.mark.parametrize("size, dim", [((5,), 0), ((2, 5), -1), ((0, 3), 0), ((), 0), ((5,), 1), ((2, 3), 0)])
def test_parts(name: str, arguments: Any, size: tuple[int, ...], dim: int) -> None:
    x = base(size)
    step = (*x.stride(), 1)[dim if x.ndim else 0] if dim < max(x.ndim, 1) else 1
    found = outcome(
        lambda: [(start * step, length) for start, length in getattr(view_strides, name)(size, arguments, dim)]
    )
    call = getattr(x, name)
    assert found == outcome(lambda: [(p.storage_offset(), p.shape[dim]) for p in call(arguments, dim)])


def test_view_as_complex_and_real() -> None:
    storage = torch.arange(60.0)
    for size, stride, offset in [
        ((3, 2), (2, 1), 2), ((2, 3), (3, 1), 0), ((3, 2), (1, 3), 0), ((2, 2), (3, 1), 0), ((2, 2), (4,
        1), 1), ((), (), 0),
        ((2,), (1,), 0), ((0, 2), (2, 1), 0), ((2, 3, 2), (2, 8, 1), 4),
    ]:  # fmt: skip
        x = storage.as_strided(size, stride, offset)
        expected = outcome(lambda x=x: report(torch.view_as_complex(x)))
        assert outcome(lambda x=x: view_strides.view_as_complex(*report(x))) == expected
        z = torch.zeros(60, dtype=torch.complex64).as_strided(size, stride, offset)
        assert view_strides.view_as_real(*report(z)) == report(torch.view_as_real(z))


@pytest.mark.parametrize("new, name", [(torch.float64, "Double"), (torch.int16, "Short"), (torch.int32, "Int")])
def test_view_dtype(new: torch.dtype, name: str) -> None:
    storage = torch.arange(60.0)
    for size, stride, offset in [
        ((2, 4), (4, 1), 0), ((2, 3), (3, 1), 0), ((2, 2), (4, 1), 1), ((4, 2), (1, 4), 0), ((2, 4), (5,
        1), 0), ((), (), 0),
        ((3, 4), (0, 1), 4), ((4, 0), (1, 1), 0), ((1, 4), (4, 1), 2), ((2, 1), (1, 7), 0), ((2, 2), (4,
        2), 1), ((2, 2), (3, 2), 0), ((2, 2), (3, 1), 1),
    ]:  # fmt: skip
        x = storage.as_strided(size, stride, offset)
        expected = outcome(lambda x=x: report(x.view(new)))
        found = outcome(lambda x=x: view_strides.view_dtype(*report(x), 4, new.itemsize, ("Float", name)))
        assert found == expected


@pytest.mark.parametrize("shapes", [
    ((2, 3), (4,)), ((2, 3), (3, 3)), ((2,), (3,), (3,)), ((2, 1), (3,)), ((), (2, 3)), ((0,), (1,)),
    ((0,), (2,)),
    ((2, 1, 4), (3, 1), (4,)), ((3,), (1,), (4,)),
])  # fmt: skip
def test_broadcast(shapes: tuple[tuple[int, ...], ...]) -> None:
    tensors = [torch.zeros(s) for s in shapes]
    call = torch.add if len(shapes) == 2 else torch.addcmul
    expected = outcome(lambda: tuple(call(*tensors).shape))
    assert outcome(lambda: strides.broadcast_shapes(*shapes)) == expected


def test_wrap_dim() -> None:
    for ndim in range(4):
        x = torch.zeros((1,) * ndim)
        for dim in range(-5, 6):
            ours = outcome(lambda dim=dim, ndim=ndim: strides.wrap_dim(dim, ndim) * 0)
            assert ours == outcome(lambda x=x, dim=dim: int(x.sum(dim).sum()))


# -- seeded fuzz: chains of views, then everything that depends on their strides


def random_view(rng: random.Random) -> torch.Tensor:
    """A tensor with unusual strides: permuted, sliced, expanded, with sizes 0 and 1 among the others."""
    size = [rng.choice([0, 1, 1, 2, 3, 4] if rng.random() < 0.2 else [1, 2, 3, 4]) for _ in range(rng.randint(0, 5))]
    x = torch.zeros(size)
    for _ in range(rng.randint(0, 4)):
        d = rng.randrange(x.ndim) if x.ndim else 0
        move = rng.randrange(6)
        if move == 0:
            x = x.permute(rng.sample(range(x.ndim), x.ndim))
        elif move == 1 and x.ndim:
            x = x[(slice(None),) * d + (slice(rng.randint(0, 2), None, rng.randint(1, 3)),)]
        elif move == 2 and x.ndim < 5:
            x = x.unsqueeze(rng.randint(0, x.ndim))
        elif move == 3:
            x = x.expand([rng.randint(0 if rng.random() < 0.1 else 1, 3) if n == 1 else n for n in x.shape])
        elif move == 4 and x.ndim == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        elif move == 5 and x.ndim and x.shape[d]:
            x = x.select(d, rng.randrange(x.shape[d]))
    return x


def test_fuzz_layouts() -> None:
    rng = random.Random(0)
    formats = {None: torch.contiguous_format, "channels_last": torch.channels_last}
    formats["channels_last_3d"] = torch.channels_last_3d
    for _ in range(3000):
        x = random_view(rng)
        size, stride, _ = report(x)
        assert strides.contiguous(size) == torch.empty(size).stride()
        for name, memory_format in formats.items():
            assert strides.is_contiguous(size, stride, name) == x.is_contiguous(memory_format=memory_format), report(x)
        assert strides.preserved(size, stride) == torch.empty_like(x).stride() == x.clone().stride(), report(x)
        if x.ndim == 4:
            assert strides.channels_last(size) == torch.empty(size, memory_format=torch.channels_last).stride()
        overlaps = outcome(lambda x=x: x.add_(0) is None)
        assert strides.may_overlap(size, stride) == isinstance(overlaps, tuple), report(x)


def test_fuzz_elementwise() -> None:
    rng = random.Random(1)
    seen = 0
    for _ in range(6000):
        a, b = random_view(rng), random_view(rng)
        if rng.random() < 0.5:
            b = torch.empty_like(a) if rng.random() < 0.5 else a.permute(rng.sample(range(a.ndim), a.ndim))
        expected = outcome(lambda a=a, b=b: (a + b).stride())
        found = outcome(lambda a=a, b=b: strides.elementwise_strides([a.shape, b.shape], [a.stride(), b.stride()]))
        assert found == expected, (report(a), report(b))
        assert strides.elementwise_strides([a.shape], [a.stride()]) == a.neg().stride(), report(a)
        number = strides.elementwise_strides([a.shape, ()], [a.stride(), ()])
        assert number == (a + 1).stride(), report(a)
        if not (found and isinstance(found[0], type)):
            seen += found != strides.contiguous((a + b).shape)
    assert seen > 500


def factors(rng: random.Random, n: int) -> tuple[int, ...]:
    out = []
    while n > 1 and len(out) < 4:
        k = rng.choice([d for d in range(1, n + 1) if n % d == 0])
        out.append(k)
        n //= k
    return (*out, n)


def test_fuzz_reshape() -> None:
    rng = random.Random(2)
    for _ in range(4000):
        x = random_view(rng)
        new = factors(rng, x.numel()) if x.numel() else rng.choice([tuple(x.shape), (0, 3), (3, 0), (2, 0, 4)])
        if rng.random() < 0.3:
            new = tuple([-1 if i == 0 else n for i, n in enumerate(new)])
        check_reshape(x, new)


def test_fuzz_views() -> None:
    rng = random.Random(3)
    r = rng.randint
    for _ in range(6000):
        x = random_view(rng)
        low = -1 if x.ndim else 0  # of a 0-d tensor, expand(0, -1) gives PyTorch a size of -1: an error here
        arguments = {
            "transpose": (r(-4, 4), r(-4, 4)),
            "movedim": (r(-4, 4), r(-4, 4)),
            "squeeze": (r(-4, 4),),
            "unsqueeze": (r(-4, 4),),
            "select": (r(-4, 4), r(-4, 4)),
            "narrow": (r(-3, 3), r(-3, 3), r(-1, 3)),
            "diagonal": (r(-3, 3), r(-3, 3), r(-3, 3)),
            "unfold": (r(-3, 3), r(-1, 4), r(0, 3)),
            "expand": ([r(low, 3) for _ in range(r(0, 2))] + [rng.choice([-1, n]) for n in x.shape],),
        }
        name = rng.choice(list(arguments))
        expected = outcome(lambda x=x, f=VIEWS[name], a=arguments[name]: reported(f(x, *a)))
        found = outcome(lambda x=x, n=name, a=arguments[name]: layout_of(n, x, a))
        assert found == expected, (name, report(x), arguments[name])


# -- indexing


class Index:
    """Something that is an index only through `__index__`."""

    def __index__(self) -> int:
        return 1


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, torch.Tensor)


def carry_out(x: torch.Tensor, plan: indexing.Plan) -> torch.Tensor:
    """The plan applied: view steps with PyTorch, index arrays with NumPy, where `at` must agree."""
    for kind, dim, *numbers in plan.steps:
        if kind == "slice":
            assert 0 <= numbers[0] <= numbers[1] <= x.shape[dim]
            x = x[(slice(None),) * dim + (slice(*numbers),)]
        else:
            x = getattr(x, kind)(dim, *numbers)
    if not plan.operands:
        return x.detach()
    assert tuple(x.shape) == plan.size
    plan = indexing.settle(plan, np.asarray)
    arrays = [np.asarray(o) for o in plan.operands if o is not None]
    lengths = [n for n, o in zip(x.shape, plan.operands) if o is not None]
    shape = indexing.check_operands(arrays, lengths, plan.size)  # as the program would, where tensors are read
    if x.numel():
        found = x.numpy()[tuple([slice(None) if o is None else np.asarray(o) for o in plan.operands])]
    else:  # NumPy checks bounds where PyTorch, with nothing to read, does not
        kept = [n for n, o in zip(x.shape, [*plan.operands, *[None] * x.ndim]) if o is None]
        found = np.empty([*kept[: plan.at], *shape, *kept[plan.at :]])
    assert found.shape[plan.at : plan.at + len(shape)] == shape
    return torch.from_numpy(np.array(found))


def check_index(x: torch.Tensor, index: Any) -> None:
    def ours() -> Any:
        plan = indexing.plan(index, tuple(x.shape), is_tensor)
        hash(plan.steps)
        result = carry_out(x, plan)
        return (report(result) if not plan.operands else tuple(result.shape)), result.tolist()

    def theirs() -> Any:
        result = x[index]
        shared = x.numel() and result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        return (report(result) if result._is_view() or shared else tuple(result.shape)), result.tolist()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        expected = outcome(theirs)
        of_torch = [str(w.message)[:30] for w in caught]
        caught.clear()
        found = outcome(ours)
        assert [str(w.message)[:30] for w in caught][: len(of_torch)] == of_torch
    assert found == expected, (tuple(x.shape), index)


X, X4, S = torch.arange(6).view(2, 3), torch.arange(24).view(2, 3, 4), torch.tensor(7)
COLON, T, N = slice(None), torch.tensor, np.array
INDICES: list[tuple[torch.Tensor, Any]] = [
    *[(X, i) for i in [
        0, -1, 5, -3, 2**40, 2**70, True, False, None, ..., (), Index(), np.int64(1), np.uint8(1), slice(1,
        None),
        slice(2, 1), slice(5, None), slice(1, 0), slice(None, None, 0), slice(None, None, -1), slice(None,
        2**70),
        slice(0, 1.0), slice("a", None), slice(Index(), None), slice(True, 2), slice(T(0), T(1)),
        slice(T([0, 1]), 1),
        1.0, "a", "", b"a", 1j, {}, {1}, np.bool_(True), np.float64(1), object(), range(2), T(1), T(5),
        T(1.0),
        T(True), T(False), T([1.0]), T([1, 0]), T([1, 0], dtype=torch.int32), T([1, 0], dtype=torch.int16),
        T(1, dtype=torch.int16), T(1, dtype=torch.uint8), T([1, 0], dtype=torch.uint8), T([True, False]),
        T([True, False, True]), X > 2, torch.ones(2, 2, dtype=torch.bool), torch.ones(3, 3,
        dtype=torch.bool), X4 > 2,
        N(1), N(True), N(1.0), N([1, 0]), N([True, False]), N([0.5, 1.7]), N([]), N([1, 0], np.uint8),
        N([1, 0], np.int16),
        N([1, 0], np.uint16), N([0, 1])[::-1], N(["a"]), N([None]), N([[0, 1], [1, 0]]), N(1, np.uint8),
        N([1j]),
        [0, 1], [0], [], [[]], [True, False], [True, False, True], [True, 0], [0, True], [0.0, 1], [-0.5,
        -1.7], ["a"],
        [1j], [Index(), 0], [object()], [{}], [[0, 1], [1, 2]], [slice(0, 1), 0], [slice(None), [0, 1]],
        [0, None],
        [None, 0], [..., 0], [T([0, 1]), T([1, 2])], [0, T(1)], [[0, 1], 0], [(0, 1), (1, 2)], [range(2)],
        [[[0, 1]]] ,
        [np.int64(1), 0], [np.bool_(True), np.bool_(False)], [np.bool_(True), 0], [np.float64(1)], [[[T(0),
        T(1)]]],
        [T(0)] * 40, [[0, 1]] * 40, [2**70], [2**63], [-(2**63)], [float("nan")], [2], [-3], [0, 5],
    ]],
    *[(X, i) for i in [
        (0, 5), (0, 0, 0), (0, 0, 0, None), (..., 0, 0, 0), (True, 0), (0, True), (None, True), (COLON, True),
        (True, COLON, True), (False, [0, 1]), (COLON, T([True, False])), (0, T([True, False])), (None,
        T([True] * 3)),
        (T(1), T(1)), (1.5, 0), (0, 1.0), (0, "a"), ("ab", 0), (COLON, slice(None, None, -2)), (Index(),
        Index()),
        ([0, 1], [1, 2]), ([0, 1],), ([],), ((0, 1),), ((0, 1), (1, 2)), ([0, 1], [0, 1, 2]), ([0, 1],
        [[0], [1]]),
        (COLON, [3]), ([0, 1], [0, 5]), ([0], [0], [0]), (X > 2, 0), (torch.zeros(2, 3, dtype=torch.bool),
        None),
        (COLON, None, torch.zeros(2, dtype=torch.bool)), (None, None, 0), (0, None), (COLON, None, slice(1,
        None)),
        (slice(0, 1), ..., None), (T(0), True), (True, T([0, 1])), (T([0, 1]), True), (True, [0, 1], None),
        (None, 5),
        (None, object()), (..., T([0]), T([True, False, True])), (1, [0, 1]), (0, N(1)), (0, np.bool_(True)),
        (0, T(True)), (T([True, True]), T([True, False, True])), (T([True, True]), T([True, True, True])),
        (N(1), N(1)), ([0, 5], [9, 0]), ([9], [9]), (COLON, X.numpy() >= 0), ([[0, 1], [1]], [0, 1]), ([[0,
        1], 1], 0),
        ([0, [1]], 0), (["a", 0], 0), ([None, 0], 0), ([slice(0)], 0), ([...], 0), ([np.array(1), 0],),
        (COLON, COLON),
    ]],
    *[(X4, i) for i in [
        X > 2, T([[True, False], [False, True]]), (COLON, T([True, False])), (..., T([True, False])),
        ([0, 1], COLON, [0, 1]), (COLON, [0, 1], [0, 1]), (COLON, [0, 1], 1), (0, COLON, [0, 1]), ([0, 1],
        COLON, 1),
        (1, COLON, [0, 1]), ([0, 1], None, [0, 1]), (None, [0, 1]), ([0, 1], None), ([[0, 1]], ..., [0, 1]),
        (..., [0, 1], COLON), (T(1), COLON, [0, 1]), (COLON, T(1), [0, 1]), (T(1), COLON, T(0)), (T([1]),
        COLON, 0),
        ([1], ..., 0), (1, ..., [0]), (..., ...), (0, ..., 0, ..., 0), (COLON, COLON, [[0, 9]]), (X > 2, 0),
        (0, T([True, False, True]), [0, 1]), (COLON, T([True, False, True]), [0, 1, 2]), (T([True, False]),
        [0, 1]),
        (X > 2, [0, 1]), ([0, 1], True, [0, 1]), (COLON, True, [0, 1]), (COLON, [0, 1], True), (True,
        COLON, [0, 1]),
        (False, COLON, [0, 1]), (True, True), (True, False), (COLON, None, T(True)), (T(True), COLON,
        T(False)),
        torch.Size([0, 1]), (..., None, [0, 1], None), (COLON, None, [0, 1], None, [0, 1]), ([0, 1], 0, [0,
        1]),
        (0, [0, 1], 0), ([0, 1], slice(0, 2), 0), (0, 0, [0, 1]), (None, 0, [0, 1]), T([]), (COLON, T([])),
        ([], []),
        (N([0, 1]), [1, 2], T([0, 1])), (..., 9), (COLON, None, 9), (0, 9), (True, 9), (..., np.ones((3,
        4), bool)),
        (np.ones((2, 3), bool), 0), np.ones((2, 3), bool), [[True, False], [True, True]], ([0, 1], COLON,
        [0, 9]),
        (COLON, [0, 9]), (..., ..., None), (X > 2, None, [0]), (X > 2, COLON), (None, X > 2, None), (X > 2,
        T([0, 1])),
    ]],
    *[(S, i) for i in [0, ..., None, True, False, (), COLON, (..., 0), T(0), [0], T(True), T([True]), 1.0,
    (0,), (0, 0),
                       (COLON,), (None, 0), (True, 0), np.int64(0), Index(), (None, None), (True, None)]],
    *[(torch.zeros(s), i) for s in [(0, 3), (2, 0)] for i in [
        0, [0], [], (COLON, [0]), ([], [0]), ([0], []), (COLON, [3]), T([True]), torch.zeros(0,
        dtype=torch.bool), [5],
        ([0], [0]), COLON, (..., COLON)]],
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(INDICES)))
def test_index(case: int) -> None:
    check_index(*INDICES[case])


def random_index(rng: random.Random, size: tuple[int, ...]) -> Any:
    items, dim, had_ellipsis = [], 0, False
    while dim < len(size) and rng.random() < 0.85:
        n, kind = size[dim], rng.randrange(14)
        if kind <= 1 and n:
            items.append(rng.randrange(-n, n))
        elif kind == 2:
            items.append(
                slice(
                    rng.choice([None, -5, -2, 0, 1, 3]),
                    rng.choice([None, -5, -1, 1, 2, 9]),
                    rng.choice([None, 1, 2, 3]),
                )
            )
        elif kind == 3:
            items.append(slice(None))
        elif kind == 4:
            items.append(None)
            continue
        elif kind == 5 and not had_ellipsis:
            items.append(...)
            had_ellipsis = True
            continue
        elif kind == 6 and rng.random() < 0.4:
            items.append(rng.choice([True, False, torch.tensor(True)]))
            continue
        elif kind in (7, 8) and n:
            items.append(rng.choice([list, torch.tensor, np.array])([rng.randrange(-n, n) for _ in range(2)]))
        elif kind == 9 and n:
            items.append(torch.tensor([[rng.randrange(-n, n) + (rng.random() < 0.05) * 9] for _ in range(3)]).numpy())
        elif kind == 10 and n:
            items.append(rng.choice([torch.tensor, np.array])(rng.randrange(-n, n)))
        elif kind == 11:
            mask = [k == rng.randrange(max(n, 1)) or k < 2 for k in range(n + (rng.random() < 0.1))]
            items.append(rng.choice([torch.tensor, np.array])(mask, dtype=bool) if mask else [])
        elif kind == 12 and dim + 1 < len(size) and not had_ellipsis:
            items.append(torch.from_numpy(np.arange(n * size[dim + 1]).reshape(n, size[dim + 1]) % 3 == 1))
            dim += 1
        else:
            items.append(rng.randint(-5, 5))
        dim += 1
    return items[0] if len(items) == 1 and rng.random() < 0.7 else tuple(items)


def test_fuzz_index() -> None:
    rng = random.Random(4)
    for _ in range(8000):
        x = random_view(rng)
        x = x.new_empty(x.shape).copy_(torch.arange(float(x.numel())).reshape(x.shape))
        check_index(x, random_index(rng, tuple(x.shape)))


@pytest.mark.parametrize("index", [1, slice(1, 3)])
def test_common_indices_are_fast(index: Any) -> None:
    """Two microseconds is the target, several times what it takes, so that only a change of kind fails."""
    size = (4, 5, 6)
    seconds = min(timeit.repeat(lambda: indexing.plan(index, size, is_tensor), number=5000, repeat=5)) / 5000
    assert seconds < 2e-6


def test_unreadable_number_is_selected_later() -> None:
    number = torch.tensor(1)
    plan = indexing.plan((number, slice(None), [0, 1]), (2, 3, 4), is_tensor, lambda t: None)
    assert plan.steps == (("select_at", 0, 0),)
    assert plan.numbers == (number,) and plan.at == 1 and plan.size == (3, 4)


LIKE_INPUT: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda t, x: x.flip(0), "flipud": lambda t, x: x.flipud(), "rot90": lambda t, x: t.rot90(x),
    "rot180": lambda t, x: t.rot90(x, 2, (1, 2)), "sort": lambda t, x: x.sort(1)[0], "places": lambda t, x: x.sort(0)[1],
    "argsort": lambda t, x: x.argsort(0), "msort": lambda t, x: x.msort(), "prelu": lambda t, x: t.prelu(x, t.ones(1)),
    "index_fill": lambda t, x: x.index_fill(0, t.tensor([0]), 1.0), "put": lambda t, x: x.put(t.tensor([0]), t.ones(1)),
    "select_scatter": lambda t, x: x.select_scatter(x[0].clone(), 0, 0), "fill": lambda t, x: t.fill(x, 1.0),
    "slice_scatter": lambda t, x: x.slice_scatter(x[:1].clone(), 0, 0, 1), "normalize": lambda t, x: t.nn.functional.normalize(x),
    "diagonal_scatter": lambda t, x: x.diagonal_scatter(x.diagonal().clone()),
}  # fmt: skip
OPERANDS: dict[str, Callable[[Any], Any]] = {
    "permuted": lambda x: x.permute(2, 0, 1), "expanded": lambda x: x[:1].expand(2, 3, 4), "every second": lambda x: x[:, ::2],
    "columns": lambda x: x[:, :, :1], "a corner": lambda x: x[:1, 1:2, :1], "plain": lambda x: x,
}  # fmt: skip


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", LIKE_INPUT)
def test_results_like_the_input(name: str, operand: str) -> None:
    if name.endswith("_scatter") and operand in ("every second", "columns"):
        return  # PyTorch leaves the gaps in memory that the input has

    def strides_in(module: Any) -> Any:
        x = OPERANDS[operand](module.arange(24.0).reshape(2, 3, 4))
        result = LIKE_INPUT[name](module, x)
        return (tuple(result.shape), result.stride()), result.numpy()

    (actual, found), (expected, wanted) = strides_in(candidate()), strides_in(torch)
    assert actual == expected
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
