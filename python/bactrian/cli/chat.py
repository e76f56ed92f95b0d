"""Talking in the terminal: one answer to a text, or a conversation with commands."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable

from bactrian.cli.files import read_file
from bactrian.cli.options import unescape
from bactrian.cli.report import one_line
from bactrian.cli.session import show_timings
from bactrian.engine.runner import TextIterator
from bactrian.errors import BactrianError
from bactrian.llm import LLM, Prompt
from bactrian.params import SamplingParams

_HELP = """/regen       answer the last message again
/clear       forget the conversation
/read FILE   send the contents of a file
/exit        end (or Ctrl-D)
/help        this list
Ctrl-C stops an answer."""

#: What looks like a command; a path, with a second slash, does not.
_COMMAND = re.compile(r"/[a-z]+")

# Marked as invisible for readline, which counts columns.
_GREEN, _PLAIN = "\001\033[32m\002", "\001\033[0m\002"


def complete(
    llm: LLM, prompt: Prompt, params: SamplingParams, args: argparse.Namespace, load_seconds: float
) -> None:
    """Continues a text on stdout."""
    answer = llm.stream(prompt, params)
    _write(answer, [])
    _report(answer, args, load_seconds)


def _write(answer: TextIterator, shown: list[str]) -> None:
    """Shows the pieces as they come and notes them in ``shown``, also if interrupted."""
    try:
        for piece in answer:
            shown.append(piece)
            sys.stdout.write(piece)
            sys.stdout.flush()
    finally:
        answer.close()
        _end_line()


def _end_line() -> None:
    sys.stdout.write("\n")
    sys.stdout.flush()


def _report(answer: TextIterator, args: argparse.Namespace, load_seconds: float) -> None:
    if answer.output is None:
        return
    if answer.output.completions[0].truncated:
        print("(the context is full: the answer ends here)", file=sys.stderr)
    if args.show_timings:
        show_timings(answer.output.timings, load_seconds)


class Chat:
    """A conversation: the messages so far and how to go on."""

    def __init__(
        self, llm: LLM, params: SamplingParams, args: argparse.Namespace, load_seconds: float
    ) -> None:
        self._llm = llm
        self._params = params
        self._args = args
        self._load_seconds = load_seconds
        self._messages: list[dict[str, str]] = []
        self._commands: dict[str, Callable[[str], bool]] = {
            "/exit": self._exit,
            "/regen": self._regenerate,
            "/clear": self._clear,
            "/read": self._read,
            "/help": self._help,
        }
        self._clear("")

    def once(self, text: str | None) -> int:
        """One answer, then the end. Asks for the text if there is none yet."""
        if text is None:
            text = self._ask()
        if text is not None:
            self._say(text)
        return 0

    def talk(self, text: str | None) -> int:
        """Answers until the user ends it."""
        if text is None and sys.stdin.isatty():
            print("Ask anything. /help lists the commands, Ctrl-D ends.", file=sys.stderr)
        while True:
            # Everything is inside, the inner loop's own turn too: Ctrl-C may come at any point, for
            # instance after a line was read and before its answer begins.
            try:
                while True:
                    if text is None:
                        text = self._ask()
                    if text is None or not self._handle(text):
                        return 0
                    text = None
            except KeyboardInterrupt:
                print("(stopped)", file=sys.stderr)
                text = None

    def _ask(self) -> str | None:
        """One line from the user, None at the end of input."""
        question = "> "
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            if sys.stdin.isatty():
                print(question, end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        import readline  # noqa: F401  (gives input() its line editing)

        if self._args.color:
            question = f"{_GREEN}> {_PLAIN}"
        while True:
            try:
                return input(question)
            except EOFError:
                print(file=sys.stderr)
                return None
            except KeyboardInterrupt:
                print("\n(Ctrl-D or /exit ends)", file=sys.stderr)

    def _handle(self, text: str) -> bool:
        """Obeys a command or answers; False ends the conversation."""
        word, _, rest = text.strip().partition(" ")
        try:
            if word in self._commands:
                return self._commands[word](rest.strip())
            if _COMMAND.fullmatch(word):
                print(f"(there is no command {word}; /help lists them)", file=sys.stderr)
            elif word:
                self._say(text)
        except (BactrianError, OSError, UnicodeError) as error:
            print(f"error: {one_line(error)}", file=sys.stderr)
        return True

    def _say(self, text: str) -> None:
        """Answers a message of the user. One that can't be answered is taken back."""
        self._messages.append({"role": "user", "content": text})
        shown: list[str] = []
        answer = None
        try:
            answer = self._llm.chat(self._messages, self._params, stream=True)
            _write(answer, shown)
        finally:
            # What was said before Ctrl-C or a fault stays said.
            if shown or (answer is not None and answer.output is not None):
                self._messages.append({"role": "assistant", "content": "".join(shown)})
            else:
                self._messages.pop()
        _report(answer, self._args, self._load_seconds)

    # Commands: each takes the rest of its line and says whether to go on.

    def _exit(self, rest: str) -> bool:
        return False

    def _help(self, rest: str) -> bool:
        print(_HELP, file=sys.stderr)
        return True

    def _clear(self, rest: str) -> bool:
        system = self._args.system_prompt
        self._messages = []
        if system is not None:
            content = unescape(system) if self._args.escape else system
            self._messages.append({"role": "system", "content": content})
        return True

    def _regenerate(self, rest: str) -> bool:
        if self._messages and self._messages[-1]["role"] == "assistant":
            self._messages.pop()
            self._say(self._messages.pop()["content"])
        else:
            print("(there is no answer yet)", file=sys.stderr)
        return True

    def _read(self, rest: str) -> bool:
        self._say(read_file(rest))
        return True
