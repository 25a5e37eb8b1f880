"""Random arguments, good and bad, for random calls: see `fuzz_calls.py`.

An argument is drawn as a description (nested tuples of plain data), so that the same one can be made of PyTorch's tensors and of
jaxtorch's, printed, and drawn again from its seed.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

inf, nan = float("inf"), float("nan")
DTYPES = """float32 float32 float32 float32 float64 int64 int64 int32 int16 int8 uint8 bool complex64 complex128 float16 bfloat16
uint16 float8_e4m3fn""".split()
WORDS = """none mean sum reflect constant replicate circular zeros border nearest bilinear linear bicubic area fro nuc forward ortho
backward reduced complete left right trunc floor euclidean prod amax amin batchmean relu tanh max valid same ij xy""".split()
INTEGERS = [
    0,
    1,
    2,
    3,
    -1,
    -2,
    5,
    7,
    -7,
    64,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**65,
]
FLOATS = [0.0, 1.0, 0.5, -0.5, 2.0, -1.0, nan, inf, -inf, 1e20, 1e30, -1e30, 1e-30, 1e300, 2.5, 0.1]
DEVICES = ["cpu", "meta", "cpu:0", "cuda", "nonsense", "cpu:7"]
SIZES = [0, 1, 1, 2, 2, 2, 3, 3, 4, 5]
NAMES_OF_TENSORS = set(
    """input other tensor self mat1 mat2 vec vec1 vec2 batch1 batch2 mat x y a b A B weight bias target index indices
    source src mask value_tensor end_tensor query key grad_output offsets tensor1 tensor2 running_mean running_var
    weights target1 x1 x2 anchor positive negative input1 input2 log_probs targets var hidden h_0 grid theta
    boundaries sorted_sequence condition q k v L LU LD pivots tau hx values crow_indices col_indices exponent
    density abs angle real imag input3 mat_input cond min_tensor probs""".split()
)
NAMES_OF_NUMBERS = set(
    """p eps alpha beta value lambd threshold negative_slope lower upper min max momentum delta margin scale_factor
    lr rtol atol tol start end step low high mean std sigma rcond fill_value swap_value nan posinf neginf
    label_smoothing dropout_p scale tau base q correction to from_ median rate weight_factor div_factor
    inplace_value steepness beta1 beta2 smoothing norm_type_value""".split()
)
NAMES_OF_FLAGS = set(
    """keepdim inplace training align_corners unbiased largest sorted descending stable hermitian upper_flag
    return_indices ceil_mode count_include_pad log_input full reduce_flag affine track_running_stats bias
    batch_first bidirectional sparse antialias as_tuple dense_dim_flag requires_grad log_target keepdims
    size_average zero_infinity include_self hard half_to_float swap is_causal add_bias_kv add_zero_attn normalized
    onesided center return_inverse return_counts full_matrices compute_uv check_errors recompute_scale_factor
    transpose unitriangular adjoint elementwise_affine scale_grad_by_freq non_blocking copy""".split()
)
NAMES_OF_WORDS = {
    "reduction",
    "mode",
    "padding_mode",
    "norm",
    "reduce",
    "rounding_mode",
    "ord",
    "driver",
    "indexing",
    "side",
}
NAMES_OF_PLACES = {
    "dim",
    "dim0",
    "dim1",
    "axis",
    "dims",
    "axes",
    "start_dim",
    "end_dim",
    "offset",
    "diagonal",
    "k",
    "n",
    "N",
    "dim2",
}


def _shape(r: random.Random, ndim: int | None = None) -> tuple[int, ...]:
    n = r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5]) if ndim is None else ndim
    return tuple(r.choice(SIZES) for _ in range(n))


class Drawing:
    """Arguments for one call. shape, dtype: what most of its tensors have."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.shape = _shape(r)
        self.dtype = r.choice(DTYPES)
        self.grad = r.random() < 0.2

    def tensor(self, odd: float = 0.15) -> Any:
        r = self.r
        shape, dtype, form, content = self.shape, self.dtype, "plain", "random"
        if r.random() < 0.2:
            shape = _shape(r)
        if r.random() < 0.2:
            dtype = r.choice(DTYPES)
        if r.random() < odd:
            form = r.choice(
                "transposed expanded sliced meta meta sparse csr conj reversed view leaf grad inference neg".split()
            )
        elif self.grad:
            form = "grad"
        if r.random() < odd:
            content = r.choice(["nan", "inf", "zeros", "huge", "ones", "small"])
        return "tensor", shape, dtype, form, content, r.randrange(4)

    def integer(self) -> Any:
        return self.r.choice(INTEGERS[:7] * 6 + INTEGERS)

    def place(self) -> Any:
        return self.r.choice([0, 0, 1, -1, -1, 2, -2, 3, -3, -6, 6] + INTEGERS[10:12])

    def real(self) -> Any:
        return self.r.choice(FLOATS + FLOATS[:5] * 3 + INTEGERS[:7])

    def few(self, item: Any, most: int = 3) -> Any:
        return self.r.choice(["list", "tuple"]), [item() for _ in range(self.r.choice([0, 1, 2, 2, 3][: most + 2]))]

    def anything(self) -> Any:
        """An argument that is mostly wrong."""
        r = self.r
        choice = r.randrange(20)
        if choice < 4:
            return self.tensor(0.6)
        if choice < 6:
            return self.integer()
        if choice < 8:
            return self.real()
        if choice == 8:
            return None
        if choice == 9:
            return r.choice([True, False])
        if choice == 10:
            return r.choice([*WORDS, "", "nonsense"])
        if choice == 11:
            return self.few(self.integer)
        if choice == 12:
            return self.few(self.tensor)
        if choice == 13:
            return self.few(self.real)
        if choice == 14:
            return r.choice(
                [("self",), ("selfdict",), ("object",), ("function",), ("class",), ("ellipsis",), ("slice",)]
            )
        if choice == 15:
            return "dtype", r.choice(DTYPES)
        if choice == 16:
            return r.choice(
                [1j, complex(nan, 1), ("device", r.choice(DEVICES[:2])), ("bytes",), ("size", _shape(r)), ("layout",)]
            )
        if choice == 17:
            return r.choice(
                [("array", _shape(r), r.choice(["float32", "int64", "bool", "object"])), ("scalar", r.choice(FLOATS))]
            )
        if choice == 18:
            return self.few(self.anything, 2)
        return ("dict",)

    def named(self, name: str, note: str) -> Any:
        """An argument that may be right for a parameter of this name."""
        r = self.r
        if r.random() < 0.07:
            return self.anything()
        if name in NAMES_OF_FLAGS and name != "bias":
            return r.choice([True, False])
        if name == "dtype":
            return r.choice([None, ("dtype", r.choice(DTYPES))])
        if name == "device":
            return r.choice([None, *DEVICES[:2], *DEVICES[:1], r.choice(DEVICES)])
        if name in ("out", "generator", "layout", "memory_format", "pin_memory"):
            return None if r.random() < 0.8 else self.tensor()
        if name in NAMES_OF_WORDS:
            return r.choice([*WORDS, None])
        if name in NAMES_OF_PLACES:
            return self.place() if r.random() < 0.8 else self.few(self.place)
        if ("Tensor" in note and "Sequence" in note) or name in ("tensors", "matrices", "arrays", "operands"):
            return self.few(self.tensor)
        if "Array" in note or "Tensor" in note or name in NAMES_OF_TENSORS:
            return self.tensor()
        if "str" in note:
            return r.choice(WORDS)
        if "bool" in note:
            return r.choice([True, False])
        if "float" in note or "Real" in note or name in NAMES_OF_NUMBERS:
            return self.real()
        if (
            "Ints" in note
            or "Sizes" in note
            or "size" in name
            or name in ("stride", "padding", "dilation", "shifts", "repeats")
        ):
            small = lambda: r.choice([1, 1, 2, 2, 3, 0, -1, 4])  # noqa: E731
            return small() if r.random() < 0.5 else self.few(small) if r.random() < 0.9 else self.few(self.integer)
        if "int" in note or "features" in name or "channels" in name:
            return r.choice([1, 2, 2, 3, 4, 0, -1, self.integer()])
        return r.choice([self.tensor, self.tensor, self.integer, self.place, self.real, self.anything])()


