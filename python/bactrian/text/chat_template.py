"""Chat messages to a prompt, by the Jinja template of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bactrian.errors import InvalidArgumentError, TemplateError
from bactrian.text import _keys
from bactrian.text._finder import TextFinder
from bactrian.text._keys import Metadata
from bactrian.text._messages import Message, checked_messages
from bactrian.text._renderer import RenderLimits, json_copy, shared_renderer
from bactrian.text._special import Segment
from bactrian.text._trust import Marking
from bactrian.text.named_templates import NAMED_TEMPLATES
from bactrian.text.vocab import Vocab

_KEY = "tokenizer.chat_template"


@dataclass(frozen=True)
class Prompt:
    """A rendered conversation, in segments of template text (trusted) and message text (not).

    For ``Tokenizer.encode_segments``: there, no message can inject a control token.
    """

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(text for text, _ in self.segments)


class ChatTemplate:
    """A Jinja chat template, rendered in a sandboxed process with bounded time and memory.

    ``source`` is Jinja text, or the name of one of ``NAMED_TEMPLATES``. ``control_texts`` are the
    texts that messages must not smuggle into the prompt as control tokens.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_text: str = "",
        eos_text: str = "",
        control_texts: Collection[str] = (),
        limits: RenderLimits | None = None,
    ) -> None:
        self.source = NAMED_TEMPLATES.get(source, source)
        self._special = {"bos_token": bos_text, "eos_token": eos_text}
        self._control = TextFinder(control_texts)
        self._limits = limits or RenderLimits()

    @classmethod
    def for_vocab(
        cls, source: str, vocab: Vocab, *, limits: RenderLimits | None = None
    ) -> ChatTemplate:
        """A template (Jinja text or a name) with the special tokens of a vocabulary."""
        texts = [
            vocab.tokens[token] if token is not None else ""
            for token in (vocab.bos_id, vocab.eos_id)
        ]
        return cls(
            source,
            bos_text=texts[0],
            eos_text=texts[1],
            control_texts=vocab.control_texts(),
            limits=limits,
        )

    @classmethod
    def from_metadata(
        cls, metadata: Metadata, vocab: Vocab, *, name: str | None = None
    ) -> ChatTemplate | None:
        """The template a GGUF file brings along, None if it has none.

        ``name`` picks one of several (``tokenizer.chat_template.NAME``). Raises FileFormatError
        for a key of the wrong kind, InvalidArgumentError for a name the file doesn't have.
        """
        source = _keys.get_str(metadata, _KEY if name is None else f"{_KEY}.{name}")
        if source is None and name is not None:
            known = ", ".join(template_names(metadata)) or "none"
            raise InvalidArgumentError(f"the file has no chat template {name!r}; it has: {known}")
        return cls.for_vocab(source, vocab) if source else None

    def check(self) -> None:
        """Raises TemplateError if the template is no valid Jinja."""
        (result,) = shared_renderer().render(self.source, [None], marks="", limits=self._limits)
        if isinstance(result, TemplateError):
            raise result

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        documents: Sequence[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        **variables: object,
    ) -> Prompt:
        """The prompt for a conversation.

        ``continue_final_message``: end inside the last message, for the model to go on with it.
        ``variables`` go to the template as they are (``enable_thinking=False``).

        Raises InvalidArgumentError for messages of a wrong form, TemplateError if the template is
        invalid, exceeds its limits or raises an error itself (then with its message).
        """
        if continue_final_message and add_generation_prompt:
            add_generation_prompt = False
        given: dict[str, Any] = {
            **json_copy(variables, "template variables"),
            "messages": checked_messages(messages),
            "tools": json_copy(tools, "tools"),
            "documents": json_copy(documents, "documents"),
        }
        settings = {**self._special, "add_generation_prompt": add_generation_prompt}
        return Prompt(tuple(self._segments(given, settings, continue_final_message)))

    def _segments(
        self, given: dict[str, Any], settings: dict[str, Any], continue_final: bool
    ) -> list[Segment]:
        marking = Marking(self.source, given, self._control)

        def run(*renders: dict[str, Any]) -> list[str | TemplateError]:
            if continue_final:
                for variables in renders:
                    variables["messages"][-1]["content"] += marking.end
            results = shared_renderer().render(
                self.source,
                [{**settings, **variables} for variables in renders],
                marks=marking.marks,
                limits=self._limits,
            )
            return [_cut(result, marking.end) for result in results] if continue_final else results

        plain, enclosed = run(json_copy(given, "messages"), marking.enclosed())
        if isinstance(plain, TemplateError):
            raise plain
        if isinstance(enclosed, str):
            segments = marking.read_enclosed(enclosed, plain)
            if segments is not None:
                return segments
        masked, blanked = run(marking.masked(), marking.blanked())
        for result in (masked, blanked):
            if isinstance(result, TemplateError):
                raise result
        return marking.read_masked(str(masked), str(blanked))


def _cut(result: str | TemplateError, end: str) -> str | TemplateError:
    """The rendering up to the mark at the end of the last message."""
    if isinstance(result, TemplateError):
        return result
    position = result.rfind(end)
    if position < 0:
        return TemplateError("the chat template doesn't show the last message: can't continue it")
    return result[:position]


def template_names(metadata: Metadata) -> list[str]:
    """Names of the further templates of a file (``tokenizer.chat_template.NAME``)."""
    prefix = _KEY + "."
    return sorted(key.removeprefix(prefix) for key in metadata if key.startswith(prefix))
