"""Steps about the command: running it, what it prints, how it ends."""

import json
import shlex
import subprocess
from pathlib import Path

from behave import given, then, when


def fill(context, text):
    """Replaces the names of files in a step."""
    return text.replace("{camel}", str(context.camel_path)).replace("{folder}", str(context.folder))


def run(context, words, text=None):
    """Runs the installed command in the scenario's folder."""
    source = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
    context.result = subprocess.run(
        words,
        cwd=context.folder,
        env=context.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **source,
    )


def words_of(context, line):
    program, *words = shlex.split(fill(context, line))
    assert program == "bactrian"
    return [str(context.bactrian), *words]


@given('the environment variable {name} is "{value}"')
def set_variable(context, name, value):
    context.environment[name] = value


@given("an empty cache folder and no package index")
def no_cache_no_index(context):
    for name in [n for n in context.environment if n.startswith("PIP_")]:
        del context.environment[name]
    context.environment |= {
        "BACTRIAN_CACHE": str(context.folder / "cache"),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
    }


@when("I run: {line}")
def run_line(context, line):
    run(context, words_of(context, line))


@when("I type into: {line}")
def type_into(context, line):
    run(context, words_of(context, line.removesuffix(":")), context.text + "\n")


@when("I run in a shell: {line}")
def run_in_shell(context, line):
    line = fill(context, line).replace("bactrian ", f"{context.bactrian} ", 1)
    run(context, ["bash", "-o", "pipefail", "-c", line])


@then("it succeeds")
def succeeds(context):
    assert context.result.returncode == 0, context.result.stderr


@then("it fails with exit code {code:d}")
def fails_with(context, code):
    assert context.result.returncode == code, (context.result.returncode, context.result.stderr)


@then('it fails with one line that contains "{text}"')
def fails_with_line(context, text):
    fails_with(context, 1)
    lines = context.result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and text in lines[0], lines
    assert context.result.stdout == ""


@then('the output is "{text}"')
def output_is(context, text):
    assert context.result.stdout == text + "\n", (context.result.stdout, context.result.stderr)


@then('the output is ""')
def output_is_empty(context):
    assert context.result.stdout.strip() == "", context.result.stdout


@then('the output contains "{text}"')
def output_contains(context, text):
    assert text in context.result.stdout, (context.result.stdout, context.result.stderr)


@then('the output contains "{text}" {n:d} times')
def output_contains_times(context, text, n):
    assert context.result.stdout.count(text) == n, context.result.stdout


@then('the error output contains "{text}"')
def error_contains(context, text):
    assert text in context.result.stderr, context.result.stderr


@then("the error output is empty")
def error_is_empty(context):
    assert context.result.stderr == "", context.result.stderr


@then('the output is JSON with "{key}" equal to "{value}"')
def output_is_json(context, key, value):
    assert json.loads(context.result.stdout)[key] == value


@then("the output names an existing file")
def output_names_file(context):
    assert Path(context.result.stdout.strip()).is_file()


@then('the pieces joined are "{text}" on the command line')
def pieces_on_command_line(context, text):
    pieces = [token["text"] for token in json.loads(context.result.stdout)]
    assert len(pieces) > 1
    assert "".join(pieces).removeprefix("<s>").strip() == text, pieces
