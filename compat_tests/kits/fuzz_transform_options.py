"""Transformations with options, of functions of several arguments, on PyTorch and on jaxtorch.

`fuzz_transforms.py` composes transformations of functions of one tensor. Here a case is a function of two arguments (tensors,
numbers, containers), modules called with `functional_call` among them, and up to three transformations around it, with options chosen
at random: `argnums`, `has_aux`, `in_dims`, `chunk_size`, `randomness`, `strict`, `vectorize`, `use_reentrant`, ...

    python compat_tests/kits/fuzz_transform_options.py --count 3000 --seed 0
    python compat_tests/kits/fuzz_transform_options.py --case "jacrev argnums=(0, 1); chunk_size=2 > vmap in_dims=0 > mul (x3, y3)"

`test_fuzz_transforms.py` runs a sample.
"""

from __future__ import annotations

import ast
import collections
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from transform_by_hand import BY_HAND, WRITTEN, write_out
from transform_functions import functions_of
from transform_kit import (
    checkpoint,
    compared,
    connected,
    dual,
    leaves_of,
    linearize,
    mapped,
    observed,
    own,
    run_cases,
    scalar,
    vjp,
    with_aux,
)

Make = Callable[..., Any]
Pair = collections.namedtuple("Pair", "left right")


class Case(NamedTuple):
    """Transformations with their options, outermost first, a function, and its two arguments."""

    chain: tuple[str, ...]
    function: str
    arguments: str

    def __str__(self) -> str:
        return " > ".join((*self.chain, f"{self.function} ({self.arguments})"))


def parse(text: str) -> Case:
    """The case that prints so."""
    *chain, last = text.split(" > ")
    name, arguments = last.split(" (", 1)
    return Case(tuple(chain), name, arguments[:-1])


# -- what the functions close over


class _World:
    def __init__(self, t: Any, connected: bool = False, by_hand: bool = False) -> None:
        self.t, self.connected, self.by_hand = t, connected, by_hand
        t.manual_seed(0)
        self.w = t.tensor(1.5, requires_grad=True)
        self.buffer = t.zeros(3)
        self.index = t.tensor([0, 0])
        nn = t.nn
        self.modules = {
            "norm": nn.BatchNorm1d(1),
            "norm_untracked": nn.BatchNorm1d(1, track_running_stats=False),
            "dropout": nn.Sequential(nn.Linear(1, 2), nn.Dropout(0.5)),
            "lstm": nn.LSTM(1, 2, batch_first=True),
            "gru": nn.GRU(1, 2),
            "attention": nn.MultiheadAttention(2, 1),
            "layer_norm": nn.Sequential(nn.Linear(1, 4), nn.LayerNorm(4), nn.GELU()),
            "convolution": nn.Conv1d(1, 2, 1),
        }
        for i, module in enumerate(self.modules.values()):
            with t.no_grad():
                for k, p in enumerate(module.parameters()):
                    p.copy_((t.arange(p.numel()).reshape(p.shape) * 0.3 + 0.1 * (i + k + 1)).cos() * 0.5)
        if by_hand:
            write_out(t, self.modules)
        self.kinds = functions_of(t)

    def leaves(self) -> list[Any]:
        return [self.w, self.buffer, *[p for m in self.modules.values() for p in (*m.parameters(), *m.buffers())]]


# -- the functions --- of the world and two tensors


def _called(name: str, **options: Any) -> Make:
    """A module with parameters that depend on the arguments."""

    def run(o: _World, x: Any, y: Any) -> Any:
        module = o.modules[name]
        module.train(options.get("train", True))
        own = {k: v * (1 + y.sum()) for k, v in module.named_parameters()}
        if options.get("buffers"):
            own |= {k: v.clone() for k, v in module.named_buffers()}
        given = x.reshape(-1, 1).float()
        shaped = {"convolution": given[None].movedim(1, 2), "lstm": given[None], "gru": given[:, None]}.get(name, given)
        if name == "attention":
            shaped = (given.expand(-1, 2)[:, None],) * 3
        return o.t.func.functional_call(module, own, shaped)

    return run


