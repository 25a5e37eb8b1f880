"""PyTorch's own test utilities run on jaxtorch: `torch.testing._internal` from the reference's Python files, FileCheck, pairs."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import jaxtorch
from conftest import KITS, Run
from parity import parity_test

SUITE = KITS / "pytorch_utilities_suite.py"


def test_a_suite_on_pytorchs_test_utilities_passes(run_python: Run):
    """With TestCase, parametrize, tests for each device, operator database and make_tensor; `torch` is jaxtorch in it."""
    ran = run_python("-W", "ignore", "-m", "jaxtorch", str(SUITE), env={"CI": None})  # there it wants another package
    count = re.search(r"Ran (\d+) tests", ran.stderr)
    assert count is not None and int(count.group(1)) >= 50
    assert ran.stderr.rstrip().endswith("OK (expected failures=1)")


ASKED = """
import sys, torch
from torch.testing._internal.common_utils import TestCase
import torch.testing._internal.common_utils as utilities
print(torch.ones(1)._value is not None, "site-packages" in utilities.__file__, [m for m in sys.modules if m == "torch._C._te"])
class Mine(TestCase):
    def test(self): self.assertEqual(torch.ones(2), torch.zeros(2))
import unittest
result = unittest.TestResult()
Mine("test").run(result)
print(result.failures[0][1].count("Mismatched elements: 2 / 2"))
try:
    import torch.testing._internal.no_such_module
except ModuleNotFoundError as error:
    print(error)
