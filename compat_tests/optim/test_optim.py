"""`torch.optim`: the same training, the same state and the same errors as PyTorch."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch
from jaxtorch._core.record import program
from jaxtorch._core.run.log import Counts
from jaxtorch.optim import optimizer
from jaxtorch.optim._update_rules import joined_updates
from parity import attempt, candidate, differences, outcome

STEPS = 10
SHAPES = [(4, 3), (3,), ()]


def parameters(torch: Any, dtypes: Any = "float32", seed: int = 0) -> list[Any]:
    """One parameter for each shape; several dtypes take turns."""
    random = np.random.default_rng(seed)
    names = dtypes.split()
    return [
        torch.from_numpy(_random(random, shape, names[i % len(names)])).requires_grad_()
        for i, shape in enumerate(SHAPES)
    ]


def _random(random: np.random.Generator, shape: tuple[int, ...], name: str) -> np.ndarray:
    values = random.uniform(-1, 1, shape)
    if name.startswith("complex"):
        values = values + 1j * random.uniform(-1, 1, shape)
    return np.asarray(values, name)


def gradients(torch: Any, params: list[Any], seed: int) -> None:
    """Give each parameter a random gradient."""
    random = np.random.default_rng(seed)
    for p in params:
        p.grad = torch.from_numpy(_random(random, tuple(p.shape), str(p.dtype).removeprefix("torch.")))


def plain(state: dict[str, Any]) -> Any:
    return {"state": list(state["state"].items()), "groups": state["param_groups"]}


def train(torch: Any, optimizer: Any, params: list[Any], steps: int = STEPS, seed: int = 100) -> list[Any]:
    seen = []
    for i in range(steps):
        gradients(torch, params, seed + i)
        optimizer.step()
        seen.append([p.detach().clone() for p in params])
    return [seen, plain(optimizer.state_dict())]


def check(body: Callable[[Any], Any], scale: float = 8) -> None:
    found = differences(outcome(reference, body), outcome(candidate(), body), scale=scale, strides=False)
    assert not found, "\n".join(found)


CONFIGS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {}, {"lr": 0.1}, {"weight_decay": 0.5}, {"momentum": 0.9}, {"weight_decay": 0.1, "maximize": True},
        {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "weight_decay": 0.1},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"momentum": 0.9, "maximize": True},
        {"lr": 0.0}, {"momentum": 0.5, "dampening": 0.1, "maximize": True, "weight_decay": 0.01},
        {"momentum": 0.9, "foreach": True}, {"momentum": 0.9, "fused": True},
    ],
    "Adam": [
        {}, {"lr": 0.1}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True}, {"amsgrad": True},
        {"weight_decay": 0.1, "amsgrad": True}, {"betas": (0.5, 0.7), "eps": 1e-3}, {"betas": (0.0, 0.9)},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, {"lr": 0.1, "foreach": True},
        {"lr": 0.1, "amsgrad": True, "maximize": True, "eps": 0.1},
    ],
    "AdamW": [
        {}, {"lr": 0.1}, {"weight_decay": 0.1}, {"weight_decay": 0.0}, {"maximize": True},
        {"weight_decay": 0.1, "amsgrad": True}, {"lr": 0.5, "betas": (0.8, 0.9), "eps": 1e-4},
    ],
    "Adagrad": [
        {}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True}, {"lr": 0.1},
        {"initial_accumulator_value": 0.1, "weight_decay": 0.1}, {"lr": 0.3, "eps": 0.1},
        {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1},
    ],
    "RMSprop": [
        {}, {"lr": 1e-3}, {"weight_decay": 0.1}, {"maximize": True}, {"weight_decay": 0.1, "centered": True},
        {"maximize": True, "weight_decay": 0.1}, {"weight_decay": 0.1, "centered": True, "momentum": 0.1},
        {"weight_decay": 0.1, "centered": True, "momentum": 0.1, "maximize": True}, {"eps": 0.01, "alpha": 0.0},
        {"momentum": 0.9, "alpha": 0.5},
    ],
}  # fmt: skip
TABLE = [(name, config) for name, configs in CONFIGS.items() for config in configs]
NAMES = list(CONFIGS)


def label(x: Any) -> str:
    return x if isinstance(x, str) else ",".join(f"{k}={v}" for k, v in x.items()) or "default"


ELEMENTWISE = [*NAMES, "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_small_parameters_are_updated_as_one(name: str, monkeypatch: Any):
    def trained() -> Any:
        monkeypatch.setattr(optimizer, "_kernels", {})
        params = parameters(jaxtorch)
        made = getattr(jaxtorch.optim, name)(params, **({"momentum": 0.9} if name == "SGD" else {}))
        seen = train(jaxtorch, made, params, 3)
        return [p.tolist() for step in seen[0] for p in step]

    joined: list[bool] = []
    layout = joined_updates.Layout
    monkeypatch.setattr(joined_updates, "Layout", lambda avals: joined.append(True) or layout(avals))
    together = trained()
    assert joined
    joined.clear()
    monkeypatch.setattr(joined_updates, "PACK_ELEMENTS", 0)
    apart = trained()
    assert not joined
    for a, b in zip(together, apart, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name, config", TABLE, ids=label)
def test_ten_steps(name: str, config: dict[str, Any]):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        return train(torch, getattr(torch.optim, name)(params, **config), params)

    check(body)


@pytest.mark.parametrize("dtypes", ["float64", "complex64", "complex128", "float32 float64", "float64 float32"])
@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str, dtypes: str):
    """In one group too: a float64 parameter is updated in full precision whatever stands before it."""
    config = {
        "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1},
        "Adam": {"lr": 0.1, "weight_decay": 0.1, "amsgrad": "complex" not in dtypes},
        "AdamW": {"lr": 0.1, "weight_decay": 0.1},
        "Adagrad": {"lr": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1},
        "RMSprop": {"lr": 0.1, "weight_decay": 0.1, "momentum": 0.1, "centered": "complex" not in dtypes},
    }[name]

    def body(torch: Any) -> Any:
        params = parameters(torch, dtypes)
        return train(torch, getattr(torch.optim, name)(params, **config), params)

    check(body)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_half_precision_stays_close(name: str, dtype: str):
    """PyTorch rounds after each elementary operation, jaxtorch once a step."""

    def body(torch: Any) -> Any:
        w = torch.linspace(-1, 1, 8).to(getattr(torch, dtype)).requires_grad_()
        optimizer = getattr(torch.optim, name)([w], lr=0.05)
        for i in range(STEPS):
            w.grad = torch.linspace(-1, 1 + i, 8).to(w.dtype)
            optimizer.step()
        return w.detach()

    check(body, scale=40 if dtype == "float16" else 8)


def _groups(torch: Any, name: str) -> tuple[list[Any], Any]:
    a, b, c = parameters(torch)
    optimizer = getattr(torch.optim, name)([{"params": [a]}, {"params": b, "lr": 0.5, "weight_decay": 0.2}], lr=0.01)
    optimizer.add_param_group({"params": [c], "lr": 0.1})
    return [a, b, c], optimizer


@pytest.mark.parametrize("name", NAMES)
def test_groups_have_their_own_options(name: str):
    def body(torch: Any) -> Any:
        params, optimizer = _groups(torch, name)
        return train(torch, optimizer, params), repr(optimizer), optimizer.defaults

    check(body)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_without_gradient_are_left_alone(name: str):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        seen = []
        for i in range(6):
            gradients(torch, params, i)
            params[i % 3].grad = None
            optimizer.step()
            seen.append([p.detach().clone() for p in params])
        for p in params:
            p.grad = None
        optimizer.step()
        return seen, [p.detach() for p in params], plain(optimizer.state_dict())

    check(body)


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_with_a_schedule(name: str):
    """Real gradients, a learning rate that changes, and both ways to drop gradients."""

    def body(torch: Any) -> Any:
        params = parameters(torch)
        x = torch.linspace(-1, 1, 20).reshape(5, 4)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        losses = []
        for i in range(STEPS):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + i)
            optimizer.zero_grad(set_to_none=i % 2 == 0)
            loss = ((x @ params[0] + params[1]) ** 2).mean() * params[2].exp()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses, [p.detach() for p in params], [p.grad for p in params]

    check(body)


@pytest.mark.parametrize("name", NAMES)
def test_a_closure_is_run_with_gradients(name: str):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = sum((p**2).sum() for p in params)
            loss.backward()
            return loss

        with torch.no_grad():
            losses = [optimizer.step(closure).detach() for _ in range(3)]
        return losses, [p.detach() for p in params]

    check(body)


@pytest.mark.parametrize("option", ["lr", "weight_decay"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_options_that_are_tensors(name: str, option: str):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        config = {"lr": 0.1} | {option: torch.tensor(0.25)}
        if option == "weight_decay" and name != "SGD":
            config["weight_decay"] = 0.25
        optimizer = getattr(torch.optim, name)(params, **config, foreach=False)
        seen = []
        for i in range(4):
            gradients(torch, params, i)
            optimizer.step()
            if isinstance(optimizer.param_groups[0][option], torch.Tensor):
                optimizer.param_groups[0][option].mul_(0.5)
            seen.append([p.detach().clone() for p in params])
        return seen

    check(body)


# -- state --


def convert(torch: Any, x: Any) -> Any:
    """Plain data with NumPy arrays turned into tensors."""
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x.copy())
    if isinstance(x, dict):
        return {k: convert(torch, v) for k, v in x.items()}
    return [convert(torch, v) for v in x] if isinstance(x, list) else x


def unconvert(x: Any) -> Any:
    if hasattr(x, "numpy"):
        return np.array(x.detach().numpy())
    if isinstance(x, dict):
        return {k: unconvert(v) for k, v in x.items()}
    return [unconvert(v) for v in x] if isinstance(x, list) else x


@pytest.mark.parametrize("there, back", [(reference, jaxtorch), (jaxtorch, reference)], ids=["in", "out"])
@pytest.mark.parametrize(
    "name, config",
    [("SGD", {"momentum": 0.9, "lr": 0.1}), ("Adam", {"amsgrad": True, "lr": 0.1}), ("AdamW", {"lr": 0.1}),
     ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("RMSprop", {"centered": True, "momentum": 0.5})],
    ids=label,
)  # fmt: skip
def test_training_goes_on_in_the_other_library(name: str, config: Any, there: Any, back: Any):
    first = parameters(there)
    optimizer = getattr(there.optim, name)(first, **config)
    train(there, optimizer, first)
    saved = unconvert(optimizer.state_dict())
    values = unconvert(first)
    expected = train(there, optimizer, first, seed=500)

    second = [back.from_numpy(v).requires_grad_() for v in values]
    other = getattr(back.optim, name)(second, lr=9.0)
    other.load_state_dict(convert(back, saved))
    actual = train(back, other, second, seed=500)
    expected, actual = outcome(there, lambda _: expected), outcome(back, lambda _: actual)
    found = differences(expected, actual, scale=8, strides=False)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", NAMES)
def test_state_survives_pickle_and_deepcopy(name: str):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        train(torch, optimizer, params, 3)
        saved = copy.deepcopy(optimizer.state_dict())
        repickled = pickle.loads(pickle.dumps(optimizer.state_dict()))
        both = copy.deepcopy((params, optimizer))
        continued = train(torch, optimizer, params, 3)
        fresh = getattr(torch.optim, name)(params, lr=0.1)
        fresh.load_state_dict(repickled)
        return (
            plain(saved),
            plain(repickled),
            continued,
            train(torch, both[1], both[0], 3),
            plain(fresh.state_dict()),
        )

    check(body)


def test_load_state_dict_casts():
    def body(torch: Any) -> Any:
        params = parameters(torch, "float32")
        optimizer = torch.optim.Adam(params)
        train(torch, optimizer, params, 2)
        saved = optimizer.state_dict()
        wide = parameters(torch, "float64")
        other = torch.optim.Adam(wide)
        other.load_state_dict(saved)
        own = other.state[wide[0]]
        own["exp_avg"].add_(1)
        return own["exp_avg"], own["step"], saved["state"][0]["exp_avg"], saved["state"][0]["exp_avg"].dtype

    check(body)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_load_state_dict_takes_tensors_over(name: str):
    def body(torch: Any) -> Any:
        options = {"momentum": 0.9} if name == "SGD" else {}
        params, others = parameters(torch, "float32"), parameters(torch, "float32")
        optimizer = getattr(torch.optim, name)(params, **options)
        train(torch, optimizer, params, 3)
        saved = optimizer.state_dict()
        other = getattr(torch.optim, name)(others, **options)
        other.load_state_dict(saved)
        train(torch, other, others, 3)
        shared = [
            v is other.state[q][k] for p, q in zip(params, others, strict=True) for k, v in optimizer.state[p].items()
        ]
        return shared, plain(saved), train(torch, optimizer, params, 2)

    check(body)


def test_load_state_dict_errors():
    def body(torch: Any) -> Any:
        params = parameters(torch)
        saved = torch.optim.SGD(params).state_dict()
        two = [{"params": params[:1]}, {"params": params[1:]}]
        return [
            attempt(lambda: torch.optim.SGD(params[:2]).load_state_dict(saved), "doesn't match the size"),
            attempt(
                lambda: torch.optim.SGD(two).load_state_dict(saved),
                "different number of parameter groups",
            ),
        ]

    check(body)


def test_named_parameters():
    def body(torch: Any) -> Any:
        params = parameters(torch)
        named = list(zip(["a", "b", "c"], params, strict=True))
        optimizer = torch.optim.SGD(named, lr=0.1)
        plain_one = torch.optim.SGD(params, lr=0.1)
        return [
            optimizer.state_dict()["param_groups"],
            attempt(lambda: torch.optim.SGD([named[0], params[1]]), "Some param names are missing"),
            attempt(
                lambda: plain_one.add_param_group({"params": [("d", torch.ones(1))]}),
                "cannot add param group",
            ),
            attempt(lambda: optimizer.add_param_group({"params": [torch.ones(1)]}), "cannot add"),
        ]

    check(body)


# -- errors --


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a tensor": (lambda t: t.optim.SGD(t.ones(2), lr=1), "iterable of"),
    "nothing": (lambda t: t.optim.SGD([], lr=1), "empty parameter list"),
    "strings": (lambda t: t.optim.SGD(["a"], lr=1), "can only optimize Tensors"),
    "a non-leaf": (lambda t: t.optim.SGD([t.ones(1, requires_grad=True) * 2]), "non-leaf"),
    "a set": (lambda t: t.optim.SGD([{"params": {t.ones(1)}}]), "ordered collections"),
    "a group that is a list": (lambda t: t.optim.SGD([t.ones(1)]).add_param_group([1]), "must be a dict"),
    "twice": (lambda t: (lambda p: t.optim.SGD([{"params": [p]}, {"params": p}]))(t.ones(1)), "more than one"),
    "added twice": (
        lambda t: (lambda p: t.optim.SGD([p]).add_param_group({"params": [p]}))(t.ones(1)), "more than one"),
    "lr": (lambda t: t.optim.SGD([t.ones(1)], lr=-1), "learning rate"),
    "momentum": (lambda t: t.optim.SGD([t.ones(1)], momentum=-0.5), "momentum"),
    "weight decay": (lambda t: t.optim.SGD([t.ones(1)], weight_decay=-0.5), "weight_decay"),
    "nesterov": (lambda t: t.optim.SGD([t.ones(1)], nesterov=True), "Nesterov"),
    "nesterov dampened": (
        lambda t: t.optim.SGD([t.ones(1)], nesterov=True, momentum=1, dampening=1), "Nesterov"),
    "Adam lr": (lambda t: t.optim.Adam([t.ones(1)], lr=-1), "learning rate"),
    "Adam eps": (lambda t: t.optim.Adam([t.ones(1)], eps=-1), "epsilon"),
    "Adam beta 0": (lambda t: t.optim.Adam([t.ones(1)], betas=(1.0, 0.0)), "index 0"),
    "Adam beta 1": (lambda t: t.optim.Adam([t.ones(1)], betas=(0.9, -1)), "index 1"),
    "Adam decay": (lambda t: t.optim.Adam([t.ones(1)], weight_decay=-1), "weight_decay"),
    "AdamW decay": (lambda t: t.optim.AdamW([t.ones(1)], weight_decay=-1), "weight_decay"),
    "Adam tensor beta": (lambda t: t.optim.Adam([t.ones(1)], betas=(0.9, t.tensor(0.99))), "must be either"),
    "Adam tensor lr": (lambda t: t.optim.Adam([t.ones(1)], lr=t.tensor(0.1), foreach=True), "lr as a Tensor"),
    "SGD tensor lr": (lambda t: t.optim.SGD([t.ones(1)], lr=t.tensor(0.1), foreach=True), "lr as a Tensor"),
    "Adam tensor betas": (
        lambda t: t.optim.Adam([t.ones(1)], betas=(t.tensor(0.9), t.tensor(0.9)), foreach=True), "as a Tensor"),
    "Adagrad lr decay": (lambda t: t.optim.Adagrad([t.ones(1)], lr_decay=-0.5), "lr_decay"),
    "Adagrad start": (lambda t: t.optim.Adagrad([t.ones(1)], initial_accumulator_value=-1), "accumulator"),
    "Adagrad eps": (lambda t: t.optim.Adagrad([t.ones(1)], eps=-1), "epsilon"),
    "RMSprop momentum": (lambda t: t.optim.RMSprop([t.ones(1)], momentum=-1), "momentum"),
    "RMSprop alpha": (lambda t: t.optim.RMSprop([t.ones(1)], alpha=-1), "alpha"),
    "RMSprop eps": (lambda t: t.optim.RMSprop([t.ones(1)], eps=-1), "epsilon"),
    "fused and foreach": (lambda t: t.optim.Adam([t.ones(1)], fused=True, foreach=True), "together"),
    "fused SGD": (lambda t: t.optim.SGD([t.ones(1)], fused=True, foreach=True), "cannot be `True` together"),
    **{
        f"{name} vector lr": (lambda t, n=name: getattr(t.optim, n)([t.ones(1)], lr=t.ones(2)), "1-element")
        for name in NAMES
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str):
    make, match = ERRORS[case]
    check(lambda torch: attempt(lambda: make(torch), match))


def test_duplicates_are_warned_of():
    def body(torch: Any) -> list[str]:
        w = torch.ones(1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.optim.SGD([w, w], lr=0.1)
        return [(c.category.__name__, str(c.message)[:50]) for c in caught]

    assert body(jaxtorch) == body(reference) != []


# -- hooks, subclasses, text --


def test_hooks():
    def body(torch: Any) -> Any:
        called: list[Any] = []
        params = parameters(torch)
        optimizer = torch.optim.SGD(params, lr=0.1)
        everywhere = importlib.import_module(torch.__name__ + ".optim.optimizer")
        handles = [
            optimizer.register_step_pre_hook(lambda o, a, k: called.append(("pre", len(a), dict(k)))),
            optimizer.register_step_post_hook(lambda o, a, k: called.append("post")),
            optimizer.register_state_dict_pre_hook(lambda o: called.append("state pre")),
            optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1}),
            optimizer.register_load_state_dict_pre_hook(lambda o, s: called.append(("load", sorted(s)))),
            optimizer.register_load_state_dict_post_hook(lambda o: called.append("loaded")),
            everywhere.register_optimizer_step_pre_hook(lambda o, a, k: called.append("global pre")),
            everywhere.register_optimizer_step_post_hook(lambda o, a, k: called.append("global post")),
        ]
        gradients(torch, params, 0)
        optimizer.step()
        optimizer.step(lambda: torch.tensor(3.0))
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)
        for h in handles:
            h.remove()
        optimizer.step()
        optimizer.register_step_pre_hook(lambda o, a, k: 3)
        return called, sorted(saved), attempt(optimizer.step, "must return None or a tuple")

    check(body)


def test_a_users_own_optimizer():
    def body(torch: Any) -> Any:
        class Signed(torch.optim.Optimizer):
            def __init__(self, params: Any, lr: float = 0.1) -> None:
                super().__init__(params, {"lr": lr})

            @torch.no_grad()
            def step(self, closure: Any = None) -> Any:
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        state["n"] = state.get("n", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"] / state["n"])

        params = parameters(torch)
        optimizer = Signed(params)
        return train(torch, optimizer, params, 4), repr(optimizer)

    check(body)


@pytest.mark.parametrize("name", NAMES)
def test_text_and_structure(name: str):
    def body(torch: Any) -> Any:
        params = parameters(torch)
        optimizer = getattr(torch.optim, name)(params, lr=0.1)
        train(torch, optimizer, params, 1)
        return [
            repr(optimizer), list(optimizer.defaults), list(optimizer.param_groups[0]),
            list(optimizer.state[params[0]]), optimizer.state_dict(), len(optimizer.state),
            [p is q for p, q in zip(optimizer.param_groups[0]["params"], params, strict=True)],
        ]  # fmt: skip

    check(body)


# -- programs --


@pytest.mark.skipif(program.IMMEDIATE, reason="about recording")
@pytest.mark.parametrize(
    "name, option, values",
    [("SGD", "lr", [0.1, 0.05, 0.02]), ("SGD", "momentum", [0.9, 0.8, 0.7]),
     ("SGD", "weight_decay", [0.1, 0.2, 0.3]),
     ("SGD", "dampening", [0.1, 0.2, 0.3]), ("Adam", "betas", [(0.9, 0.99), (0.8, 0.98), (0.7, 0.97)]),
     ("Adam", "eps", [1e-8, 1e-7, 1e-6]), ("AdamW", "weight_decay", [0.1, 0.2, 0.3]),
     ("Adagrad", "lr", [0.1, 0.05, 0.02]), ("RMSprop", "alpha", [0.9, 0.8, 0.7])],
)  # fmt: skip
def test_options_that_vary_compile_nothing(name: str, option: str, values: list[Any]):
    params = parameters(jaxtorch)
    start: dict[str, Any] = {"momentum": 0.9, "dampening": 0.05} if name == "SGD" else {}
    start["weight_decay"] = 0.05
    optimizer = getattr(jaxtorch.optim, name)(params, **(start | {option: values[0]}))

    def step(value: Any) -> None:
        optimizer.param_groups[0][option] = value
        optimizer.zero_grad()
        sum((p**2).sum() for p in params).backward()
        optimizer.step()
        program.flush_all()

    for value in [values[0], *values, *values]:
        step(value)
    before = Counts.structures, Counts.compiled
    for value in [values[1], values[2], values[0], values[2]]:
        step(value)
    assert (Counts.structures, Counts.compiled) == before


@pytest.mark.skipif(program.IMMEDIATE, reason="about recording")
def test_a_group_is_one_instruction():
    params = parameters(jaxtorch)
    optimizer = jaxtorch.optim.Adam(params)
    gradients(jaxtorch, params, 0)
    optimizer.step()
    gradients(jaxtorch, params, 1)
    program.flush_all()
    optimizer.step()
    from jaxtorch._core.types.device import cpu

    names = [item.name for item in cpu.slot.closing.code if not isinstance(item, int)]
    assert names == ["Adam"]
