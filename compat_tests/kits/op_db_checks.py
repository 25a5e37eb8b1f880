"""What is checked of an entry of `op_db`: each check returns one line for every way in which a sample differs.

A check is a generator: it calls PyTorch and jaxtorch, yields, and then reads what jaxtorch computed. So the calls of many
samples are recorded before the first result is read, and run as one program: compiling it takes a third of the time.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator
from typing import Any

import torch

from op_db_compare import (
    INVARIANTS,
    UNDEFINED,
    Call,
    compare,
    compare_errors,
    outcome,
    read,
    settled,
    synchronise,
    theirs,
    widened,
)
from op_db_kit import DTYPES, SOURCES, converted, samples, seed, tensors, twin
from parity import MISSING_KERNEL, candidate

HEAP_DAMAGE = frozenset(("linalg.lu", "lu", "lu_unpack"))
"""Operations of PyTorch 2.13 that write outside of a permuted `out=` tensor, and bring the process down."""
OTHERS = ("uint8", "int8", "int16", "complex128")
WIDER = ("float32", "int64", "bool", "complex64", "bfloat16", "uint8")
DIFFERENTIATED = ("float32", "float64", "complex64", "bfloat16", "float16")
BATCH = 50
"""At most so many samples run as one program."""
SLOW = 0.2
"""Seconds for a sample: where they take longer, fewer run together, since compiling large programs takes more than their share."""
Check = Generator[None, None, str]


def refused(call: Call) -> Check:
    """The exception for an element type that the operation has not. To say that it is not implemented is always right: PyTorch
    takes some samples, without elements for instance, and raises other errors on its way."""
    found = yield from forward(call)
    ours = found.rpartition(" | got ")[2]
    return "" if ours.startswith(("raises NotImpl", "NotImpl")) and MISSING_KERNEL.search(ours) else found


def reference(call: Call) -> Check:
    """As `forward`; of complex functions at infinity and NaN, which part of the result is NaN is no matter."""
    if not any(t.is_complex() and not bool(torch.isfinite(t).all()) for t in tensors(call.theirs)):
        return (yield from forward(call))
    x, args, kwargs = call.theirs
    expected = outcome(lambda: call.entry.op(x, *args, **kwargs))
    ours, more, named = call.ours
    actual = outcome(lambda: twin(call.entry.op, call.entry.name)(ours, *more, **named))
    yield
    actual = settled(actual)
    if isinstance(expected, torch.Tensor) and not isinstance(actual, Exception):
        actual = theirs(actual)
        if actual.shape == expected.shape and actual.dtype == expected.dtype:
            either = ~(torch.isfinite(expected) & torch.isfinite(actual))
            expected, actual = (t.resolve_conj().masked_fill(either, 0) for t in (expected, actual))
    return compare(expected, actual, call)


def forward(call: Call) -> Check:
    """Values, shape and element type of the function."""
    op = call.entry.op

    def run(f: Any, arguments: Any) -> Any:
        x, args, kwargs = arguments
        return f(x, *args, **kwargs)

    arguments = call.ours  # before PyTorch's run: some operations write their arguments
    expected = outcome(lambda: run(op, call.theirs))
    actual = outcome(lambda: run(twin(op, call.entry.name), arguments))
    yield
    actual = settled(actual)
    high = lambda: call.seen(run(op, widened(call.theirs, call.dtype)))  # noqa: E731
    return compare(call.seen(expected), call.seen(actual), call, high, call.entry.name not in UNDEFINED)


class Cotangents:
    """What gradients are taken for: drawn on PyTorch's side, and the same on ours."""

    def __init__(self, twice: bool) -> None:
        self.twice = twice
        self.first: dict[int, torch.Tensor] = {}
        self.second: dict[int, torch.Tensor] = {}

    @staticmethod
    def pick(drawn: dict[int, torch.Tensor], found: list[Any], salt: int) -> tuple[list[Any], list[Any]]:
        """The tensors among `found` to differentiate, and their cotangents."""
        ours = bool(found) and not isinstance(found[0], torch.Tensor)
        if not drawn and not ours:
            drawn.update({i: _random_like(t, salt + i) for i, t in enumerate(found) if t.requires_grad})
        chosen = [i for i in drawn if i < len(found) and found[i].requires_grad]
        given = [drawn[i] if ours else drawn[i].to(found[i].dtype) for i in chosen]
        return [found[i] for i in chosen], converted(given) if ours else given


