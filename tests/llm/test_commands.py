"""The commands on a real (tiny) model, in this process."""

import io
import json

import pytest

from bactrian import LLM
from bactrian.cli.main import main

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(scope="module")
def said(bpe_path):
    """What the model says to Hello, and after "camel", in 8 likeliest tokens."""
    with LLM(bpe_path) as llm:
        options = {"temperature": 0, "max_tokens": 8}
        return llm.chat(HELLO, **options).text, llm.generate("camel", **options)[0].text


@pytest.fixture
def bactrian(bpe_path, capsys, monkeypatch):
    """Runs a command on the model; returns what it printed."""

    def run(command, *words, stdin="", code=0):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        assert main([command, "-m", str(bpe_path), *words]) == code
        return capsys.readouterr()

    return run


SHORT = ("--temp", "0", "-n", "8")


def test_a_prompt_is_answered_as_in_a_chat(bactrian, said):
    out, err = bactrian("run", *SHORT, "-p", "Hello")
    assert (out, err) == (said[0] + "\n", "")


def test_a_prompt_may_come_from_a_file_or_a_pipe(bactrian, said, tmp_path):
    (tmp_path / "prompt.txt").write_text("Hello")
    assert bactrian("run", *SHORT, "-f", str(tmp_path / "prompt.txt")).out == said[0] + "\n"
    assert bactrian("run", *SHORT, stdin="Hello").out == said[0] + "\n"


def test_without_conversation_the_text_is_continued(bactrian, said):
    assert bactrian("run", *SHORT, "-no-cnv", "-p", "camel").out == said[1] + "\n"


def test_escapes_in_the_prompt_count_unless_switched_off(bactrian):
    with_newline = bactrian("run", *SHORT, "-no-cnv", "-p", r"a\nb").out
    as_it_stands = bactrian("run", *SHORT, "-no-cnv", "--no-escape", "-p", r"a\nb").out
    assert with_newline == bactrian("run", *SHORT, "-no-cnv", "-p", "a\nb").out != as_it_stands


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_number_of_tokens_is_exact(bactrian, bpe, n):
    out = bactrian("run", "-no-cnv", "-p", "camel", "-n", str(n), "--ignore-eos", "--temp", "0").out
    with LLM(bpe) as llm:
        expected = llm.generate("camel", max_tokens=n, ignore_eos=True, temperature=0)[0].text
    assert out == expected + "\n"


def test_a_reverse_prompt_ends_the_text(bactrian, said):
    stop = said[1][2:4]
    out = bactrian("run", *SHORT, "-no-cnv", "-p", "camel", "-r", stop, "--no-escape").out
    assert out == said[1][: said[1].find(stop)] + "\n"


def test_the_system_message_changes_the_prompt(bactrian, bpe):
    system = {"role": "system", "content": "Be brief."}
    out = bactrian("run", *SHORT, "-sys", "Be brief.", "-p", "Hello").out
    with LLM(bpe) as llm:
        expected = llm.chat([system, *HELLO], temperature=0, max_tokens=8).text
    assert out == expected + "\n"


def test_a_template_from_a_file_replaces_the_models(bactrian, said, tmp_path):
    (tmp_path / "t.jinja").write_text("{{ messages[-1].content }}")
    template = ("--chat-template-file", str(tmp_path / "t.jinja"))
    assert bactrian("run", *SHORT, *template, "-p", "camel").out == said[1] + "\n"


def test_timings_go_to_stderr(bactrian, said):
    out, err = bactrian("run", *SHORT, "-p", "Hello", "--show-timings")
    assert out == said[0] + "\n"
    assert [line.split()[0] for line in err.split("\n") if line] == ["load", "prompt", "answer"]
    assert "8 tokens" in err


def test_a_conversation_goes_on_until_the_input_ends(bactrian, bpe, said):
    out, _ = bactrian("run", *SHORT, "-cnv", stdin="Hello\nHello\n")
    with LLM(bpe) as llm:
        second = llm.chat(
            [*HELLO, {"role": "assistant", "content": said[0]}, *HELLO], temperature=0, max_tokens=8
        ).text
    assert out == f"{said[0]}\n{second}\n"


