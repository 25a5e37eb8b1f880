"""Reference counts are read in one place, which understands the interpreter or refuses it.

The place is `jaxtorch/_core/types/reference_counts.py`.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import jaxtorch
from jaxtorch._core.types.reference_counts import LISTED, calibrated, counted
from jaxtorch.utils.data import DataLoader, Dataset
from sources import PACKAGE, PACKAGE_FILES, label, tree

COUNTING = PACKAGE / "_core" / "types" / "reference_counts.py"


def wrong_uses(module: ast.Module) -> Iterator[str]:
    """Where a file asks for reference counts by itself, or asks `counted` about a variable or while it runs Python code."""
    immediate = set()
    for node in ast.walk(module):
        names = [node.name] if isinstance(node, ast.alias) else [getattr(node, "id", ""), getattr(node, "attr", "")]
        if any(name.split(".")[-1] in ("getrefcount", "Py_REFCNT") for name in names):
            yield f"{node.lineno}: {names}"  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(node, ast.Constant) and node.value in ("getrefcount", "Py_REFCNT"):
            yield f"{node.lineno}: {node.value!r}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "next"):
            immediate.update(map(id, node.args))
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "counted"):
            continue
        (places,) = node.args
        if id(node) not in immediate:
            yield f"{node.lineno}: not within list() or next(): what goes along it holds objects too"
        if isinstance(places, (ast.Tuple, ast.List)):
            yield from (
                f"{node.lineno}: a variable" for item in places.elts if isinstance(item, (ast.Name, ast.Starred))
            )
        elif not isinstance(places, (ast.Name, ast.Attribute)) and "compress(" not in ast.unparse(places):
            yield f"{node.lineno}: neither a list nor a place"


ALLOWED = {"_tensor/conversion.py": 2}
"""Methods that ask about their own `self`, compared with what the same says of a temporary and of a variable."""


def speaks_of_counts(path: Path) -> bool:
    return bool(re.search(r"counted\b|refcnt|refcount", path.read_text(encoding="utf-8"), re.IGNORECASE))


@pytest.mark.parametrize("path", [p for p in PACKAGE_FILES if p != COUNTING and speaks_of_counts(p)], ids=label)
def test_nothing_else_asks_for_reference_counts(path: Path):
    found = list(wrong_uses(tree(path)))
    assert len(found) == ALLOWED.get(path.relative_to(PACKAGE).as_posix(), 0), found


@pytest.mark.parametrize(
    "text, count",
    [
        ("from sys import getrefcount", 1),
        ("import sys\nsys.getrefcount(x)", 1),
        ("import sys\ngetattr(sys, 'getrefcount')(x)", 1),
        ("next(counted((x,)))", 1),
        ("next(counted([x, y.z]))", 1),
        ("list(counted((*x,)))", 1),
        ("for a, n in zip(x, counted(x)): pass", 1),
        ("list(counted(a for a in x))", 1),
        ("next(counted((x.y,)))", 0),
        ("next(counted((x[0],)))", 0),
        ("list(counted(x))", 0),
        ("list(counted(compress(x, y)))", 0),
    ],
)
def test_the_rule_sees_what_breaks_it(text: str, count: int):
    assert len(list(wrong_uses(ast.parse(text)))) == count


def test_each_holder_counts_once():
    places = [np.empty(3), object(), {1, 2}]
    assert [c - LISTED for c in counted(places)] == [0, 0, 0]
    kept = [places[:], {0: places[0]}, (places[1],), (lambda v: lambda: v)(places[2])]
    assert [c - LISTED for c in counted(places)] == [2, 2, 2]
    view = places[0][1:]
    assert [c - LISTED for c in counted(places)] == [3, 2, 2]
    del kept, view
    assert [c - LISTED for c in counted(places)] == [0, 0, 0]


@pytest.mark.parametrize(
    "counting",
    [
        pytest.param(lambda objects: itertools.repeat(2), id="counts nothing"),
        pytest.param(lambda objects: (min(c, 3) for c in counted(objects)), id="counts one holder"),
        pytest.param(lambda objects: (c // 2 for c in counted(objects)), id="counts every other"),
        pytest.param(
            lambda objects: (c + isinstance(objects, tuple) for c in counted(objects)), id="otherwise on tuples"
        ),
        pytest.param(lambda objects: itertools.chain(counted(objects)), id="understood"),
    ],
)
def test_an_interpreter_that_counts_otherwise_is_refused(counting, request):
    if request.node.callspec.id == "understood":
        assert calibrated(counting) == LISTED
        return
    with pytest.raises(ImportError, match=r"does not understand how this Python counts references"):
        calibrated(counting)


class Rows(Dataset):
    """16 samples of 3 MB, each made when it is asked for."""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        return np.full(800_000, i, np.float32)


def test_batches_that_are_held_are_not_written_again():
    """Each batch of 13 MB lies where an earlier one lay only once that is gone."""
    batches = list(DataLoader(Rows(), batch_size=4))
    assert [b[:, 0].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    arrays = []
    for batch in DataLoader(Rows(), batch_size=4):
        arrays.append(batch.numpy())
        del batch
    assert [a[:, -1].tolist() for a in arrays] == [b[:, 0].tolist() for b in batches]


def test_a_batch_that_is_gone_leaves_its_memory():
    where = [b.numpy().ctypes.data for b in DataLoader(Rows(), batch_size=4)]
    assert len(set(where)) < len(where)


def test_what_a_hook_keeps_is_what_the_next_one_gets():
    seen = []
    x = jaxtorch.ones(3, requires_grad=True)
    y = x * 2

    def first(g):
        g.note = "hi"
        seen.append(g)

    def second(g):
        seen.append((getattr(g, "note", None), g is seen[0]))

    y.register_hook(first)
    y.register_hook(second)
    y.sum().backward()
    assert seen[1] == ("hi", True)


def test_a_storage_that_a_program_loads_is_a_storage(tmp_path):
    with warnings.catch_warnings(action="ignore"):  # the class of storages with a type is deprecated
        jaxtorch.save(jaxtorch.ones(3).storage(), tmp_path / "s.pt")
    assert jaxtorch.load(tmp_path / "s.pt", weights_only=False).tolist() == [1, 1, 1]
