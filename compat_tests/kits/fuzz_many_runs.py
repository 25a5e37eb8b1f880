"""Random programs of mixed operations, each run many times at several shapes with new numbers, and compared with PyTorch every time.

What an engine learns (templates of shapes, functions and C that run a program from its ninth run on, indices found to be fine) shows
only later. `python compat_tests/kits/fuzz_many_runs.py SEED COUNT` tries more of them than the tests do.
"""

from __future__ import annotations

import contextlib
import random
import re
import sys
import warnings
from typing import Any

import numpy as np
import torch as reference

import jaxtorch as torch
from jaxtorch._core.record import deferred_errors
from jaxtorch._core.record import program as recording
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER

SHAPES = [(7, 5), (6, 4), (9, 8), (11, 3), (13, 6), (2, 3), (5, 5), (1, 4), (17, 2), (8, 7), (6, 10)]
RUNS = PROGRAM_WRITTEN_AFTER + 4
INPUTS = ("x", "y", "d", "r", "c", "i", "j", "k", "g", "e", "b", "h", "u")


def numbers(seed: int, n: int, m: int) -> dict[str, np.ndarray[Any, Any]]:
    """The inputs of a run: floats, whole numbers (`e` now and then beyond the rows, `g` negative too), flags, bytes."""
    rng = np.random.default_rng(seed)
    floats = {"x": (n, m), "y": (n, m), "r": (m,), "c": (n, 1)}
    made: dict[str, Any] = {k: rng.standard_normal(shape).astype(np.float32) for k, shape in floats.items()}
    made |= {"d": rng.standard_normal((n, m)), "i": rng.integers(0, n, n), "j": rng.integers(0, m, (n, m))}
    made |= {"k": rng.integers(-6, 7, (n, m), np.int32), "g": rng.integers(-m, m, 4), "e": rng.integers(0, n + 2, 3)}
    return made | {"b": rng.random((n, m)) < 0.5, "h": rng.random(n) < 0.6, "u": rng.integers(0, 200, (n, m), np.uint8)}


