"""`python -m jaxtorch` and `jaxtorch.install()`: programs that say `import torch` get jaxtorch."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest

import jaxtorch
from conftest import Run
from jaxtorch._running import install

# Stands in for a machine without PyTorch: what comes first on the path cannot be imported.
NO_TORCH = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"


@pytest.fixture(params=["torch installed", "torch absent"])
def script(request: pytest.FixtureRequest, tmp_path: Path):
    """`script(text, name)` writes a program; when torch is absent a broken one lies on its path."""
    if request.param == "torch absent":
        (tmp_path / "torch.py").write_text(NO_TORCH)

    def write(text: str, name: str = "program.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return write


def test_every_form_of_import_gives_jaxtorchs_own_modules(script, run_python: Run):
    script("import torch.optim as late\nfrom torch import Tensor\n", "helper.py")
    program = script("""
        import importlib
        import sys
        import jaxtorch
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.utils.data
        from torch import optim
        from torch.nn import Linear
        from torch.utils.data import DataLoader
        import helper

        assert sys.modules["torch"] is torch is jaxtorch
        assert torch.nn is nn is jaxtorch.nn is sys.modules["torch.nn"]
        assert F is jaxtorch.nn.functional is importlib.import_module("torch.nn.functional")
        assert optim is helper.late is jaxtorch.optim and helper.Tensor is jaxtorch.Tensor
        assert Linear is jaxtorch.nn.Linear and DataLoader is jaxtorch.utils.data.DataLoader
        assert (torch.__spec__.name, torch.__package__) == ("torch", "jaxtorch")
        assert F.__spec__.name == F.__name__ == "jaxtorch.nn.functional"
        assert not any(name.startswith("torch._C") for name in sys.modules)
        print(torch.ones(2) + 1)
    """)
    assert run_python("-m", "jaxtorch", program).stdout == "tensor([2., 2.])\n"


def test_what_says_which_torch_there_is(script, run_python: Run):
    program = script("""
        import importlib.metadata as metadata
        import importlib.util
        import torch

        assert importlib.util.find_spec("torch") is not None
        assert importlib.util.find_spec("torch.nn.functional") is not None
        assert importlib.util.find_spec("torch.no_such_module") is None
        assert metadata.version("torch") == metadata.distribution("torch").version == "2.13.0"
        assert metadata.metadata("torch")["Name"] == "torch"
        assert str(torch.__version__).split("+")[0] == "2.13.0"
        assert metadata.version("jax")
        assert torch.nn.Linear.__module__ == "torch.nn.modules.linear" and torch.nn.init.uniform_.__module__ == "torch.nn.init"
    """)
    run_python("-m", "jaxtorch", program)


def test_a_module_that_is_not_there_is_named(script, run_python: Run):
    program = script("""
        import importlib

        for name in ("torch.no_such_module", "torch.nn.no_such_module", "torch._core", "torch.__main__"):
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                assert (error.name, str(error)) == (name, f"No module named {name!r}"), error
            else:
                raise AssertionError(f"imported {name}")
    """)
    run_python("-m", "jaxtorch", program)


PROGRAMS = {
    "globals": """
        import sys
        names = ("__name__", "__file__", "__package__", "__spec__", "__doc__", "__cached__")
        print({name: globals()[name] for name in names})
        print(__builtins__, type(__loader__).__name__, sys.argv, sys.path[0])
        print(sys.modules["__main__"].__dict__ is globals())
    """,
    "exception": """
        def divide(x):
            return x / 0
        try:
            {}["key"]
        except KeyError:
            divide(1)
    """,
    "syntax error": "x = = 1\n",
    "exit status": "import sys; sys.exit(7)",
    "exit message": "import sys; sys.exit('stopped')",
    "interrupt": "raise KeyboardInterrupt",
    "own excepthook": """
        import sys, traceback
        def hook(kind, error, trace):
            print("hook:", error, [frame.name for frame in traceback.extract_tb(trace)])
        sys.excepthook = hook
        raise ValueError("seen")
    """,
    "at exit": """
        import atexit, pickle
        class Point: pass
        atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Point())))))
    """,
}
STATUS = {
    "exception": 1,
    "syntax error": 1,
    "exit status": 7,
    "exit message": 1,
    "interrupt": -2,  # ended by SIGINT
    "own excepthook": 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_runs_as_python_runs_it(name: str, tmp_path: Path, run_python: Run):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "program.py").write_text(textwrap.dedent(PROGRAMS[name]))
    status = STATUS.get(name, 0)
    plain = run_python("folder/program.py", "-x", "--flag=1", status=status)
    ours = run_python("-m", "jaxtorch", "folder/program.py", "-x", "--flag=1", status=status)
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize("name", ["package", "package.module"])
def test_dash_m_runs_as_python_runs_it(name: str, tmp_path: Path, run_python: Run):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    report = "import sys\nprint(__name__, __file__, __package__, __spec__.name, sys.argv, sys.path[0])\n"
    for module in ("__main__.py", "module.py"):
        (package / module).write_text(report)
    assert run_python("-m", "jaxtorch", "-m", name, "-m", "x").stdout == run_python("-m", name, "-m", "x").stdout


REPORT = """
import sys
names = ("__name__", "__file__", "__package__", "__spec__", "__doc__", "__cached__")
print({n: globals().get(n, "none") for n in names}, __loader__, sys.argv, repr(sys.path[0]))
print(sys.modules["__main__"].__dict__ is globals())
def divide(x):
    return x / 0