def _ensemble(o: _World, x: Any, y: Any) -> Any:
    layers = [o.t.nn.Linear(1, 1) for _ in range(2)]
    with o.t.no_grad():
        for i, layer in enumerate(layers):
            layer.weight.fill_(0.5 + i)
            layer.bias.fill_(0.1 * i)
    own, buffers = o.t.func.stack_module_state(layers)
    given = x.reshape(-1, 1).float()
    return o.t.func.vmap(lambda p, b, z: o.t.func.functional_call(layers[0], (p, b), (z,)), in_dims=(0, 0, None))(
        own, buffers, given
    ) * y.sum()  # fmt: skip


def _put(x: Any, y: Any) -> Any:
    z = x.clone()
    z.reshape(-1)[:1] = y.reshape(-1)[:1]
    return z * x


def _written(x: Any, y: Any) -> Any:
    z = x * 1
    z.mul_(y)
    return z * x


def _view_written(x: Any, y: Any) -> Any:
    z = x.sin()
    v = z.reshape(-1)[1:]
    v.mul_(y.sum())
    return v, z


def _first_written(x: Any, y: Any) -> Any:
    x.mul_(2)
    return x * y


def _second_written(x: Any, y: Any) -> Any:
    y.add_(1)
    return x * y


def _part_written(x: Any, y: Any) -> Any:
    x[..., :1].add_(1)
    return x * y


def _buffer_written(o: _World, x: Any, y: Any) -> Any:
    o.buffer.add_(1)
    return x * y * o.buffer.sum()


def _noise(x: Any) -> Any:
    z = x.detach().clone()
    z.uniform_()
    return z * x


