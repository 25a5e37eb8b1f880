"""Mixed precision: `torch.autocast`, `custom_fwd`, `GradScaler`."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch as reference
from torch.testing._internal.autocast_test_lists import AutocastCPUTestLists, AutocastTestLists

import jaxtorch
from jaxtorch._core.define.op import registry
from jaxtorch._core.dispatch import autocast
from parity import Seen, candidate, differences, outcome, parity_test

reference.manual_seed(0)
LISTS = AutocastCPUTestLists(reference.device("cpu"))
ABSENT = ("_addmm_activation", "_native_multi_head_attention", "nll_loss2d")  # private kernels of PyTorch


def _cases() -> list[Any]:
    found = []
    for group in (
        "torch_16",
        "torch_fp32",
        "nn_16",
        "nn_fp32",
        "torch_need_autocast_promote",
        "torch_expect_builtin_promote",
    ):
        for i, case in enumerate(getattr(LISTS, group)):
            if case[0] not in ABSENT:
                found.append(pytest.param(group, i, id=f"{group}-{case[0]}"))
    return found


def _given(torch: Any, x: Any) -> Any:
    if isinstance(x, reference.Tensor):
        array = x.detach().float().numpy() if x.dtype is reference.bfloat16 else x.detach().numpy()
        return torch.from_numpy(array.copy()).to(getattr(torch, str(x.dtype).removeprefix("torch.")))
    return type(x)(_given(torch, item) for item in x) if isinstance(x, list | tuple) else x


def _function(torch: Any, group: str, name: str) -> Any:
    places = [torch.nn.functional, torch._C._nn] if torch is reference else [torch.nn.functional]
    for place in [*(places if group.startswith("nn") else []), torch, *places]:
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


@pytest.mark.parametrize("group, index", _cases())
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lists(group: str, index: int, dtype: str):
    """PyTorch's own examples for its lists: the type and the values of each result."""
    case = getattr(LISTS, group)[index]
    name, args, kwargs = case[0], case[1], (case[2] if len(case) > 2 and isinstance(case[2], dict) else {})
    if name == "reflection_pad1d":
        pytest.skip("keeps its type: padding is no operation of its own here")
    if "need" in group and dtype == "float16":
        pytest.skip("PyTorch refuses to promote float16 and float32 there")
    if group == "torch_fp32" and name.endswith(("loss", "logits")):  # torch's own forms number the reductions
        group, args = "nn_fp32", tuple(a for a in args if isinstance(a, reference.Tensor))

    def body(torch: Any) -> Any:
        given = _given(torch, args)
        with torch.autocast("cpu", dtype=getattr(torch, dtype)):
            return _function(torch, group, name)(*given, **kwargs)

    def exact(torch: Any) -> Any:
        given = [
            a.to(getattr(torch, dtype)).double() if torch.is_tensor(a) and a.is_floating_point() else a for a in args
        ]
        return _function(torch, group, name)(*given, **kwargs)

    want, got = outcome(reference, body), outcome(candidate(), body)
    if isinstance(want, Seen) and isinstance(got, Seen):  # sums in half precision: rounding differs where terms cancel
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        ours, theirs = got.values.astype(float), want.values.astype(float)
        if not np.allclose(ours, theirs, 3e-2, 6e-2):  # some processors' PyTorch adds up in half precision
            truth = outcome(reference, exact)
            assert isinstance(truth, Seen)
            assert abs(ours - truth.values).max() <= abs(theirs - truth.values).max()
    else:
        assert not differences(want, got)


def test_the_tables_name_operations():
    missing = autocast._AFFECTED - set(registry)
    assert not missing
    cuda = autocast._POLICIES["cuda"]
    lists = AutocastTestLists(reference.device("cpu"))
    for group, policy in (("torch_fp16", "lower"), ("torch_fp32", "single"), ("torch_need_autocast_promote", "widest")):
        for name in [case[0] for case in getattr(lists, group)]:
            found = {
                cuda.get(n)
                for n in (name, "_" + name, f"_{name}_number", "linalg_multi_dot" if "chain" in name else "")
            }
            if name in registry or "_" + name in registry:
                assert policy in found, name


def _net(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 10),
        torch.nn.LayerNorm(10), torch.nn.Linear(10, 3),
    )  # fmt: skip


@pytest.mark.parametrize("outside", [False, True])
def test_training(outside: bool):
    def body(torch: Any) -> Any:
        net = _net(torch)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.linspace(-1, 1, 8 * 36).reshape(8, 1, 6, 6), torch.arange(8) % 3
        seen = []
        for _ in range(4):
            optimizer.zero_grad()
            with torch.autocast("cpu"):
                out = net(x)
                if not outside:
                    loss = torch.nn.functional.cross_entropy(out, y)
            if outside:
                loss = torch.nn.functional.cross_entropy(out.float(), y)
            loss.backward()
            optimizer.step()
            seen.append((out.detach(), loss.detach()))
        return seen, [p.grad for p in net.parameters()], [p.detach() for p in net.parameters()]

    want, got = outcome(reference, body), outcome(candidate(), body)
    found = differences(want, got, scale=2000, strides=False)
    assert not found, "\n".join(found)


def test_nesting_and_threads():
    def body(torch: Any) -> Any:
        a = torch.ones(2, 2)
        seen: list[Any] = []

        def look() -> None:
            seen.append(((a @ a).dtype, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))

        with torch.autocast("cpu"):
            look()
            with torch.autocast("cpu", enabled=False):
                look()
                with torch.autocast("cpu", dtype=torch.float16):
                    look()
            look()
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            b = torch.ones(2, 2, dtype=torch.float64)
            seen.append((b @ b).dtype)
            a.add_(a @ a)
            look()
        look()
        decorated = torch.autocast("cpu")(look)
        decorated()
        look()
        return [tuple(map(str, s)) if isinstance(s, tuple) else str(s) for s in seen]

    assert not differences(outcome(reference, body), outcome(candidate(), body))