if "fails" in sys.argv:
    divide(1)
"""


@pytest.mark.parametrize("arguments", [(), ("-m", "x"), ("fails",)])
@pytest.mark.parametrize("how", ["-c", "-c joined", "-"])
def test_code_runs_as_python_runs_it(how: str, arguments: tuple[str, ...], run_python: Run):
    status = int("fails" in arguments)
    given = {"-": ["-"], "-c": ["-c", REPORT], "-c joined": ["-c" + REPORT]}[how]
    plain, ours = (
        run_python(*before, *given, *arguments, status=status, stdin=REPORT) for before in ([], ["-m", "jaxtorch"])
    )
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


def test_code_imports_torch(run_python: Run):
    code = "import torch, jaxtorch; print(torch is jaxtorch)"
    assert run_python("-m", "jaxtorch", "-c", code).stdout == "True\n"
    assert run_python("-m", "jaxtorch", "-", stdin=code).stdout == "True\n"


def test_folders_run_as_python_runs_them(tmp_path: Path, run_python: Run):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "part.py").write_text("NUMBER = 3\n")
    (tmp_path / "app" / "__main__.py").write_text("import part, sys\nprint(part.NUMBER, __name__, sys.argv)\n")
    assert run_python("-m", "jaxtorch", "app", "x").stdout == run_python("app", "x").stdout


def test_what_cannot_be_run(run_python: Run):
    missing = run_python("-m", "jaxtorch", "missing.py", status=2)
    assert missing.stderr == run_python("missing.py", status=2).stderr
    module = run_python("-m", "jaxtorch", "-m", "no_such_module", status=1)
    assert module.stderr == f"{sys.executable}: No module named no_such_module\n"
    for nothing, status in (((), 1), (("-c",), 2), (("-m",), 2)):
        assert "usage: python -m jaxtorch" in run_python("-m", "jaxtorch", *nothing, status=status).stderr
    assert "usage: python -m jaxtorch" in run_python("-m", "jaxtorch", "--help").stdout


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_child_processes_get_jaxtorch_too(method: str, script, run_python: Run):
    """A child imports the main module again, which says `import torch`, to find its functions."""
    program = script(f"""
        import multiprocessing
        import torch

        class Work:
            number = 20

        def answer(work):
            return work.number + 1, torch.__package__

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map(answer, [Work()]))
    """)
    assert run_python("-m", "jaxtorch", program).stdout == "[(21, 'jaxtorch')]\n"


def test_a_programs_log_holds_its_own_lines(script, run_python: Run):
    program = script("""
        import logging, sys
        logging.basicConfig(level=logging.DEBUG, format="%(name)s %(message)s", stream=sys.stdout)
        import torch
        logging.info("loss %.1f", torch.nn.functional.mse_loss(torch.ones(3), torch.zeros(3)).item())
    """)
    assert run_python("-m", "jaxtorch", program).stdout == "root loss 1.0\n"
    asked = run_python("-m", "jaxtorch", program, env={"JAXTORCH_LOG": "compile", "JAXTORCH_EXECUTION": "recorded"})
    assert "jaxtorch new program at" in asked.stdout


@pytest.mark.parametrize(("options", "warned"), [((), False), (("-W", "always"), True)])
def test_a_program_that_forks_is_not_warned_of_jax(options: tuple[str, ...], warned: bool, script, run_python: Run):
    """Its child computes without JAX. A program that wants every warning has this one too."""
    program = script("""
        import jax
        import torch
        import torch.multiprocessing as mp

        def work(rank, x):
            print(rank, (x * 2).tolist(), flush=True)

        jax.devices()  # its runtime starts, as it does in longer programs
        mp.set_start_method("fork")
        child = mp.Process(target=work, args=(0, torch.ones(2)))
        child.start()
        child.join()
    """)
    done = run_python(*options, "-m", "jaxtorch", program)
    assert done.stdout == "0 [2.0, 2.0]\n"
    assert ("os.fork() was called" in done.stderr) == warned


def test_a_class_statement_runs_in_the_frame_it_stands_in(script, run_python: Run):
    """Decorators and metaclasses count frames to find it."""
    program = script("""
        import sys, traceback
        import torch

        def user(up):
            return sys._getframe(up + 1).f_code.co_name

        class Meta(type):
            def __new__(cls, *args):
                print("metaclass", user(1))
                return super().__new__(cls, *args)

        def define():
            class Made(metaclass=Meta):
                seen = user(0), user(1), user(2)
                act = torch.relu
            return Made

        made = define()
        print(made.seen, made().act(torch.tensor([-1.0, 2.0])))
        try:
            class Fails:
                1 / 0
        except ZeroDivisionError as error:
            print([entry.name for entry in traceback.extract_tb(error.__traceback__)])
    """)
    assert run_python("-m", "jaxtorch", program).stdout.splitlines() == [
        "metaclass define",
        "('Made', 'define', '<module>') tensor([0., 2.])",
        "['<module>', 'Fails']",
    ]


def test_uninstall_gives_torch_back(run_python: Run):
    run_python(
        "-c",
        textwrap.dedent("""
            import importlib.metadata, sys, multiprocessing.spawn
            import jaxtorch
            finders, prepare = list(sys.meta_path), multiprocessing.spawn.get_preparation_data
            jaxtorch.install()
            jaxtorch.install()
            import torch.nn
            assert torch is jaxtorch and torch.__name__ == "torch"
            jaxtorch.uninstall()
            assert jaxtorch.__name__ == "jaxtorch"
            jaxtorch.uninstall()
            assert sys.meta_path == finders and multiprocessing.spawn.get_preparation_data is prepare
            assert not any(name.split(".")[0] == "torch" for name in sys.modules)
            import torch
            assert torch is not jaxtorch and torch.__name__ == "torch"
            assert importlib.metadata.version("torch") == torch.__version__
        """),
    )


def test_install_refuses_once_torch_is_imported():
    import torch  # noqa: F401

    with pytest.raises(RuntimeError, match=re.escape("before the first `import torch`")):
        jaxtorch.install()
    assert install._finder not in sys.meta_path
    jaxtorch.uninstall()
    assert sys.modules["torch"].__name__ == "torch"


def test_lines_typed_after_the_program(tmp_path: Path, run_python: Run):
    (tmp_path / "program.py").write_text("import torch\nx = torch.ones(2)\n", encoding="utf-8")
    typed = run_python("-m", "jaxtorch", "-i", "program.py", stdin="print(x + 1)\n1 / 0\nprint(x)\n")
    assert "tensor([2., 2.])" in typed.stdout and "tensor([1., 1.])" in typed.stdout
    assert "ZeroDivisionError" in typed.stderr
    assert "tensor([3.])" in run_python("-m", "jaxtorch", "-i", stdin="import torch\ntorch.ones(1) * 3\n").stdout
    block = "print(3)\nif 1:\n  print(4)\n\nprint(5)\n"  # prompts are no part of the output
    assert run_python("-m", "jaxtorch", "-i", stdin=block).stdout == run_python("-i", stdin=block).stdout == "3\n4\n5\n"
    assert "unknown option -u" in run_python("-m", "jaxtorch", "-u", "program.py", status=2).stderr


def test_the_spec_has_the_name(run_python: Run):
    code = "import importlib.util as u, torch; s = u.find_spec('torch'); print(s.name, torch.__spec__ is s, torch.hub.__name__ != '')"
    assert run_python("-W", "error", "-m", "jaxtorch", "-c", code).stdout == "torch True True\n"