FUNCTIONS: dict[str, Callable[[_World, Any, Any], Any]] = {
    "mul": lambda o, x, y: x * y,
    "dot": lambda o, x, y: (x * y).sum(),
    "both": lambda o, x, y: (x * y, x + y.sin()),
    "dict": lambda o, x, y: {"p": x * y, "q": [x.sum(), (y,)]},
    "named": lambda o, x, y: Pair(x.sin(), y * x),
    "first": lambda o, x, y: x * 2,
    "second": lambda o, x, y: y**3,
    "same": lambda o, x, y: y,
    "same_both": lambda o, x, y: (x, y),
    "flags": lambda o, x, y: (x * y, x > y),
    "where": lambda o, x, y: o.t.where(x > y, x * y, x.exp()),
    "closed": lambda o, x, y: o.w * x * y.sum(),
    "closed_only": lambda o, x, y: o.w * 2,
    "buffer": _buffer_written,
    "written": lambda o, x, y: _written(x, y),
    "view_written": lambda o, x, y: _view_written(x, y),
    "first_written": lambda o, x, y: _first_written(x, y),
    "second_written": lambda o, x, y: _second_written(x, y),
    "part_written": lambda o, x, y: _part_written(x, y),
    "put": lambda o, x, y: _put(x, y),
    "outer": lambda o, x, y: o.t.outer(x.reshape(-1), y.reshape(-1)),
    "einsum": lambda o, x, y: o.t.einsum("i,j->ji", x.reshape(-1), y.reshape(-1)),
    "cat": lambda o, x, y: o.t.cat([x.reshape(-1), y.reshape(-1)]).cumprod(0),
    "logsumexp": lambda o, x, y: o.t.logsumexp(x * y, -1),
    "sort": lambda o, x, y: (x * y).sort(),
    "max": lambda o, x, y: (x * y).reshape(-1).max(0),
    "median": lambda o, x, y: (x * y).reshape(-1).median(),
    "solve": lambda o, x, y: o.t.linalg.solve(
        o.t.outer(x.reshape(-1), x.reshape(-1)) + 2 * o.t.eye(x.numel(), dtype=x.dtype), x.reshape(-1) * y.sum()
    ),
    "eigh": lambda o, x, y: o.t.linalg.eigh(o.t.stack([o.t.stack([x.sum(), y.sum()]), o.t.stack([y.sum(), x.sum() + 2])])),
    "svd": lambda o, x, y: o.t.linalg.svdvals(
        o.t.outer(x.reshape(-1), y.reshape(-1)) + 2 * o.t.eye(x.numel(), y.numel(), dtype=x.dtype)
    ),
    "index": lambda o, x, y: x.reshape(-1)[o.index] * y.sum(),
    "scatter": lambda o, x, y: o.t.zeros(3, dtype=x.dtype).scatter_add(0, o.index, x.reshape(-1)[:1].expand(2) * y.sum()),
    "masked": lambda o, x, y: x.masked_fill(x > 0.6, 2.0) * y,
    "clamp": lambda o, x, y: x.clamp(0.5, 1.0) * y,
    "complex": lambda o, x, y: x * (1 + 1j) * y,
    "as_real": lambda o, x, y: o.t.view_as_real(x * (1 + 1j)) * y.sum(),
    "fft": lambda o, x, y: o.t.fft.fft(x * y, dim=-1).abs(),
    "conj": lambda o, x, y: x.conj() * y,
    "transposed": lambda o, x, y: (x.reshape(-1, 1).mT, y.expand(2, *y.shape)),
    "split": lambda o, x, y: x.reshape(-1).split(1) + (y,),
    "detached": lambda o, x, y: x.detach() * y,
    "no_grad": lambda o, x, y: o.t.no_grad()(lambda: x * y)() + x,
    "number": lambda o, x, y: (x * y, 3),
    "none": lambda o, x, y: None,
    "item": lambda o, x, y: x * y.sum().item(),
    "branch": lambda o, x, y: x * y if bool((y > 0).all()) else x,
    "integer": lambda o, x, y: (x * 3).long() * 1,
    "double": lambda o, x, y: x.double() * y,
    "half": lambda o, x, y: (x * y).to(o.t.bfloat16),
    "empty": lambda o, x, y: (x * y).reshape(-1)[:0],
    "rand": lambda o, x, y: x * y * o.t.rand(()),
    "randn_like": lambda o, x, y: x + o.t.randn_like(y),
    "dropout": lambda o, x, y: o.t.nn.functional.dropout(x * y, 0.5),
    "uniform": lambda o, x, y: _noise(x * y),
    "randint": lambda o, x, y: x * o.t.randint(0, 9, (2,)).sum() * y,
    "randperm": lambda o, x, y: x.reshape(-1)[o.t.randperm(1)] * y,
    "normal": lambda o, x, y: o.t.normal(x * y, 1.0),
    "product": lambda o, x, y: o.kinds["Product"].apply(x, y),
    "ruled": lambda o, x, y: o.kinds["Ruled"].apply(x, y),
    "partial": lambda o, x, y: o.kinds["Partial"].apply(x, y) * y.sum(),
    "once": lambda o, x, y: o.kinds["Once"].apply(x, y),
    "norm": _called("norm", buffers=True),
    "norm_writes": _called("norm"),
    "norm_untracked": _called("norm_untracked"),
    "norm_evaluated": _called("norm", train=False),
    "dropout_module": _called("dropout"),
    "dropout_evaluated": _called("dropout", train=False),
    "lstm": _called("lstm"),
    "gru": _called("gru"),
    "attention": _called("attention"),
    "layer_norm": _called("layer_norm"),
    "convolution": _called("convolution"),
    "ensemble": _ensemble,
    "gradient": lambda o, x, y: o.t.func.grad(lambda z: (z**3 * y).sum())(x),
    "requires_grad": lambda o, x, y: x * y if x.requires_grad else x + y,
    "leaf": lambda o, x, y: o.t.ones(2, requires_grad=True) * x.sum() * y.sum(),
}  # fmt: skip

ARGUMENTS = (
    "x3, y3", "x3, y", "x, y", "x22, y2", "x2, y22", "d3, x3", "c2, c2", "c2, x2", "x0, y0", "i3, x3", "x3, i3", "x3, 2", "x3!, y3",
    "x3!, y3!", "x3, y3!", "{x3}, y3", "(x3), y3", "x3, {y3}", "h3, h3", "n3, y3", "b3, y3",
)  # fmt: skip
"""x, y: float32; d, h, c, i, b: double, half, complex, integer, flags; n: negative; `{}`: a dictionary, `()` a tuple; `!`: it
requires a gradient."""


