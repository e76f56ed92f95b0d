"""``import bactrian`` is cheap and stays so."""

import subprocess
import sys


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    added = modules_after("import bactrian") - modules_after("pass")
    heavy = {
        *("numpy", "tokenizers", "sentencepiece", "jinja2", "huggingface_hub", "tqdm"),
        *("aiohttp", "asyncio", "http.server", "bactrian._core"),
    }
    assert added & heavy == set()


def test_offline_api_loads_no_server_code() -> None:
    loaded = modules_after("from bactrian import LLM, Model, Context, Batch, Sampler")
    assert loaded & {"aiohttp", "http.server", "huggingface_hub"} == set()
