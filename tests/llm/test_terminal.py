"""A chat at a terminal, in a process of its own: line editing, Ctrl-C, Ctrl-D."""

import os
import pty
import select
import signal
import subprocess
import sys

import pytest

WAIT_SECONDS = 60


class Terminal:
    """A bactrian process whose stdin and stdout are a terminal."""

    def __init__(self, *words):
        self._mine, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bactrian.cli.main", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env={k: v for k, v in os.environ.items() if not k.startswith("LLAMA_ARG_")}
            | {"TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""
        self._errors = ""

    def type(self, text):
        os.write(self._mine, text.encode())

    def wait_for(self, text, times=1):
        """Reads until ``text`` was shown so many times in all."""
        while self.shown.count(text) < times:
            ready, _, _ = select.select([self._mine], [], [], WAIT_SECONDS)
            assert ready, f"waited for {text!r}, saw {self.shown!r}"
            self.shown += os.read(self._mine, 4096).decode("utf-8", "replace")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """Waits for the process; its exit code and what it wrote on stderr."""
        if self._mine is not None:
            _, errors = self.process.communicate(timeout=WAIT_SECONDS)
            os.close(self._mine)
            self._mine = None
            self._errors = errors.decode()
        return self.process.returncode, self._errors


@pytest.fixture
def terminal():
    made = []

    def start(*words):
        made.append(Terminal(*words))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.end()


def test_a_chat_ends_with_ctrl_d(bpe_path, terminal):
    chat = terminal("run", "-m", str(bpe_path), "-n", "4")
    chat.wait_for("> ")
    chat.type("Hello\n")
    chat.wait_for("> ", times=2)
    chat.type("\x04")
    code, errors = chat.end()
    assert code == 0
    assert "Ctrl-D ends" in errors


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(bpe_path, terminal):
    # Without an end token and with so little to choose from, the answer fills the whole context.
    options = ("--ignore-eos", "-c", "256", "-t", "1")
    chat = terminal("run", "-m", str(bpe_path), *options)
    chat.wait_for("> ")
    chat.interrupt()
    chat.type("\n")
    chat.wait_for("> ", times=2)
    chat.type("Hello\n")
    chat.wait_for("Hello\r\n")
    chat.interrupt()
    chat.wait_for("> ", times=3)
    chat.type("/exit\n")
    code, errors = chat.end()
    assert code == 0
    assert "(Ctrl-D or /exit ends)" in errors
    assert "Traceback" not in errors


def test_the_question_is_green_if_asked_for(bpe_path, terminal):
    chat = terminal("run", "-m", str(bpe_path), "-n", "1", "-co")
    chat.wait_for("\033[32m> \033[0m")
    chat.type("\x04")
    assert chat.end()[0] == 0
