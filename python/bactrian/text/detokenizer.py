"""Token ids to text, one at a time, in whole characters."""

from __future__ import annotations

import codecs

from bactrian.text.tokenizer import Tokenizer


class Detokenizer:
    """Turns a stream of token ids into text without ever splitting a character.

    Bytes of an unfinished character are held back until it is complete; bytes that can't be UTF-8
    become U+FFFD at once and what follows is still delivered. The pieces joined equal
    :meth:`Tokenizer.decode` with the same options.

    ``at_start``: the stream begins a text, so the space that encoding put in front is dropped. The
    default is that of generated tokens, which continue a prompt.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, skip_special: bool = True, at_start: bool = False
    ) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._strip = at_start and tokenizer.prefix_space
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """Text that became complete with this token. InvalidArgumentError for an unknown id."""
        data = self._tokenizer.token_bytes(token)
        if self._skip_special and self._tokenizer.is_hidden(token):
            return ""
        if self._strip and not self._tokenizer.is_special(token):
            data = data.removeprefix(b" ")
            self._strip = False
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is still held back, as U+FFFD: the text ended inside a character."""
        return self._decoder.decode(b"", final=True)
