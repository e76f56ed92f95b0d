"""Models from Hugging Face, against a stand-in server on this machine."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bactrian.errors import DownloadError, InvalidArgumentError
from bactrian.hub.huggingface import Repository, choose_files, fetch_from_hub

REPO = "camels/Tiny-GGUF"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

FILES = {
    "README.md": b"# Tiny",
    "tiny-Q4_K_M.gguf": b"GGUF medium",
    "tiny-Q8_0.gguf": b"GGUF eight",
    "big-F16-00001-of-00002.gguf": b"GGUF first",
    "big-F16-00002-of-00002.gguf": b"GGUF second",
}


class Hub(BaseHTTPRequestHandler):
    """The three requests that a download makes: list, head, get."""

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        self.server.requests.append((self.path, self.headers.get("Authorization")))
        path = self.path.partition("?")[0]
        if path.startswith(f"/api/models/{REPO}/tree/"):
            listing = [
                {"type": "file", "path": name, "size": len(body), "oid": "0" * 40}
                for name, body in FILES.items()
            ]
            self.send(json.dumps(listing).encode(), with_body)
        elif path.startswith(f"/{REPO}/resolve/") and path.rsplit("/", 1)[1] in FILES:
            self.send(FILES[path.rsplit("/", 1)[1]], with_body)
        else:
            self.send_response(401 if "private" in path else 404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send(self, body, with_body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hash(body) & 0xFFFFFFFF:040x}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.requests = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def pull(tmp_path, *words, hub=None, **more):
    """``bactrian pull`` as a user runs it, with a cache of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "LLAMA_ARG_"))}
    env |= {"HF_HOME": str(tmp_path / "hf"), "NO_PROXY": "127.0.0.1"} | more
    if hub is not None:
        env["HF_ENDPOINT"] = f"http://127.0.0.1:{hub.server_port}"
    return subprocess.run(
        [sys.executable, "-m", "bactrian.cli.main", "pull", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def content_of(result):
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.strip()).read_bytes()


def test_the_default_quantisation_is_fetched_and_found_again_offline(hub, tmp_path):
    first = pull(tmp_path, "-hf", REPO, hub=hub)
    assert content_of(first) == b"GGUF medium"
    assert f"Fetching tiny-Q4_K_M.gguf from {REPO}" in first.stderr
    n_requests = len(hub.requests)
    again = pull(tmp_path, "-hf", REPO, "--offline", hub=hub)
    assert content_of(again) == b"GGUF medium"
    assert len(hub.requests) == n_requests


def test_a_quantisation_may_be_named_and_the_token_is_sent(hub, tmp_path):
    result = pull(tmp_path, f"hf:{REPO}:q8_0", hub=hub, HF_TOKEN="hf_secret")
    assert content_of(result) == b"GGUF eight"
    assert {token for path, token in hub.requests if REPO in path} == {"Bearer hf_secret"}
    assert "hf_secret" not in result.stdout + result.stderr


def test_all_parts_of_a_split_model_are_fetched(hub, tmp_path):
    result = pull(tmp_path, "-hf", f"{REPO}:F16", hub=hub)
    assert content_of(result) == b"GGUF first"
    second = result.stdout.strip().replace("00001-of", "00002-of")
    assert Path(second).read_bytes() == b"GGUF second"


def test_what_is_missing_is_named(hub, tmp_path):
    wrong_quant = pull(tmp_path, "-hf", f"{REPO}:Q2_K", hub=hub)
    assert wrong_quant.returncode == 1
    assert wrong_quant.stderr.startswith("error: camels/Tiny-GGUF has no file with Q2_K")
    assert "tiny-Q8_0.gguf" in wrong_quant.stderr
    for repo in ("camels/none", "camels/private"):
        result = pull(tmp_path, "-hf", repo, hub=hub)
        assert result.returncode == 1
        assert f"there is no repository {repo}" in result.stderr


def test_offline_without_a_copy_says_what_to_do(tmp_path):
    result = pull(tmp_path, "-hf", REPO, "--offline")
    assert result.returncode == 1
    assert result.stderr == (
        f"error: {REPO} is not in the cache and --offline was given; connect once, or use -m FILE\n"
    )


def test_without_a_connection_and_a_copy_the_error_says_so(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the library waits between tries
    with pytest.raises(
        DownloadError, match=r"http://127\.0\.0\.1:9 can't be reached .*use -m FILE"
    ):
        fetch_from_hub("camels/never-fetched")


@pytest.mark.parametrize("text", ["", "a", "a/b/c", "a/b:", "../x y", "a b/c"])
def test_malformed_references_are_refused(text):
    with pytest.raises(InvalidArgumentError, match="write user/repo"):
        Repository.parse(text)


@pytest.mark.parametrize(
    ("names", "quant", "expected"),
    [
        (["m-Q4_K_S.gguf", "m-Q4_K_M.gguf"], None, "m-Q4_K_M.gguf"),
        (["m-Q8_0.gguf", "m-F16.gguf"], None, "m-F16.gguf"),
        (["m-Q4_K_M.gguf", "m-Q4_K.gguf"], "Q4_K", "m-Q4_K.gguf"),
        (["m.q6_k.gguf"], "Q6_K", "m.q6_k.gguf"),
        (["mmproj-Q8_0.gguf", "sub/m-Q8_0.gguf"], "Q8_0", "sub/m-Q8_0.gguf"),
        (["m-imatrix.gguf", "z.gguf"], None, "z.gguf"),
    ],
)
def test_which_file_is_chosen(names, quant, expected):
    assert choose_files(names, Repository("u/r", quant)) == [expected]


def test_a_split_model_must_be_whole():
    names = ["m-00001-of-00003.gguf", "m-00003-of-00003.gguf"]
    with pytest.raises(DownloadError, match=r"lacks m-00002-of-00003\.gguf"):
        choose_files(names, Repository("u/r", None))
    with pytest.raises(DownloadError, match="contains no GGUF model"):
        choose_files(["README.md"], Repository("u/r", None))
