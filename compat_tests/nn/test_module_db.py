"""PyTorch's own table of modules, `module_db`, on both sides: every constructor and input it lists, in training and evaluation.

Checks of a module:
- state: initial values from the same seed, `repr`, `state_dict`, deepcopy, pickle, and state loaded from the other side;
- forward: what it returns, and the gradients of inputs and parameters;
- second: gradients of gradients, in float64;
- errors: the inputs that PyTorch lists as wrong raise the same exception.
"""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch as reference
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import jaxtorch as candidate
from module_db_exclusions import EXCLUSIONS
from parity import Raised, attempt, differences, observe, outcome, to_array

INFOS = {info.name: info for info in module_db}
OPTIONS = ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy", "acc_dtype")
PRECISE = ("nn.CTCLoss",)
"""Compared in float64: in float32 PyTorch's gradients are off by 9e-5, jaxtorch's by 5e-6."""
FEW = 4
"""So many inputs of a module are tried unless `--whole` is given, spread over its list."""
MOST = {"second": 12, "state": 12}
"""So many are tried at most: second derivatives take long to trace, and the state depends on the constructor alone."""


def checks_of(info: Any) -> list[str]:
    found = ["state", "forward"]
    if info.supports_gradgrad:
        found.append("second")
    if info.module_error_inputs_func is not None:
        found.append("errors")
    return found


def cases() -> list[Any]:
    rows = []
    for name, info in INFOS.items():
        for check in checks_of(info):
            reason = EXCLUSIONS.get((name, check))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            rows.append(pytest.param(name, check, id=f"{name.removeprefix('nn.')}-{check}", marks=marks))
    return rows


# -- PyTorch's inputs, on either side ---


class Converter:
    """PyTorch's arguments as the other side's. One tensor given twice stays one."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.made: dict[int, Any] = {}
        self.leaves: list[Any] = []
        """The tensors made that require gradients."""

    def __call__(self, x: Any) -> Any:
        if isinstance(x, reference.Tensor):
            if id(x) not in self.made:
                self.made[id(x)] = (x, self._tensor(x))
            return self.made[id(x)][1]
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(self, x))
        if isinstance(x, tuple | list):
            return type(x)(map(self, x))
        if isinstance(x, dict):
            return {k: self(v) for k, v in x.items()}
        if isinstance(x, reference.dtype):
            return getattr(self.torch, str(x).removeprefix("torch."))
        if isinstance(x, reference.nn.Module):
            return self._module(x)
        if isinstance(x, reference.nn.LinearCrossEntropyOptions):
            return self.torch.nn.LinearCrossEntropyOptions(**{k: self(getattr(x, k)) for k in OPTIONS})
        if x is reference.nn.functional.gelu:
            return self.torch.nn.functional.gelu
        assert x is None or isinstance(x, bool | int | float | str), f"no rule for {type(x)}"
        return x

    def _tensor(self, x: reference.Tensor) -> Any:
        dtype = getattr(self.torch, str(x.dtype).removeprefix("torch."))
        made = self.torch.tensor(to_array(reference, x).tolist(), dtype=dtype).reshape(tuple(x.shape))
        if x.requires_grad:
            made = made.detach().requires_grad_()
            self.leaves.append(made)
        return made

    def _module(self, x: Any) -> Any:
        """The encoder layers that TransformerEncoder is given."""
        assert type(x) is reference.nn.TransformerEncoderLayer
        attention = x.self_attn
        made = self.torch.nn.TransformerEncoderLayer(
            attention.embed_dim,
            attention.num_heads,
            x.linear1.out_features,
            x.dropout.p,
            getattr(self.torch.nn.functional, x.activation.__name__),
            x.norm1.eps,
            attention.batch_first,
            x.norm_first,
            x.linear1.bias is not None,
            dtype=self(x.linear1.weight.dtype),
        )
        made.load_state_dict({k: self._tensor(v.detach()) for k, v in x.state_dict().items()})
        return made.train(x.training)


@functools.cache
def inputs_of(name: str, dtype: Any, training: bool) -> list[Any]:
    info = INFOS[name]
    reference.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
    return [i for i in found if i.forward_input is not None]


def chosen(request: Any, items: list[Any], most: int | None = None) -> list[tuple[int, Any]]:
    """The inputs to try, with their numbers."""
    limit = most if request.config.getoption("--whole") else FEW
    numbers = range(len(items))
    if limit is not None and len(items) > limit:
        numbers = sorted({round(k) for k in np.linspace(0, len(items) - 1, limit)})
    return [(k, items[k]) for k in numbers]


def build(torch: Any, name: str, spec: Any, training: bool, convert: Converter, double: bool = False) -> Any:
    torch.manual_seed(1)
    cls = getattr(torch.nn, name.removeprefix("nn."))
    m = cls(*convert(spec.args), **convert(spec.kwargs)).train(training)
    return m.double() if double else m


def flat(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [t for item in x for t in flat(item)] if isinstance(x, tuple | list) else [] if x is None else [x]


def total(torch: Any, tensors: Any) -> Any:
    """A number that every element moves by another amount."""
    terms = []
    for t in tensors:
        if t.requires_grad:
            weights = torch.linspace(0.5, 1.5, max(t.numel(), 1), dtype=t.real.dtype if t.is_complex() else t.dtype)
            terms.append(((t.abs() if t.is_complex() else t) * weights[: t.numel()].reshape(t.shape)).sum())
    return sum(terms[1:], terms[0]) if terms else None


def without_history(tensors: Any) -> Any:
    return [t.detach() for t in tensors]


# -- the checks, each a body over the module under test ---


def forward(torch: Any, name: str, spec: Any, training: bool) -> Any:
    convert = Converter(torch)
    m = build(torch, name, spec.constructor_input, training, convert)
    convert.leaves.clear()
    args, kwargs = convert(spec.forward_input.args), convert(spec.forward_input.kwargs)
    torch.manual_seed(2)
    out = m(*args, **kwargs)
    found = flat(out)
    loss = total(torch, found)
    wanted = [*convert.leaves, *m.parameters()]
    if loss is not None:
        loss.backward()
    return [repr(m), without_history(found), [t.requires_grad for t in found], [t.grad for t in wanted], m.state_dict()]


def second(torch: Any, name: str, spec: Any, training: bool) -> Any:
    """Gradients of gradients. Whether a zero one is None or zeros differs between PyTorch's own operations, so both count as 0."""
    convert = Converter(torch)
    m = build(torch, name, spec.constructor_input, training, convert, double=True)
    convert.leaves.clear()
    args, kwargs = convert(spec.forward_input.args), convert(spec.forward_input.kwargs)
    torch.manual_seed(2)
    loss = total(torch, flat(m(*args, **kwargs)))
    wanted = [t for t in [*convert.leaves, *m.parameters()] if t.requires_grad]
    if loss is None or not wanted:
        return "no gradient"
    first = torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
    again = total(torch, [g for g in first if g is not None])
    if again is not None:
        again.backward()
    zeros = torch.zeros_like
    return [
        [zeros(t.detach()) if g is None else g.detach() for t, g in zip(wanted, made, strict=True)]
        for made in (first, [t.grad for t in wanted])
    ]


