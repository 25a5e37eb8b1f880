"""Arguments by name: each name that PyTorch takes an argument by is taken by jaxtorch, with the same result.

A valid call comes from PyTorch's operator database. Its positional arguments are given by name instead: the names of PyTorch's
native schemas, of the signatures of what is written in Python, and NumPy's (`axis`, `x1`), as far as PyTorch itself takes them.

    python compat_tests/kits/keyword_names.py [--only TEXT]
"""

from __future__ import annotations

import argparse
import collections
import functools
import inspect
import itertools
import types
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import torch

import bad_argument_calls
import bad_arguments
from op_db_kit import converted, entries, in_scope
from parity import candidate

PLACES = ("", "linalg.", "special.", "fft.", "nn.functional.", "sparse.", "Tensor.", "masked.")
PREFIXES = ("", "linalg_", "special_", "fft_", "sparse_")
NUMPY = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}
"""NumPy's names of arguments, which PyTorch takes as well."""


@functools.cache
def schemas() -> dict[str, list[list[str]]]:
    """The names of arguments of each overload of each native function."""
    found: dict[str, list[list[str]]] = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten":
            found[name].append([a.name for a in schema.arguments])
    return found


def looked_up(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part, None)
    return root


def spellings(path: str, function: Any, count: int) -> list[tuple[str, ...]]:
    """Names by which so many arguments might be given."""
    last = path.rpartition(".")[2]
    names = [tuple(s[:count]) for prefix in PREFIXES for s in schemas().get(prefix + last, ()) if len(s) >= count]
    if isinstance(function, types.FunctionType):
        parameters = inspect.signature(function).parameters.values()
        names.append(tuple([p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][:count]))
    found = dict.fromkeys(n for n in names if len(n) == count)
    for n in list(found):
        found[tuple(["input" if name == "self" else name for name in n])] = None
    for n in list(found):
        for old, new in NUMPY.items():
            if old == "other" and path.startswith("Tensor."):
                continue  # methods have no `x2`: to look for it would cost each call more than it is worth
            for name in new if old in n else ():
                found[tuple([name if x == old else x for x in n])] = None
    return list(found)


def named_calls(text: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(dotted name below `torch`, arguments by name) of calls that PyTorch might take."""
    for key in in_scope():
        if text not in key:
            continue
        entry = entries()[key]
        dtype = (
            torch.float32
            if torch.float32 in entry.supported_dtypes("cpu")
            else next(iter(entry.supported_dtypes("cpu")))
        )
        torch.manual_seed(zlib.crc32(key.encode()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = list(itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), 8))
        by_length = {len(s.args): s for s in reversed(samples)}
        name = entry.name.rpartition(".")[2]
        if name in (
            "chalf",
            "new_empty",
            "new_empty_strided",
            "empty",
            "empty_like",
            "empty_permuted",
            "empty_strided",
        ):
            continue
        if name.startswith(("_native_batch_norm", "__r")):
            continue
        forms = {entry.name, *[place + n for place in PLACES for n in (name, name + "_") if place or n != name]}
        for path in sorted(forms):
            function = looked_up(torch, path)
            if not callable(function):
                continue
            for sample in by_length.values():
                args = (sample.input, *sample.args)
                for names in spellings(path, function, len(args)):
                    given = dict(zip(names, args, strict=True))
                    if not set(given) & set(sample.kwargs):
                        yield path, {**given, **sample.kwargs}


def called(torch_: Any, path: str, named: dict[str, Any]) -> Any:
    named = {k: bad_arguments.copied(v) for k, v in named.items()}
    if torch_ is not torch:
        named = converted(named)
    self = [named.pop("self")] if path.startswith("Tensor.") and "self" in named else []
    return bad_arguments.run(torch_, looked_up(torch_, path) or (lambda **_: 1 / 0), self, named)


def refused(text: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Calls that PyTorch takes and jaxtorch refuses or answers otherwise: path, arguments, how."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for path, named in named_calls(text):
        if (path, tuple(named)) in seen:
            continue
        theirs = called(torch, path, named)
        if isinstance(theirs, Exception) or "complex32" in str(theirs):
            continue
        seen.add((path, tuple(named)))
        how = bad_arguments.differs(theirs, ours := called(candidate(), path, named))
        counts[how or "alike"] += 1
        if how:
            yield path, named, f"{how}: {bad_arguments._text(ours)}"


def refused_lines(text: str = "", step: int = 1) -> Iterator[tuple[str, str]]:
    """The lines of `bad_argument_calls.txt` by name, that jaxtorch refuses or answers otherwise: line, how."""
    for line in [x for x in bad_argument_calls.lines() if text in x][::step]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named = bad_argument_calls.by_name(line)
        theirs, ours = [
            bad_arguments.run(t, eval, (named, bad_argument_calls.Scope(t)), {}) for t in (torch, candidate())
        ]
        if isinstance(theirs, Exception):
            continue
        how = bad_arguments.differs(theirs, ours)
        counts[how or "alike"] += 1
        if how:
            yield named, f"{how}: {bad_arguments._text(ours)}"


counts: collections.Counter[str] = collections.Counter()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--lines", action="store_true", help="constructors, methods and functions of bad_argument_calls.txt only"
    )
    options = parser.parse_args()
    for line, how in refused_lines(options.only):
        print(f"{line}  {how}", flush=True)
    for path, named, how in [] if options.lines else refused(options.only):
        print(f"torch.{path}({', '.join(n + '=' for n in named)})  {how}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