def _argument(t: Any, text: str) -> Any:
    if text.isdigit():
        return int(text)
    if text[0] == "{":
        x = _argument(t, text[1:-1])
        return {"a": x * 2, "b": [x + 1]}
    if text[0] == "(":
        x = _argument(t, text[1:-1])
        return (x * 2, x + 1)
    shape = [int(n) for n in text[1:].rstrip("!")]
    size = 1
    for n in shape:
        size *= n
    x = t.arange(1, size + 1, dtype=t.float64) * (0.4 if text[0] != "y" else 0.3) + (0.1 if text[0] == "y" else 0)
    if text[0] == "n":
        x = -x
    kinds = {"d": "float64", "h": "float16", "c": "complex64", "i": "int64", "b": "bool"}
    x = x + 1j * (x - 0.3) if text[0] == "c" else x
    x = x.to(getattr(t, kinds.get(text[0], "float32"))).reshape(shape)
    return x.requires_grad_() if text.endswith("!") else x


def _one(x: Any) -> Any:
    """A container as a tensor, for the functions."""
    if isinstance(x, dict):
        return x["a"] * x["b"][0]
    return x[0] * x[1] if isinstance(x, tuple) else x


# -- the transformations --- each takes the world, a function of several arguments, these, and options


def _jvp(o: _World, f: Make, a: Any, has_aux: bool = False, strict: bool = False) -> Any:
    moves = mapped(o.t, lambda x: o.t.ones_like(x) * 0.5, a)
    return o.t.func.jvp(with_aux(f, f, has_aux), a, moves, strict=strict, has_aux=has_aux)


def _vmap(o: _World, f: Make, a: Any, in_dims: Any = 0, **options: Any) -> Any:
    each = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(a)
    many = tuple([
        x if d is None else mapped(o.t, lambda y, d=d: o.t.stack([y, y * 2, y], d), x) for x, d in zip(a, each, strict=True)
    ])  # fmt: skip
    return o.t.func.vmap(f, in_dims=in_dims, **options)(*many)


def _functional(name: str) -> Make:
    def run(o: _World, f: Make, a: Any, v: bool = True, **options: Any) -> Any:
        if name not in ("jvp", "vjp", "jacobian"):
            f = scalar(o, f)
        function = getattr(o.t.autograd.functional, name)
        if name in ("jacobian", "hessian"):
            copied = "forward-mode" in (options.get("strategy"), options.get("outer_jacobian_strategy"))
            return function((lambda *x: f(*[own(o, y) for y in x])) if copied else f, a, **options)
        if name == "vjp":
            f = scalar(o, f)
            return function(f, a, **options)
        return function(f, a, mapped(o.t, lambda x: o.t.ones_like(x) * 0.5, a) if v else None, **options)

    return run


def _grad(o: _World, f: Make, a: Any, batched: bool = False, outputs: bool = False, **options: Any) -> Any:
    own = mapped(o.t, lambda x: x if x.requires_grad else x.detach().clone().requires_grad_(), a)
    with o.t.enable_grad():
        out = connected(o, f(*own) if outputs else scalar(o, f)(*own), leaves_of(o.t, own))
        outs = leaves_of(o.t, out)
        given = [o.t.ones_like(y) * 0.5 for y in outs] if outputs else None
        if batched:
            given = [o.t.stack([o.t.ones_like(y), o.t.ones_like(y) * 2]) for y in outs]
        return o.t.autograd.grad(outs, leaves_of(o.t, own), given, is_grads_batched=batched, **options)


def _check(name: str) -> Make:
    def run(o: _World, f: Make, a: Any, **options: Any) -> Any:
        def exact(x: Any) -> Any:
            if not (x.is_floating_point() or x.is_complex()):
                return x
            return x.detach().to(o.t.complex128 if x.is_complex() else o.t.float64).requires_grad_()

        return getattr(o.t.autograd, name)(f, mapped(o.t, exact, a), **options)

    return run