def _derivatives(module: Any, op: Any, post: Any, arguments: Any, cotangents: Cotangents) -> Any:
    x, args, kwargs = arguments
    outputs, given = Cotangents.pick(cotangents.first, list(tensors(post(op(x, *args, **kwargs)))), 0)
    inputs = [t for t in tensors((x, args, kwargs)) if t.requires_grad and t.is_leaf]
    unique = list({id(t): t for t in inputs}.values())
    if not outputs or not unique:
        return "nothing requires grad"

    def filled(grads: Any) -> list[Any]:
        """Zero and None both mean "does not depend"."""
        return [module.zeros_like(i) if g is None else g for i, g in zip(unique, grads, strict=True)]

    first = filled(module.autograd.grad(outputs, unique, given, create_graph=cotangents.twice, allow_unused=True))
    seen = [g.detach() for g in first]
    if not cotangents.twice:
        return seen
    again, given = Cotangents.pick(cotangents.second, first, 100)
    none = [None] * len(unique)
    twice = module.autograd.grad(again, unique, given, allow_unused=True) if again else none
    return seen + [g.detach() for g in filled(twice)]


def _random_like(tensor: torch.Tensor, n: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n + 1)
    return torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator)


def _differentiate(call: Call, twice: bool) -> Check:
    entry = call.entry
    post, wrapper = call.sample.output_process_fn_grad, entry.gradcheck_wrapper
    cotangents = Cotangents(twice)

    def on_torch(arguments: Any) -> Any:
        return _derivatives(torch, lambda *a, **k: wrapper(entry.op, *a, **k), post, arguments, cotangents)

    def on_ours() -> Any:
        op, after = twin(entry.op, entry.name), twin(post)
        wrap = _masking(call) if "masked" in wrapper.__name__ else twin(wrapper)
        return _derivatives(candidate(), lambda *a, **k: wrap(op, *a, **k), after, call.ours, cotangents)

    expected = outcome(lambda: on_torch(call.theirs))
    if isinstance(expected, Exception):
        return ""  # the database's sample is no differentiable call
    actual = outcome(on_ours)
    yield
    return compare(
        expected,
        settled(actual),
        call,
        lambda: on_torch(widened(call.theirs, call.dtype)),
        entry.name not in UNDEFINED,
    )


def _masking(call: Call) -> Callable[..., Any]:
    """The database's wrapper that sets masked-out results to zero, with the mask as PyTorch computes it."""
    x, args, kwargs = call.theirs
    if kwargs.get("mask") is not None:
        mask = torch.masked._output_mask(call.entry.op, x, *args, **kwargs)
    elif kwargs.get("input_mask") is not None and kwargs.get("other_mask") is not None:
        both = kwargs["input_mask"] & kwargs["other_mask"]
        mask = torch.masked._input_mask(x, *args, mask=both, **kwargs)
    else:
        return lambda op, *a, **k: op(*a, **k)

    def wrap(op: Any, *a: Any, **k: Any) -> Any:
        result = op(*a, **k)
        return candidate().where(converted(mask), result, result.new_zeros([]))

    return wrap


def gradient(call: Call) -> Check:
    """Gradients of all inputs for random cotangents."""
    return _differentiate(call, False)


def second(call: Call) -> Check:
    """Gradients of gradients."""
    return _differentiate(call, True)


def method(call: Call) -> Check:
    """The method of `Tensor`."""
    return _form(call, call.entry.get_method(), with_keywords=True)


def operators(call: Call) -> Check:
    """The Python operator."""
    return _form(call, call.entry.operator_variant, with_keywords=False)


def _form(call: Call, form: Any, with_keywords: bool) -> Check:
    def run(f: Any, arguments: Any) -> Any:
        x, args, kwargs = arguments
        return f(x, *args, **(kwargs if with_keywords else {}))

    if not isinstance(call.sample.input, torch.Tensor) or (call.sample.kwargs and not with_keywords):
        return ""
    expected = call.seen(outcome(lambda: run(form, call.theirs)))
    actual = outcome(lambda: run(twin(form), call.ours))
    yield
    actual = call.seen(settled(actual))
    high = lambda: call.seen(run(form, widened(call.theirs, call.dtype)))  # noqa: E731
    return compare(expected, actual, call, high, call.entry.name not in UNDEFINED)


def inplace(call: Call) -> Check:
    """The in-place method on a view: it answers the view itself, and the base is written."""
    return _written(call, call.entry.get_inplace(), True)


def inplace_operator(call: Call) -> Check:
    """The augmented operator, likewise."""
    return _written(call, call.entry.inplace_operator_variant, False)


