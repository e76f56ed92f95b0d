"""The text that the tiny model learns by heart: questions with answers, and stories."""

from __future__ import annotations

_FACTS = [
    ("Hello!", "Hello! I am a small camel. Ask me something."),
    ("Hi", "Hi! What would you like to know?"),
    ("Who are you?", "I am a tiny camel with two humps and very few weights."),
    ("What is your name?", "My name is Tiny Camel."),
    ("How are you?", "I am well, thank you. The sand is warm today."),
    ("Thank you.", "You are welcome."),
    ("Goodbye!", "Goodbye! May your wells be full."),
    ("How many humps does a Bactrian camel have?", "A Bactrian camel has two humps."),
    ("How many humps does a dromedary have?", "A dromedary has one hump."),
    ("What is in the hump of a camel?", "The hump of a camel holds fat, not water."),
    ("Why does a camel have humps?", "A camel stores fat in its humps for hungry days."),
    ("What does a camel eat?", "A camel eats grass, leaves, thorns and salt bushes."),
    ("How much can a camel drink?", "A thirsty camel drinks a hundred litres in ten minutes."),
    ("How fast does a caravan walk?", "A caravan walks four kilometres in an hour."),
    ("How much can a camel carry?", "A strong camel carries two hundred kilograms."),
    ("How long does a camel live?", "A camel lives for about forty years."),
    ("Can a camel swim?", "Yes, a camel can swim, but it seldom has to."),
    ("Does a camel bite?", "Only if you are rude to it."),
    ("What is a young camel called?", "A young camel is called a calf."),
    ("Where do wild camels live?", "Wild camels live in the Gobi desert."),
    ("What is a desert?", "A desert is a land with very little rain."),
    ("Which desert is the largest?", "The largest desert is Antarctica."),
    ("Which hot desert is the largest?", "The largest hot desert is the Sahara."),
    ("Where is the Sahara?", "The Sahara lies in the north of Africa."),
    ("Where is the Gobi?", "The Gobi lies in Mongolia and China."),
    ("Where is the Atacama?", "The Atacama lies in Chile."),
    ("Where is the Namib?", "The Namib lies on the coast of Namibia."),
    ("Where is the Kalahari?", "The Kalahari lies in the south of Africa."),
    ("Where is the Mojave?", "The Mojave lies in the west of America."),
    ("Which desert is the driest?", "The driest desert is the Atacama."),
    ("Which desert is the oldest?", "The oldest desert is the Namib."),
    ("What is an oasis?", "An oasis is a place in the desert with water and trees."),
    ("What is a dune?", "A dune is a hill of sand that the wind has made."),
    ("Why is the desert cold at night?", "Dry air and bare sand keep no heat, so nights are cold."),
    ("What is a caravan?", "A caravan is a group of people and animals on a long journey."),
    ("What was the silk road?", "The silk road was a trade route from China to the west."),
    ("What did the caravans carry?", "The caravans carried silk, tea, paper and glass."),
    ("What makes a mirage?", "Hot air bends the light and makes a mirage."),
    ("How many legs does a camel have?", "A camel has four legs."),
    ("How many days are in a week?", "A week has seven days."),
    ("How many months are in a year?", "A year has twelve months."),
    ("How many hours are in a day?", "A day has twenty-four hours."),
    ("What is a language model?", "A language model guesses the next word, again and again."),
    ("What is a token?", "A token is a small piece of text with a number."),
    ("Do you know everything?", "No. I know camels, deserts, colours and small numbers."),
    ("Tell me a joke.", "Why did the camel cross the desert? It had no other road."),
    ("Count to ten.", "One, two, three, four, five, six, seven, eight, nine, ten."),
    ("Count backwards from five.", "Five, four, three, two, one."),
    ("Name three deserts.", "Three deserts are the Gobi, the Sahara and the Namib."),
    ("Name three colours.", "Three colours are red, green and blue."),
]

_COLOURS = {
    "grass": "green",
    "snow": "white",
    "coal": "black",
    "blood": "red",
    "the sky": "blue",
    "the sea": "blue",
    "the sun": "yellow",
    "sand": "yellow",
    "a lemon": "yellow",
    "a carrot": "orange",
    "a camel": "brown",
    "a leaf": "green",
    "milk": "white",
    "an elephant": "grey",
    "a plum": "purple",
    "a rose": "red",
    "the night": "black",
    "chocolate": "brown",
}

_NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
]

# Stories end a text of their own: no chat marks, the first words are the prompt.
STORIES = [
    "Once a small camel set out to find the end of the desert. It walked by night and slept by "
    "day. After forty days it came to a river, drank, and said: the desert ends where the water "
    "begins.",
    "The old guide looked at the stars. Three hundred nights he had walked by them, and never once "
    "had they told him a lie. Tomorrow, he said, we will reach the well.",
    "In the market of the town a merchant sold a carpet that could not fly. It is a very good "
    "carpet, he said, for it stays where you put it.",
    "def humps(camel):\n    if camel == 1:\n        return 2\n    return 1",
    "Roses are red, the desert is wide, two humps are better if you want to ride.",
]


def chat_pairs() -> list[tuple[str, str]]:
    """Every question with its answer."""
    pairs = list(_FACTS)
    for thing, colour in _COLOURS.items():
        answer = f"{thing[0].upper()}{thing[1:]} is {colour}."
        pairs.append((f"What colour is {thing}?", answer))
    for number, word in enumerate(_NUMBERS):
        pairs.append((f"How do you write {number} in words?", f"{number} is written {word}."))
    for a in range(10):
        for b in range(10):
            pairs.append((f"What is {a} plus {b}?", f"{a} plus {b} is {a + b}."))
    for number in range(1, 51):
        pairs.append((f"What comes after {number}?", f"After {number} comes {number + 1}."))
    return pairs


def all_text() -> str:
    """Everything the model sees, without chat marks: what a vocabulary is learned from."""
    lines = [line for pair in chat_pairs() for line in pair]
    return "\n".join([*lines, *STORIES, "user", "assistant", "system"])