# F, I, B, T: a name of floats, whole numbers, flags, anything; P: one-dimensional int64; S: a number; D: 0 or -1
EXPRESSIONS = """T + T|T - T|T * T|T / T|T + S|S - T|T * S|T / S|I // 3|I % 2|I & I|I | I|I ^ 1|I << 1|~B|B & B
B | B|B ^ B|B.cumsum(D)|B.any(D)|B.sum(D)
t.exp(F)|t.tanh(F)|F.sigmoid()|F.relu()|F.abs()|F.floor()|F.round()|F.sign()|F.square()|F.erf()|F.isnan()|t.rsqrt(F)
F.trunc()|I.abs()|I.square()|T < T|T >= T|T == T|T != S|t.where(B, T, T)|t.where(B, T, S)|T.clamp(-1, 1)|t.maximum(F, T)
T.masked_fill(B, S)|T[B]|B.nonzero()|F.sum(D)|F.mean(D)|F.mean()|F.var(D)|F.std(D)|F.amax(D)|F.prod(D)|F.norm()
F.logsumexp(D)|F.max(D)[0]|F.median(D)[0]|F.sum(D, dtype=t.float64)|I.sum(D)|I.max()|I.amin(D)|I.float().mean(D)|I.cumsum(D)
F.argmax(D)|F.argsort(dim=D, stable=True)|t.sort(F, dim=D, stable=True)[0]|F.topk(1, D)[0]|F.kthvalue(1, D)[0]
t.bucketize(F, t.sort(F.flatten())[0])|F.softmax(D)|F.log_softmax(D)|t.nn.functional.layer_norm(F, F.shape[-1:])|F.cumsum(D)
F.diff(dim=D)|t.nn.functional.gelu(F)|t.nn.functional.normalize(F, dim=D)|F.cummax(D)[0]|T[1:]|T[:-1]|T[::2]|T[..., 1:]
T.flatten()|T[None]|T.flip(D)|T.roll(1, D)|T.reshape(-1)|T[-1]|T[..., 0]|T.squeeze()|T.unfold(0, 2, 1)|T.expand(2, *T.shape)
T.split(2)[0]|T.repeat_interleave(2, D)|T.unbind(0)[0]|T.T|T.T.contiguous()|T.T.reshape(-1)|T.diagonal()|T.triu()|T[1:, :-1]
T.transpose(0, 1)[1:]|T[P]|T[..., P]|T.index_select(0, P)|T.take(P)|T.gather(D, P)|t.nn.functional.embedding(P, F)|T[P, :1]
T[P % T.shape[0]]|T[..., P % T.shape[-1]]|T.flatten()[P % T.numel()]|T.scatter(D, P, T)|T.scatter_add(D, P, T)
T.index_add(D, P, T)|T.index_fill(D, P, 3)|T.index_put((P,), T, accumulate=True)|t.nn.functional.one_hot(P, 13)|I.unique()
F @ F.T|F.T @ F|t.cat([T, T])|t.stack([T, T])|t.nn.functional.pad(T, (1, 2))|F / F.shape[0]|T * T.shape[-1]
T + t.arange(T.shape[-1])|t.zeros(T.shape[0], T.shape[-1]) + T.shape[0]|T - T.numel()|t.full_like(T, T.shape[0])
t.ones_like(F) / len(F)|t.eye(T.shape[-1])|t.linspace(0, 1, T.shape[-1])
t.arange(T.shape[0])[:, None] * t.arange(T.shape[-1])|T.double()|T.float()|I.long()|T.bool()|F.clamp(-5, 5).long()
t.nn.functional.cross_entropy(F, P % F.shape[-1])|t.addcmul(F, F, F, value=0.5)|F.pow(2)|F.lerp(F, 0.3)|F.fmod(0.7)
t.isin(I.long(), I.long())|F.heaviside(F)"""
STATEMENTS = """T += T|T[1:] = S|T[..., 0] = T|T[:-1].add_(S)|T.mul_(2)|T[::2] *= 3|T[B] = 1|T[P] = T|T[P] += 1|T.zero_()|T.copy_(T)
T.clamp_(-1, 1)|T[1] = T|T.scatter_(-1, P, 2)|T.index_add_(0, P, T)|T.masked_fill_(B, 0)|T.fill_(T.shape[0])
T.view(-1)[1:3] = S|T.T[0] = 4|T.sub_(T.shape[-1])|T.index_fill_(0, P, 1)|T[P % T.shape[0]] = S|F.sigmoid_()
found.append(T.sum().item())|found.append(T.tolist())"""
KINDS: dict[str, Any] = {
    "F": lambda v: v.is_floating_point() and v.ndim,
    "I": lambda v: v.dtype in (reference.int64, reference.int32) and v.ndim,
    "B": lambda v: v.dtype is reference.bool,
    "P": lambda v: v.dtype is reference.int64 and v.ndim == 1,
    "T": lambda v: True,
}


