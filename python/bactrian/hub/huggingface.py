"""Models from Hugging Face: ``user/repo[:quant]`` to the path of a file in its cache.

``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HOME`` work as everywhere else; files that other programs
fetched are found again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bactrian.errors import DownloadError, InvalidArgumentError
from bactrian.hub.progress import say

DEFAULT_QUANT = "Q4_K_M"

_REPOSITORY = re.compile(r"^(?P<repo>[\w.-]+/[\w.-]+)(?::(?P<quant>[\w.-]+))?$")
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on the hub and the quantisation wanted from it."""

    name: str
    quant: str | None

    @classmethod
    def parse(cls, text: str) -> Repository:
        """``user/repo`` or ``user/repo:quant``. Raises InvalidArgumentError for anything else."""
        match = _REPOSITORY.match(text)
        if match is None:
            raise InvalidArgumentError(
                f"{text!r} is not a model on Hugging Face; write user/repo or user/repo:quant, "
                "for example bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M"
            )
        return cls(match["repo"], match["quant"])


def choose_files(names: Iterable[str], repository: Repository) -> list[str]:
    """The GGUF file to load, or all shards of a split one in order.

    Without a quantisation in the reference, Q4_K_M is taken, else the first file by name.
    Raises DownloadError that lists what there is.
    """
    models = sorted(n for n in names if n.endswith(".gguf") and not _is_companion(n))
    if not models:
        raise DownloadError(f"{repository.name} contains no GGUF model")
    if repository.quant is not None:
        matches = [n for n in models if _has_tag(n, repository.quant)]
        if not matches:
            raise DownloadError(
                f"{repository.name} has no file with {repository.quant} in its name; it has: "
                + ", ".join(models)
            )
    else:
        matches = [n for n in models if _has_tag(n, DEFAULT_QUANT)] or models
    return _with_shards(matches[0], models, repository)


def fetch_from_hub(reference: str, *, offline: bool = False, token: str | None = None) -> Path:
    """Path of the model named by ``user/repo[:quant]``, fetched unless it is in the cache.

    Raises DownloadError, InvalidArgumentError for a malformed reference.
    """
    repository = Repository.parse(reference)
    if offline:
        return _from_cache(repository, "and --offline was given")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), token=token)
    name = repository.name
    try:
        files = choose_files(api.list_repo_files(name), repository)
        say(f"Fetching {', '.join(files)} from {name} on {api.endpoint}.")
        paths = [Path(api.hf_hub_download(name, file)) for file in files]
    except DownloadError:
        raise
    except GatedRepoError as error:
        raise DownloadError(
            f"{name} asks its users to accept terms: do so on {api.endpoint}/{name}, "
            "then set HF_TOKEN to a token of that account"
        ) from error
    except RepositoryNotFoundError as error:
        raise DownloadError(
            f"there is no repository {name} on {api.endpoint}; check the spelling, "
            "and set HF_TOKEN if it is private"
        ) from error
    except HfHubHTTPError as error:
        raise DownloadError(f"{api.endpoint} refused {name}: {error}") from error
    except Exception as error:
        # No connection: the HTTP library below, and with it the class, differs between versions.
        reason = f"{api.endpoint} can't be reached ({error})"
        return _from_cache(repository, f"and {reason}")
    return paths[0]


def _from_cache(repository: Repository, reason: str) -> Path:
    """The model from files fetched earlier; says so, because they may be out of date."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    advice = f"{repository.name} is not in the cache {reason}; connect once, or use -m FILE"
    try:
        folder = Path(snapshot_download(repository.name, local_files_only=True))
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")]
        files = choose_files(names, repository)
    except (LocalEntryNotFoundError, DownloadError) as error:
        raise DownloadError(advice) from error
    say(f"Using {files[0]} of {repository.name} as fetched earlier.")
    return folder / files[0]


def _is_companion(name: str) -> bool:
    stem = name.rsplit("/", 1)[-1].lower()
    return stem.startswith("mmproj") or "imatrix" in stem


def _has_tag(name: str, tag: str) -> bool:
    """Whether a file name carries the tag as a whole word: Q4_K is not found in Q4_K_M."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(tag)}(?![A-Za-z0-9_])", name, re.I) is not None


def _with_shards(name: str, models: list[str], repository: Repository) -> list[str]:
    match = _SHARD.search(name)
    if match is None:
        return [name]
    stem, count = name[: match.start()], int(match[2])
    shards = [f"{stem}-{i:05d}-of-{count:05d}.gguf" for i in range(1, count + 1)]
    missing = [shard for shard in shards if shard not in models]
    if missing:
        raise DownloadError(
            f"{repository.name} lacks {missing[0]}, one of the {count} files of a split model"
        )
    return shards
