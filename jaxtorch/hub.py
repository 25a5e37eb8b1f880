"""`torch.hub`: models from a folder or a GitHub repository with a `hubconf.py`, and state dicts from URLs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
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


# -- repositories

_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")


def _git_archive_link(owner: str, name: str, ref: str) -> str:
    return f"https://github.com/{owner}/{name}/zipball/{ref}"


def _opened(url: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers={"User-Agent": "torch.hub"}))


def _main_branch(owner: str, name: str) -> str:
    """What the repository's main branch is called; without a connection, the one that the cache has."""
    try:
        with _opened(f"https://github.com/{owner}/{name}/tree/main/"):
            return "main"
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return "master"
    except urllib.error.URLError as error:
        for ref in ("main", "master"):
            if os.path.isdir(os.path.join(get_dir(), f"{owner}_{name}_{ref}")):
                return ref
        raise RuntimeError(f"torch.hub: no connection, and {owner}/{name} is not in the cache ({get_dir()})") from error


def _check_is_not_a_forks(owner: str, name: str, ref: str) -> None:
    """ValueError where only a fork has the branch, tag or commit: GitHub hands those out under the original's name too."""
    for kind in ("branches", "tags"):
        page, found = 1, [None]
        while found:
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            with _opened(url) as response:
                found = json.load(response)
            if any(ref == f["name"] or f["commit"]["sha"].startswith(ref) for f in found):
                return
            page += 1
    raise ValueError(f"torch.hub: {owner}/{name} has no {ref}; if it is a commit of a fork, name the fork")


def _check_is_trusted(owner: str, name: str, folder: str, trust_repo: Any) -> None:
    """Ask where the repository is neither in the list of trusted ones nor in the cache, and put it into the list."""
    path = os.path.join(get_dir(), "trusted_list")
    with open(path, "a+") as file:
        file.seek(0)
        trusted = f"{owner}_{name}" in file.read().split() or owner in _TRUSTED_OWNERS or os.path.isdir(folder)
        if trust_repo is False or (trust_repo == "check" and not trusted):
            answer = input(f"The repository {owner}_{name} is not in {path}. Trust it and add it to that list (y/N)? ")
            if answer.strip().lower() not in ("y", "yes"):
                raise Exception("Untrusted repository.")
        if not trusted:
            file.write(f"{owner}_{name}\n")


def _repository(github: str, force_reload: bool, trust_repo: Any, verbose: bool, skip_validation: bool) -> str:
    """The folder of the cache with the repository "owner/name" or "owner/name:branch or tag", downloaded where it has to be."""
    repository, _, ref = github.partition(":")
    owner, name = repository.split("/")
    ref = ref or _main_branch(owner, name)
    plain = ref.replace("/", "_")
    folder = os.path.join(get_dir(), f"{owner}_{name}_{plain}")
    os.makedirs(get_dir(), exist_ok=True)
    _check_is_trusted(owner, name, folder, trust_repo)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    if not skip_validation:
        _check_is_not_a_forks(owner, name, ref)
    url, path = _git_archive_link(owner, name, ref), os.path.join(get_dir(), plain + ".zip")
    sys.stdout.write(f'Downloading: "{url}" to {path}\n')
    download_url_to_file(url, path, progress=False)
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory(dir=get_dir()) as unpacked:
        archive.extractall(unpacked)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(os.path.join(unpacked, archive.infolist()[0].filename), folder)
    os.remove(path)
    return folder


@contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The `hubconf.py` of a folder, in which Python finds modules meanwhile."""
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: {path!r}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    needed = [d for d in getattr(module, "dependencies", []) if importlib.util.find_spec(d) is None]
    if needed:
        raise RuntimeError(f"Missing dependencies: {', '.join(needed)}")
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of a repository's `hubconf.py` returns for the other arguments.

    repo_or_dir: "owner/name" or "owner/name:branch or tag" on GitHub, downloaded into `get_dir()` unless it is there; with
    source="local" a folder. trust_repo: True; "check" asks where the repository is not known; False asks in any case.
    skip_validation: do not ask GitHub whether the branch is a fork's. A repository that imports torch gets jaxtorch only under
    `python -m jaxtorch` or `jaxtorch.install()`.
    """
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = repo_or_dir
    if source == "github":
        folder = _repository(repo_or_dir, force_reload, trust_repo, verbose, skip_validation)
    with _hubconf(folder) as module:
        return _entry(module, model)(*args, **kwargs)


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check"
) -> str | None:
    """The docstring of an entry of a repository's `hubconf.py`; see `load`."""
    with _hubconf(_repository(github, force_reload, trust_repo, True, skip_validation)) as module:
        return _entry(module, model).__doc__


# -- files


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
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> Any:
    """The names of the entries of a repository's `hubconf.py`; see `load`."""
    with _hubconf(_repository(github, force_reload, trust_repo, verbose, skip_validation)) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


_list.__name__ = "list"
list = _list
