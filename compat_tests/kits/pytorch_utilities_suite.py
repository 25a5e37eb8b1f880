"""A small suite written on PyTorch's own test utilities."""

import unittest
import warnings

import numpy as np
import torch
from torch.testing import FileCheck, make_tensor
from torch.testing._internal.common_device_type import (
    dtypes,
    instantiate_device_type_tests,
    onlyNativeDeviceTypes,
    ops,
    precisionOverride,
    tol,
    toleranceOverride,
)
from torch.testing._internal.common_dtype import all_types_and_complex_and, floating_types
from torch.testing._internal.common_methods_invocations import op_db, unary_ufuncs
from torch.testing._internal.common_utils import (
    IS_WINDOWS,
    DeterministicGuard,
    TestCase,
    freeze_rng_state,
    gradcheck,
    instantiate_parametrized_tests,
    noncontiguous_like,
    parametrize,
    run_tests,
    set_default_dtype,
    skipIfTorchDynamo,
    subtest,
)
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

NAMES = ("softmax", "sum", "sort", "index_select", "where")
few = [op for op in op_db if op.name in NAMES]


class TestPlain(TestCase):
    def test_equal(self):
        self.assertEqual(torch.ones(2), torch.ones(2))
        self.assertEqual(torch.ones(2), [1, 1])
        self.assertEqual(torch.tensor(1.0), 1)
        self.assertEqual({"a": [torch.ones(1), "x", {1}]}, {"a": [torch.ones(1), "x", {1}]})
        self.assertEqual(np.ones(2), torch.ones(2, dtype=torch.float64))
        self.assertEqual(True, torch.tensor(True))
        self.assertEqual(torch.float32, torch.float32)
        self.assertNotEqual(torch.ones(2), torch.zeros(2))
        self.assertEqual(torch.eye(2).to_sparse(), torch.eye(2).to_sparse())
        self.assertEqual(torch.eye(2).to_sparse_csr(), torch.eye(2).to_sparse_csr())
        with self.assertRaisesRegex(AssertionError, "Tensor-likes are not close"):
            self.assertEqual(torch.ones(2), torch.tensor([1.0, 2.0]))
        with self.assertRaisesRegex(AssertionError, "(?s)Scalars are not equal.*mine"):
            self.assertEqual(1, 2, "mine")
        with self.assertRaisesRegex(AssertionError, "dtype"):
            self.assertEqual(torch.ones(2), torch.ones(2, dtype=torch.float64))
        self.assertEqual(torch.ones(2), torch.ones(2, dtype=torch.float64), exact_dtype=False)
        self.assertEqual(torch.tensor(float("nan")), torch.tensor(float("nan")))
        self.assertEqual(1.0, 1.05, atol=0.1, rtol=0)
        with self.assertRaisesRegex(AssertionError, "Booleans mismatch"):
            self.assertEqual(True, False)
        with self.assertRaisesRegex(AssertionError, "length"):
            self.assertEqual([1], [1, 2])
        with self.assertRaisesRegex(AssertionError, "String"):
            self.assertEqual("a", "b")
        self.assertEqualTypeString(torch.ones(1), torch.ones(2))

    def test_warns(self):
        with self.assertWarnsOnceRegex(UserWarning, "careful"):
            warnings.warn("careful", stacklevel=2)
        self.assertNotWarn(lambda: torch.ones(1) + 1)

    @parametrize("n", [1, 2, subtest(3, name="three")])
    @parametrize("flag", (True, False))
    def test_parametrized(self, n, flag):
        self.assertEqual(torch.ones(n).numel(), n)

    def test_seed(self):
        with freeze_rng_state():
            a = torch.rand(3)
        b = torch.rand(3)
        self.assertEqual(a, b)

    def test_file_check(self):
        FileCheck().check("b").check_next("c").check_not("z").run("a\nb\nc\n")

    @unittest.expectedFailure
    def test_fails(self):
        self.assertEqual(1, 2)

    def test_expect(self):
        self.assertExpectedInline(str(torch.ones(1)), """tensor([1.])""")

    @unittest.skipIf(IS_WINDOWS, "not there")
    @skipIfTorchDynamo("not compiled here")
    def test_skips(self):
        self.assertEqual(noncontiguous_like(torch.ones(2, 3)), torch.ones(2, 3))

    def test_modes(self):
        with set_default_dtype(torch.float64):
            self.assertEqual(torch.ones(1).dtype, torch.float64)
        with DeterministicGuard(True):
            self.assertTrue(torch.are_deterministic_algorithms_enabled())


instantiate_parametrized_tests(TestPlain)


class TestDevices(TestCase):
    @dtypes(*floating_types())
    def test_tensor(self, device, dtype):
        x = make_tensor((2, 3), device=device, dtype=dtype, low=-1, high=1, requires_grad=True)
        self.assertEqual(x.device.type, torch.device(device).type)
        (x * 2).sum().backward()
        self.assertEqual(x.grad, torch.full_like(x, 2))

    @dtypes(*all_types_and_complex_and(torch.bool, torch.half, torch.bfloat16))
    def test_make(self, device, dtype):
        x = make_tensor((3, 2), device=device, dtype=dtype, noncontiguous=True)
        self.assertFalse(x.is_contiguous())
        self.assertEqual(x.dtype, dtype)

    @onlyNativeDeviceTypes
    @precisionOverride({torch.float32: 1e-2})
    @dtypes(torch.float32)
    def test_precision(self, device, dtype):
        self.assertEqual(torch.ones(1), torch.ones(1) + 1e-3)

    @toleranceOverride({torch.float32: tol(atol=1e-1, rtol=0)})
    @dtypes(torch.float32)
    def test_tolerance(self, device, dtype):
        self.assertEqual(torch.ones(1), torch.ones(1) + 1e-2)

    @ops([OpInfo("square", dtypes=floating_types(), sample_inputs_func=lambda *a, **k: [SampleInput(torch.ones(2))])])
    def test_own_operation(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(op(sample.input), torch.ones(2))

    @ops(few, allowed_dtypes=(torch.float32,))
    def test_methods(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            found = op(sample.input, *sample.args, **sample.kwargs)
            if op.method_variant is not None and isinstance(sample.input, torch.Tensor):
                self.assertEqual(found, op.method_variant(sample.input, *sample.args, **sample.kwargs))

    @ops([op for op in unary_ufuncs if op.name in ("sin", "abs", "exp")], dtypes=(torch.float32,))
    def test_against_numpy(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            found = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(found.numpy(), op.ref(sample.input.numpy()), exact_dtype=False)

    @ops([op for op in few if op.name in ("softmax", "where")], allowed_dtypes=(torch.float64,))
    def test_gradients(self, device, dtype, op):
        sample = next(iter(op.sample_inputs(device, dtype, requires_grad=True)))

        def run(x):
            out = op(x, *sample.args, **sample.kwargs)
            return out[0] if isinstance(out, tuple) else out

        self.assertTrue(gradcheck(run, (sample.input,), check_batched_grad=False))

    @ops(few, allowed_dtypes=(torch.float32,))
    def test_error_inputs(self, device, dtype, op):
        if op.error_inputs_func is None:
            return
        for wrong in op.error_inputs(device):
            s = wrong.sample_input
            with self.assertRaises(wrong.error_type):
                op(s.input, *s.args, **s.kwargs)


instantiate_device_type_tests(TestDevices, globals())

if __name__ == "__main__":
    run_tests()
