"""``bactrian run``: answer a prompt, or chat in the terminal."""

from __future__ import annotations

import argparse
import sys

from bactrian.cli.files import read_file, read_stdin
from bactrian.cli.options import (
    add_context_options,
    add_model_options,
    add_sampling_options,
    environment,
    sampling_params,
    unescape,
)
from bactrian.errors import InvalidArgumentError

_DESCRIPTION = """Answers a prompt, or chats in the terminal if there is none.

A model with a chat template answers as in a chat; -no-cnv continues the text as it stands.
With -p, -f or a piped text there is one answer and the program ends; -cnv stays to chat.
The answer alone goes to stdout, everything else to stderr."""

_EPILOG = """examples:
  bactrian run                                            chat with the default model
  bactrian run -p "Name three deserts." --temp 0          one answer, always the same
  bactrian run -m model.gguf -no-cnv -p "Once upon" -n 64 continue a text by 64 tokens
  cat letter.txt | bactrian run -sys "Summarise." > summary.txt
  bactrian run -hf bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M

Options may also be set in the environment: LLAMA_ARG_MODEL, LLAMA_ARG_CTX_SIZE,
LLAMA_ARG_THREADS, LLAMA_ARG_TOP_K and so on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds description, examples and options."""
    parser.usage = "bactrian run [options]"
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    add_model_options(parser)
    group = parser.add_argument_group("prompt and answer")
    source = group.add_mutually_exclusive_group()
    source.add_argument("-p", "--prompt", metavar="TEXT", help="what to answer or to continue")
    source.add_argument("-f", "--file", metavar="FILE", help="read the prompt from a file")
    group.add_argument(
        "--no-escape",
        dest="escape",
        action="store_false",
        help=r"take \n, \t and other escapes in -p, -sys and -r as they stand",
    )
    group.add_argument(
        *("-e", "--escape"),
        dest="escape",
        action="store_true",
        default=True,
        help="replace those escapes (default)",
    )
    group.add_argument(
        *("-n", "--predict", "--n-predict"),
        dest="n_predict",
        type=int,
        metavar="N",
        default=environment("N_PREDICT") or -1,
        help="most tokens to generate; -1: until the model ends (default)",
    )
    group.add_argument(
        *("-r", "--reverse-prompt"),
        dest="stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end the answer where this text would appear; may be given repeatedly",
    )
    group.add_argument(
        *("-sp", "--special"),
        dest="show_special",
        action="store_true",
        help="show special tokens in the answer",
    )
    group.add_argument(
        "--show-timings", action="store_true", help="speeds on stderr after each answer"
    )
    _add_chat_options(parser)
    add_context_options(parser)
    add_sampling_options(parser)


def _add_chat_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("chat")
    mode = group.add_mutually_exclusive_group()
    mode.add_argument(
        *("-cnv", "--conversation"),
        dest="conversation",
        action="store_const",
        const=True,
        help="chat; -p is the first thing said",
    )
    mode.add_argument(
        *("-no-cnv", "--no-conversation"),
        dest="conversation",
        action="store_const",
        const=False,
        help="no chat: continue the text as it stands",
    )
    group.add_argument("-st", "--single-turn", action="store_true", help="end after one answer")
    group.add_argument("-sys", "--system-prompt", metavar="TEXT", help="system message")
    template = group.add_mutually_exclusive_group()
    template.add_argument(
        "--chat-template",
        metavar="NAME|JINJA",
        default=environment("CHAT_TEMPLATE"),
        help="chat template in place of the model's own: a known name (chatml) or Jinja text",
    )
    template.add_argument(
        "--chat-template-file",
        metavar="FILE",
        default=environment("CHAT_TEMPLATE_FILE"),
        help="the same from a file",
    )
    group.add_argument(
        *("-co", "--color"), action="store_true", help="colour what you type in a chat"
    )


def run(args: argparse.Namespace) -> int:
    """Does the work; returns the exit code."""
    from bactrian.cli.chat import Chat, complete
    from bactrian.cli.session import load_llm

    prompt = _prompt(args)
    params = sampling_params(
        args,
        max_tokens=_max_tokens(args.n_predict),
        stop=tuple(_text(args, stop) for stop in args.stop),
    )
    if args.chat_template_file is not None:
        args.chat_template = read_file(args.chat_template_file)
    llm, load_seconds = load_llm(args)
    with llm:
        has_template = llm.model.chat_template is not None
        conversation = has_template if args.conversation is None else args.conversation
        if not conversation:
            if prompt is None:
                raise InvalidArgumentError(
                    "there is nothing to continue: give a text with -p or -f"
                    + ("" if has_template else " (the model has no chat template to chat with)")
                )
            complete(llm, prompt, params, args, load_seconds)
            return 0
        chat = Chat(llm, params, args, load_seconds)
        single = args.single_turn or (prompt is not None and args.conversation is None)
        return chat.once(prompt) if single else chat.talk(prompt)


def _prompt(args: argparse.Namespace) -> str | None:
    """The prompt from the option, the file or a pipe; None if the user is to be asked."""
    if args.prompt is not None:
        return _text(args, args.prompt)
    if args.file is not None:
        return read_file(args.file)
    if not sys.stdin.isatty() and args.conversation is not True:
        text = read_stdin()
        if not text.strip():
            raise InvalidArgumentError("there is no prompt: give one with -p, -f or a pipe")
        return text
    return None


def _text(args: argparse.Namespace, text: str) -> str:
    return unescape(text) if args.escape else text


def _max_tokens(n_predict: int) -> int | None:
    """-1 and -2 both mean: until the model ends, at most until the context is full."""
    if n_predict < -2:
        raise InvalidArgumentError(f"-n must be -1 (no limit) or at least 0, not {n_predict}")
    return None if n_predict < 0 else n_predict
