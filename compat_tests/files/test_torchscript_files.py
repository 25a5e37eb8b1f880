"""`torch.jit.load` of archives that PyTorch wrote, against PyTorch's own."""

from __future__ import annotations

import inspect
import io
import warnings
import zipfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035 - TorchScript's

import pytest
import torch

import jaxtorch
from jaxtorch._core.define.op import functions, methods
from jaxtorch.jit import _operations
from jaxtorch.jit._same_names import SAME
from torchscript_kit import same

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated", "ignore::torch.jit.TracerWarning")


def _mine(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return jaxtorch.from_numpy(x.detach().numpy().copy())
    return type(x)(map(_mine, x)) if isinstance(x, (list, tuple)) else x


def _both(module: Any, path: Path, *args: Any) -> tuple[Any, Any]:
    """The module, saved by PyTorch, as both load it; their outputs and states are the same."""
    torch.jit.save(module, path)
    ours, theirs = jaxtorch.jit.load(path), torch.jit.load(path)
    given = _mine(args)
    same(ours(*given), theirs(*args))
    same({n: t.detach() for n, t in ours.state_dict().items()}, theirs.state_dict())
    assert repr(ours) == repr(theirs) and ours.training == getattr(theirs, "training", False)
    return ours, theirs


class Point(NamedTuple):
    x: torch.Tensor
    n: int


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n

    def add(self, k: int) -> int:
        self.n += k
        return self.n


class Helper(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3))
        self.names: List[str] = ["a", "b"]  # noqa: UP006

    def help(self, x: torch.Tensor, y: Optional[torch.Tensor] = None) -> torch.Tensor:  # noqa: UP045
        if y is None:
            return x * self.w
        return x + y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.help(x)


class Control(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([Helper(), Helper()])
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
        self.register_buffer("calls", torch.zeros(()))
        self.setting = (1, 2.5, "s")

    def forward(self, x, k: int = 2, flag: bool = True, scale: float = 1.5):
        out: List[torch.Tensor] = []  # noqa: UP006
        table: Dict[str, torch.Tensor] = {}  # noqa: UP006
        for i in range(k):
            for part in self.parts:
                x = part(x)
            if i % 2 == 0 and flag:
                x = torch.nn.functional.relu(x) + i
                continue
            elif not flag:
                x = -x
                break
            out.append(x)
        while x.sum() > 100:
            x = x / 2
        for t in out:
            x = x + t
        table["x"] = x
        if "x" in table:
            x = table["x"] ** 2
        n = Counter(3).add(k)
        self.calls += 1
        x = self.body(x)
        x[0] = 1.0
        x[:, 1] += 2
        p = Point(x, n)
        text = "n is {} {}".format(n, scale) + f"{k}"  # noqa: UP032
        if x.dim() != 2:
            raise ValueError(text)
        b, c = x.shape
        q = x.view(b, -1).to(torch.float64).mean(1, keepdim=True) * scale
        m, at = torch.max(x, dim=1)
        z = torch.zeros(b, c, dtype=torch.int64, device=x.device)
        number = int(x.shape[0]) // 2 + int(3.5) + len(out) + min(3, k) + abs(-2)
        big = torch.nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="bilinear", align_corners=False)
        with torch.no_grad():
            frozen = x * 2
        return (
            p.x,
            q,
            m,
            at,
            z,
            number,
            big,
            text,
            table,
            x[..., None],
            x[:, [0, 1]],
            x[x > 0],
            self.parts[0].names,
            frozen,
            p,
        )

    @torch.jit.export
    def other(self, xs: List[Tuple[int, torch.Tensor]]) -> Dict[str, Tuple[int, Optional[torch.Tensor]]]:  # noqa: UP006, UP045
        return {"n": (len(xs), xs[0][1] if len(xs) > 0 else None)}


def test_control_flow_containers_and_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    ours, theirs = _both(torch.jit.script(Control()), tmp_path / "m.pt", torch.randn(4, 3))
    for more in ((3, True), (1, False), (5, True, 2)):
        x = torch.randn(2, 3)
        mine = _mine(x)
        same(ours(mine, *more), theirs(x, *more))
    x = torch.randn(2)
    same(ours.other([(1, _mine(x))]), theirs.other([(1, x)]))
    same(ours.other([]), theirs.other([]))
    assert ours.setting == theirs.setting and ours.original_name == theirs.original_name
    with pytest.raises(jaxtorch.jit.Error, match=r"builtins\.ValueError: n is"):
        ours(jaxtorch.ones(1, 2, 3))
    assert ours.code.split("\n")[0] == theirs.code.split("\n")[0]
    with pytest.raises(NotImplementedError, match="graph"):
        _ = ours.graph


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(inplace=True),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 8, 3, padding="same", groups=2),
            torch.nn.GroupNorm(2, 8),
            torch.nn.SiLU(),
            torch.nn.AdaptiveAvgPool2d(1),
        )
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).view(x.size(0), -1))


