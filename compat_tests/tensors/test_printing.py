"""`jaxtorch._core.tensor.printing` against PyTorch's `repr`, character for character."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from jaxtorch._core.tensor import printing

NAN, INF = math.nan, math.inf
FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    set_both(profile="default")
    yield
    set_both(profile="default")
    torch.set_default_dtype(torch.float32)


def set_both(**options: Any) -> None:
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    name = name_of(tensor.dtype)
    if name == "bfloat16":
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if name.startswith("float8"):
        return tensor.view(torch.uint8).numpy().view(getattr(ml_dtypes, name))
    return tensor.numpy()


def facts_of(tensor: torch.Tensor) -> dict[str, Any]:
    default = torch.get_default_dtype()
    return {
        "dtype": name_of(tensor.dtype),
        "default_dtype": name_of(default),
        "default_complex": "complex128" if default == torch.float64 else "complex64",
        "shape": tuple(tensor.shape),
        "device": None if tensor.device.type == "cpu" else str(tensor.device),
        "grad_fn": None if tensor.grad_fn is None else tensor.grad_fn.name(),
        "requires_grad": tensor.requires_grad,
    }


def ours(tensor: torch.Tensor) -> str:
    return printing.format_tensor(None if tensor.is_meta else to_numpy(tensor), **facts_of(tensor))


def make(values: Any, dtype: str) -> torch.Tensor:
    return torch.tensor(values).to(getattr(torch, dtype))


# ------------------------------------------------------------------------------------------ values

VALUES: list[tuple[Any, list[str]]] = [
    (1, ["int64", "uint8", "bool", *FLOATS, *COMPLEX]),
    ([0, 1], ["int64", "bool", *FLOATS, *COMPLEX]),
    ([1, 1], ["bool"]),
    ([-5, 2**62, 0], ["int64"]),
    (1e-9, ["float32", "float64", "complex64"]),
    (1e10, ["float32", "bfloat16"]),
    (-0.0, ["float32"]),
    (NAN, ["float32", "float16", "bfloat16"]),
    ([0.0, -0.0], ["float32", "float64"]),
    ([0.0, NAN], FLOATS[:6]),
    ([-INF, 0.0], ["float32"]),
    ([-INF, 1.0], ["float32"]),
    ([-INF, 1.5, NAN], ["float32", "float16", "bfloat16"]),
    ([1.0, 1000.0], ["float32"]),
    ([1.0, 1001.0], ["float32"]),
    ([0.5, 500.0], ["float32"]),
    ([0.5, 501.0], ["float32"]),
    ([1e8], ["float32", "float64"]),
    ([1e8 + 8], ["float32", "float64"]),
    ([1e-4], ["float32", "float64", "complex64", "complex128"]),
    ([5e-324, 1e308], ["float64"]),
    ([-0.00001, 0.5, 0.01], ["float32", "bfloat16"]),
    ([1 + 2j, 3.5 - 1e-9j], COMPLEX),
    ([complex(-0.0, -0.0), complex(1, NAN)], COMPLEX),
    ([complex(2, -INF), complex(NAN, -100.5)], COMPLEX),
    ([complex(1, -200), complex(-1000, 3)], COMPLEX),
    ([[[[1.5]], [[2.5]]], [[[-3.0]], [[NAN]]]], FLOATS[:6]),
]


@pytest.mark.parametrize("sci_mode", [None, True, False])
@pytest.mark.parametrize(("values", "dtypes"), VALUES, ids=lambda case: str(case)[:40])
def test_values(values: Any, dtypes: list[str], sci_mode: bool | None) -> None:
    for precision in (0, 1, 4, 9):
        set_both(precision=precision, sci_mode=sci_mode)
        for dtype in dtypes:
            tensor = make(values, dtype)
            assert ours(tensor) == repr(tensor)


# ------------------------------------------------------------------------------------------ suffixes

SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (2, 0),
    (0, 3),
    (2, 3, 0, 4),
    (2, 3),
    (30,),
    (2, 3, 4),
    (1, 1, 1, 1, 1),
    (7, 200),
    (1001,),
]


@pytest.mark.parametrize("default", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_dtype_and_size_suffixes(device: str, default: str) -> None:
    torch.set_default_dtype(getattr(torch, default))
    for dtype in ["bool", *INTEGERS, *FLOATS, *COMPLEX]:
        for shape in SHAPES:
            tensor = torch.ones(shape).to(getattr(torch, dtype)).to(device)
            assert ours(tensor) == repr(tensor)


@pytest.mark.parametrize("linewidth", [-3, 0, 1, 9, 20, 33.5, 40, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 80, 200])
def test_suffixes_wrap_at_the_line_width(linewidth: float) -> None:
    set_both(linewidth=linewidth)
    for shape in SHAPES:
        for dtype in (torch.float32, torch.float64):
            leaf = torch.ones(shape, dtype=dtype, requires_grad=True)
            for tensor in (
                leaf,
                leaf * 2,
                leaf.detach(),
                leaf.to("meta"),
                leaf.detach().to("meta"),
                leaf.expand(shape),
            ):
                assert ours(tensor) == repr(tensor)


def test_every_boundary_of_the_line_width() -> None:
    tensors = [torch.full((n,), 1.25, dtype=torch.float64, requires_grad=True) * 2 for n in (1, 9, 10, 11, 21, 24)]
    tensors += [torch.full((2, n), 1 - 2.5j, dtype=torch.complex128, requires_grad=True) for n in (1, 3, 4, 5, 6)]
    for linewidth in range(5, 130):
        set_both(linewidth=linewidth)
        for tensor in tensors:
            assert ours(tensor) == repr(tensor)


def test_device_suffix_comes_first() -> None:
    data = np.ones(2, np.float64)
    text = printing.format_tensor(data, dtype="float64", shape=(2,), device="cuda:0", requires_grad=True)
    assert text == "tensor([1., 1.], device='cuda:0', dtype=torch.float64, requires_grad=True)"


def test_prefix_sets_the_indent() -> None:
    class Renamed(torch.Tensor):
        pass

    for shape in SHAPES:
        tensor = torch.ones(shape).as_subclass(Renamed)
        text = printing.format_tensor(np.ones(shape, np.float32), dtype="float32", shape=shape, prefix="Renamed(")
        assert text == repr(tensor)


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_parameter(shape: tuple[int, ...], requires_grad: bool) -> None:
    parameter = torch.nn.Parameter(torch.ones(shape), requires_grad=requires_grad)
    assert printing.format_parameter(to_numpy(parameter), **facts_of(parameter)) == repr(parameter)


# ------------------------------------------------------------------------------------------ summaries


@pytest.mark.parametrize("edgeitems", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("threshold", [-1, 0, 5, 23, 24, 1000, INF, 23.5])
def test_summary(edgeitems: int, threshold: float) -> None:
    set_both(edgeitems=edgeitems, threshold=threshold)
    for shape in [
        (),
        (0,),
        (0, 2),
        (10,),
        (24,),
        (4, 6),
        (2, 12),
        (2, 3, 4),
        (12, 2, 1),
        (9, 9, 9),
        (3, 4, 5, 6),
    ]:
        for dtype in (torch.int64, torch.float32, torch.complex64, torch.bool):
            tensor = (torch.arange(math.prod(shape)).reshape(shape) - 7).to(dtype)
            assert ours(tensor) == repr(tensor)


def test_negative_edgeitems_is_refused_when_summarising() -> None:
    set_both(edgeitems=-1, threshold=5)
    tensor = torch.arange(24).reshape(4, 6)
    for text in (repr, ours):
        with pytest.raises(RuntimeError):
            text(tensor)


@pytest.mark.parametrize("shape", [(5, 5), (2000,), (3, 700), (40, 50, 2), ()])
def test_summarised_data_may_stand_for_the_whole(shape: tuple[int, ...]) -> None:
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    indices = printing.summary_indices(shape)
    data = to_numpy(tensor)
    assert (indices is None) == (math.prod(shape) <= 1000)
    if indices is not None:
        data = data[np.ix_(*indices)]
        assert data.size <= 36 * 2
    assert printing.format_tensor(data, **facts_of(tensor)) == repr(tensor)


def test_huge_tensor_is_not_read_in_full() -> None:
    # Sixteen tebibytes: anything that walked or copied it would not come back.
    shape = (2**21, 2**21)
    data = np.broadcast_to(np.float32(1.5), shape)
    text = printing.format_tensor(data, dtype="float32", shape=shape)
    assert text == repr(torch.tensor(1.5).expand(shape))


def test_data_of_another_shape_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected data of shape \(2, 3\)"):
        printing.format_tensor(np.ones(6), dtype="float64", shape=(2, 3))


# ------------------------------------------------------------------------------------------ options

OPTION_CALLS: list[list[dict[str, Any]]] = [
    [{}],
    [{"precision": 2}],
    [{"profile": "short"}],
    [{"profile": "full"}],
    [{"profile": "full", "edgeitems": 9, "threshold": 3, "precision": 1, "linewidth": 20}],
    [{"profile": "full", "sci_mode": True}, {"precision": 2}],
    [{"sci_mode": False}, {"profile": "default"}],
    [{"precision": 7}, {"profile": "unknown"}],
    [{"precision": 0, "edgeitems": 0, "threshold": 0}],
]


@pytest.mark.parametrize("calls", OPTION_CALLS, ids=str)
def test_set_printoptions(calls: list[dict[str, Any]]) -> None:
    for call in calls:
        set_both(**call)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
        tensor = torch.linspace(-1, 1, 1500).reshape(3, 500)
        assert ours(tensor) == repr(tensor)


def test_printoptions_context_restores_after_an_error() -> None:
    printing.set_printoptions(precision=6, sci_mode=True)
    before = printing.get_printoptions()
    with pytest.raises(ZeroDivisionError), printing.printoptions(profile="short"):
        assert printing.get_printoptions()["precision"] == 2
        assert printing.get_printoptions()["sci_mode"] is None
        raise ZeroDivisionError
    assert printing.get_printoptions() == before


def test_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="foo"), printing.printoptions(foo=1):
        pass


@pytest.mark.parametrize("precision", [2.0, "a", -1])
def test_bad_precision_raises_as_python_formatting_does(precision: Any) -> None:
    set_both(precision=precision)
    tensor = torch.tensor([1.5])
    for text in (repr, ours):
        with pytest.raises(ValueError):
            text(tensor)


# ------------------------------------------------------------------------------------------ scalars, storages


@pytest.mark.parametrize("spec", ["", ".2f", "d", ">10", "e", "s", "08.3f", "x", ","])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", *FLOATS, *COMPLEX])
def test_format_scalar(dtype: str, spec: str) -> None:
    tensor = make(2, dtype)

    def attempt(call: Any) -> Any:
        try:
            return call()
        except (ValueError, TypeError) as error:
            return type(error), str(error)

    expected = attempt(lambda: format(tensor, spec))
    assert attempt(lambda: printing.format_scalar(to_numpy(tensor), spec)) == expected
    assert attempt(lambda: printing.format_scalar(tensor.item(), spec)) == expected


def test_format_scalar_of_an_array_is_an_error() -> None:
    with pytest.raises(TypeError, match="single value"):
        printing.format_scalar(np.ones(2), ".2f")


@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "float16", "bfloat16", "float64", "complex64"])
@pytest.mark.parametrize("values", [[1.1, 0.0, -2.0], []])
def test_storage(values: list[float], dtype: str) -> None:
    tensor = make(values, dtype)
    data = to_numpy(tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch deprecates typed storages
        expected = repr(tensor.storage())
        meta = repr(tensor.to("meta").storage())
    assert printing.format_storage_like(data, size=data.size, dtype=dtype) == expected
    assert printing.format_storage_like(None, size=data.size, dtype=dtype, device="meta") == meta
    assert printing.format_storage_like(data, size=data.nbytes) == repr(tensor.untyped_storage())


# ------------------------------------------------------------------------------------------ fuzz


def random_tensor(rng: np.random.Generator) -> torch.Tensor:
    rank = int(rng.integers(0, 5))
    limit = {0: 1, 1: 60, 2: 14, 3: 8, 4: 5}[rank]
    shape = tuple(int(size) for size in rng.integers(0 if rng.random() < 0.1 else 1, limit + 1, rank))
    dtype = str(rng.choice(["bool", *INTEGERS, *FLOATS, *COMPLEX]))

    def reals() -> np.ndarray:
        scale = 10.0 ** rng.integers(-7, 11)
        style = rng.integers(0, 5)
        if style == 0:
            values = rng.standard_normal(shape) * scale
        elif style == 1:
            values = np.round(rng.standard_normal(shape) * min(scale, 1e9))
        elif style == 2:
            values = rng.uniform(0.5, 1.0, shape) * scale
        elif style == 3:
            values = rng.integers(-20, 20, shape) / 8.0
        else:
            values = 10.0 ** rng.integers(-5, 9, shape)
        values = np.asarray(values, np.float64)
        for special in (0.0, -0.0, NAN, INF, -INF):
            if rng.random() < 0.15:
                values = np.where(rng.random(shape) < 0.2, special, values)
        return values

    if dtype in COMPLEX:
        values: np.ndarray = np.asarray(reals() + 0j)
        values.imag = reals()
    elif dtype in FLOATS:
        values = reals()
    else:
        info = np.iinfo(np.int8 if dtype == "bool" else dtype)
        span = 10.0 ** rng.integers(0, 19)
        low, high = int(max(info.min, -span)), int(min(info.max, span, 2**63 - 1))
        values = rng.integers(low, high, shape, endpoint=True, dtype=np.int64)
        values = values * (rng.random(shape) < 0.7)
    tensor = torch.tensor(np.asarray(values)).to(getattr(torch, dtype))
    if dtype in ("float32", "float64", "bfloat16", *COMPLEX):
        state = rng.integers(0, 4)
        tensor.requires_grad_(bool(state > 0))
        if state == 2:
            tensor = tensor.clone()
        elif state == 3:
            tensor = tensor.view(-1).view(shape)
    return tensor


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    choices: dict[str, list[Any]] = {
        "precision": [0, 1, 2, 3, 6, 10, 17],
        "threshold": [0, 3, 20, 100, INF],
        "edgeitems": [0, 1, 2, 4, 7],
        "linewidth": [10, 30, 47, 60, 79, 100, 500],
        "profile": ["default", "short", "full"],
        "sci_mode": [None, True, False],
    }
    return {name: values[int(rng.integers(len(values)))] for name, values in choices.items() if rng.random() < 0.35}


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("seed", range(8))
def test_fuzz(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for index in range(500):
        options = {"profile": "default"} | random_options(rng)
        set_both(**options)
        tensor = random_tensor(rng)
        assert ours(tensor) == repr(tensor), (seed, index, options, tensor.dtype, tuple(tensor.shape))
