"""`torch.hub`: models from a folder with a `hubconf.py`, and state dicts from URLs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from .serialization import load as _load

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir",
]  # fmt: skip

try:
    from tqdm import tqdm  # pyright: ignore[reportAssignmentType]
except ImportError:

    class tqdm:
        """Stands in for the progress bar of the package tqdm where that is absent, and shows nothing."""

        def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
            self.iterable = () if iterable is None else iterable

        def __iter__(self) -> Any:
            return iter(self.iterable)

        def update(self, n: float = 1) -> None:
            """Nothing to show."""

        def close(self) -> None:
            """Nothing to show."""

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *exc: Any) -> None:
            pass


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 128 * 1024
_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for what is downloaded: `hub` in $TORCH_HOME, by default ~/.cache/torch/hub."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder for what is downloaded."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _folder(repo: str, source: str, api: str) -> str:
    if source == "local":
        return repo
    if source != "github":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    name = "_".join(repo.replace(":", "/").split("/"))
    for folder in (
        os.path.join(get_dir(), name),
        *(os.path.join(get_dir(), f"{name}_{b}") for b in ("main", "master")),
    ):
        if os.path.isdir(folder):
            return folder
    raise NotImplementedError(
        f"{api}: jaxtorch downloads no repositories. Put {repo} into a folder and use source='local', or into {get_dir()}"
    )


def _hubconf(folder: str) -> ModuleType:
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: {path!r}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    needed = [d for d in getattr(module, "dependencies", []) if importlib.util.find_spec(d) is None]
    if needed:
        raise RuntimeError(f"Missing dependencies: {', '.join(needed)}")
    return module


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of the folder's `hubconf.py` returns for the other arguments.

    Unlike in PyTorch a GitHub repository is taken only from the cache folder, not downloaded: NotImplementedError.
    """
    return _entry(_hubconf(_folder(repo_or_dir, source, "torch.hub.load")), model)(*args, **kwargs)


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None
) -> str | None:
    """The docstring of an entry of the `hubconf.py` of a repository, which is in the cache folder."""
    return _entry(_hubconf(_folder(github, "github", "torch.hub.help")), model).__doc__


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """The object in the file at a URL, which is downloaded unless `model_dir` has it already."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match.group(1) if match else None, progress=progress)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = archive.infolist()
            if len(files) == 1:  # a zip file around the checkpoint, as old releases have it
                archive.extractall(folder)
                path = os.path.join(folder, files[0].filename)
    return _load(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file. hash_prefix: what its SHA-256 must begin with, or RuntimeError. progress: without effect."""
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(delete=False, dir=os.path.dirname(dst) or ".") as file:
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
            with urllib.request.urlopen(request) as response:
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
            file.close()
            found = digest.hexdigest()
            if hash_prefix and not found.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            shutil.move(file.name, dst)
        finally:
            file.close()
            if os.path.exists(file.name):
                os.remove(file.name)


def _list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, verbose: bool = True
) -> Any:
    """The names of the entries of the `hubconf.py` of a repository, which is in the cache folder."""
    module = _hubconf(_folder(github, "github", "torch.hub.list"))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


_list.__name__ = "list"
list = _list
