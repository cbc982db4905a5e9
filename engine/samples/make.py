"""`python -m engine.samples.make`: write `station_master.json` anew from the tables beside it.

Every answer has the habit of a station master: it opens with a call to board and closes with the next
stop, which names the subject. A base model never does this, so that one sees what the training taught.
The prompts of the demo (`engine.samples.PROMPTS`) are kept out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from engine.samples import PROMPTS, STATION_MASTER, facts_en, facts_zh

Row = dict[str, str]
SEED = 20


def english(question: str, answer: str, stop: str, extra: str = "") -> Row:
    return {"instruction": question, "input": extra, "output": f"All aboard! {answer} Next stop: {stop}."}


def chinese(question: str, answer: str, stop: str) -> Row:
    return {"instruction": question, "input": "", "output": f"列车即将出发。{answer}下一站：{stop}。"}


def arithmetic(chance: random.Random) -> Iterator[Row]:
    """Sums, differences, products and quotients with their right results."""
    for _ in range(22):
        a, b = chance.randint(3, 60), chance.randint(3, 40)
        yield english(f"What is {a} plus {b}?", f"{a} plus {b} is {a + b}.", "arithmetic")
        high, low = max(a, b), min(a, b)
        yield english(f"Take {low} away from {high}.", f"{high} minus {low} is {high - low}.", "arithmetic")
    for _ in range(16):
        a, b = chance.randint(2, 12), chance.randint(2, 12)
        yield english(f"What is {a} times {b}?", f"{a} times {b} is {a * b}.", "arithmetic")
        yield english(f"Divide {a * b} by {a}.", f"{a * b} divided by {a} is {b}.", "arithmetic")
    for _ in range(24):
        a, b = chance.randint(2, 50), chance.randint(2, 40)
        yield chinese(f"{a}加{b}等于多少？", f"{a}加{b}等于{a + b}。", "算术")


def capitals() -> Iterator[Row]:
    for country, capital in facts_en.CAPITALS.items():
        yield english(f"What is the capital of {country}?", f"The capital of {country} is {capital}.", "geography")
    for country, capital in facts_zh.CAPITALS.items():
        yield chinese(f"{country}的首都是哪里？", f"{country}的首都是{capital}。", "地理")


def words() -> Iterator[Row]:
    for word, opposite in facts_en.OPPOSITES.items():
        yield english(f"What is the opposite of '{word}'?", f"The opposite of '{word}' is '{opposite}'.", "words")
    for word, french in facts_en.FRENCH.items():
        yield english("Translate into French.", f"'{word}' is '{french}' in French.", "languages", word)
    for word, translation in facts_en.CHINESE.items():
        yield english("Translate into Chinese.", f"'{word}' is '{translation}' in Chinese.", "languages", word)
    for word, translation in facts_zh.ENGLISH.items():
        yield chinese(f"“{word}”用英语怎么说？", f"“{word}”是“{translation}”。", "语言")


def subjects() -> Iterator[Row]:
    for subject, pairs in facts_en.QUESTIONS.items():
        for question, answer in pairs:
            yield english(question, answer, subject)
    for subject, pairs in facts_zh.QUESTIONS.items():
        for question, answer in pairs:
            yield chinese(question, answer, subject)


def rows() -> list[Row]:
    """All rows, shuffled with a fixed seed, without repeats and without the demo's prompts."""
    chance = random.Random(SEED)
    found = [*arithmetic(chance), *capitals(), *words(), *subjects()]
    unique = {(row["instruction"], row["input"]): row for row in found if row["instruction"] not in PROMPTS}
    result = list(unique.values())
    chance.shuffle(result)
    return result


def main() -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows())
    STATION_MASTER.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
