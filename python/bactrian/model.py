"""``Model``: everything in one GGUF file, ready for use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from bactrian import _core
from bactrian.errors import UnsupportedError
from bactrian.hub import resolve
from bactrian.params import SamplingParams
from bactrian.text.breakers import breaker_sequences
from bactrian.text.chat_template import ChatTemplate
from bactrian.text.tokenizer import Tokenizer
from bactrian.text.vocab import Vocab

#: Sets of DRY breakers whose token sequences are remembered: programs use one, servers a few.
_BREAKER_SETS_KEPT = 16


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes that a model takes: weights in the mapped file, packed copies, cache per token."""

    file_bytes: int
    packed_bytes: int
    kv_bytes_per_token: int

    def total(self, n_ctx: int) -> int:
        """Bytes with a context of so many tokens."""
        return self.file_bytes + self.packed_bytes + n_ctx * self.kv_bytes_per_token


class Model:
    """Weights, vocabulary and chat template of one GGUF file; shared by any number of contexts.

    ``path``: a file (of a split model, its first part), ``hf:user/repo[:quant]``, or None for the
    default model, fetched on first use. ``pre``: pre-tokenizer in place of the file's.
    ``chat_template``: Jinja text, or the name of a known one, in place of the file's.
    ``progress`` gets 0..1 while the weights are packed and may raise to cancel.

    Raises FileNotFoundError, FileFormatError, UnsupportedError, DownloadError, OutOfMemoryError.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        pre: str | None = None,
        chat_template: str | None = None,
        n_threads: int = 0,
        rope_scaling: str | None = None,
        rope_scale: float | None = None,
        rope_freq_base: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.path = resolve(path)
        file = _core.GgufFile(str(self.path))
        #: All keys of the file; arrays of numbers are numpy arrays.
        self.metadata = file.metadata
        # Before the weights, which take longer: what is wrong with it shows at once.
        self.tokenizer = Tokenizer.from_metadata(self.metadata, pre=pre)
        #: The native weights, for `bactrian._core`.
        self.core = _core.Model(
            file,
            n_threads=n_threads,
            rope_scaling=rope_scaling,
            rope_scale=rope_scale,
            rope_freq_base=rope_freq_base,
            progress=progress,
        )
        self._file = file
        self._template = chat_template
        self._breaker_cache: dict[tuple[str, ...], list[list[int]]] = {}

    @property
    def vocab(self) -> Vocab:
        """Tokens and the ids with a meaning of their own."""
        return self.tokenizer.vocab

    @property
    def tensors(self) -> list[_core.TensorInfo]:
        """Name, format and shape of every tensor in the file."""
        return self._file.tensors

    @property
    def architecture(self) -> str:
        """What the file calls its architecture, as "llama"."""
        return self.core.architecture

    @property
    def n_vocab(self) -> int:
        """Tokens in the vocabulary, the length of a row of logits."""
        return self.core.n_vocab

    @property
    def n_embd(self) -> int:
        """Length of an embedding."""
        return self.core.n_embd

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return self.core.n_params

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context that the model was trained for."""
        return self.core.n_ctx_train

    @property
    def n_ctx_max(self) -> int:
        """Longest sequence in tokens: ``n_ctx_train``, or more with RoPE scaling."""
        return self.core.n_ctx_max

    @property
    def pooling(self) -> Literal["none", "mean", "cls", "last"] | None:
        """How the file says embeddings are pooled."""
        return self.core.pooling

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """What each token of the vocabulary stands for."""
        return [self.tokenizer.token_bytes(token) for token in range(self.tokenizer.n_vocab)]

    @cached_property
    def chat_template(self) -> ChatTemplate | None:
        """The template that turns messages into a prompt; None if there is none."""
        if self._template is not None:
            return ChatTemplate.for_vocab(self._template, self.vocab)
        return ChatTemplate.from_metadata(self.metadata, self.vocab)

    def chat_prompt(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, ...]:
        """Token ids of a conversation, up to where the model's answer begins.

        What messages say becomes ordinary text, even if it looks like a special token.
        Raises UnsupportedError without a chat template, TemplateError, InvalidArgumentError.
        """
        template = self.chat_template
        if template is None:
            raise UnsupportedError(
                f"{self.path.name} has no chat template; give one with chat_template= or "
                "--chat-template, or continue plain text instead"
            )
        tokens = self.tokenizer.encode_segments(template.render(messages).segments)
        bos = self.vocab.bos_id
        if self.vocab.add_bos and bos is not None and tokens[:1] != [bos]:
            tokens = [bos, *tokens]
        return tuple(tokens)

    def memory(self, *, dtype_k: str = "F16", dtype_v: str = "F16") -> MemoryEstimate:
        """How much memory the model takes with keys and values cached in these types."""
        return MemoryEstimate(
            file_bytes=self.core.file_bytes,
            packed_bytes=self.core.packed_bytes,
            kv_bytes_per_token=self.core.kv_bytes_per_token(dtype_k, dtype_v),
        )

    def context(
        self,
        *,
        n_ctx: int = 0,
        n_ubatch: int = 512,
        n_threads: int = 0,
        dtype_k: str = "F16",
        dtype_v: str = "F16",
    ) -> _core.Context:
        """A KV cache and working memory for this model.

        ``n_ctx``: tokens of all sequences together, 0: ``n_ctx_max``. ``n_ubatch``: tokens in one
        pass over the weights. ``n_threads`` 0: as many as this process may use. ``dtype_k``,
        ``dtype_v``: F32, F16 or Q8_0. Raises InvalidArgumentError, OutOfMemoryError.
        """
        return _core.Context(
            self.core,
            n_ctx=n_ctx,
            n_ubatch=n_ubatch,
            n_threads=n_threads,
            dtype_k=dtype_k,
            dtype_v=dtype_v,
        )

    def sampler(self, params: SamplingParams) -> _core.Sampler:
        """A sampler chain for one sequence of this model.

        Raises InvalidArgumentError for a bias on a token that the vocabulary lacks.
        """
        # Walking the vocabulary takes a while: only where the sampler is on.
        breakers = self._breakers(params.dry_sequence_breakers) if params.dry_multiplier else []
        native = params.native(
            eog_ids=self.vocab.eog_ids,
            suppressed_ids=self.vocab.suppress_ids,
            dry_breakers=breakers,
            token_bytes=self.token_bytes if "infill" in params.samplers else (),
        )
        return _core.Sampler(native, self.n_vocab)

    def _breakers(self, texts: tuple[str, ...]) -> list[list[int]]:
        if texts not in self._breaker_cache:
            if len(self._breaker_cache) >= _BREAKER_SETS_KEPT:
                self._breaker_cache.clear()
            self._breaker_cache[texts] = breaker_sequences(self.tokenizer, self.token_bytes, texts)
        return self._breaker_cache[texts]
