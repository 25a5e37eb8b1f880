"""PyTorch's own table of optimizers, `optim_db`: every configuration, implementation and error input."""

from __future__ import annotations

import copy
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch as reference
from torch.testing._internal.common_optimizers import optim_db

from parity import candidate, differences, outcome

STEPS = 10
COMPLEX = {info.optim_cls.__name__ for info in optim_db if info.supports_complex}


def translate(torch: Any, x: Any) -> Any:
    """An option of the table in terms of the module tested."""
    if isinstance(x, reference.Tensor):
        return torch.from_numpy(x.detach().numpy().copy())
    if isinstance(x, tuple | list):
        return type(x)(translate(torch, item) for item in x)
    return x


def _cases() -> list[Any]:
    found = []
    for info in optim_db:
        name = info.optim_cls.__name__
        switches: list[dict[str, Any]] = [{}]
        if "foreach" in info.supported_impls:
            switches += [{"foreach": True}, {"foreach": False}]
        if "fused" in info.supported_impls:
            switches.append({"fused": True})
        for config in info.optim_inputs_func("cpu"):
            for switch in switches:
                tensor_rate = isinstance(config.kwargs.get("lr"), reference.Tensor)
                if switch.get("foreach") and tensor_rate:
                    switch = {**switch, "capturable": False}
                    if name in ("Adam", "AdamW"):
                        continue  # refused: among the errors below
                    switch.pop("capturable")
                for dtype in ("float32", "float64", *(("complex64",) if name in COMPLEX and not switch else ())):
                    label = f"{name}-{config.desc.replace(' ', '_') or 'default'}-{'-'.join(switch) or 'plain'}"
                    if switch.get("foreach") is False:
                        label += "_off"
                    found.append(pytest.param(name, {**config.kwargs, **switch}, dtype, id=f"{label}-{dtype}"))
    return found


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = rng.uniform(-1, 1, shape)
    return np.asarray(x + 1j * rng.uniform(-1, 1, shape) if dtype.startswith("complex") else x, dtype)


@pytest.mark.parametrize("name, kwargs, dtype", _cases())
def test_ten_steps(name: str, kwargs: dict[str, Any], dtype: str):
    """Parameters after each step, and the state dictionary at the end."""
    shapes = [(4, 3), (3, 5), (2, 2)] if name == "Muon" else [(4, 3), (3,), (), (2, 3, 2)]

    def body(torch: Any) -> Any:
        rng = np.random.default_rng(0)
        params = [torch.from_numpy(_values(rng, s, dtype)).requires_grad_() for s in shapes]
        options = {k: translate(torch, v) for k, v in kwargs.items()}
        optimizer = getattr(torch.optim, name)(params, **options)
        seen = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = sum(((p.abs() if p.is_complex() else p) - 0.3).square().sum() for p in params)
            loss.backward()
            return loss

        for _ in range(STEPS):
            for p in params:
                p.grad = torch.from_numpy(_values(rng, tuple(p.shape), dtype))
            optimizer.step(closure) if name == "LBFGS" else optimizer.step()
            seen.append([p.detach().clone() for p in params])
        state = optimizer.state_dict()
        if name == "LBFGS":  # scratch space and differences of almost equal gradients
            return seen, list(state["state"][0]), state["state"][0]["n_iter"], state["param_groups"]
        return seen, list(state["state"].items()), state["param_groups"]

    scale = {"LBFGS": 500, "Muon": 200 if dtype == "float32" else 2e4}.get(name, 20)  # Muon iterates in bfloat16
    check(body, scale)


def check(body: Any, scale: float = 1) -> None:
    found = differences(outcome(reference, body), outcome(candidate(), body), scale=scale, strides=False)
    assert not found, "\n".join(found[:20])


def _errors() -> list[Any]:
    found = []
    for info in optim_db:
        for i, x in enumerate(info.optim_error_inputs_func(device="cpu", dtype=reference.float32)):
            label = re.sub(r"\W+", "_", x.optimizer_error_input.desc)
            found.append(pytest.param(info.optim_cls.__name__, i, id=f"{info.optim_cls.__name__}-{label}"))
    return found


@pytest.mark.parametrize("name, index", _errors())
def test_errors(name: str, index: int):
    torch = candidate()
    info = next(i for i in optim_db if i.optim_cls.__name__ == name)
    x = info.optim_error_inputs_func(device="cpu", dtype=reference.float32)[index]
    given, kwargs = x.optimizer_error_input.params, x.optimizer_error_input.kwargs
    known: dict[int, Any] = {}  # a parameter that is given twice stays one

    def mapped(p: Any) -> Any:
        if isinstance(p, reference.Tensor):
            if id(p) not in known and p.is_sparse:
                known[id(p)] = torch.zeros(tuple(p.shape), layout=torch.sparse_coo)
            elif id(p) not in known:
                known[id(p)] = torch.from_numpy(p.detach().numpy().copy()).requires_grad_(p.requires_grad)
                if p.grad is not None:
                    known[id(p)].grad = torch.from_numpy(p.grad.numpy().copy())
            return known[id(p)]
        if isinstance(p, dict):
            return {k: mapped(v) for k, v in p.items()}
        return type(p)(mapped(v) for v in p) if isinstance(p, tuple | list) else p

    params = mapped(given)
    options = {k: translate(torch, v) for k, v in kwargs.items()}
    make = getattr(torch.optim, name)
    if issubclass(x.error_type, Warning):
        with pytest.warns(x.error_type, match=x.error_regex):
            make(params, **options)
        return
    optimizer = None
    with pytest.raises(x.error_type, match=x.error_regex):
        optimizer = make(params, **options)
        optimizer.step()
    assert (optimizer is None) == (x.error_on.name == "CONSTRUCTION_ERROR")