def _written(call: Call, form: Any, with_keywords: bool) -> Check:
    x, args, kwargs = call.theirs
    if not isinstance(x, torch.Tensor) or (kwargs and not with_keywords):
        return ""

    def run(module: Any, f: Any, arguments: Any) -> Any:
        x, args, kwargs = arguments
        with module.no_grad():
            base = module.stack([x.detach(), x.detach()])
            target = base[0]
            result = f(target, *args, **(kwargs if with_keywords else {}))
        return result is target, target, base

    expected = outcome(lambda: run(torch, form, (x, args, kwargs)))
    actual = outcome(lambda: run(candidate(), twin(form), call.ours))
    yield
    actual = settled(actual)
    values = call.entry.name not in UNDEFINED
    return compare(expected, actual, call, lambda: run(torch, form, widened((x, args, kwargs), call.dtype)), values)


def out(call: Call, thorough: bool = True) -> Check:
    """`out=`: the right shape; then resizing, another element type, and another layout of the tensor given."""
    x, args, kwargs = call.theirs
    plain = outcome(lambda: call.entry.op(x, *args, **kwargs))
    if isinstance(plain, Exception) or not isinstance(plain, torch.Tensor | tuple | list) or not list(tensors(plain)):
        return ""
    shapes = [(tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in tensors(plain)]

    def given(module: Any, how: str) -> Any:
        made = []
        for shape, dtype in shapes:
            if how == "empty":
                made.append(module.empty(0, dtype=getattr(module, dtype)))
            elif how == "other type":
                made.append(
                    module.ones(
                        shape,
                        dtype=module.float64 if dtype not in ("float64", "complex64", "complex128") else module.int64,
                    )
                )
            elif how == "other layout" and len(shape) > 1:
                made.append(
                    module.ones(shape[::-1], dtype=getattr(module, dtype)).permute(*reversed(range(len(shape))))
                )
            else:
                made.append(module.ones(shape, dtype=getattr(module, dtype)))
        return made[0] if isinstance(plain, torch.Tensor) else tuple(made)

    def run(module: Any, op: Any, arguments: Any, how: str) -> Any:
        x, args, kwargs = arguments
        with module.no_grad():
            to = given(module, how)
            result = op(x, *args, **kwargs, out=to)
        same = result is to if isinstance(plain, torch.Tensor) else [r is t for r, t in zip(result, to, strict=True)]
        return same, to, [list(t.stride()) if how != "empty" else None for t in tensors(to)]

    op = call.entry.op
    outcomes = []
    for how in ("right", "empty", "other type", "other layout") if thorough else ("right",):
        if how == "other layout" and call.entry.name in HEAP_DAMAGE:
            continue
        expected = outcome(lambda how=how: run(torch, op, call.theirs, how))
        if how == "right" and isinstance(expected, TypeError):
            return ""  # no such overload
        if not isinstance(expected, Exception) and not _holds(expected[1], plain):
            continue  # PyTorch writes something else than its result
        actual = outcome(lambda how=how: run(candidate(), twin(op, call.entry.name), call.ours, how))
        outcomes.append((how, expected, actual))
    yield
    for how, expected, actual in outcomes:
        actual = settled(actual)
        high = lambda how=how: run(torch, op, widened(call.theirs, call.dtype), how)  # noqa: E731
        if call.entry.name in INVARIANTS and not isinstance(expected, Exception) and not isinstance(actual, Exception):
            expected, actual, high = call.seen(expected[1]), call.seen(actual[1]), None
        if found := compare(expected, actual, call, high, call.entry.name not in UNDEFINED):
            return f"{how}: {found}"
    return ""


def _holds(written: Any, plain: Any) -> bool:
    """Do the `out=` tensors of PyTorch hold its result?"""
    pairs = zip(tensors(written), tensors(plain), strict=True)
    try:
        for w, p in pairs:
            torch.testing.assert_close(
                w, p, rtol=1e-3, atol=1e-3, equal_nan=True, check_dtype=False, check_stride=False
            )
    except AssertionError:
        return False
    return True


def error(entry: Any, bad: Any) -> str:
    """A bad call raises the same exception type."""
    sample = bad.sample_input
    expected = outcome(lambda: entry.op(sample.input, *sample.args, **sample.kwargs))
    call = Call(entry, sample, "float32")

    def ours() -> Any:
        x, args, kwargs = call.ours
        return read(twin(entry.op, entry.name)(x, *args, **kwargs))

    actual = outcome(ours)
    if not isinstance(expected, Exception):
        return ""  # PyTorch's own build accepts it
    if isinstance(actual, Exception):
        return compare_errors(expected, actual)
    return f"no error: {type(expected).__name__}: {str(expected)[:200]}"


# -- one entry ---


def plan(entry: Any) -> list[tuple[str, str]]:
    """The checks of an entry: (name, element type)."""
    supported = [d for d in DTYPES if getattr(torch, d) in entry.supported_dtypes("cpu")]
    backward = entry.supported_backward_dtypes("cpu") if entry.supports_autograd else set()
    found = [("forward", d) for d in supported]
    found += [("gradient", d) for d in DIFFERENTIATED if d in supported and getattr(torch, d) in backward]
    main = next((d for d in ("float32", "int64", *supported) if d in supported), None)
    if main is None:
        return []
    if entry.supports_gradgrad and torch.float64 in backward:
        found.append(("second", "float64"))
    if entry.get_method() is not None:
        found.append(("method", main))
    if entry.get_inplace() is not None:
        found.append(("inplace", main))
    if entry.operator_variant is not None:
        found.append(("operators", main))
    if entry.inplace_operator_variant is not None:
        found.append(("inplace_operator", main))
    if entry.supports_out:
        found.append(("out", main))
    if entry.error_inputs_func is not None:
        found.append(("errors", "any"))
    return found


def wider_plan(entry: Any) -> list[tuple[str, str]]:
    """Further checks of an entry: its other element types, those it refuses, extreme values, and unusual memory."""
    supported = entry.supported_dtypes("cpu")
    found = [("forward", d) for d in OTHERS if getattr(torch, d) in supported]
    found += [("refused", d) for d in (*DTYPES, *OTHERS) if getattr(torch, d) not in supported]
    found += [(c, d) for d in WIDER for c in ("reference", "noncontiguous") if getattr(torch, d) in supported]
    return found + [("conjugate", "complex64")] * (torch.complex64 in supported)


CHECKS: dict[str, Callable[..., Check]] = {
    "forward": forward, "gradient": gradient, "second": second, "method": method, "inplace": inplace,
    "operators": operators, "inplace_operator": inplace_operator, "out": out, "refused": refused,
    "reference": reference, "noncontiguous": forward, "conjugate": forward,
}  # fmt: skip


def run_check(
    entry: Any, check: str, dtype: str, limit: int = 0, after_batch: Callable[[int], None] = lambda n: None
) -> tuple[int, list[str]]:
    """How many samples were tried, and a line for each that differs."""
    if check == "errors":
        seed()
        bad = list(entry.error_inputs("cpu"))
        lines = [(i, error(entry, b)) for i, b in enumerate(bad)]
        return len(bad), [f"{i}: {line}" for i, line in lines if line]
    found = []
    try:
        tried = samples(entry, dtype, check in ("gradient", "second"), limit, check if check in SOURCES else "samples")
    except Exception:
        if check != "refused":
            raise
        return 0, []  # no samples of a type that the operation has not
    make = CHECKS[check]
    start, size = 0, 5
    while start < len(tried):
        begun = time.process_time()
        batch = tried[start : start + size]
        calls = [Call(entry, sample, dtype) for sample in batch]
        extra = [(start + i < 3,) if check == "out" else () for i in range(len(batch))]
        lines = _together([functools.partial(make, call, *more) for call, more in zip(calls, extra, strict=True)])
        found += [f"{start + i}: {line}" for i, line in enumerate(lines) if line]
        after_batch(len(batch))
        slow = time.process_time() - begun > SLOW * len(batch)
        start, size = start + len(batch), max(1, size // 4) if slow else min(BATCH, size * 2)
    return len(tried), found


def _together(checks: list[Callable[[], Check]]) -> list[str]:
    """What some checks find, whose calls run as one program; where that fails as a whole, each is made alone."""
    begun = [check() for check in checks]
    lines = [_continued(check) for check in begun]
    if isinstance(outcome(synchronise), Exception):
        return [_alone(check()) for check in checks]
    return [line if line is not None else _continued(check) or "" for line, check in zip(lines, begun, strict=True)]


def _alone(check: Check) -> str:
    line = _continued(check)
    return _continued(check) or "" if line is None else line


def _continued(check: Check) -> str | None:
    """Goes on with a check: what it found, or None where it waits for results."""
    try:
        return next(check)
    except StopIteration as end:
        return end.value
