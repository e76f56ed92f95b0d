#!/usr/bin/env python3
"""Sets up everything the tests need and runs them all: ``python3 tests/run.py``.

Needs Python 3.10 or newer with pip, a C++ compiler, and the package index. Everything lands in
``build/``: a virtual environment with the wheel of this checkout and the development tools, and one
folder per native build. Steps run in the order of ``STEPS``; name some to run only those
(``python3 tests/run.py lint pytest``). Only the standard library is used here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
VENV = BUILD / "venv"
BIN = VENV / "bin"
DIST = BUILD / "dist"
JOBS = str(os.cpu_count() or 2)


class StepError(Exception):
    """A command of a step returned an error; the message is the command line."""


def sh(*command: str | Path, cwd: Path = ROOT, **env: str) -> None:
    """Runs a command, showing its output; raises StepError if it fails."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(words, cwd=cwd, env={**os.environ, "PATH": path, **env}, check=False)
    if result.returncode != 0:
        raise StepError(f"{' '.join(words)} (exit {result.returncode})")


def tracked(*suffixes: str) -> list[str]:
    """Files of the checkout with these endings, as git lists them."""
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [name for name in listing.splitlines() if name.endswith(suffixes)]


def setup() -> None:
    """Virtual environment with the wheel of this checkout and the development tools."""
    if not (BIN / "python").exists():
        # Without ensurepip, which Debian packages apart; this interpreter's pip does the work.
        sh(sys.executable, "-m", "venv", "--without-pip", VENV)
    pip = (sys.executable, "-m", "pip", "--python", str(BIN / "python"))
    quiet = ("--quiet", "--disable-pip-version-check")
    shutil.rmtree(DIST, ignore_errors=True)
    sh(sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", ".", "-w", DIST)
    (wheel,) = DIST.glob("bactrian-*.whl")
    sh(*pip, "install", *quiet, f"{wheel}[dev]")
    sh(*pip, "install", *quiet, "--force-reinstall", "--no-deps", wheel)


def lint() -> None:
    """Style of Python and C++, and types under mypy --strict."""
    sh("ruff", "check", ".")
    sh("ruff", "format", "--check", ".")
    sh("clang-format", "--dry-run", "-Werror", *tracked(".cc", ".h"))
    sh("mypy")


def native_build(name: str, sanitize: str = "") -> Path:
    """Configures and builds the native tests in build/<name>."""
    # Sanitizers at -O1: they find the same, and the kernels compile in a third of the time.
    flags = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -g1") if sanitize else ()
    folder = BUILD / name
    sh(
        *("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja"),
        *("-DBACTRIAN_PYTHON=OFF", "-DBACTRIAN_TESTS=ON", "-DBACTRIAN_WERROR=ON"),
        *(f"-DBACTRIAN_SANITIZE={sanitize}", *flags),
    )
    sh("cmake", "--build", folder, "--parallel", JOBS)
    return folder


def native() -> None:
    """Native tests, optimised, on every kernel table."""
    folder = native_build("native")
    sh("ctest", "--output-on-failure", cwd=folder)
    sh("ctest", "--output-on-failure", cwd=folder, BACTRIAN_ISA="ref")


def asan() -> None:
    """Native tests and the bounded fuzz run under AddressSanitizer and UBSan."""
    folder = native_build("asan", "address,undefined")
    options = "print_stacktrace=1:halt_on_error=1"
    sh("ctest", "--output-on-failure", cwd=folder, UBSAN_OPTIONS=options)


def tsan() -> None:
    """Native tests under ThreadSanitizer."""
    folder = native_build("tsan", "thread")
    sh("ctest", "--output-on-failure", cwd=folder, TSAN_OPTIONS="halt_on_error=1")


def features() -> None:
    """Behaviour tests against the installed wheel."""
    sh("behave", "--format", "progress", "features", PYTHONSAFEPATH="1")


def pytest() -> None:
    """Python tests against the installed wheel."""
    sh("pytest", "-q", "-ra", PYTHONSAFEPATH="1")


STEPS: dict[str, Callable[[], None]] = {
    "setup": setup,
    "lint": lint,
    "native": native,
    "asan": asan,
    "tsan": tsan,
    "features": features,
    "pytest": pytest,
}


def main() -> int:
    """Runs the chosen steps, stops at the first failure, and returns the exit code."""
    steps = "\n".join(f"  {name:10} {step.__doc__}" for name, step in STEPS.items())
    parser = argparse.ArgumentParser(
        description="Set up and run the tests of this checkout.",
        epilog=f"steps:\n{steps}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("steps", nargs="*", metavar="step", help="steps to run (default: all)")
    names = parser.parse_args().steps or list(STEPS)
    if unknown := [name for name in names if name not in STEPS]:
        parser.error(f"unknown step {unknown[0]!r}; steps: {', '.join(STEPS)}")
    for name in names:
        print(f"\n== {name}: {STEPS[name].__doc__}", flush=True)
        start = time.monotonic()
        try:
            STEPS[name]()
        except StepError as failure:
            print(f"\nstep {name} failed: {failure}", file=sys.stderr)
            return 1
        print(f"== {name}: done in {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
