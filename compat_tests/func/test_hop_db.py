"""PyTorch's database of operations that take functions, `hop_db`, as far as these are here; and `scan` and its kin beyond it.

PyTorch compiles the functions; here they run as they are.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest
import torch as reference

import op_db_kit
from database_kit import pairs
from parity import candidate, differences, outcome, parity_test

HERE = """scan-simple map-simple map-nested map-triple_nested cond-simple while_loop-simple while_loop_stack_output-simple
    auto_functionalize-simple""".split()
MISSING = """invoke_subgraph-simple invoke_quant-simple invoke_quant_packed-simple flex_attention-simple
    flex_attention_backward-simple flex_attention_backward-explicit_buffers
    local_map_hop-simple register_hook-simple inline_asm_elementwise-simple""".split()
"""What serves the compiler alone, and `flex_attention` with a block mask of the database's own making: compared elsewhere."""
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ENTRIES = pairs("torch.testing._internal.hop_db", "hop_db")


def test_entries_are_listed() -> None:
    assert sorted(HERE + MISSING) == sorted(ENTRIES)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", HERE)
def test_entry(name: str, dtype: str) -> None:
    """Values, and gradients where PyTorch's database says that there are some."""
    theirs, ours = ENTRIES[name]
    if name.startswith("while_loop") and dtype == "int64":
        pytest.skip("PyTorch refuses a body that changes the element type; here it runs")
    differentiated = theirs.supports_autograd and dtype == "float32"
    for sample in op_db_kit.samples(theirs, dtype, differentiated):
        arguments = sample.input, *sample.args
        converted = op_db_kit.converted(arguments)  # before PyTorch's run: some operations write their arguments

        def body(torch: Any, arguments: Any = arguments, converted: Any = converted) -> Any:
            own = torch is reference
            given = arguments if own else converted
            found = list((theirs if own else ours).op(*given))
            if not differentiated:
                return found
            leaves = [t for t in op_db_kit.tensors(given) if t.requires_grad]
            weights = [torch.linspace(0.5, 1.5, t.numel()).reshape(tuple(t.shape)) for t in found]
            grads = torch.autograd.grad(found, leaves, weights)
            return [t.detach() for t in found], grads

        found = differences(outcome(reference, body), outcome(candidate(), body), 4.0, strides=False)
        assert not found, found[:3]


CALLS = {
    "reverse": lambda h, t, x, c: h.scan(lambda a, b: (a + b, a * 2), c, x, reverse=True),
    "another dimension": lambda h, t, x, c: h.scan(lambda a, b: (a + b, a * 2), t.zeros(3), x, dim=1),
    "dictionaries": lambda h, t, x, c: list(h.scan(lambda a, b: (a + b["k"], {"a": a * 2}), c, {"k": x})[1].values()),
    "no steps": lambda h, t, x, c: h.scan(lambda a, b: (a + b, a * 2), c, []),
    "nothing carried": lambda h, t, x, c: h.scan(lambda a, b: (a, b * 2), (), x),
    "no slices": lambda h, t, x, c: h.scan(lambda a, b: (a + b, a * 2), c, t.ones(0, 2)),
    "no function": lambda h, t, x, c: h.scan(3, c, x),
    "running sum": lambda h, t, x, c: h.associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic"),
    "running sum back": lambda h, t, x, c: h.associative_scan(lambda a, b: a + b, x, 1, True, combine_mode="generic"),
    "recurrence": lambda h, t, x, c: h.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x + 1), 0, combine_mode="generic"
    ),
    "on the CPU": lambda h, t, x, c: h.associative_scan(lambda a, b: a + b, x, 0),
    "another mode": lambda h, t, x, c: h.associative_scan(lambda a, b: a + b, x, 0, combine_mode="x"),
    "dimension out of range": lambda h, t, x, c: h.associative_scan(lambda a, b: a + b, x, 5, combine_mode="generic"),
    "another shape": lambda h, t, x, c: h.associative_scan(lambda a, b: (a + b).sum(), x, 0, combine_mode="generic"),
    "map with arguments": lambda h, t, x, c: h.map(lambda a, b: a + b, x, c + 1),
    "map of nothing": lambda h, t, x, c: h.map(lambda a: a * 2, t.ones(0, 2)),
    "map of a number": lambda h, t, x, c: h.map(lambda a: a * 2, 3),
    "no turn": lambda h, t, x, c: h.while_loop_stack_output(
        lambda i, a: i > 0, lambda i, a: (i - 1, a * 2), (t.tensor(0), c), ()
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_beyond_the_database(case: str) -> None:
    """Values, and the exceptions for calls that PyTorch refuses."""

    def body(torch: Any) -> Any:
        module = import_module(f"{torch.__name__}._higher_order_ops")
        return CALLS[case](module, torch, torch.arange(6.0).reshape(3, 2), torch.zeros(2))

    assert not differences(outcome(reference, body), outcome(candidate(), body), strides=False)


@parity_test
def test_a_running_sum_of_any_length(torch: Any) -> Any:
    scan = import_module(f"{torch.__name__}._higher_order_ops.associative_scan").associative_scan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = [torch.linspace(0.5, 1.5, n) for n in (1, 2, 7)]
        return [scan(lambda a, b: a * b, row, 0, combine_mode="generic") for row in x]
