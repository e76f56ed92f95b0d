"""Steps about asking a model and what it answers."""

from behave import then, when

QUESTIONS = [
    "Where is the Gobi?",
    "How many humps does a dromedary have?",
    "Name three deserts.",
    "Who are you?",
    "What is a token?",
]

#: The camel model is so sure of its text that it takes heat to make it say anything else.
WILD = {"temperature": 4, "top_k": 0, "top_p": 1, "min_p": 0}


def message(text):
    return [{"role": "user", "content": text}]


def question_prompt(context, question):
    """A question as token ids, the way a chat puts it."""
    return list(context.llm.model.chat_prompt(message(question)))


def generate(context, prompts, **changes):
    outputs = context.attempt(lambda: context.llm.generate(prompts, **changes))
    if outputs is not None:
        context.outputs = outputs
        context.output = outputs[0]


@when('I ask it to continue its question "{question}" at temperature 0')
def continue_question(context, question):
    generate(context, question_prompt(context, question), temperature=0)


@when('I ask it to continue its question "{question}" until "{stop}"')
def continue_until(context, question, stop):
    generate(context, question_prompt(context, question), temperature=0, stop=stop)


@when("I ask all its questions at once at temperature 0")
def ask_all(context):
    generate(context, [question_prompt(context, q) for q in QUESTIONS], temperature=0)


@when('I ask it to continue "{text}" for {n:d} tokens')
def continue_for(context, text, n):
    generate(context, text, max_tokens=n, ignore_eos=True)


@when("I ask it three times with the seeds 42, 42 and 43 at temperature 4")
def three_seeds(context):
    context.answers = [
        context.llm.generate("The", seed=seed, max_tokens=16, **WILD)[0] for seed in (42, 42, 43)
    ]


@when('I ask it for {n:d} answers to "{question}" with seed {seed:d} at temperature 4')
def several_answers(context, n, question, seed):
    prompt = question_prompt(context, question)
    generate(context, prompt, n=n, seed=seed, max_tokens=16, **WILD)


@when('I stream its answer to "{question}"')
def stream_answer(context, question):
    context.pieces = list(context.llm.chat(message(question), stream=True, temperature=0))


@when('I say "{text}"')
def say(context, text):
    context.said = text
    context.output = context.llm.chat(message(text), temperature=0, max_tokens=64)


@when("I give it a prompt of {n:d} tokens")
def long_prompt(context, n):
    generate(context, [5] * n)


@when("I ask for a temperature of {value:d}")
def wrong_temperature(context, value):
    generate(context, "The", temperature=value)


@then('the answer is "{text}"')
@then('it says "{text}"')
def answer_is(context, text):
    assert context.output.text == text, context.output


@then("it ended by itself")
def ended_by_itself(context):
    completion = context.output.completions[0]
    assert (completion.finish_reason, completion.stop_string) == ("stop", None)


@then("it ended at the limit")
def ended_at_limit(context):
    completion = context.output.completions[0]
    assert (completion.finish_reason, completion.truncated) == ("length", False)


@then('it ended at the stop string "{text}"')
def ended_at_stop(context, text):
    completion = context.output.completions[0]
    assert (completion.finish_reason, completion.stop_string) == ("stop", text)


@then("the answer has {n:d} tokens")
def answer_has_tokens(context, n):
    assert len(context.output.tokens) == context.output.timings.n_generated == n


@then("every answer is the one it gives alone")
def answers_as_alone(context):
    assert len(context.outputs) == len(QUESTIONS)
    for question, together in zip(QUESTIONS, context.outputs, strict=True):
        alone = context.llm.generate(question_prompt(context, question), temperature=0)[0]
        assert alone.tokens == together.tokens and alone.text


@then("the first two answers are equal and the third is another")
def seeds_decide(context):
    first, second, third = (answer.tokens for answer in context.answers)
    assert first == second != third


@then("there are {n:d} answers, not all equal")
def answers_differ(context, n):
    texts = context.output.texts
    assert len(texts) == n and len(set(texts)) > 1, texts


@then("their seeds are {first:d}, {second:d} and {third:d}")
def seeds_are(context, first, second, third):
    assert [c.seed for c in context.output.completions] == [first, second, third]


@then('the pieces joined are "{text}"')
def pieces_joined(context, text):
    assert "".join(context.pieces) == text


@then("there is more than one piece")
def several_pieces(context):
    assert len(context.pieces) > 1


@then('the prompt holds exactly as many end marks as with "{other}"')
def as_many_end_marks(context, other):
    ends = context.llm.model.vocab.eog_ids
    counts = [
        sum(token in ends for token in question_prompt(context, text))
        for text in (context.said, other)
    ]
    assert counts[0] == counts[1] > 0
