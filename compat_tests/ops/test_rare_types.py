"""What PyTorch's CPU kernels lack for 8-bit floats and wide unsigned integers is refused, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import jaxtorch

TYPES = "float8_e4m3fn float8_e5m2 uint16 uint32 uint64".split()
ALONE = """abs acos asinh atan ceil cos digamma erf erfc exp2 expm1 floor frac i0 isneginf isnan lgamma log logical_not logit neg
reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sqrt square tan tanh trunc clone contiguous ravel isreal cumsum
cummax logcumsumexp argsort amax amin trace tril triu t relu softmax log_softmax real positive nansum prod""".split()
SPECIAL = "i1 i0e entr erfcx ndtri log_ndtr bessel_j0 airy_ai spherical_bessel_j0 modified_bessel_k0".split()
PAIRS = """add sub true_divide floor_divide fmod remainder maximum minimum fmin atan2 hypot copysign nextafter eq ne lt ge logical_and
bitwise_and bitwise_left_shift gcd lcm logaddexp xlogy heaviside ldexp mm linear cosine_similarity mse_loss huber_loss
pairwise_distance smooth_l1_loss cat stack igamma""".split()


def _calls() -> dict[str, Any]:
    dims = {
        "cumsum": (0,),
        "cummax": (0,),
        "logcumsumexp": (0,),
        "softmax": (0,),
        "log_softmax": (0,),
    }
    found: dict[str, Any] = {n: lambda t, x, n=n: getattr(t, n)(x, *dims.get(n, ())) for n in ALONE}
    found |= {f"special.{n}": lambda t, x, n=n: getattr(t.special, n)(x) for n in SPECIAL}
    for n in PAIRS:
        if n in ("cat", "stack"):
            found[n] = lambda t, x, n=n: getattr(t, n)([x, x])
        else:
            found[n] = lambda t, x, n=n: getattr(t if hasattr(t, n) else t.nn.functional, n)(x, x)
    found["sin_"] = lambda t, x: x.sin_()
    found["geqrf"] = lambda t, x: x.geqrf()
    found["linalg.qr"] = lambda t, x: t.linalg.qr(x)
    found["silu"] = lambda t, x: t.nn.functional.silu(x)
    found["cumsum of another type"] = lambda t, x: x.cumsum(0, dtype=t.float32)
    found["empty"] = lambda t, x: x[:0].erf()
    found["linalg.eigvals"] = lambda t, x: t.linalg.eigvals(x)
    found["type"] = lambda t, x: t.ones(2, dtype=t.int64) if x.type() else None
    found["meta"] = lambda t, x: x.to("meta").erf()
    found["add a number"] = lambda t, x: x + 1
    found["conv1d"] = lambda t, x: t.nn.functional.conv1d(x[None], x[None])
    return found


CALLS = _calls()


def ending(t: Any, kind: str, call: Any) -> str:
    try:
        result = call(t, t.tensor([[1.0, 2.0], [3.0, 4.0]]).to(getattr(t, kind)))
    except Exception as error:
        return f"{type(error).__name__} {error}"
    result = result[0] if isinstance(result, tuple) else result
    return f"{result.dtype} {tuple(result.shape)}"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CALLS)
def test_rare_types(name: str, kind: str):
    ours, theirs = ending(jaxtorch, kind, CALLS[name]), ending(torch, kind, CALLS[name])
    assert ours.split(" ")[0] == theirs.split(" ")[0] if "Error" in theirs else ours == theirs


def _powers_of_two(t: Any) -> list[Any]:
    """Numbers on their way to float8_e8m0fnu, by every road that makes one."""
    inf, kind = float("inf"), t.float8_e8m0fnu
    numbers = [
        0.0,
        -0.0,
        -1.0,
        0.75,
        1.5,
        3.0,
        1e-40,
        1e39,
        inf,
        -inf,
        float("nan"),
        1.4,
        2.9,
        2.0**-127,
        1.5 * 2.0**127,
    ]
    wide = t.tensor(numbers, dtype=t.float64)
    made = [wide.to(d).to(kind) for d in (t.float64, t.float32, t.bfloat16, t.float16) for _ in range(4)]
    made += [t.tensor(numbers, dtype=kind), t.tensor(wide.numpy(), dtype=kind), t.tensor([5, -6, 0]).to(kind)]
    made += [t.zeros(2, dtype=kind), t.full((2,), 3.0, dtype=kind), t.eye(2, dtype=kind), t.zeros_like(made[0])]
    made += [t.ones(2, dtype=kind).zero_(), t.ones(2, dtype=kind).copy_(wide[2:4])]
    return [m.view(t.uint8).tolist() for m in made]


def test_numbers_become_powers_of_two():
    assert _powers_of_two(jaxtorch) == _powers_of_two(torch)