@pytest.mark.parametrize("traced", [True, False])
def test_training_goes_on(tmp_path: Path, traced: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    module = torch.jit.trace(Net(), x, check_trace=False) if traced else torch.jit.script(Net())
    ours, theirs = _both(module, tmp_path / "m.pt", x)
    for m, torch_, data in ((ours, jaxtorch, _mine(x)), (theirs, torch, x)):
        optimizer = torch_.optim.SGD(m.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            m(data[:, :, :6]).pow(2).sum().backward()
            optimizer.step()
        m.eval()
    same(ours(_mine(x)), theirs(x))
    same(ours.state_dict(), theirs.state_dict())


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(8, 4)

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # noqa: UP006
        y, (h, _) = self.lstm(x)
        return y, h, self.gru(y)[0]


@pytest.mark.parametrize("traced", [True, False])
def test_recurrent_layers(tmp_path: Path, traced: bool) -> None:
    x = torch.randn(2, 5, 3)
    module = torch.jit.trace(Recurrent(), x) if traced else torch.jit.script(Recurrent())
    ours, theirs = _both(module, tmp_path / "m.pt", x)
    ours(_mine(x))[2].sum().backward()
    theirs(x)[2].sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        same(a.grad, b.grad)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(10, 8)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.encoder = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:  # noqa: UP045
        return self.encoder(self.table(x), src_key_padding_mask=mask)


@pytest.mark.parametrize("grad", [True, False])
def test_encoder_with_and_without_gradients(tmp_path: Path, grad: bool) -> None:
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[0, 3:] = True
    with torch.set_grad_enabled(grad), jaxtorch.set_grad_enabled(grad), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _both(torch.jit.script(Encoder().eval()), tmp_path / "m.pt", torch.randint(0, 10, (3, 5)), mask)


def test_frozen_modules_extra_files_and_streams(tmp_path: Path) -> None:
    frozen = torch.jit.freeze(torch.jit.script(Net().eval()))
    x = torch.randn(2, 3, 8, 8)
    ours, _ = _both(frozen, tmp_path / "m.pt", x)
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(Net().eval()), stream, _extra_files={"a.txt": b"bytes"})
    found = {"a.txt": "", "none": "x"}
    stream.seek(0)
    ours = jaxtorch.jit.load(stream, map_location="cpu", _extra_files=found)
    assert found == {"a.txt": b"bytes", "none": b""}
    given = _mine(x)
    same(jaxtorch.jit.freeze(ours)(given).numpy().tolist(), ours(given).detach().numpy().tolist())
    same(jaxtorch.jit.optimize_for_inference(ours)(given).numpy().tolist(), ours(given).detach().numpy().tolist())


def test_errors_of_files(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)
    content = path.read_bytes()
    torch.save({"a": 1}, tmp_path / "plain.pt")
    (tmp_path / "short.pt").write_bytes(content[: len(content) // 2])
    (tmp_path / "other.pt").write_bytes(b"hello" * 20)
    for name in ("plain.pt", "short.pt", "other.pt", "none.pt", "."):
        for torch_ in (torch, jaxtorch):
            with pytest.raises((ValueError, RuntimeError)) as caught:
                torch_.jit.load(tmp_path / name)
            assert type(caught.value) is (ValueError if name in ("none.pt", ".") else RuntimeError)
    with pytest.raises(RuntimeError, match="weights_only"):
        jaxtorch.load(path)
    with pytest.warns(UserWarning, match="dispatching to 'torch.jit.load'"):
        loaded = jaxtorch.load(path, weights_only=False)
    assert loaded(jaxtorch.ones(1, 2)).shape == (1, 2)
    with pytest.raises(RuntimeError, match="input"):
        loaded()
    with pytest.raises(RuntimeError):
        jaxtorch.save(loaded, tmp_path / "again.pt")
    with pytest.raises(ValueError, match="map_location"):
        jaxtorch.jit.load(path, map_location={"cuda": "cpu"})


HOSTILE = [
    "return input.__class__",
    "return __import__('os')",
    "f = self.save\n    return f('here')",
    "return self.save('here')",
    "return sorted([self], key=self.save)",
    "return (lambda y: y)(input)",
    "import os\n    return input",
    "return getattr(input, '__dict__')",
    "return torch.save(input, 'here')",
    "return torch.from_file('here', True, 1)",
    "return torch.replace(self, 'a', 'b')",
    "return [y for y in [input]]",
    "return eval('input')",
    "return _global_0",
    "global x\n    return input",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_source_cannot_leave_its_subset(tmp_path: Path, body: str) -> None:
    path, other = tmp_path / "m.pt", tmp_path / "n.pt"
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(other, "w") as made:
        for name in archive.namelist():
            text = archive.read(name)
            if b"class ReLU(" in text:  # its file's name depends on what was scripted before
                head = text.decode().split("    _0 = ")[0]
                text = (head + "    " + body + "\n").encode()
            made.writestr(name, text)
    with pytest.raises((RuntimeError, NotImplementedError)):
        jaxtorch.jit.load(other)(jaxtorch.ones(2))
    assert not (Path.cwd() / "here").exists()


def test_positions_of_arguments_are_those_of_the_schemas() -> None:
    schemas: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten" and name in SAME and "Tensor" in str(schema):
            schemas.setdefault(name, []).append(schema)
    assert set(schemas) == set(SAME) - set(_operations.OWN) | (set(schemas) & set(_operations.OWN))
    for name, overloads in schemas.items():
        if name in _operations.OWN:
            continue
        given = inspect.signature(functions.get(name) or methods[name]).parameters.values()
        ours = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        ours = ["self" if n == "input" else n for n in ours]
        if not ours:  # some show no signature once another test has used them
            continue
        for schema in overloads:
            names = ["self" if a.name == "input" else a.name for a in schema.arguments if not a.kwarg_only]
            if not any(a.is_out or "Dimname" in str(a.type) or a.name == "names" for a in schema.arguments):
                assert ours[: len(names)] == names, schema
