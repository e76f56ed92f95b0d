"""Makes the goldens of ``models/tiny-camel.gguf`` with the numpy llama in float64.

Needs gguf and numpy. From the repository root:

    PYTHONPATH=models:tests python tests/golden/make_tiny_camel.py

Writes ``tiny_camel.json``: for each prompt its token ids, the greedy continuation up to and with
EOS, its text, and the smallest lead of a chosen token over the next best one, in nats.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from reference.llama import Llama
from tiny_text import all_text
from vocabulary import BpeEncoder, bpe_vocabulary

MODEL = Path(__file__).parents[2] / "models" / "tiny-camel.gguf"
GOLDEN = Path(__file__).with_name("tiny_camel.json")
EOS = 2
MAX_TOKENS = 96

STORY_PROMPTS = ["Once a small camel", "The old guide looked", "def humps(camel)"]
CHATS = [
    ["Who are you?"],
    ["How many humps does a Bactrian camel have?"],
    ["What colour is a camel?"],
    ["What is 7 plus 8?"],
    ["Where is the Gobi?"],
    ["Tell me a joke."],
    ["Count to ten."],
    ["Hello!", "What is your name?", "Which desert is the largest?"],
]


def render(questions: list[str], answers: list[str]) -> str:
    """ChatML of a conversation whose last question is open."""
    turns = [
        f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        for question, answer in zip(questions, answers, strict=False)
    ]
    return "".join(
        [*turns, f"<|im_start|>user\n{questions[-1]}<|im_end|>\n<|im_start|>assistant\n"]
    )


class Camel:
    """The model with its vocabulary: text in, text out."""

    def __init__(self, path: Path) -> None:
        vocabulary = bpe_vocabulary(all_text(), 512)
        self._encoder = BpeEncoder(vocabulary)
        self._tokens = vocabulary.tokens
        self._llama = Llama(path)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in re.split(r"(<\|im_start\|>|<\|im_end\|>)", text):
            is_mark = part.startswith("<|im_")
            ids += [self._encoder.control(part)] if is_mark else self._encoder.encode(part)
        return ids

    def complete(self, prompt: str) -> dict[str, Any]:
        tokens = self.encode(prompt)
        greedy = self._llama.greedy(tokens, MAX_TOKENS, frozenset([EOS]))
        logits, _ = self._llama.forward(tokens + greedy[:-1])
        best = np.sort(logits[len(tokens) - 1 :], axis=-1)[:, -2:]
        text = "".join(self._tokens[t] for t in greedy if t != EOS)
        return {
            "prompt": prompt,
            "tokens": tokens,
            "greedy": greedy,
            "text": text.replace("Ġ", " ").replace("Ċ", "\n"),
            "smallest_lead": round(float((best[:, 1] - best[:, 0]).min()), 3),
        }


def main() -> None:
    camel = Camel(MODEL)
    completions = [camel.complete(prompt) for prompt in STORY_PROMPTS]
    for questions in CHATS:
        answers: list[str] = []
        for i in range(len(questions)):
            result = camel.complete(render(questions[: i + 1], answers))
            answers.append(result["text"])
        completions.append({"questions": questions, "answers": answers, **result})
    digest = hashlib.sha256(MODEL.read_bytes()).hexdigest()
    golden = {"model_sha256": digest, "eos": EOS, "completions": completions}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
