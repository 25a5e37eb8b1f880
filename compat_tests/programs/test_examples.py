"""The examples are PyTorch programs: only an import tells which library runs them, and the numbers agree."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from conftest import ROOT, Run
from printed import REFERENCE

EXAMPLES = ROOT / "examples"
IMPORT = "import jaxtorch as torch\n"


IN_DOUBLE = """
import runpy, sys, torch
torch.set_default_dtype(torch.float64)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


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


def losses_of(name: str, library: Any, steps: int) -> list[Any]:
    """The losses of an example's first steps, from one seed."""
    example = load(name, library)
    library.manual_seed(0)
    if name == "char_gpt.py":
        text, characters = example.load_text()
        place = {c: i for i, c in enumerate(characters)}
        data = library.tensor([place[c] for c in text[:20_000]])
        return example.train(example.GPT(len(characters), context=16, width=32), data, steps, batch=8)
    if name == "digits_vae.py":
        return example.train(example.VAE(), example.load_data(), 9, max_steps=steps)
    if name == "digits_gan.py":
        made = example.make_generator(), example.make_discriminator()
        return example.train(*made, example.load_data(), 9, max_steps=steps)
    if name == "lstm_language_model.py":
        words, vocabulary = example.load_words()
        return example.train(
            example.LanguageModel(len(vocabulary), width=32), words, 9, batch=8, length=10, max_steps=steps
        )
    return example.train(example.Policy(), example.CartPole(0), steps)[0]


OF_LOSSES = ["char_gpt.py", "digits_vae.py", "digits_gan.py", "lstm_language_model.py", "cartpole_policy_gradient.py"]


@pytest.mark.parametrize("name", OF_LOSSES)
def test_the_first_steps_agree_with_pytorch(name: str):
    ours, theirs = (losses_of(name, library, steps=20) for library in (jaxtorch, torch))
    assert len(ours) == 20
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("char_gpt.py", ("--steps", "15", "--sample", "20")),
        ("digits_vae.py", ("--epochs", "1")),
        ("digits_gan.py", ("--epochs", "1")),
        ("lstm_language_model.py", ("--epochs", "1")),
        ("cartpole_policy_gradient.py", ("--episodes", "15")),
    ],
)
def test_an_example_runs_from_its_text(name: str, arguments: tuple[str, ...], tmp_path: Path, run_python: Run):
    run = run_python(str(EXAMPLES / name), *arguments, "--output", "pictures")
    assert " at last" in run.stdout or "last losses" in run.stdout
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG") and "training: 100%" in run.stderr


@pytest.mark.parametrize(
    "name, library", [("torchvision_resnet18", "torchvision"), ("transformers_finetune", "transformers")]
)
def test_an_example_of_a_library_agrees_with_pytorch(name: str, library: str, run_python: Run, tmp_path: Path):
    pytest.importorskip("sklearn")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    arguments = [str(EXAMPLES / f"{name}.py"), "--steps", "20"]
    prelude = []
    if library == "torchvision":  # in float32 PyTorch on one thread and on two differs by 4 % at the fourth step
        in_double = tmp_path / "in_double.py"
        in_double.write_text(IN_DOUBLE)
        prelude = [str(in_double)]
    ours = run_python("-m", "jaxtorch", *prelude, *arguments).stdout.split()
    theirs = run_python("-c", REFERENCE, *prelude, *arguments).stdout.split()
    assert ours[0] == theirs[0] == "losses" and len(theirs) == 21
    np.testing.assert_allclose([float(x) for x in ours[1:]], [float(x) for x in theirs[1:]], rtol=1e-3, atol=2e-5)


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
