"""`torch.utils.flop_counter`: the arithmetic of products and convolutions, counted as they are recorded.

What is counted is what PyTorch counts: matrix products and convolutions, a multiplication and an addition as two, forward and
backward, by operation and by module. So what PyTorch does in one kernel on the CPU (LSTM layers, attention without dropout) counts
nothing there.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core as jex_core

from .._core.compile.context import x64
from .._core.compile.kernel import Kernel
from .._core.compile.tracing import EXPANDED, expanded
from .._core.record.kernel_hook import intercepting_kernels
from .._core.types.grad_mode import watch
from .._core.types.value import Value
from .._library import operators
from .._ops.nn.attention import _attention
from .._ops.nn.recurrent import _lstm_layer
from ..nn.modules._module.hooks import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["FlopCounterMode"]

_IN_ONE_KERNEL = ("ScaledDotProductFlashAttentionForCpuBackward0", "MkldnnRnnLayerBackward0")
_UNCOUNTED = frozenset(("addbmm", "bilinear"))
_NAMED = {name: name for name in ("mm", "bmm", "addmm", "baddbmm")} | {
    "einsum": "bmm", "linear": "addmm", "_gru_layer": "addmm", "_rnn_layer": "addmm", "_lstm_layer": "addmm",
}  # fmt: skip
"""What PyTorch computes the products of an operation by, where that is not told by their dimensions."""


class FlopCounterMode:
    """Context that counts the floating-point operations of matrix products and convolutions in it.

    depth:   how deep the modules are nested that the table shows. display: print the table when the context is left.
    Calls of compiled functions run as without `torch.compile`. What backward computes again, and the gradient of a
    recurrent layer's first state, count here and not in PyTorch; in a convolution's gradient the smaller picture counts, also where
    padding makes the result the larger one. NotImplementedError for `custom_mapping`: operations of
    `torch.library` are counted by the operations that they are made of. The table needs no package tabulate.
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if custom_mapping:
            raise NotImplementedError("torch.utils.flop_counter.FlopCounterMode: jaxtorch has no custom_mapping")
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._open: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._calls: list[tuple[Any, str]] = []
        self._used: dict[int, list[_Product]] = {}
        context = intercepting_kernels(self._asked)
        context.__enter__()
        left = register_module_forward_hook(self._left, always_call=True)
        self._open.append((context, register_module_forward_pre_hook(self._entered), left))
        watch.append("flops")
        return self

    def __exit__(self, *exc: Any) -> None:
        context, *hooks = self._open.pop()
        context.__exit__(*exc)
        for hook in hooks:
            hook.remove()
        watch.remove("flops")
        self._used.clear()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """How many operations were counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module ('Global': all of it) and operation of `torch.ops.aten`."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts of modules nested at most `depth` deep, and of their operations, with their parts of the total."""
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        names = sorted([n for n in self.flop_counts if n != "Global" and n.count(".") + 1 <= depth])
        rows = []
        for name in ["Global", *names]:
            counts = self.flop_counts.get(name, {})
            level = 0 if name == "Global" else name.count(".") + 1
            rows.append((" " * level + name, sum(counts.values())))
            rows.extend([(" " * (level + 1) + f"- {op}", n) for op, n in counts.items()])
        return _table([(name, _with_suffix(n, total), f"{n / total:.2%}" if total else "0%") for name, n in rows])

    # -- while the context is open

    def _entered(self, module: Any, args: Any) -> None:
        names = {id(m): f"{parent}.{name}" for m, parent, name in self._children()}
        self._calls.append((module, names.get(id(module), type(module).__name__)))

    def _children(self) -> list[tuple[Any, str, str]]:
        """The modules inside those that are being called, with the innermost of these, and their names in it."""
        return [(m, parent, name) for outer, parent in self._calls for name, m in outer.named_modules() if name]

    def _left(self, module: Any, args: Any, result: Any) -> None:
        while self._calls and self._calls.pop()[0] is not module:
            pass

    def _asked(self, kernel: Kernel, values: list[Value], run: Callable[[], list[Value]]) -> list[Value]:
        outs = run()
        found = _flops(kernel)
        if found:
            is_backward = kernel.name.endswith(("Backward0", "_bwd"))
            where = self._forward_of(values) if is_backward else ["Global", *[name for _, name in self._calls]]
            for name in dict.fromkeys(where):
                for op, n in found.items():
                    self.flop_counts[name][_packet(op)] += n
            if not is_backward:
                made = _Product([*values, *outs], where)
                for v in made.values:
                    self._used.setdefault(id(v), []).append(made)
        return outs

    def _forward_of(self, values: list[Value]) -> list[str]:
        """The modules in which the product was computed whose derivative takes these values."""
        shared: dict[_Product, int] = defaultdict(int)
        for v in values:
            for made in self._used.get(id(v), ()):
                shared[made] += 1
        return max(shared, key=lambda made: shared[made]).where if shared else ["Global"]