TRANSFORMATIONS: dict[str, Callable[..., Any]] = {
    "grad": lambda o, f, a, argnums=0, has_aux=False: o.t.func.grad(
        with_aux(scalar(o, f), f, has_aux), argnums, has_aux
    )(*a),
    "grad_raw": lambda o, f, a, argnums=0: o.t.func.grad(f, argnums)(*a),
    "grad_and_value": lambda o, f, a, argnums=0, has_aux=False: o.t.func.grad_and_value(
        with_aux(scalar(o, f), f, has_aux), argnums, has_aux
    )(*a),
    "vjp": vjp,
    "jvp": _jvp,
    "jacrev": lambda o, f, a, argnums=0, has_aux=False, **k: o.t.func.jacrev(
        with_aux(f, f, has_aux), argnums, has_aux=has_aux, **k
    )(*a),
    "jacfwd": lambda o, f, a, argnums=0, has_aux=False, **k: o.t.func.jacfwd(
        with_aux(f, f, has_aux), argnums, has_aux, **k
    )(*a),
    "hessian": lambda o, f, a, argnums=0: o.t.func.hessian(scalar(o, f), argnums)(*a),
    "vmap": _vmap,
    "linearize": linearize,
    "f_vjp": _functional("vjp"),
    "f_jvp": _functional("jvp"),
    "f_vhp": _functional("vhp"),
    "f_hvp": _functional("hvp"),
    "f_jacobian": _functional("jacobian"),
    "f_hessian": _functional("hessian"),
    "autograd_grad": _grad,
    "dual": dual,
    "checkpoint": checkpoint,
    "gradcheck": _check("gradcheck"),
    "gradgradcheck": _check("gradgradcheck"),
}

FLAG = (False, True)
ARGNUMS = (0, 0, 1, (0,), (0, 1), (1, 0), -1, (0, 0), 2)
FORWARD = (0, 0, 1, (0,), (0, 1), (1, 0), (0, 0), 2)
"""With negative ones PyTorch's derivatives by forward mode are 0."""
RANDOM = ("error", "different", "same")
PRODUCT = {"create_graph": FLAG, "strict": FLAG, "v": (True, True, False)}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "grad": {"argnums": ARGNUMS, "has_aux": FLAG},
    "grad_raw": {"argnums": ARGNUMS},
    "grad_and_value": {"argnums": ARGNUMS, "has_aux": FLAG},
    "vjp": {"has_aux": FLAG},
    "jvp": {"has_aux": FLAG, "strict": (False, False, True)},
    "jacrev": {"argnums": ARGNUMS, "has_aux": FLAG, "chunk_size": (None, 1, 2, 100, 0)},
    "jacfwd": {"argnums": FORWARD, "has_aux": FLAG, "randomness": RANDOM},
    "hessian": {"argnums": FORWARD},
    "vmap": {
        "in_dims": (0, 0, (0, None), (None, 0), -1, (0, 1), (None, None), (-1, 0)), "out_dims": (0, 0, -1, 1, None, (0, -1)),
        "randomness": RANDOM, "chunk_size": (None, None, 1, 2),
    },
    "f_vjp": {"create_graph": FLAG, "strict": FLAG},
    "f_jvp": PRODUCT,
    "f_vhp": PRODUCT,
    "f_hvp": PRODUCT,
    "f_jacobian": {"create_graph": FLAG, "strict": FLAG, "vectorize": FLAG, "strategy": ("reverse-mode", "forward-mode")},
    "f_hessian": {
        "create_graph": FLAG, "strict": FLAG, "vectorize": FLAG, "outer_jacobian_strategy": ("reverse-mode", "forward-mode")
    },
    "autograd_grad": {
        "create_graph": FLAG, "allow_unused": (None, False, True), "materialize_grads": FLAG, "batched": (False, False, True),
        "outputs": FLAG,
    },
    "checkpoint": {
        "use_reentrant": FLAG, "preserve_rng_state": FLAG, "determinism_check": ("default", "none"), "context": FLAG,
        "early_stop": FLAG,
    },
    "gradcheck": {
        "raise_exception": FLAG, "check_undefined_grad": FLAG, "check_grad_dtypes": FLAG, "check_batched_grad": FLAG,
        "check_batched_forward_grad": FLAG, "check_forward_ad": FLAG, "check_backward_ad": (True, True, False),
        "eps": (1e-6, 1e-3), "atol": (1e-5, 1e-2, 0.0), "rtol": (1e-3, 0.0), "nondet_tol": (0.0, 1.0), "masked": (None, False),
    },
    "gradgradcheck": {
        "raise_exception": FLAG, "check_undefined_grad": FLAG, "check_grad_dtypes": FLAG, "check_batched_grad": FLAG,
        "check_fwd_over_rev": FLAG, "check_rev_over_rev": (True, True, False), "gen_non_contig_grad_outputs": FLAG,
    },
}  # fmt: skip

# -- running a case


