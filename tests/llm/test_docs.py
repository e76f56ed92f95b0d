"""The examples of the documentation run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.S
)


@pytest.mark.parametrize("code", EXAMPLES, ids=lambda code: code.splitlines()[0])
def test_example(code, tmp_path, monkeypatch, capsys):
    (tmp_path / "model.gguf").symlink_to(ROOT / "models" / "tiny-camel.gguf")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/python.md", "exec"), {})
    assert capsys.readouterr().out
