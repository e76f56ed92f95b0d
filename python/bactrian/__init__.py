"""bactrian: completions and embeddings from one GGUF model, at the same time.

Names are imported when first used, so that ``import bactrian`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bactrian import errors

if TYPE_CHECKING:
    from bactrian._core import Batch, Context, Output, Sampler
    from bactrian.engine.outputs import Completion, GenerationOutput
    from bactrian.engine.request import Timings, TokenLogprobs
    from bactrian.engine.runner import TextIterator
    from bactrian.llm import LLM
    from bactrian.model import MemoryEstimate, Model
    from bactrian.params import SamplingParams

    __version__: str

#: Public name -> the module it lives in.
_HOMES = {
    "Batch": "bactrian._core",
    "Completion": "bactrian.engine.outputs",
    "Context": "bactrian._core",
    "GenerationOutput": "bactrian.engine.outputs",
    "LLM": "bactrian.llm",
    "MemoryEstimate": "bactrian.model",
    "Model": "bactrian.model",
    "Output": "bactrian._core",
    "Sampler": "bactrian._core",
    "SamplingParams": "bactrian.params",
    "TextIterator": "bactrian.engine.runner",
    "Timings": "bactrian.engine.request",
    "TokenLogprobs": "bactrian.engine.request",
}

__all__ = [
    "LLM",
    "Batch",
    "Completion",
    "Context",
    "GenerationOutput",
    "MemoryEstimate",
    "Model",
    "Output",
    "Sampler",
    "SamplingParams",
    "TextIterator",
    "Timings",
    "TokenLogprobs",
    "__version__",
    "errors",
]


def __getattr__(name: str) -> object:
    """Imports a public name on first use (PEP 562)."""
    if name == "__version__":
        from bactrian import _core

        value: object = _core.build_info()["version"]
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'bactrian' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
