"""Makes chat_templates.json with the ``apply_chat_template`` of transformers.

Needs transformers==5.24.0 and jinja2==3.1.6. From the repository root:

    python tests/golden/make_chat_templates.py

Inputs are in chat_template_inputs.py; each is rendered with and without a generation prompt. Where
a template raises, its message is kept.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import jinja2
from chat_template_inputs import BOS, CONVERSATIONS, EOS, TEMPLATES, TOOLS
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

HERE = Path(__file__).resolve().parent
NAMED = HERE.parents[1] / "python" / "bactrian" / "text" / "named_templates.py"


def named_templates() -> dict[str, str]:
    """The product's table, read without installing the product."""
    spec = importlib.util.spec_from_file_location("named_templates", NAMED)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NAMED_TEMPLATES


def main() -> None:
    vocab = {BOS: 0, EOS: 1}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocab)), bos_token=BOS, eos_token=EOS
    )
    records = []
    for template, source in {**named_templates(), **TEMPLATES}.items():
        for conversation, messages in CONVERSATIONS.items():
            for add_generation_prompt in (False, True):
                record = {
                    "template": template,
                    "conversation": conversation,
                    "add_generation_prompt": add_generation_prompt,
                }
                try:
                    record["text"] = tokenizer.apply_chat_template(
                        messages,
                        tools=TOOLS,
                        chat_template=source,
                        tokenize=False,
                        add_generation_prompt=add_generation_prompt,
                    )
                except jinja2.TemplateError as error:
                    record["error"] = str(error)
                records.append(record)
    path = HERE / "chat_templates.json"
    path.write_text(json.dumps(records, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{len(records)} prompts in {path.name}")


if __name__ == "__main__":
    main()
