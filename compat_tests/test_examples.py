"""The examples are PyTorch programs: only an import tells which library runs them, and the numbers agree."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from conftest import ROOT, Run

EXAMPLES = ROOT / "examples"
IMPORT = "import jaxtorch as torch\n"


def text_of(name: str, library: ModuleType) -> str:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert text.count(IMPORT) == 1
    return text if library is jaxtorch else text.replace(IMPORT, "import torch\n")


def load(name: str, library: ModuleType) -> Any:
    """The example as a module that runs on `library`."""
    module = ModuleType(f"{Path(name).stem}_on_{library.__name__}")
    exec(compile(text_of(name, library), name, "exec"), module.__dict__)
    assert module.torch is library
    return module


def losses_of_digits(library: Any, seed: int, steps: int) -> list[float]:
    example = load("digits_cnn.py", library)
    library.manual_seed(seed)
    train_set, _ = example.load_data()
    return example.train(example.Net(), train_set, epochs=100, max_steps=steps)


@pytest.mark.parametrize("seed", [0, 1])
def test_fifty_steps_agree_with_pytorch(seed: int):
    ours, theirs = (losses_of_digits(library, seed, steps=50) for library in (jaxtorch, torch))
    assert len(ours) == 50
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert np.mean(theirs[-10:]) < np.mean(theirs[:10]) - 0.02  # the run is long enough for the updates to count


def accuracy(output: str) -> float:
    found = re.search(r"test accuracy: ([0-9.]+)", output)
    assert found is not None, output
    return float(found.group(1))


def test_digits_are_learned(tmp_path: Path, run_python: Run):
    output = run_python(str(EXAMPLES / "digits_cnn.py"), "--output", "pictures").stdout
    assert accuracy(output) >= 0.97
    for picture in ("loss_curve.png", "predictions.png"):
        content = (tmp_path / "pictures" / picture).read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_dash_m_runs_the_pytorch_program(tmp_path: Path, run_python: Run):
    """The text that says `import torch`, run by `python -m jaxtorch`, does what the example does."""
    (tmp_path / "digits_torch.py").write_text(text_of("digits_cnn.py", torch))
    arguments = ("--epochs", "3", "--seed", "1")
    ours = run_python("-m", "jaxtorch", "digits_torch.py", *arguments, "--output", "a")
    plain = run_python(str(EXAMPLES / "digits_cnn.py"), *arguments, "--output", "b")
    assert accuracy(ours.stdout) == accuracy(plain.stdout)


def test_the_walk_prints_what_pytorch_prints(capsys: pytest.CaptureFixture[str]):
    printed = []
    for library in (jaxtorch, torch):
        load("tensors_and_autograd.py", library)
        printed.append(capsys.readouterr().out)
    ours, theirs = printed
    assert ours == theirs