def _content(shape: tuple[int, ...], dtype: str, content: str, seed: int) -> np.ndarray[Any, Any]:
    g = np.random.default_rng(seed)
    if content in ("zeros", "ones"):
        return np.full(shape, content == "ones", np.float64)
    if dtype == "bool":
        return g.random(shape) < 0.5
    if "int" in dtype:
        return g.integers(0 if "u" in dtype or content == "small" else -4, 6 if content != "huge" else 120, shape)
    array = np.asarray(g.normal(size=shape).round(2))
    if "complex" in dtype:
        array = array + 1j * np.asarray(g.normal(size=shape).round(2))
    if content in ("nan", "inf", "huge") and array.size:
        array.reshape(-1)[g.integers(array.size)] = {"nan": nan, "inf": -inf, "huge": 1e30}[content]
    return array * (0.1 if content == "small" else 1)


def _tensor(torch: Any, shape: tuple[int, ...], dtype: str, form: str, content: str, seed: int) -> Any:
    kind = getattr(torch, dtype)
    if form == "meta":
        return torch.empty(shape, dtype=kind, device="meta")
    t = torch.tensor(_content(shape, dtype, content, seed)).to(kind)
    if form == "transposed" and t.ndim > 1:
        t = t.transpose(0, -1).contiguous().transpose(0, -1)
    elif form == "expanded" and t.ndim:
        t = t[:1].expand(shape) if shape[0] else t
    elif form == "sliced" and t.ndim:
        t = torch.stack([t, t], -1)[..., 0]
    elif form == "view":
        t = torch.stack([t, t])[1]
    elif form == "reversed":
        t = t.flip(tuple(range(t.ndim)))
    elif form == "conj" and kind.is_complex:
        t = t.conj()
    elif form == "neg" and kind.is_complex:
        t = t.conj().imag
    elif form == "sparse":
        t = t.to_sparse()
    elif form == "csr" and t.ndim == 2:
        t = t.to_sparse_csr()
    elif form == "inference":
        with torch.inference_mode():
            t = t.clone()
    elif form in ("grad", "leaf") and (kind.is_floating_point or kind.is_complex):
        t = t.requires_grad_()
        t = t if form == "leaf" else t.clone()
    return t