def _around(o: _World, spec: str, f: Make) -> Make:
    name, _, options = spec.partition(" ")
    given = dict(p.split("=", 1) for p in options.split("; ") if p)
    chosen = {k: ast.literal_eval(v) for k, v in given.items() if not (k == "strict" and o.connected)}

    def run(*a: Any) -> Any:
        return TRANSFORMATIONS[name](o, f, a, **chosen)

    return run


def outcome(t: Any, case: Case, raising: bool = False, connected: bool = False, by_hand: bool = False) -> Any:
    """What a case gives on a module: plain data."""
    o = _World(t, connected, by_hand)
    function = (BY_HAND.get(case.function) if by_hand else None) or FUNCTIONS[case.function]

    def f(*a: Any) -> Any:
        return function(o, *[_one(x) for x in a])

    run: Make = f
    for spec in reversed(case.chain):
        run = _around(o, spec, run)
    a = case.arguments.split(", ")
    return observed(t, run, lambda: tuple([_argument(t, x) for x in a]), o.leaves(), raising)


def compare(case: Case) -> str:
    """How jaxtorch differs in a case."""
    names = {spec.split(" ")[0] for spec in case.chain}
    otherwise: list[str] = []
    if case.function in WRITTEN or "linearize" in names:
        otherwise += ["values", "takes what raises GradcheckError"]
    if "linearize" in names:
        otherwise.append(
            "takes what raises RuntimeError"
        )  # PyTorch's traces the function, with leaves that cannot be written to
    if case.function in _WRITING_ARGUMENTS and ("dual" in names or any("forward-mode" in spec for spec in case.chain)):
        otherwise.append("values")
    reentrant = [spec.startswith("checkpoint") and "use_reentrant=False" not in spec for spec in case.chain]
    if any(reentrant) and "dual" in [spec.split(" ")[0] for spec in case.chain[reentrant.index(True) :]]:
        otherwise.append("values")  # PyTorch follows no tangents inside of a reentrant checkpoint
    if not _FORWARD.isdisjoint(names):
        # PyTorch's tangent of a 0-d tensor times a number is float64; its checkpoints in forward mode raise also where nothing has
        # to be computed again
        otherwise += ["dtype"] * (case.function in _NUMBERS) + ["takes what raises CheckpointError"]
    found = compared(case, outcome, _STUMBLES, tuple(otherwise))
    # there is no complex32
    lacking = "h3" in case.arguments and case.function in ("as_real", "complex")
    return "" if lacking and found == "raises NotImplementedError" else found


_FORWARD = {"jvp", "jacfwd", "hessian", "linearize", "dual"}
_NUMBERS = {"item", "complex", "as_real"}


_STUMBLES = re.compile(
    r"object has no attribute|Batch norm got a batched tensor|value out of a tracing tensor|missing 2 required positional arguments"
    r"|only 0 positional inputs|vmap: inplace arithmetic|can not return a BatchedTensor when out_dim is None"
)
"""What PyTorch says where it takes a number for a tensor, traces a function for `linearize`, checks one without results, or counts
as mapped over what is the same for all examples (docs/differences.md)."""


# -- choosing and reporting


def _spec(chosen: random.Random, name: str) -> str:
    options = OPTIONS.get(name, {})
    picked = [(k, chosen.choice(v)) for k, v in options.items() if chosen.random() < 0.5]
    return " ".join([name, *(["; ".join(f"{k}={v!r}" for k, v in picked)] if picked else [])])


_WRITING_ARGUMENTS = {"first_written", "second_written", "part_written"}


def cases(seed: int, count: int) -> list[Case]:
    """So many distinct cases."""
    chosen = random.Random(seed)
    found: dict[Case, None] = {}
    names, functions = list(TRANSFORMATIONS), list(FUNCTIONS)
    while len(found) < count:
        chain = chosen.choices(names, k=chosen.choice((1, 1, 2, 2, 2, 3)))
        arguments = chosen.choice(ARGUMENTS[:4]) if chosen.random() < 0.5 else chosen.choice(ARGUMENTS)
        found[Case(tuple([_spec(chosen, n) for n in chain]), chosen.choice(functions), arguments)] = None
    return list(found)


if __name__ == "__main__":
    run_cases(__doc__, cases, parse, outcome, compare)