def test_nothing_is_left_behind():
    """After the last region the generated functions look into their ordinary tables."""
    namespace = registry["matmul"].public.__globals__
    before = namespace["_ENTRIES"]
    with jaxtorch.autocast("cpu"):
        assert namespace["_ENTRIES"] is not before
    assert namespace["_ENTRIES"] is before is registry["matmul"].entries


@pytest.mark.parametrize("cast", [None, "float32"])
def test_custom_functions(cast: str | None):
    def body(torch: Any) -> Any:
        seen: list[str] = []

        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast and getattr(torch, cast))
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                ctx.save_for_backward(a, b)
                out = a.mm(b)
                seen.append(f"{a.dtype} {out.dtype} {torch.is_autocast_enabled('cpu')}")
                return out

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                a, b = ctx.saved_tensors
                seen.append(f"{grad.dtype} {torch.is_autocast_enabled('cpu')}")
                return grad.mm(b.t()), a.t().mm(grad)

        a, b = (torch.ones(2, 2, dtype=torch.float32).requires_grad_() for _ in range(2))
        with torch.autocast("cpu"):
            out = Product.apply(a, b.to(torch.bfloat16))
        out.sum().backward()
        return seen, out.detach(), a.grad, b.grad

    assert not differences(outcome(reference, body), outcome(candidate(), body), strides=False)


def test_scaled_training():
    def body(torch: Any) -> Any:
        w = torch.ones(3).requires_grad_()
        optimizer = torch.optim.Adam([w], lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        seen = []
        for i, g in enumerate([1.0, 2.0, float("inf"), 3.0, float("nan"), 5.0, 6.0]):
            optimizer.zero_grad()
            scaler.scale((w * g).sum()).backward()
            if i % 2:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_([w], 1.0)
            scaler.step(optimizer)
            scaler.update()
            seen.append((w.detach().clone(), scaler.get_scale(), scaler.state_dict()))
        other = torch.amp.GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        return seen, other.state_dict(), other.scale([torch.ones(1), (torch.ones(2),)])

    assert not differences(outcome(reference, body), outcome(candidate(), body), scale=10)


@pytest.mark.parametrize(
    "given",
    [{"device_type": "cpu", "dtype": "float32"}, {"device_type": "cuda"}, {"device_type": "zz"}, {"device_type": 3}],
)
def test_refusals_and_warnings(given: dict[str, Any]):
    if jaxtorch.cuda.is_available():
        pytest.skip("about machines without a GPU")

    def body(torch: Any) -> Any:
        options = {k: getattr(torch, v) if k == "dtype" else v for k, v in given.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            region = torch.autocast(**options)
        return region._enabled, [str(w.message)[:40] for w in caught]

    assert not differences(outcome(reference, body), outcome(candidate(), body))


def test_a_captured_call_heeds_autocast():
    compiled = jaxtorch.compile(lambda a: a @ a)
    a = jaxtorch.from_numpy(np.ones((2, 2), np.float32))
    seen = [compiled(a).dtype for _ in range(3)]
    with jaxtorch.autocast("cpu"):
        seen += [compiled(a).dtype for _ in range(3)]
    seen += [compiled(a).dtype for _ in range(2)]
    assert seen == [jaxtorch.float32] * 3 + [jaxtorch.bfloat16] * 3 + [jaxtorch.float32] * 2


def test_which_devices_autocast_knows():
    for torch in (jaxtorch, reference):
        assert [torch.amp.is_autocast_available(name) for name in ("cpu", "cuda", "meta")] == [True, True, False]
        with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
            torch.amp.is_autocast_available("nonsense")


def test_what_writes_to_out_is_not_cast():
    found = []
    for t in (reference, candidate()):
        a, wrong = t.arange(4.0).reshape(2, 2), t.ones(2, 2, dtype=t.bfloat16)
        kinds = []
        with t.autocast("cpu"):
            kinds += [t.mm(a, a, out=t.empty(2, 2)), t.matmul(a, a, out=t.empty(2, 2)), t.mm(a, a)]
            kinds += [t.softmax(wrong, 0, out=wrong.clone()), t.bmm(wrong[None], wrong[None], out=wrong[None].clone())]
            with pytest.raises(RuntimeError):
                t.mm(a, wrong, out=t.empty(2, 2))
        found.append([str(k.dtype).rpartition(".")[2] for k in kinds])
    assert found[0] == found[1]


@pytest.mark.parametrize("unscale", [False, True])
@pytest.mark.parametrize("factor", [1.0, float("inf")])
@pytest.mark.filterwarnings("ignore:GradScaler is going to stop:FutureWarning")
@parity_test
def test_optimizers_that_divide_themselves(torch, unscale, factor):
    """They are handed the scaler, or during the step the scale and whether something is infinite."""
    seen = []

    class Told(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None, *, grad_scaler=None):
            seen.append(type(grad_scaler).__name__)
            grad_scaler._check_inf_per_device(self)

    class Given(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append([self.grad_scale, self.found_inf, self.param_groups[0]["params"][0].grad])
            return 8

    for kind in (Told, Given):
        scaler, p = torch.amp.GradScaler("cpu", init_scale=4.0), torch.ones(2, requires_grad=True)
        optimizer = kind([p], lr=0.1)
        scaler.scale((p * factor).sum()).backward()
        if unscale:
            scaler.unscale_(optimizer)
        seen.append(scaler.step(optimizer))
        scaler.update()
        seen += [scaler.get_scale(), hasattr(optimizer, "grad_scale"), hasattr(optimizer, "found_inf")]
    return seen