def test_regen_and_clear_start_from_where_they_should(bactrian, said):
    out, err = bactrian("run", *SHORT, "-cnv", stdin="Hello\n/regen\n/clear\n/regen\nHello\n")
    assert out == f"{said[0]}\n" * 3
    assert err == "(there is no answer yet)\n"


def test_other_commands_of_a_conversation(bactrian, said, tmp_path):
    (tmp_path / "a.txt").write_text("Hello")
    out, err = bactrian(
        "run",
        *SHORT,
        "-cnv",
        stdin=f"/help\n/read {tmp_path}/a.txt\n/read no.txt\n/walk\n/exit\nx\n",
    )
    assert out == said[0] + "\n"
    assert "/regen" in err
    assert "error: no.txt: No such file or directory" in err
    assert "(there is no command /walk; /help lists them)" in err


def test_a_message_that_cannot_be_answered_is_told_and_forgotten(bactrian, said):
    out, err = bactrian("run", *SHORT, "-cnv", stdin=f"{'camel ' * 400}\nHello\n")
    assert out.endswith(said[0] + "\n")
    assert "error: the prompt has" in err


def test_a_single_turn_ends_after_it(bactrian, said):
    assert bactrian("run", *SHORT, "-cnv", "-st", stdin="Hello\nHello\n").out == said[0] + "\n"


def test_a_context_that_ends_the_answer_is_told(bactrian):
    _, err = bactrian("run", "-no-cnv", "-p", "camel", "--ignore-eos", "-c", "64", "--temp", "0")
    assert "the context is full" in err


def test_an_empty_pipe_is_no_prompt(bactrian):
    assert bactrian("run", stdin="\n", code=1).err.startswith("error: there is no prompt")


def test_an_empty_text_cannot_be_continued(bactrian):
    _, err = bactrian("run", "-no-cnv", "-p", "", code=1)
    assert err.startswith("error: the prompt is empty")


def test_tokens_of_a_text(bactrian, bpe):
    text = "two humps 🐪"
    ids = bpe.tokenizer.encode(text, add_special=True)
    assert json.loads(bactrian("tokenize", "-p", text, "--ids").out) == ids
    described = json.loads(bactrian("tokenize", "-p", text, "--json").out)
    assert [t["id"] for t in described] == ids
    assert bytes(b for t in described for b in t["bytes"]).decode() == text
    lines = bactrian("tokenize", stdin=text).out.splitlines()
    assert [int(line.split()[0]) for line in lines] == ids


def test_special_tokens_are_parsed_unless_asked_not_to(bactrian, bpe):
    end = bpe.vocab.id_of["<|im_end|>"]
    assert json.loads(bactrian("tokenize", "-p", "<|im_end|>", "--ids").out) == [end]
    plain = json.loads(bactrian("tokenize", "-p", "<|im_end|>", "--ids", "--no-parse-special").out)
    assert end not in plain and len(plain) > 1


def test_info_shows_what_is_in_the_file(bactrian, bpe):
    out = bactrian("info", "--tensors").out
    for text in ("architecture  llama", "512 tokens (gpt2, smollm)", "token_embd.weight", "MiB"):
        assert text in out
    told = json.loads(bactrian("info", "--json", "-c", "100").out)
    assert told["n_params"] == bpe.n_params
    memory = told["memory"]
    assert memory["n_ctx"] == 100
    assert memory["total_bytes"] == (
        memory["file_bytes"] + memory["packed_bytes"] + 100 * memory["kv_bytes_per_token"]
    )
    # Keys and values of two layers, two heads of 64 elements each, in 2 bytes.
    assert memory["kv_bytes_per_token"] == 2 * 2 * 2 * 64 * 2
    assert {t["name"] for t in told["tensors"]} >= {"output.weight", "blk.1.ffn_up.weight"}
    assert len(told["metadata"]["tokenizer.ggml.tokens"]) == 512


def test_info_refuses_a_negative_context(bactrian):
    assert "at least 0" in bactrian("info", "-c", "-5", code=1).err
