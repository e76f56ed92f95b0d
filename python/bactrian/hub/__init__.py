"""Where models come from: a path, the default model, or Hugging Face."""

from __future__ import annotations

from pathlib import Path

from bactrian.errors import InvalidArgumentError
from bactrian.hub.default_model import DEFAULT_MODEL, fetch_default_model
from bactrian.hub.huggingface import fetch_from_hub

__all__ = ["DEFAULT_MODEL", "fetch_default_model", "fetch_from_hub", "resolve"]

HUB_PREFIX = "hf:"


def resolve(
    reference: str | Path | None, *, offline: bool = False, token: str | None = None
) -> Path:
    """Path of the GGUF file that a reference names.

    ``reference``: a path (``~`` is the home folder), ``hf:user/repo[:quant]``, or None for the
    default model. Raises FileNotFoundError, InvalidArgumentError, DownloadError.
    """
    if reference is None:
        return fetch_default_model(offline=offline)
    text = str(reference)
    if text.startswith(HUB_PREFIX):
        return fetch_from_hub(text.removeprefix(HUB_PREFIX), offline=offline, token=token)
    path = Path(text).expanduser()
    if path.is_dir():
        raise InvalidArgumentError(f"{path} is a folder; name one GGUF file{_contents(path)}")
    if not path.exists():
        raise FileNotFoundError(
            f"there is no model file {path}; a model on Hugging Face is written "
            f"{HUB_PREFIX}user/repo"
        )
    return path


def _contents(folder: Path) -> str:
    names = sorted(p.name for p in folder.glob("*.gguf"))
    return f" in it: {', '.join(names[:8])}" if names else " (it contains none)"
