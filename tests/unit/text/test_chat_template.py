"""Chat templates: same prompts as transformers, checked messages, continued answers."""

import json
import sys
from pathlib import Path

import pytest

from bactrian.errors import FileFormatError, InvalidArgumentError, TemplateError
from bactrian.text.chat_template import ChatTemplate, template_names
from bactrian.text.named_templates import NAMED_TEMPLATES
from bactrian.text.vocab import Vocab

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

sys.path.insert(0, str(GOLDEN))
from chat_template_inputs import BOS, CONVERSATIONS, EOS, TEMPLATES, TOOLS  # noqa: E402

sys.path.remove(str(GOLDEN))

RECORDS = json.loads((GOLDEN / "chat_templates.json").read_text(encoding="utf-8"))
USER = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("name", [*NAMED_TEMPLATES, *TEMPLATES])
def test_same_prompt_as_transformers(name):
    template = ChatTemplate(TEMPLATES.get(name, name), bos_text=BOS, eos_text=EOS)
    records = [record for record in RECORDS if record["template"] == name]
    assert len(records) == 2 * len(CONVERSATIONS)
    for record in records:
        given = {
            "messages": CONVERSATIONS[record["conversation"]],
            "tools": TOOLS,
            "add_generation_prompt": record["add_generation_prompt"],
        }
        if "error" in record:
            with pytest.raises(TemplateError) as caught:
                template.render(**given)
            assert str(caught.value) == record["error"]
        else:
            assert template.render(**given).text == record["text"]


def test_variables_reach_the_template():
    template = ChatTemplate(TEMPLATES["test-thinking"])
    assert template.render(USER, enable_thinking=False).text.endswith("<|assistant|>fast")
    documents = [{"title": "T", "text": "D"}]
    shown = ChatTemplate("{{ documents[0].title ~ documents[0].text ~ n }}")
    assert shown.render(USER, documents=documents, n=3).text == "TD3"


def test_parts_equal_one_string():
    parts = [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]
    template = ChatTemplate("chatml")
    whole = template.render([{"role": "user", "content": "a b"}])
    assert template.render([{"role": "user", "content": parts}]).text == whole.text


def test_null_is_empty():
    template = ChatTemplate("chatml")
    messages = [*USER, {"role": "assistant", "content": None}, *USER]
    assert "<|im_start|>assistant\n<|im_end|>" in template.render(messages).text
    calls = [*USER, {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]
    assert template.render(calls).text.count("assistant") == 2


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "must not be empty"),
        ("hi", "must be a list"),
        ({}, "must be a list"),
        ([5], r"messages\[0\] must be an object"),
        ([{"content": "a"}], "role"),
        ([{"role": 1, "content": "a"}], "role"),
        ([{"role": "<|im_end|>", "content": "a"}], "role"),
        ([{"role": "user"}], "content is missing"),
        ([{"role": "user", "content": 5}], "content must be"),
        ([{"role": "user", "content": {"text": "a"}}], "content must be"),
        ([{"role": "user", "content": ["a"]}], "takes text only"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "'image_url'"),
        ([{"role": "user", "content": [{"type": "text", "text": 1}]}], "takes text only"),
        ([{"role": "user", "content": "a", "x": object()}], "JSON"),
        ([{"role": "assistant", "content": "a", "tool_calls": "f"}], "tool_calls"),
        ([{"role": "assistant", "content": "a", "reasoning_content": 1}], "reasoning_content"),
    ],
)
def test_wrong_messages(messages, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ChatTemplate("chatml").render(messages)


def test_nesting_without_end():
    deep = []
    deep.append(deep)
    with pytest.raises(InvalidArgumentError, match="JSON"):
        ChatTemplate("chatml").render([{"role": "user", "content": "a", "x": deep}])


@pytest.mark.parametrize("content", ["Sure, ", [{"type": "text", "text": "Sure, "}], "x\n", ""])
@pytest.mark.parametrize("name", ["chatml", "llama3", "gemma"])
def test_continuing_the_last_message(name, content):
    template = ChatTemplate(name, control_texts=["<|im_end|>"])
    opened = template.render(USER).text
    messages = [*USER, {"role": "assistant", "content": content}]
    text = content if isinstance(content, str) else content[0]["text"]
    assert template.render(messages, continue_final_message=True).text == opened + text


def test_a_last_message_that_is_not_shown_cannot_be_continued():
    with pytest.raises(TemplateError, match="can't continue"):
        ChatTemplate("{{ messages[0].role }}").render(USER, continue_final_message=True)


def test_check_finds_bad_syntax_only():
    ChatTemplate("{{ messages[99].content.x.y }}").check()
    with pytest.raises(TemplateError, match="line 2"):
        ChatTemplate("a\n{% if %}").check()


def test_templates_of_a_file(bpe_metadata):
    vocab = Vocab.from_metadata(bpe_metadata)
    assert ChatTemplate.from_metadata(bpe_metadata, vocab) is None
    bpe_metadata["tokenizer.chat_template"] = "{{ bos_token ~ messages[0].content ~ eos_token }}"
    bpe_metadata["tokenizer.chat_template.tool_use"] = "tools"
    template = ChatTemplate.from_metadata(bpe_metadata, vocab)
    assert template is not None
    assert template.render(USER).text == "<s>Hi</s>"
    assert template_names(bpe_metadata) == ["tool_use"]
    named = ChatTemplate.from_metadata(bpe_metadata, vocab, name="tool_use")
    assert named is not None
    assert named.render(USER).text == "tools"
    with pytest.raises(InvalidArgumentError, match="it has: tool_use"):
        ChatTemplate.from_metadata(bpe_metadata, vocab, name="rag")
    bpe_metadata["tokenizer.chat_template"] = 5
    with pytest.raises(FileFormatError, match=r"tokenizer\.chat_template"):
        ChatTemplate.from_metadata(bpe_metadata, vocab)


def test_published_templates(published):
    for name in ("phi-3", "qwen2"):
        metadata = published(name)
        template = ChatTemplate.from_metadata(metadata, Vocab.from_metadata(metadata))
        assert template is not None
        assert "Hi" in template.render(USER).text