def state(torch: Any, name: str, spec: Any, training: bool) -> Any:
    m = build(torch, name, spec.constructor_input, training, Converter(torch))
    fresh = [repr(m), m.state_dict(), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()]]
    copies = [copy.deepcopy(m), pickle.loads(pickle.dumps(m))]
    return [fresh, [[repr(c), c.state_dict(), c.training] for c in copies]]


def errors(torch: Any, spec: Any) -> Any:
    """The exceptions of an input that PyTorch lists as wrong."""
    convert = Converter(torch)
    given = spec.module_error_input
    if spec.error_on == ModuleErrorEnum.CONSTRUCTION_ERROR:
        return attempt(lambda: build(torch, errors.name, given.constructor_input, False, convert))  # type: ignore[attr-defined]
    m = build(torch, errors.name, given.constructor_input, True, convert)  # type: ignore[attr-defined]
    call = given.forward_input
    return attempt(lambda: flat(m(*convert(call.args), **convert(call.kwargs))))


def compare(body: Any, *args: Any, scale: float = 1.0) -> list[str]:
    expected = outcome(reference, body, *args)
    return differences(expected, outcome(candidate, body, *args), scale, strides=False)


def crossing(name: str, spec: Any, training: bool) -> list[str]:
    """A state goes from PyTorch to jaxtorch and back; each is loaded by name, strictly."""
    if INFOS[name].is_lazy:
        return []
    ours, theirs = (build(t, name, spec.constructor_input, training, Converter(t)) for t in (candidate, reference))
    with reference.no_grad():
        for p in theirs.parameters():
            p.add_(1)
    given = theirs.state_dict()
    ours.load_state_dict({k: Converter(candidate)._tensor(v) for k, v in given.items()})
    back = build(reference, name, spec.constructor_input, training, Converter(reference))
    back.load_state_dict({k: reference.from_numpy(np.array(v.numpy())) for k, v in ours.state_dict().items()})
    return differences(observe(reference, given), observe(reference, back.state_dict()), at="state_dict")


@pytest.mark.parametrize("name, check", cases())
def test_module(name: str, check: str, request: Any) -> None:
    info, found = INFOS[name], []
    if check == "errors":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            specs = info.module_error_inputs_func(
                info, device="cpu", dtype=reference.float32, requires_grad=True, training=True
            )
        errors.name = name  # type: ignore[attr-defined]
        for k, spec in enumerate(specs):
            wanted, got = (outcome(t, errors, spec) for t in (reference, candidate))
            if not isinstance(wanted, Raised):
                continue
            if not isinstance(got, Raised) or got.kind != wanted.kind:
                found.append(f"error input {k}: expected {wanted.kind}: {wanted.message[:200]}, got {str(got)[:300]}")
        assert not found, "\n".join(found)
        return
    dtype = (
        reference.float64
        if (check == "second" or name in PRECISE) and reference.float64 in info.dtypes
        else reference.float32
    )
    body: Any = {"forward": forward, "second": second, "state": state}[check]
    for training in (True, False):
        specs = inputs_of(name, dtype, training)
        for k, spec in chosen(request, specs, MOST.get(check)):
            lines = compare(body, name, spec, training, scale=10.0 if check == "second" else 2.0)
            if check == "state":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    lines += crossing(name, spec, training)
            found += [
                f"input {k} ({spec.desc}) of {'training' if training else 'evaluation'}: {line}" for line in lines[:4]
            ]
        if check == "state" or not info.train_and_eval_differ:
            break
    assert not found, "\n".join(found[:20])