class _Product:
    """A product or convolution of the forward pass: its operands and results, and the modules that were being called."""

    def __init__(self, values: list[Value], where: list[str]) -> None:
        self.values = values  # kept, so that no other takes their ids
        self.where = where


def _packet(name: str) -> Any:
    try:
        return getattr(operators.namespace("aten"), name)
    except AttributeError:
        return operators.stand_in(name)


# -- counting


@functools.lru_cache(maxsize=4096)
def _flops(kernel: Kernel) -> dict[str, int]:
    """What PyTorch would count for a kernel, by the operation's name."""
    name = kernel.name.removesuffix("_fwd")
    if name in _UNCOUNTED or name.startswith("linalg_") or _gradient_name(kernel, name) in _IN_ONE_KERNEL:
        return {}
    if name == "linear" and kernel.n_in == 2:
        name = "mm"
    with x64():
        jaxpr = jax.make_jaxpr(kernel.fn)(*[a.struct for a in kernel.in_avals]).jaxpr
    found: dict[str, int] = defaultdict(int)
    _count(jaxpr, 1, found, name)
    return {op: n for op, n in found.items() if n}


def _gradient_name(kernel: Kernel, name: str) -> str:
    """The name of the derivative of attention and LSTM layers, by which PyTorch's ways to compute them differ."""
    if name not in ("_attention", "_lstm_layer"):
        return name
    entries = (_attention if name == "_attention" else _lstm_layer).op.entries.values()
    return next(
        (e.grad_name for e in entries if kernel is e.kernel or any(kernel is f.kernel for f in e.forms.values())), ""
    )


def _count(jaxpr: Any, times: int, found: dict[str, int], kernel: str) -> None:
    for eqn in jaxpr.eqns:
        name, params = eqn.primitive.name, eqn.params
        if name == "dot_general":
            _count_product(eqn, times, found, kernel)
        elif name == "conv_general_dilated":
            backward = kernel.endswith(("Backward0", "_bwd"))
            op = "convolution_backward" if backward else "convolution"
            found[op] += times * _of_convolution(eqn, backward, "transpose" in kernel)
        elif name in EXPANDED:
            _count(expanded(name, [v.aval for v in eqn.invars], params).jaxpr, times, found, kernel)
        else:
            repeated = times * params["length"] if name == "scan" else times
            for inner in jex_core.jaxprs_in_params(params):
                _count(inner, repeated, found, kernel)


def _count_product(eqn: Any, times: int, found: dict[str, int], kernel: str) -> None:
    (left, right), (batch, _) = eqn.params["dimension_numbers"]
    a, b = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape
    inner = math.prod([a[d] for d in left])
    if not batch and (len(a) == len(left) or len(b) == len(right)):
        return  # with a vector: PyTorch counts no mv and no dot
    op = _NAMED.get(kernel, "bmm" if batch else "mm")
    found[op] += times * 2 * inner * math.prod(eqn.outvars[0].aval.shape)


def _of_convolution(eqn: Any, backward: bool, transposed: bool) -> int:
    """The operations of a convolution as PyTorch counts them, without the zeros that strides and borders put between and around
    the elements: places of the smaller picture times places of the kernel, whichever of the three is the gradient."""
    numbers = eqn.params["dimension_numbers"]
    given, weight, out = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape, eqn.outvars[0].aval.shape
    specs = ((given, numbers.lhs_spec), (weight, numbers.rhs_spec), (out, numbers.out_spec))
    read, kernel, places = [math.prod([shape[d] for d in spec[2:]]) for shape, spec in specs]
    if backward:
        first, second, _ = sorted((read, kernel, places))
    else:
        first, second = kernel, read if transposed else places
    channels = weight[numbers.rhs_spec[1]] * out[numbers.out_spec[0]] * out[numbers.out_spec[1]]
    groups = eqn.params["batch_group_count"]  # of a weight's gradient, for which PyTorch counts all pairs of channels
    return 2 * channels * first * second * groups


# -- the table


def _with_suffix(n: int, total: int) -> str:
    """The number in the unit that the total has."""
    index = max(0, min(4, (len(str(total)) - 2) // 3))
    return f"{n / 1000**index:.3f}{('', 'K', 'M', 'B', 'T')[index]}"


def _table(rows: list[tuple[str, str, str]]) -> str:
    """Three columns under their titles, the first to the left."""
    titles = ("Module", "FLOP", "% Total")
    widths = [max(len(r[k]) for r in (titles, *rows)) for k in range(3)]

    def line(row: tuple[str, str, str]) -> str:
        return "  ".join([row[0].ljust(widths[0]), *[row[k].rjust(widths[k]) for k in (1, 2)]])

    return "\n".join([line(titles), "  ".join(["-" * w for w in widths]), *map(line, rows)])
