"""``LLM``: text in, text or vectors out, any number of prompts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from bactrian._core import Context
from bactrian.engine.embedding import Pooling, embed
from bactrian.engine.engine import Engine
from bactrian.engine.outputs import GenerationOutput
from bactrian.engine.runner import Runner, TextIterator
from bactrian.errors import ContextOverflowError, InvalidArgumentError, NonFiniteError
from bactrian.model import Model
from bactrian.params import SamplingParams

Message = Mapping[str, Any]
Prompt = str | Sequence[int]


class LLM:
    """One model with its context, ready to answer. Safe to use from several threads.

    ``model``: a path, ``hf:user/repo[:quant]``, a :class:`bactrian.Model`, or None for the default
    model, which is fetched on first use. ``n_ctx``: tokens of context for all prompts together
    (0: what the model was trained for). ``n_threads``: 0: as many as this process may use.
    ``dtype_k``, ``dtype_v``: how keys and values are cached (F32, F16, Q8_0).

    Raises what :class:`bactrian.Model` raises, and OutOfMemoryError.
    """

    def __init__(
        self,
        model: str | Path | Model | None = None,
        *,
        n_ctx: int = 0,
        n_threads: int = 0,
        dtype_k: str = "F16",
        dtype_v: str = "F16",
        chat_template: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if isinstance(model, Model):
            if chat_template is not None:
                raise InvalidArgumentError("give chat_template to Model when passing a Model")
            self.model = model
        else:
            self.model = Model(
                model, n_threads=n_threads, chat_template=chat_template, progress=progress
            )
        self._context: Context | None = self.model.context(
            n_ctx=n_ctx, n_threads=n_threads, dtype_k=dtype_k, dtype_v=dtype_v
        )
        self._runner = Runner(Engine(self.model, self._context))

    @property
    def context(self) -> Context:
        """The context in use. Its sequences belong to the running generations."""
        if self._context is None:
            raise InvalidArgumentError("this LLM is closed")
        return self._context

    def __enter__(self) -> LLM:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything that runs and frees the context. Closing twice is fine."""
        self._runner.close()
        self._context = None

    def generate(
        self,
        prompts: Prompt | Sequence[Prompt],
        params: SamplingParams | None = None,
        **changes: object,
    ) -> list[GenerationOutput]:
        """Continues prompts, decoded together; one output each, in order.

        ``prompts``: a text, token ids, or a list of those. Special tokens written in a text count
        as such. ``changes`` replace single values of ``params``, as ``temperature=0``.

        Raises InvalidArgumentError, and ContextOverflowError for a prompt that leaves no room,
        before anything is computed. What goes wrong later is told in the answer it happened to:
        ``finish_reason == "error"`` and ``error``.
        """
        return self._runner.run(self._all_tokens(prompts), _with_changes(params, changes))

    @overload
    def chat(
        self,
        messages: Sequence[Message],
        params: SamplingParams | None = None,
        *,
        stream: Literal[False] = False,
        **changes: object,
    ) -> GenerationOutput: ...

    @overload
    def chat(
        self,
        messages: Sequence[Message],
        params: SamplingParams | None = None,
        *,
        stream: Literal[True],
        **changes: object,
    ) -> TextIterator: ...

    def chat(
        self,
        messages: Sequence[Message],
        params: SamplingParams | None = None,
        *,
        stream: bool = False,
        **changes: object,
    ) -> GenerationOutput | TextIterator:
        """Answers a conversation: messages with "role" and "content", by the model's template.

        What a message says is plain text: special tokens written in it have no power.
        ``stream=True`` gives the answer piece by piece.

        Raises TemplateError if the template refuses the messages, UnsupportedError if the model
        has none, and what :meth:`generate` raises.
        """
        prompt = self.model.chat_prompt(messages)
        params = _with_changes(params, changes)
        return (
            self._runner.stream(prompt, params) if stream else self._runner.run([prompt], params)[0]
        )

    def stream(
        self, prompt: Prompt, params: SamplingParams | None = None, **changes: object
    ) -> TextIterator:
        """Continues one prompt and gives the text piece by piece."""
        return self._runner.stream(self._tokens(prompt, 0), _with_changes(params, changes))

    @overload
    def encode(
        self,
        texts: Prompt | Sequence[Prompt],
        *,
        pooling: Literal["mean", "cls", "last"] | None = None,
        normalize: bool = True,
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, texts: Prompt | Sequence[Prompt], *, pooling: Literal["none"], normalize: bool = True
    ) -> list[NDArray[np.float32]]: ...

    def encode(
        self,
        texts: Prompt | Sequence[Prompt],
        *,
        pooling: Pooling | None = None,
        normalize: bool = True,
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Embeddings of texts (or token ids), in order.

        Returns float32 [n_texts, n_embd]; with pooling "none" a list of [n_tokens, n_embd].
        ``pooling`` None takes what the model file says, else the mean. ``normalize`` scales every
        vector to length 1. Running generations are not disturbed.

        Raises ContextOverflowError for a text longer than the model's context, NonFiniteError if a
        vector is not finite; both name the index.
        """
        context = self.context
        inputs = self._all_tokens(texts, parse_special=False)
        for i, tokens in enumerate(inputs):
            if not tokens:
                raise InvalidArgumentError(f"text {i} is empty: there is nothing to embed")
            if len(tokens) > self.model.n_ctx_max:
                raise ContextOverflowError(
                    f"text {i} has {len(tokens)} tokens, the model takes {self.model.n_ctx_max}"
                )
        chosen: Pooling = pooling or self.model.pooling or "mean"
        vectors = []
        for i, vector in enumerate(embed(context, inputs, chosen)):
            if not np.isfinite(vector).all():
                raise NonFiniteError(f"the embedding of text {i} contains NaN or infinity")
            vectors.append(_unit(vector) if normalize else vector)
        if chosen == "none":
            return vectors
        if not vectors:
            return np.zeros((0, self.model.n_embd), dtype=np.float32)
        return np.stack(vectors)

    def _all_tokens(
        self, prompts: Prompt | Sequence[Prompt], *, parse_special: bool = True
    ) -> list[tuple[int, ...]]:
        """Token ids of one or several prompts. A list of integers is one prompt."""
        if isinstance(prompts, str) or (len(prompts) > 0 and _is_id(prompts[0])):
            prompts = [cast(Prompt, prompts)]
        prompts = cast(Sequence[Prompt], prompts)
        return [self._tokens(p, i, parse_special) for i, p in enumerate(prompts)]

    def _tokens(self, prompt: Prompt, index: int, parse_special: bool = True) -> tuple[int, ...]:
        if isinstance(prompt, str):
            tokenizer = self.model.tokenizer
            return tuple(tokenizer.encode(prompt, add_special=True, parse_special=parse_special))
        if not isinstance(prompt, Iterable) or not all(_is_id(token) for token in prompt):
            raise InvalidArgumentError(f"prompt {index} must be a text or a list of token ids")
        return tuple(int(token) for token in prompt)


def _is_id(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _with_changes(params: SamplingParams | None, changes: Mapping[str, object]) -> SamplingParams:
    params = SamplingParams() if params is None else params
    return params.with_changes(**changes) if changes else params


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows scaled to length 1; a zero row stays zero. [..., n_embd] -> the same shape."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(
        vectors, length, out=np.zeros_like(vectors), where=length > 0
    )
    return unit
