"""bactrian: completions and embeddings from one GGUF model, at the same time."""

from __future__ import annotations

from bactrian import errors

__all__ = ["errors"]
