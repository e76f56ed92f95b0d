"""Steps about models and their files."""

import shutil

from behave import given, then, when

from bactrian import LLM


def camel(context):
    """The tiny model that tests use, loaded once."""
    if "camel" not in context.loaded:
        context.loaded["camel"] = LLM(context.camel_path, n_ctx=2048)
    return context.loaded["camel"]


@given("the camel model")
def camel_model(context):
    context.llm = camel(context)


@given("the default model in Python")
def default_model(context):
    if "default" not in context.loaded:
        context.loaded["default"] = LLM(n_ctx=1024)
    context.llm = context.loaded["default"]


@given('a copy of the camel model named "{name}"')
def copy_of_model(context, name):
    context.path = context.folder / name
    shutil.copy(context.camel_path, context.path)


@given('a copy of the camel model named "{name}" in my home folder')
def copy_at_home(context, name):
    context.environment["HOME"] = str(context.folder)
    shutil.copy(context.camel_path, context.folder / name)


@given("a copy of the camel model cut off in the middle")
def copy_cut_off(context):
    data = context.camel_path.read_bytes()
    context.path = context.folder / "damaged.gguf"
    context.path.write_bytes(data[: len(data) // 2])


@given('a text file named "{name}"')
def text_file(context, name):
    context.path = context.folder / name
    context.path.write_text("camels\n")


@given('the text "{text}" in a file named "{name}"')
def text_file_with(context, text, name):
    (context.folder / name).write_text(text)


@when("I load that copy in Python")
def load_copy(context):
    context.copy = context.attempt(lambda: LLM(context.path, n_ctx=256))


@then('it answers "{question}" with "{answer}"')
def copy_answers(context, question, answer):
    with context.copy as llm:
        output = llm.chat([{"role": "user", "content": question}], temperature=0)
    assert output.text == answer, output


@then("I get a {kind} that names the file")
def error_names_file(context, kind):
    error_names(context, kind, str(context.path))


@then("I get a {kind} that names {text}")
@then("I get an {kind} that names {text}")
def error_names(context, kind, text):
    assert type(context.error).__name__ == kind, repr(context.error)
    assert text in str(context.error), context.error
