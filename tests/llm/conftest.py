"""Tiny models with random weights, and checks of the page accounting after every test."""

import gguf
import numpy as np
import pytest

from bactrian import LLM, Model
from make_tiny import TinyOptions, tiny_llama

#: A token that the broken model turns into NaN.
BROKEN_TOKEN = 300


@pytest.fixture(scope="session")
def broken_token():
    return BROKEN_TOKEN


@pytest.fixture(scope="session")
def bpe_path(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("bpe") / "bpe.gguf", TinyOptions(tied=False))


@pytest.fixture(scope="session")
def bpe(bpe_path):
    """Byte-level BPE, F32, context 256."""
    return Model(bpe_path)


@pytest.fixture(scope="session")
def spm(tmp_path_factory):
    """SentencePiece with byte tokens."""
    path = tmp_path_factory.mktemp("spm") / "spm.gguf"
    return Model(tiny_llama(path, TinyOptions(vocabulary="spm", seed=1)))


@pytest.fixture(scope="session")
def broken(tmp_path_factory):
    """As ``bpe``, but the embedding of BROKEN_TOKEN is NaN."""
    path = tmp_path_factory.mktemp("broken") / "broken.gguf"
    tiny_llama(path, TinyOptions(tied=False))
    reader = gguf.GGUFReader(path, "r+")
    (tensor,) = (t for t in reader.tensors if t.name == "token_embd.weight")
    tensor.data[BROKEN_TOKEN] = np.nan
    reader.data.flush()
    return Model(path)


@pytest.fixture
def make_llm():
    """Makes LLMs whose caches must be consistent and empty at the end."""
    made = []

    def make(model, **options):
        llm = LLM(model, **options)
        made.append(llm)
        return llm

    yield make
    for llm in made:
        llm.context.check()
        assert llm.context.sequences() == []
        assert llm.context.n_free_pages == llm.context.n_pages
        llm.close()


@pytest.fixture
def llm(bpe, make_llm):
    return make_llm(bpe)