class Generated:
    """A program: its text, and a function (t, found, *inputs) of the same that returns all that it has made."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.env: dict[str, Any] = {k: reference.from_numpy(a) for k, a in numbers(seed, 7, 5).items()}
        self.lines: list[str] = []
        wanted = self.choose.choice([3, 5, 8, 12])
        expressions, statements = (re.split(r"(?<! )\|(?! )|\n", text) for text in (EXPRESSIONS, STATEMENTS))
        for _ in range(300):
            if len(self.lines) < wanted:
                is_statement = self.choose.random() < 0.2
                self._try(self.choose.choice(statements if is_statement else expressions), is_statement)
        self.made = [k for k in self.env if k not in INPUTS]
        self.text = f"def program(t, found, {', '.join(INPUTS)}):\n" + "".join([f"    {line}\n" for line in self.lines])
        self.text += f"    return [{', '.join(self.made)}]\n"
        scope: dict[str, Any] = {}
        exec(self.text, scope)
        self.run = scope["program"]

    def _word(self, match: Any) -> str:
        kind = match[0]
        if kind in KINDS:
            names = [k for k, v in self.env.items() if KINDS[kind](v)]
            return self.choose.choice(names[-5:] if self.choose.random() < 0.5 else names)
        return self.choose.choice(["2", "0.5", "-1", "3", "-0.25", "0.0"] if kind == "S" else ["0", "-1"])

    def _try(self, pattern: str, is_statement: bool) -> None:
        line = re.sub(r"(?<![.\w])[FIBPTSD]\b", self._word, pattern)
        if " = " in line or "_(" in line:  # what is read where it is written depends on the order
            memory = [v.untyped_storage().data_ptr() for k, v in self.env.items() if re.search(rf"\b{k}\b", line)]
            if len({*memory}) < len(memory):
                return
        name = f"v{len(self.lines)}"
        line = line if is_statement else f"{name} = {line}"
        scope = {**self.env, "t": reference, "found": []}
        try:
            exec(line, scope)
        except Exception:  # such operands do not fit
            return
        if is_statement or isinstance(scope[name], reference.Tensor):
            self.env = {k: v for k, v in scope.items() if isinstance(v, reference.Tensor)}
            self.lines.append(line)


def outcome(t: Any, program: Generated, arrays: dict[str, Any], kept: int, layout: int) -> Any:
    """The values, types and strides of what is kept of a run (bits), of the inputs afterwards, and what it read; or that it failed.
    And the tensors."""
    inputs, found = [], []
    for name in INPUTS:
        a = arrays[name]
        if layout == 1 and a.ndim == 2:
            inputs.append(t.tensor(np.ascontiguousarray(a.T)).T)
        elif layout == 2:
            inputs.append(t.tensor(np.repeat(a, 2, -1))[..., ::2])
        else:
            inputs.append(t.from_numpy(a.copy()) if layout == 3 and name in "xi" else t.tensor(a))
    try:
        with t.no_grad():
            made = program.run(t, found, *inputs)
            made = [v for n, v in enumerate(made) if kept >> n & 1] + inputs
            return (
                [(v.numpy().copy(), tuple(v.shape), v.stride() if v.numel() and not layout else None) for v in made],
                found,
                made,
            )
    except (RuntimeError, IndexError, ValueError, TypeError):
        with contextlib.suppress(IndexError):
            recording.flush_all()
        deferred_errors.forget()  # of what this run has recorded
        return None


def equal(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    with np.errstate(all="ignore"):
        return np.allclose(a, b, 3e-4, 3e-4, equal_nan=True) if a.dtype.kind == "f" else bool((a == b).all())


def differences(seed: int, programs: int = 2, shapes: int = 5) -> str:
    """The first program of this seed that differs from PyTorch in some run, with the two outcomes; '' where none does."""
    choose = random.Random(seed)
    made = [Generated(1000 * seed + n) for n in range(programs)]
    every = [(1 << len(p.made)) - 1 for p in made]
    usual = [choose.choice([all_, choose.randint(0, all_)]) for all_ in every]
    plan = [(n, shape) for n in range(programs) for shape in choose.sample(SHAPES, shapes) for _ in range(RUNS)]
    if choose.random() < 0.6:
        choose.shuffle(plan)
    held: list[tuple[Any, Any]] = []
    for at, (n, shape) in enumerate(plan):
        kept, layout = (every[n], choose.randint(1, 3)) if choose.random() < 0.1 else (usual[n], 0)
        arrays = numbers(seed * 100_000 + at, *shape)
        expected, found = (outcome(t, made[n], arrays, kept, layout) for t in (reference, torch))
        if (expected is None) != (found is None):
            return f"{made[n].text}\nrun {at}, {shape}: {expected}\n{found}"
        if expected is None:
            continue
        for (a, *of_a), (b, *of_b) in zip(expected[0], found[0], strict=True):
            if not equal(a, b) or of_a != of_b:
                return f"{made[n].text}\nrun {at}, {shape}: {of_a}\n{a}\nbut {of_b}\n{b}"
        if not all(map(equal, map(np.float64, map(np.sum, expected[1])), map(np.float64, map(np.sum, found[1])))):
            return f"{made[n].text}\nrun {at}, {shape} read {expected[1]}, but {found[1]}"
        held.append((found[2], [b for b, *_ in found[0]]))
        for tensors, before in held[:-20]:
            if not all(
                np.array_equal(t.numpy(), b, equal_nan=b.dtype.kind == "f")
                for t, b in zip(tensors, before, strict=True)
            ):
                return f"{made[n].text}\nrun {at} has changed what an earlier run gave"
        held = held[-20:]
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    start, count = map(int, sys.argv[1:])
    for seed in range(start, start + count):
        print(seed, differences(seed), flush=True)
