"""The direction of dependency, as ARCHITECTURE.md draws it, holds in csrc/ and python/.

The build enforces csrc/ too (a component only sees the headers it may use); here the rule is read
from the sources, so a widened DEPENDS in a sources.cmake fails as well.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: csrc component -> components whose headers it may include besides its own.
NATIVE = {
    "base": set(),
    "gguf": {"base"},
    "quant": {"base"},
    "kernels": {"base", "quant"},
    "backend": {"base"},
    "backend/cpu": {"base", "quant", "kernels", "backend"},
    "kv": {"base"},
    "sample": {"base"},
    "model": {"base", "gguf", "backend"},
    "runtime": {"base", "gguf", "backend", "backend/cpu", "kv", "model"},
    "bind": {
        *("base", "gguf", "quant", "kernels", "backend", "backend/cpu"),
        *("kv", "sample", "model", "runtime"),
    },
}

#: bactrian module or package -> modules and packages it may import besides its own.
PYTHON = {
    "errors": set(),
    "text": {"errors"},
    "params": {"errors"},
    "hub": {"errors"},
    "model": {"errors", "_core", "text", "params", "hub"},
    "engine": {"errors", "_core", "text", "params", "model"},
    "llm": {"errors", "_core", "text", "params", "model", "engine"},
    "cli": {"errors", "_core", "text", "params", "hub", "model", "engine", "llm"},
}


def native_component(path: str) -> str:
    """The component a source or an include path belongs to: longest known folder."""
    return max((c for c in NATIVE if path.startswith(c + "/")), key=len)


@pytest.mark.parametrize("component", NATIVE)
def test_native_includes(component: str) -> None:
    wrong = []
    for file in sorted((ROOT / "csrc" / component).rglob("*.[ch]*")):
        path = file.relative_to(ROOT / "csrc").as_posix()
        if native_component(path) != component:
            continue
        for include in re.findall(r'#include "([^"]+)"', file.read_text(encoding="utf-8")):
            target = native_component(include)
            if target != component and target not in NATIVE[component]:
                wrong.append(f"{path} includes {include}")
    assert wrong == []


def imported_modules(file: Path, package: str) -> set[str]:
    """First component below `bactrian` of every import in a file, lazy ones included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1:
                found.add(parts[1])
    return found


@pytest.mark.parametrize("part", PYTHON)
def test_python_imports(part: str) -> None:
    package = ROOT / "python" / "bactrian"
    folder = package / part
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [package / f"{part}.py"]
    assert files
    known = PYTHON.keys() | {"_core"}
    wrong = []
    for file in files:
        allowed = PYTHON[part] | {part}
        for name in imported_modules(file, "bactrian"):
            # Names that are no module are re-exports of the package itself: only cli may use them.
            if name in known and name not in allowed:
                wrong.append(f"{file.relative_to(ROOT)} imports bactrian.{name}")
    assert wrong == []


def test_every_part_is_named() -> None:
    native = {p.name for p in (ROOT / "csrc").iterdir() if p.is_dir()}
    assert native <= NATIVE.keys()
    package = ROOT / "python" / "bactrian"
    python = {
        p.stem for p in package.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert python - {"__init__", "__main__"} <= PYTHON.keys()