"""


def test_they_are_the_installed_files_and_pytorch_is_not_imported(run_python: Run):
    out = run_python("-W", "ignore", "-m", "jaxtorch", "-c", ASKED).stdout.splitlines()
    assert out == ["True True []", "1", "No module named 'torch.testing._internal.no_such_module'"]


TEXT = "one two\nthree two\nfour five four\nsix\n"
CHECKS: list[Any] = [
    lambda F: F().check("one").run(TEXT), lambda F: F().check("zero").run(TEXT), lambda F: F().check("three").check("one").run(TEXT),
    lambda F: F().check("one").check_same("two").run(TEXT), lambda F: F().check("one").check_same("three").run(TEXT),
    lambda F: F().check("one").check_next("three").run(TEXT), lambda F: F().check("one").check_next("four").run(TEXT),
    lambda F: F().check("one").check_next("one").run(TEXT), lambda F: F().check_not("one").run(TEXT),
    lambda F: F().check("three").check_not("one").run(TEXT), lambda F: F().check("one").check_not("three").check("four").run(TEXT),
    lambda F: F().check("one").check_not("six").check("four").run(TEXT), lambda F: F().check_count("two", 1).run(TEXT),
    lambda F: F().check_count("two", 1, exactly=True).run(TEXT), lambda F: F().check_count("two", 3).run(TEXT),
    lambda F: F().check_count("two", 2, True).check("six").run(TEXT), lambda F: F().check_dag("three").check_dag("one").run(TEXT),
    lambda F: F().check_dag("three").check_dag("zero").run(TEXT), lambda F: F().check_dag("two").check_dag("two").run(TEXT),
    lambda F: F().check_dag("six").check_dag("four").check("one").run(TEXT),
    lambda F: F().check_dag("three").check_not("five").check_dag("six").run(TEXT),
    lambda F: F().check_regex("t[a-z]+o").run(TEXT), lambda F: F().check_regex("z+").run(TEXT),
    lambda F: F().check_regex("a.c").run("a\nc"), lambda F: F().run(TEXT),
    lambda F: F().run("# CHECK: three\n# CHECK-NOT: four\n", TEXT),
    lambda F: F().run("# CHECK-COUNT-2: two\n", TEXT), lambda F: F().run("# CHECK-COUNT-EXACTLY-1: two\n", TEXT),
    lambda F: F().run("# CHECK-DAG: three\n# CHECK-DAG: one\n# CHECK-SAME: x\n", TEXT), lambda F: F().run("nothing", TEXT),
    lambda F: F().run("#CHECK:   three  two\n", TEXT), lambda F: F().run("# CHECK-REGEX: t.o\n", TEXT),
    lambda F: F().check("one").run(""),
    lambda F: F().check_next("one").run(TEXT), lambda F: F().check("one").check("one").run("one\n"),
    lambda F: F().check("four").check_next("six").run("four five\nfour six"), lambda F: F().check("a").check_next("b").run("a\n\nb"),
    lambda F: F().check_source_highlighted("four").run("a four b\n  ~~~~ <--- HERE\n"),
    lambda F: F().check_source_highlighted("four").run("a four b\n"), lambda F: F().check_count("a", 2).check_not("a").run("aaa"),
    lambda F: F().check_not("a").check_dag("b").check_dag("a").run("a b"), lambda F: F().check_dag("b").check_not("a").run("a b a"),
    lambda F: F().check("x").check_dag("a").check_dag("b").check_next("c").run("x b a\nc"),
]  # fmt: skip


@parity_test
def test_file_check(torch: Any) -> Any:
    def said(check: Any) -> Any:
        try:
            return check(torch.testing.FileCheck)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0], str(error).count("From")

    return [said(check) for check in CHECKS], torch.FileCheck is torch.testing.FileCheck


def test_checks_that_were_not_run_are_told(capsys: pytest.CaptureFixture[str]):
    jaxtorch.testing.FileCheck().check("a").check_not("b")
    told = "You have not run this instance of FileCheck!\nFileCheck checks:\n\tCHECK: a\n\tCHECK-NOT: b\n"
    assert capsys.readouterr().out == told


@parity_test
def test_assert_allclose(torch: Any) -> Any:
    close, found = torch.testing.assert_allclose, []
    for a, b, options in (
        (torch.ones(2), torch.ones(2, dtype=torch.float64), {}), (torch.ones(2), [1.0, 1.1], {}), (1, 1.0, {}),
        (torch.ones(2), torch.ones(2) + 1e-4, {}), (torch.ones(2), torch.ones(2) * 2, {"msg": "mine"}),
        (torch.ones(2), torch.ones(2), {"rtol": 1e-3}), (torch.tensor(float("nan")), torch.tensor(float("nan")), {}),
        (torch.ones(2), 1.0, {}), (torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16) + 2e-3, {}),
    ):  # fmt: skip
        with pytest.warns(FutureWarning, match="assert_allclose"):
            try:
                found.append(close(a, b, **options))
            except Exception as error:
                found.append((type(error).__name__, str(error)))
    return found


@parity_test
def test_pairs_of_a_suites_own(torch: Any) -> Any:
    c = importlib.import_module(f"{torch.__name__}.testing._comparison")

    class Texts(c.Pair):
        def __init__(self, actual: Any, expected: Any, **more: Any) -> None:
            self._check_inputs_isinstance(actual, expected, cls=str)
            super().__init__(actual, expected, **more)

        def compare(self) -> None:
            if self.actual.lower() != self.expected.lower():
                self._fail(AssertionError, f"{self.actual} is not {self.expected}")

    def compared(a: Any, b: Any, *kinds: Any, **options: Any) -> Any:
        try:
            metas = c.not_close_error_metas(
                a, b, pair_types=kinds or (c.NonePair, Texts, c.NumberPair, c.TensorLikePair), **options
            )
        except Exception as error:
            return type(error).__name__, str(error)
        return [(type(m.to_error()).__name__, str(m.to_error()), str(m.to_error("mine")), m.id) for m in metas]

    x = torch.eye(2)
    return [
        compared("a", "A"), compared(["a", 1], ["b", 2]), compared({"k": [x]}, {"k": [x + 1]}), compared(None, 3),
        compared("a", 3), compared([1], [1, 2]), compared({1: 2}, {2: 1}), compared({1, 2}, {1, 2}, c.ObjectPair),
        compared(1, 2, c.ObjectPair), compared(x.to_sparse(), x.to_sparse()), compared(x.to_sparse(), (x * 2).to_sparse()),
        compared(x.to_sparse(), x), compared(x.to_sparse(), x, check_layout=False), compared(x, x, rtol=1.0),
        compared(x.to_sparse_csr(), (x * 3).to_sparse_csr()), compared(1, 1.0), compared(1, 1.0, check_dtype=True),
        [a.__name__ for a in (c.ErrorMeta, c.UnsupportedInputs, c.BooleanPair)], c.default_tolerances(x, torch.float16),
        c.get_tolerances(torch.float32, rtol=None, atol=None),
    ]  # fmt: skip
