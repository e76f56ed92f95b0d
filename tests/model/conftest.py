"""Fixtures for tests of the native engine: tiny models, their numpy oracle, checked contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from bactrian import _core
from make_tiny import TinyOptions, tiny_llama
from reference.llama import Llama

MakeContext = Callable[..., _core.Context]


class TinyModels:
    """Tiny models by their options; each is written, loaded and referenced once a session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = lru_cache(maxsize=None)(self._path)
        self.model = lru_cache(maxsize=None)(self._model)
        self.reference = lru_cache(maxsize=None)(self._reference)

    def _path(self, options: TinyOptions) -> Path:
        number = len(list(self._folder.iterdir()))
        return tiny_llama(self._folder / f"{number}.gguf", options)

    def _model(self, options: TinyOptions) -> _core.Model:
        return _core.Model(_core.GgufFile(str(self.path(options))))

    def _reference(self, options: TinyOptions) -> Llama:
        return Llama(self.path(options))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    return TinyModels(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def make_context() -> Iterator[MakeContext]:
    """``make_context(model, **options)``; the page accounting of all is checked at the end."""
    contexts: list[_core.Context] = []

    def make(model: _core.Model, **options: Any) -> _core.Context:
        contexts.append(_core.Context(model, **{"n_threads": 1, **options}))
        return contexts[-1]

    yield make
    for context in contexts:
        context.check()
        for sequence in context.sequences():
            context.remove(sequence)
        context.check()
        assert context.n_free_pages == context.n_pages
