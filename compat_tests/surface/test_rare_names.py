"""Names of PyTorch that few programs use: they behave alike, or raise alike."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch
from parity import parity_test

SETUP = """
import warnings
warnings.simplefilter("ignore")
t = torch.arange(6.0).reshape(2, 3); e = torch.arange(12.0).reshape(4, 3); i = torch.tensor([1, 2, 0, 3]); o = torch.tensor([0, 2])
g = torch.arange(24.0).reshape(6, 4); h = torch.arange(32.0).reshape(2, 4, 4) / 8; F = torch.nn.functional
s = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0]), (3,)).coalesce()
"""


def outcome(torch: Any, code: str) -> Any:
    scope: dict[str, Any] = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(SETUP, scope)
        try:
            found = eval(code, scope)
        except Exception as error:
            return "error", type(error).__name__
        return "value", repr(found).replace("jaxtorch", "torch")


EXPRESSIONS = """
torch.cond(t.sum() > 1, lambda x: x + 1, lambda x: x - 1, (t,)); torch.cond(False, lambda: 1, lambda: 2); torch.cond(t, lambda x: x, lambda x: x, (t,))
torch.cond(t.sum() > 1, lambda x: x + 1, lambda x: x - 1, [3])
torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), t))
torch.is_anomaly_enabled(); torch.is_anomaly_check_nan_enabled(); torch.is_storage(t.storage()); torch.is_storage(t.untyped_storage()); torch.is_storage(t)
torch.is_distributed(t); t.is_distributed(); torch.is_vulkan_available(); torch.native_norm(t); torch.from_dlpack(torch.to_dlpack(t))
torch.embedding_bag(e, i, o, False, 1); torch.embedding_bag(e, i, o, False, 2); torch.embedding_bag(e, i, o)[0]; torch.embedding_bag(e, i, torch.tensor([0, 0, 3]), False, 1)
torch.embedding_bag(e, i, torch.tensor([0, 2, 4]), mode=1, include_last_offset=True); torch.embedding_renorm_(e, torch.tensor([1, 2]), 1.0, 2.0).sum() < 40
torch._int_mm(g.char(), h[0].char().T[:, :3]); torch._int_mm(g.byte(), h[0].char()[:, :2].T); torch._int_mm(g.char(), g.char()); torch._int_mm(g, h[0].char()[:, :2].T)
torch.crow_indices_copy(torch.eye(2).to_sparse_csr()); torch.row_indices_copy(torch.eye(2).to_sparse_csc())
torch.solve(t, t); torch.eig(t); torch.symeig(t); torch.lstsq(t, t); torch.matrix_rank(t); t.solve(t); t.eig(); t.symeig(); t.lstsq(t)
torch.FloatStorage(3).size(); torch.FloatStorage([1, 2]); isinstance(t.storage(), torch.FloatStorage); isinstance(t.storage(), torch.LongStorage); torch.LongStorage.dtype
type(torch.IntStorage(2)).__name__; torch.BoolStorage([True, False]).tolist(); t.storage_type().__name__; torch.DoubleStorage.from_buffer(b"12345678", "native").tolist()
t.name; t.volatile; t.grad_dtype; t.const_data_ptr() == t.data_ptr(); t.resize(3, 2); t.resize_as(torch.ones(3, 2)); t.resize(4, 2); t.reinforce(1); t.record_stream(None)
t.module_load(torch.ones(2, 3)); t.module_load(torch.ones(2, 3), assign=True); t.dequantize(); t.q_scale(); t.qscheme(); t.int_repr(); t.xpu(); t.mtia(); t.ipu(); t.to_padded_tensor(0.0)
torch.xpu.is_available(); torch.xpu.device_count(); torch.mtia.is_available(); torch.functional.norm(t); torch.functional.einsum("ij->ji", t)
F.grouped_mm(g.reshape(2, 3, 4), h); F.assert_int_or_pair([1, 2, 3], "k", "{} is wrong"); F.assert_int_or_pair(3, "k", "{}"); F.has_torch_function((t,)); F.GRID_SAMPLE_PADDING_MODES
F.grouped_mm(g, h, offs=torch.tensor([2, 6], dtype=torch.int32)); F.grouped_mm(g, h); torch.nn.factory_kwargs({"device": "cpu"}); torch.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": 2}})
torch.nn.factory_kwargs({"other": 1}); torch._foreach_sub([t], torch.tensor(1.0)); torch.sym_constrain_range(3, min=1, max=4); torch.sym_constrain_range(5, min=1, max=4)
"""  # noqa: E501
CASES = [code.strip() for line in EXPRESSIONS.strip().splitlines() for code in line.split(";")]


@pytest.mark.parametrize("code", CASES)
def test_expression(code: str) -> None:
    expected, found = outcome(reference, code), outcome(jaxtorch, code)
    assert found == expected


def test_cond_and_while_loop_have_gradients() -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.cond(x.sum() > 1, lambda a: a * 3, lambda a: a * 2, (x,))
        y.sum().backward()
        return x.grad.tolist()

    assert body(jaxtorch) == body(reference)


def test_set_anomaly_enabled() -> None:
    jaxtorch.set_anomaly_enabled(True, False)
    try:
        assert jaxtorch.is_anomaly_enabled() and not jaxtorch.is_anomaly_check_nan_enabled()
    finally:
        jaxtorch.set_anomaly_enabled(False)
    assert not jaxtorch.is_anomaly_enabled() and jaxtorch.is_anomaly_check_nan_enabled()


@pytest.mark.parametrize("shared", [False, True])
def test_from_file(tmp_path: Any, shared: bool) -> None:
    for torch in (reference, jaxtorch):
        path = str(tmp_path / torch.__name__)
        np.arange(4, dtype=np.float32).tofile(path)
        t = torch.from_file(path, shared=shared, size=3)
        assert t.tolist() == [0.0, 1.0, 2.0]
        t[0] = 7.0
        assert t.tolist() == [7.0, 1.0, 2.0]
        del t
        assert np.fromfile(path, np.float32)[0] == (7.0 if shared else 0.0)


@pytest.mark.parametrize("shared", [False, True])
def test_a_storage_on_a_file(tmp_path: Any, shared: bool) -> None:
    seen = []
    for torch in (reference, jaxtorch):
        path = str(tmp_path / torch.__name__)
        np.arange(4, dtype=np.float32).tofile(path)
        storage = torch.UntypedStorage.from_file(path, shared=shared, nbytes=16)
        t = torch.empty(0).set_(storage, 0, (4,))
        t[1] = 9.0
        t.add_(1)
        first = np.fromfile(path, np.float32).tolist()
        storage[5] = 7
        seen.append((first, t.tolist(), np.fromfile(path, np.uint8)[4:6].tolist(), storage.tolist()))
        if shared:
            torch.FloatStorage.from_file(path, True, 6)[5] = 3.5
            seen[-1] += (np.fromfile(path, np.float32).tolist(),)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [True, False])
def test_lobpcg(largest: bool, general: bool) -> None:
    rng = np.random.RandomState(0)
    a = rng.rand(12, 12)
    b = rng.rand(12, 12)
    a, b = a + a.T + 12 * np.eye(12), b @ b.T + 12 * np.eye(12)
    found = {}
    for torch in (reference, jaxtorch):
        torch.manual_seed(0)
        second = torch.tensor(b) if general else None
        values, vectors = torch.lobpcg(torch.tensor(a), k=3, B=second, largest=largest, niter=200, tol=1e-12)
        found[torch.__name__] = values.numpy()
        x = vectors.numpy()
        np.testing.assert_allclose(x.T @ (b if general else np.eye(12)) @ x, np.eye(3), atol=1e-6)
        np.testing.assert_allclose(a @ x, (b if general else np.eye(12)) @ x * values.numpy(), atol=1e-4)
    np.testing.assert_allclose(found["jaxtorch"], found["torch"], rtol=1e-6)


QUANTISED = """
F.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7) | F.fake_quantize_per_tensor_affine(x, 0.37, 3, 0, 15)
F.fake_quantize_per_tensor_affine(x, F.tensor(0.1), F.tensor(3), 0, 15)
F.fake_quantize_per_tensor_affine(x, F.tensor([0.2]), F.tensor([1]), -8, 7)
F.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7) | F.fake_quantize_per_channel_affine(x, s, z + 0.5, 0, -8, 7)
F.fake_quantize_per_channel_affine(x.T, s, z, 1, -128, 127) | F.fake_quantize_per_channel_affine(x, s, z, -2, -8, 7)
F.fake_quantize_per_tensor_affine(x, 0.1, 0, 7, -8) | F.fake_quantize_per_tensor_affine(x, 0.1, 20, -8, 7)
F.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, -8, 7) | F.fake_quantize_per_channel_affine(x, s.double(), z, 0, -8, 7)
F.fake_quantize_per_channel_affine(x, s, z.long(), 0, -8, 7) | F.fake_quantize_per_channel_affine(x, s, z, 1, -8, 7)
F.fake_quantize_per_channel_affine(x, s, z, 5, -8, 7) | F.fake_quantize_per_channel_affine(x, s, z * 100, 0, -8, 7)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("call", [c.strip() for c in QUANTISED.replace("\n", "|").split("|") if c.strip()])
def test_fake_quantize(call: str, dtype: str) -> None:
    found = []
    for torch in (reference, jaxtorch):
        torch.manual_seed(0)
        x = torch.tensor([[-1.31, -0.5, 0.0], [0.26, 12.0, 0.77]], dtype=getattr(torch, dtype), requires_grad=True)
        given = {"F": torch, "x": x, "s": torch.tensor([0.1, 0.2]), "z": torch.tensor([0, 1], dtype=torch.int32)}
        try:
            out = eval(call, given)
            out.sum().backward()
            found.append((out.tolist(), str(out.dtype)[-8:], x.grad.tolist(), type(out.grad_fn).__name__))
        except Exception as error:
            words = " ".join(str(error).split())
            found.append((type(error).__name__, words.partition(" (the operation")[0]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name", ["jit.Error", "jit.TracingCheckError", "jit.TracerWarning", "AcceleratorError", "cuda.AcceleratorError"]
)
def test_exceptions_have_the_bases_that_programs_catch(name: str) -> None:
    def bases(torch: Any) -> list[str]:
        for part in name.split("."):
            torch = getattr(torch, part)
        return [kind.__name__ for kind in torch.__mro__]

    assert bases(jaxtorch) == bases(reference)


@parity_test
def test_products_of_float8_matrices(torch: Any) -> Any:
    torch.manual_seed(0)
    eight = torch.float8_e4m3fn
    a, b, one = torch.randn(16, 32).to(eight), torch.randn(16, 32).to(eight).t(), torch.tensor(1.0)
    kinds = torch.float32, torch.bfloat16, torch.float16, torch.float64, eight, None
    found = [torch._scaled_mm(a, b, torch.tensor(0.5), torch.tensor(2.5), out_dtype=kind) for kind in kinds]
    found += [torch._scaled_mm(a, b, torch.ones(1), torch.ones(1, 1), bias=torch.arange(16.0), out_dtype=torch.float32)]
    scales = torch.arange(1.0, 17.0).view(16, 1) / 8, torch.arange(1.0, 17.0).view(1, 16) / 4
    found += [torch._scaled_mm(a, b, *scales, out_dtype=torch.float32)]
    found += [
        torch._scaled_mm(a, b, one, one, scale_result=torch.tensor(0.5), out_dtype=k) for k in (eight, torch.float32)
    ]
    found += [torch._scaled_mm(a[:3, :5].contiguous(), b[:5, :7], one, one, out_dtype=torch.float32)]
    found += [torch._scaled_mm(a.to(torch.float8_e5m2), b, one, one, out_dtype=torch.float32)]
    found = [(x.dtype.itemsize, x.float()) for x in found]
    for arguments in (
        (a.float(), b.float(), one, one),
        (a, b[:8], one, one),
        (a, b, one.double(), one),
        (a, b, torch.ones(3), one),
    ):
        try:
            torch._scaled_mm(*arguments)
        except (ValueError, RuntimeError) as error:
            found.append((type(error).__name__, str(error)[:30]))
    return found