NAMES = [info.optim_cls.__name__ for info in optim_db if info.optim_cls.__name__ not in ("SparseAdam", "LBFGS")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["to jaxtorch", "to PyTorch"])
def test_state_of_the_other(name: str, way: str):
    """A state dictionary of one module, loaded into the other: training goes on as if nothing had happened."""
    shapes = [(4, 3), (3, 5)] if name == "Muon" else [(4, 3), (3,)]
    first, second = (reference, candidate()) if way == "to jaxtorch" else (candidate(), reference)

    def start(torch: Any, arrays: list[np.ndarray]) -> tuple[list[Any], Any]:
        params = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
        return params, getattr(torch.optim, name)([{"params": params[:1], "lr": 0.03}, {"params": params[1:]}])

    def train(torch: Any, params: list[Any], optimizer: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(4):
            for p in params:
                p.grad = torch.from_numpy(_values(rng, tuple(p.shape), "float32"))
            optimizer.step()

    def moved(x: Any) -> Any:
        if isinstance(x, first.Tensor):
            return second.from_numpy(np.array(x.detach().numpy()))
        if isinstance(x, dict):
            return {k: moved(v) for k, v in x.items()}
        return [moved(v) for v in x] if isinstance(x, list) else x

    rng = np.random.default_rng(0)
    params, optimizer = start(first, [_values(rng, s, "float32") for s in shapes])
    train(first, params, optimizer, 1)
    others, other = start(second, [np.array(p.detach().numpy()) for p in params])
    other.load_state_dict(moved(copy.deepcopy(optimizer.state_dict())))
    train(first, params, optimizer, 2)
    train(second, others, other, 2)
    tolerance = 5e-3 if name == "Muon" else 1e-5
    for p, q in zip(params, others, strict=True):
        np.testing.assert_allclose(np.array(q.detach().numpy()), np.array(p.detach().numpy()), tolerance, tolerance)
    ours, theirs = optimizer.state_dict(), other.state_dict()
    assert [list(g) for g in ours["param_groups"]] == [list(g) for g in theirs["param_groups"]]
    for k, state in ours["state"].items():
        assert list(state) == list(theirs["state"][k])
        for entry, x in state.items():
            y = theirs["state"][k][entry]
            assert str(x.dtype) == str(y.dtype) and tuple(x.shape) == tuple(y.shape), entry


DIFFERENTIABLE = [info.optim_cls.__name__ for info in optim_db if "differentiable" in info.supported_impls]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_through_steps(name: str):
    """differentiable=True: the gradients of what comes after three steps by the parameters and gradients before."""
    options = {"Rprop": {}, "SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}}.get(name, {})

    def body(torch: Any) -> Any:
        rng = np.random.default_rng(0)
        start = torch.from_numpy(rng.uniform(0.5, 1, (3, 2))).requires_grad_()
        p = start.clone()
        optimizer = getattr(torch.optim, name)([p], differentiable=True, **options)
        grads = [torch.from_numpy(rng.uniform(0.5, 1, (3, 2))).requires_grad_() for _ in range(3)]
        for g in grads:
            p.grad = g * 1.0
            optimizer.step()
        wanted = [start, *grads]
        return p, [
            torch.zeros(3, 2, dtype=torch.float64) if g is None else g
            for g in torch.autograd.grad((p * p).sum(), wanted, allow_unused=True)
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = differences(outcome(reference, body), outcome(candidate(), body), scale=20, strides=False)
    assert not [line for line in found if "grad_fn" not in line], "\n".join(found[:20])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_gradient_of_the_learning_rate(name: str):
    def body(torch: Any) -> Any:
        p = torch.linspace(0.5, 1.0, 4).requires_grad_()
        lr = torch.tensor(0.1).requires_grad_()
        q = p.clone()
        optimizer = getattr(torch.optim, name)([q], lr=lr, differentiable=True)
        for _ in range(2):
            q.grad = (q * q).detach()
            optimizer.step()
        return torch.autograd.grad(q.sum(), [p, lr])

    check(body, 20)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_refusals_at_the_step(name: str):
    """Switches that PyTorch refuses once it sees the parameters."""

    def body(torch: Any, **switches: Any) -> Any:
        p = torch.ones(2).requires_grad_()
        p.grad = torch.ones(2)
        getattr(torch.optim, name)([p], **switches).step()
        return p

    for switches in ({"foreach": True, "differentiable": True}, {"differentiable": True}, {"capturable": True}):
        if "capturable" in switches and name in ("SGD", "Adagrad"):
            continue
        want, got = (outcome(t, lambda t: body(t, **switches)) for t in (reference, candidate()))  # noqa: B023
        assert not differences(want, got), switches
