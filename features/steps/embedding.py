"""Steps about embeddings."""

from behave import then, when


@when("I embed these texts")
def embed_texts(context):
    context.vectors = context.llm.encode([row["text"] for row in context.table])


@then("the first two are closer to each other than to the third")
def first_two_are_closer(context):
    likeness = context.vectors @ context.vectors.T
    assert likeness[0, 1] > max(likeness[0, 2], likeness[1, 2]), likeness
