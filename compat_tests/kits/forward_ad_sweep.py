"""Forward-mode derivatives of the entries of `op_db` that have them: tangents, in place too, and forward over reverse.

    python compat_tests/kits/forward_ad_sweep.py [--limit N] [--from I] [--until I] [names ...]

prints one line for each entry and check that differs from PyTorch, and counts at the end. `test_forward_ad.py` runs a sample.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import torch

import op_db_kit
from op_db_checks import _masking, _random_like
from op_db_compare import UNDEFINED, Call, compare, outcome, read
from op_db_kit import Absent, converted, samples, tensors, twin
from parity import candidate

_TRIANGLE = "PyTorch's tangent depends on the triangle that the result does not depend on"
_CANCELS = "PyTorch subtracts the largest of all elements, and its tangent loses digits or is NaN"
_STATISTICS = "the saved statistics have tangents too, in PyTorch none"
_OWN_MEMORY = "a dual tensor has its own memory, that of the view and no more"
EXCLUDED = {  # by name, or by name and kind of check
    "triangular_solve": _TRIANGLE, "cholesky_inverse": _TRIANGLE, "native_batch_norm": _STATISTICS,
    "_native_batch_norm_legit": _STATISTICS, "logcumsumexp": _CANCELS,
    "as_strided_scatter over_reverse": "PyTorch's gradient is that of the places that were replaced, and not of the others",
    "as_strided/partial_views": _OWN_MEMORY,
}  # fmt: skip
CHECKS = ("tangent/float64", "tangent/complex128", "inplace/float64", "over_reverse/float64")


def checks_of(entry: Any) -> list[str]:
    """The checks that an entry of the database allows."""
    key = op_db_kit.key_of(entry)
    if not entry.supports_forward_ad or op_db_kit.out_of_scope(entry) or entry.name in EXCLUDED or key in EXCLUDED:
        return []
    found = [f"tangent/{d}" for d in ("float64", "complex128") if getattr(torch, d) in entry.supported_dtypes("cpu")]
    real = torch.float64 in entry.supported_dtypes("cpu")
    if real and entry.get_inplace() is not None and entry.supports_inplace_autograd:
        found.append("inplace/float64")
    if real and entry.supports_fwgrad_bwgrad:
        found.append("over_reverse/float64")
    return [check for check in found if f"{key} {check.split('/')[0]}" not in EXCLUDED]


def replaced(value: Any, known: dict[int, Any]) -> Any:
    """Arguments with some tensors replaced by others."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[replaced(v, known) for v in value])
    if type(value) in (list, tuple):
        return type(value)(replaced(v, known) for v in value)
    if type(value) is dict:
        return {k: replaced(v, known) for k, v in value.items()}
    return value


def moved(module: Any, arguments: Any, directions: list[Any]) -> tuple[Any, list[Any]]:
    """The arguments with the tensors that require a gradient made dual, and those."""
    unique = list({id(t): t for t in tensors(arguments) if t.requires_grad}.values())
    if not directions:
        directions.extend(_random_like(t.detach(), 7 + i) for i, t in enumerate(unique))
    given = directions if module is torch else converted(directions)
    duals = [module.autograd.forward_ad.make_dual(t, d) for t, d in zip(unique, given, strict=True)]
    return replaced(arguments, {id(t): d for t, d in zip(unique, duals, strict=True)}), duals


def unpacked(module: Any, result: Any) -> list[Any]:
    """Values and tangents of the floating-point tensors in a result; None and zero both mean "does not depend"."""
    found = []
    for t in tensors(result):
        if t.is_floating_point() or t.is_complex():
            primal, tangent = module.autograd.forward_ad.unpack_dual(t)
            found += [primal.detach(), module.zeros_like(primal).detach() if tangent is None else tangent.detach()]
    return found


def derive(module: Any, op: Any, post: Any, arguments: Any, directions: list[Any], kind: str) -> Any:
    with module.autograd.forward_ad.dual_level():
        (x, args, kwargs), duals = moved(module, arguments, directions)
        if not duals:
            return "nothing to move"
        if kind == "inplace":
            x = x.clone()
            return unpacked(module, [op(x, *args, **kwargs), x])
        result = post(op(x, *args, **kwargs))
        if kind == "tangent":
            return unpacked(module, result)
        outs = [t for t in tensors(result) if t.requires_grad]
        if not outs:
            return "nothing requires grad"
        ones = [module.ones_like(o) for o in outs]
        # With a graph: without one, PyTorch takes some of what it saved for constant.
        grads = module.autograd.grad(outs, duals, ones, create_graph=True, allow_unused=True)
        return unpacked(module, [module.zeros_like(d) if g is None else g for g, d in zip(grads, duals, strict=True)])


def differs(entry: Any, kind: str, dtype: str, sample: Any) -> str:
    """How the derivatives of a sample differ from PyTorch's; empty where they agree, or where PyTorch has none."""
    call = Call(entry, sample, dtype)
    wrapper, post, directions = entry.gradcheck_wrapper, sample.output_process_fn_grad, []
    form: Callable[..., Any] = entry.get_inplace() if kind == "inplace" else entry.op

    def on_torch() -> Any:
        return derive(torch, lambda *a, **k: wrapper(form, *a, **k), post, call.theirs, directions, kind)

    def on_ours() -> Any:
        op = twin(form, entry.name if kind != "inplace" else "")
        wrap = _masking(call) if "masked" in wrapper.__name__ else twin(wrapper)
        return read(derive(candidate(), lambda *a, **k: wrap(op, *a, **k), twin(post), call.ours, directions, kind))

    expected = outcome(on_torch)
    if isinstance(expected, Exception):
        return ""  # the sample is no differentiable call
    return compare(expected, outcome(on_ours), call, None, entry.name not in UNDEFINED)


def run(key: str, limit: int) -> dict[str, tuple[int, list[str]]]:
    """For each check of an entry, how many samples were tried, and a line for each that differs."""
    entry = op_db_kit.entries()[key]
    found = {}
    for check in checks_of(entry):
        kind, dtype = check.split("/")
        tried = samples(entry, dtype, True, limit)
        lines = [(i, differs(entry, kind, dtype, s)) for i, s in enumerate(tried)]
        found[check] = len(tried), [f"{i}: {line}" for i, line in lines if line]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=2)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--until", type=int, default=None)
    options = parser.parse_args()
    keys = options.names or [k for k, e in op_db_kit.entries().items() if checks_of(e)][options.first : options.until]
    passed = failed = 0
    for key in keys:
        try:
            results = run(key, options.limit)
        except Absent as error:
            results = {"names": (1, [str(error)])}
        for check, (_, lines) in results.items():
            passed, failed = passed + (not lines), failed + bool(lines)
            if lines:
                print(f"{key} {check}: {lines[0][:300]}", flush=True)
    print(f"{passed} checks pass, {failed} do not, of {len(keys)} entries")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
