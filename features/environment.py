"""Wires the scenarios: a folder and an environment of their own, and the installed package."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CAMEL = ROOT / "models" / "tiny-camel.gguf"


def before_all(context):
    import bactrian

    installed = Path(bactrian.__file__).resolve()
    assert ROOT / "python" not in installed.parents, f"{installed} is not an installed package"
    context.camel_path = CAMEL
    context.bactrian = Path(sys.executable).with_name("bactrian")
    context.loaded = {}
    context.attempt = lambda action: attempt(context, action)


def attempt(context, action):
    """Runs an action and keeps its error for a later step."""
    from bactrian.errors import BactrianError

    context.error = None
    try:
        return action()
    except BactrianError as error:
        context.error = error
        return None


def before_scenario(context, scenario):
    context.folder = Path(tempfile.mkdtemp(prefix="bactrian-feature-"))
    context.environment = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_ARG_")}


def after_scenario(context, scenario):
    for llm in context.loaded.values():
        assert not llm.context.sequences(), "every request gave its pages back"
        llm.context.check()
    shutil.rmtree(context.folder)


def after_all(context):
    for llm in context.loaded.values():
        llm.close()
