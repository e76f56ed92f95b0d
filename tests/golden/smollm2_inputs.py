"""Texts and chats behind the SmolLM2 goldens."""

# Greedy decoding: four plain prompts and one chat, rendered by the model's own template.
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a small village by the sea, there lived",
    "Water boils at a temperature of",
]
CHAT = [{"role": "user", "content": "Explain in two sentences why the sky is blue."}]

# Teacher forcing: prose, figures, punctuation, code and a little non-English, one sequence.
TEXT = """\
The Bactrian camel carries two humps and a great deal of patience. It grew up on the cold \
steppe, where the summer burns at forty degrees and the winter bites at minus forty, and it has \
learned to live with both. Its humps do not hold water, as people like to say; they hold fat, \
which the animal burns when there is nothing to eat. When a camel has gone hungry for weeks the \
humps lean over to one side, and when it finds pasture again they slowly stand up.

A caravan of the old silk road moved at about four kilometres an hour. With 60 animals, each of \
which carried 150 kg, the merchants brought nine tonnes of goods across the desert: silk, paper,\
 tea, glass, and sometimes letters. It took roughly 12 weeks from Kashgar to Samarkand, if the \
wells were full. "If the wells are empty," an old guide used to say, "you do not count the \
weeks, you count the camels."

What would such a guide think of a computer? He would ask how much it eats, how far it walks in \
a day, and whether it kicks. The answers are: about 65 watts, not at all, and only when it is \
out of memory. He would shake his head and go back to his fire. Still, the two have something in\
 common. A good program, like a good camel, takes what there is and wastes little of it; it \
carries one load to the left and one to the right, and it arrives.

```python
from dataclasses import dataclass


@dataclass
class Camel:
    name: str
    humps: int = 2
    load_kg: float = 0.0

    def carry(self, weight: float) -> "Camel":
        if weight < 0:
            raise ValueError(f"{self.name} can't carry {weight} kg")
        return Camel(self.name, self.humps, self.load_kg + weight)


def total_load(caravan: list[Camel]) -> float:
    return sum(camel.load_kg for camel in caravan)


caravan = [Camel(f"camel-{i}").carry(150.0) for i in range(60)]
assert total_load(caravan) == 60 * 150.0
```

In C++ the same sum is one line: `std::accumulate(loads.begin(), loads.end(), 0.0)`. In German \
the animal is called "Trampeltier", in French "chameau de Bactriane", and in Mongolian "тэмээ". \
The price of a young one was 3,500 euros in 2021, i.e. more than a used bicycle and less than a \
new car. Three questions remain: (1) who feeds it, (2) who cleans up after it, and (3) where \
does it sleep? If you have an answer to all of them, then nothing stands in your way any more.
"""

# Embeddings: short, medium and long.
EMBEDDING_TEXTS = [
    "A camel can live for weeks without water.",
    "The desert is cold at night, because dry air and bare sand keep little of the day's heat.",
    "def mean(xs):\n    return sum(xs) / len(xs)\n\n\nprint(mean([1, 2, 3, 4]))  # 2.5\n" * 4,
]

# Tokenizing only: digits, runs of spaces, special tokens, broken and rare characters.
TOKENIZER_TEXTS = [
    "",
    " ",
    "Hello, world!",
    "It's 12345.678 km, isn't it?",
    "a 1  22   333\t4444\n\n\n55555 ",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "café ☕ ÀÉÎ 日本語 русский",
    "\U0001f42b\U0001f3dc\ufe0f e\u0301 \u200b \u00a0x",
    "if (x<=3&&y!=0){return x->z[0];}\r\n",
]