def make(torch: Any, d: Any) -> Any:
    """The argument that is described."""
    if not isinstance(d, tuple):
        return d
    kind, *rest = d
    if kind == "tensor":
        return _tensor(torch, *rest)
    if kind == "list":
        return [make(torch, x) for x in rest[0]]
    if kind == "tuple":
        return tuple([make(torch, x) for x in rest[0]])
    if kind == "dtype":
        return getattr(torch, rest[0])
    if kind == "device":
        return torch.device(rest[0])
    if kind == "array":
        return _content(rest[0], "float64", "random", 0).astype(rest[1])
    if kind == "scalar":
        return np.float32(min(max(rest[0], -1e30), 1e30))
    if kind == "size":
        return torch.Size(rest[0])
    if kind == "layout":
        return torch.strided
    if kind == "self":
        x: list[Any] = [1]
        x[0] = x
        return x
    if kind == "selfdict":
        y: dict[str, Any] = {}
        y["self"] = y
        return y
    plain = {
        "object": object(),
        "function": len,
        "class": int,
        "ellipsis": ...,
        "slice": slice(0, 1),
        "bytes": b"ab",
        "dict": {0: 1},
    }
    return plain[kind]


def show(d: Any) -> str:
    """A description as a program would write it, roughly."""
    if not isinstance(d, tuple):
        return repr(d)
    kind, *rest = d
    if kind == "tensor":
        shape, dtype, form, content, _ = rest
        more = ", ".join(w for w in (form, content) if w not in ("plain", "random"))
        return f"<{dtype}{list(shape)}{' ' * bool(more)}{more}>"
    if kind in ("list", "tuple"):
        inner = ", ".join(map(show, rest[0]))
        return f"[{inner}]" if kind == "list" else f"({inner},)"
    return f"<{kind} {rest[0]}>" if rest else f"<{kind}>"
