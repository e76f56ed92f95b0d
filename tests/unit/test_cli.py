"""The command line without a model: options, environment, errors."""

import argparse
import errno

import pytest

from bactrian.cli.main import main
from bactrian.cli.options import (
    add_model_options,
    add_sampling_options,
    environment_flag,
    model_reference,
    sampling_params,
    unescape,
)
from bactrian.cli.report import one_line
from bactrian.errors import InvalidArgumentError
from bactrian.params import SamplingParams


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    import os

    for name in [n for n in os.environ if n.startswith("LLAMA_ARG_")]:
        monkeypatch.delenv(name)


def parsed(*words):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_model_options(parser)
    add_sampling_options(parser)
    return parser.parse_args(words)


def test_no_option_means_the_defaults():
    assert sampling_params(parsed()) == SamplingParams()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-s", "7"], {"seed": 7}),
        (["--seed", "-1"], {"seed": -1}),
        (["--temp", "0"], {"temperature": 0.0}),
        (
            ["--top-k", "5", "--top-p", "0.5", "--min-p", "0"],
            {"top_k": 5, "top_p": 0.5, "min_p": 0},
        ),
        (["--typical", "0.9"], {"typical_p": 0.9}),
        (["--top-nsigma", "2"], {"top_n_sigma": 2.0}),
        (["--dynatemp-exp", "2"], {"dynatemp_exponent": 2.0}),
        (["--mirostat", "2", "--mirostat-ent", "4"], {"mirostat": 2, "mirostat_tau": 4.0}),
        (["--samplers", "top_k;temp"], {"samplers": ("top_k", "temperature")}),
        (["--sampler-seq", "kt"], {"samplers": ("top_k", "temperature")}),
        (["--ignore-eos"], {"ignore_eos": True}),
        (["-l", "5+1.5", "-l", "6-inf"], {"logit_bias": {5: 1.5, 6: -float("inf")}}),
        (
            ["--dry-sequence-breaker", r"\n", "--dry-sequence-breaker", "x"],
            {"dry_sequence_breakers": ("\n", "x")},
        ),
        (["--dry-sequence-breaker", "none"], {"dry_sequence_breakers": ()}),
    ],
)
def test_options_become_parameters(words, expected):
    assert sampling_params(parsed(*words)) == SamplingParams(**expected)


def test_the_default_sequence_of_letters_is_the_default_chain():
    assert sampling_params(parsed("--sampler-seq", "edskypmxt")) == SamplingParams()


def test_the_environment_counts_and_the_command_line_wins(monkeypatch):
    monkeypatch.setenv("LLAMA_ARG_TOP_K", "3")
    monkeypatch.setenv("LLAMA_ARG_MIN_P", "")
    assert sampling_params(parsed()) == SamplingParams(top_k=3)
    assert sampling_params(parsed("--top-k", "4")) == SamplingParams(top_k=4)
    monkeypatch.setenv("LLAMA_ARG_MODEL", "a.gguf")
    assert model_reference(parsed()) == "a.gguf"
    assert model_reference(parsed("-m", "b.gguf")) == "b.gguf"


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("true", True), ("ON", True), ("0", False), ("no", False)]
)
def test_switches_in_the_environment(monkeypatch, value, on):
    monkeypatch.setenv("LLAMA_ARG_OFFLINE", value)
    assert environment_flag("OFFLINE") is on
    assert parsed().offline is on


def test_the_model_is_a_file_or_on_the_hub_or_the_default():
    assert model_reference(parsed()) is None
    assert model_reference(parsed("-hf", "a/b:Q8_0")) == "hf:a/b:Q8_0"
    with pytest.raises(InvalidArgumentError, match="either -m or -hf"):
        model_reference(parsed("-m", "x", "-hf", "a/b"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\nb\tc", "a\nb\tc"),
        (r"\x41\\n", r"A\n"),
        (r"C:\data \q", r"C:\data \q"),
        ("plain é", "plain é"),
        (r"\"\'", "\"'"),
        ("end\\", "end\\"),
    ],
)
def test_escapes(text, expected):
    assert unescape(text) == expected


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "examples:" in out and "tokenize" in out


@pytest.mark.parametrize("command", ["run", "tokenize", "info", "pull"])
def test_every_command_explains_itself_with_examples(command, capsys):
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert f"  bactrian {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["walk"], "invalid choice: 'walk'"),
        (["run", "--tmp", "1"], "unrecognized arguments: --tmp 1"),
        (["run", "-c", "many"], "argument -c/--ctx-size: invalid int value: 'many'"),
        (["run", "-p", "a", "-f", "b"], "not allowed with argument"),
        (["run", "-l", "5"], "'5' is not of the form ID+B or ID-B"),
        (["run", "--sampler-seq", "kq"], "no sampler has the letter 'q'"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(words, complaint, capsys):
    with pytest.raises(SystemExit) as done:
        main(words)
    assert done.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, hint = err.splitlines()
    assert first.startswith("error: ") and complaint in first
    assert hint.startswith("Try `bactrian")


def test_what_cannot_be_done_is_one_line_and_exit_code_1(capsys, tmp_path):
    assert main(["pull", "-m", str(tmp_path / "no.gguf")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: there is no model file") and err.count("\n") == 1


def test_errors_of_the_system_read_like_ours():
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "a b")
    assert one_line(error) == "a b: No such file or directory"
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(ValueError()) == "ValueError"


def test_ctrl_c_is_exit_code_130(monkeypatch, capsys):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("bactrian.cli.pull.run", interrupted)
    assert main(["pull"]) == 130
    assert capsys.readouterr().err == ""
