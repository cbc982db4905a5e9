"""Whatever a row holds, it is a right sample or says what is wrong with it: never a crash, never a guess."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine import formats
from engine.formats import Broken, Message, Sample, ToolCall, records
from engine.plan import Reason
from engine.problem_texts import REASONS, reason
from engine.problems import LANGUAGES
from engine.spec import ColumnNames, DatasetChoice, TagNames

ALPACA = {"instruction": "q", "input": "", "output": "a", "system": "s", "history": [["h", "i"]]}
SHAREGPT = {
    "conversations": [
        {"from": "human", "value": "q"}, {"from": "function_call", "value": '{"name": "f", "arguments": {"x": 1}}'},
        {"from": "observation", "value": "1"}, {"from": "gpt", "value": "a"},
    ],
    "tools": "[]",
}  # fmt: skip
OPENAI = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "text", "text": "r"}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
                {"name": "g", "arguments": {"x": ["y"]}},
            ],
        },
        {"role": "tool", "content": "1", "tool_call_id": "1"},
        {"role": "assistant", "content": "a"},
    ]
}
MOSS = {
    "meta_instruction": "s",
    "chat": {
        "turn_1": {
            "Human": "<|Human|>: q<eoh>\n",
            "Inner Thoughts": "<|Inner Thoughts|>: t<eot>\n",
            "Commands": "<|Commands|>: Calculate(1)<eoc>\n",
            "Tool Responses": "<|Results|>:\nCalculate(1) => 1\n<eor>\n",
            "MOSS": "<|MOSS|>: a<eom>\n",
        }
    },
}
TEXT = {"text": "one"}
GOOD: dict[str, dict[str, Any]] = {
    "alpaca": ALPACA, "sharegpt": SHAREGPT, "openai": OPENAI, "moss": MOSS, "text": TEXT,
}  # fmt: skip


def read(folder: Path, name: str, content: str | bytes, choice: DatasetChoice | str) -> list[Sample | Broken]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(formats.read_file(path, choice))


def one(folder: Path, row: Any, choice: DatasetChoice | str) -> Sample | Broken:
    (found,) = read(folder, "row.jsonl", json.dumps(row), choice)
    return found


def said(sample: Sample | Broken) -> list[tuple[str, str]]:
    assert isinstance(sample, Sample), sample
    return [(message.role, message.content) for message in sample.messages]


def test_real_shapes_of_rows_are_read(tmp_path: Path) -> None:
    assert said(one(tmp_path, ALPACA, "alpaca")) == [
        ("system", "s"), ("user", "h"), ("assistant", "i"), ("user", "q"), ("assistant", "a"),
    ]  # fmt: skip
    for name, row in (("sharegpt", SHAREGPT), ("openai", OPENAI)):
        sample = one(tmp_path, row, name)
        assert isinstance(sample, Sample)
        call, result, answer = sample.messages[-3:]
        assert (call.content, call.tool_calls[0]) == ("", ToolCall("f", {"x": 1}))
        assert (result, answer) == (Message("tool", "1"), Message("assistant", "a"))
    assert said(one(tmp_path, OPENAI, "openai"))[:2] == [("system", "s"), ("user", "qr")]
    assert said(one(tmp_path, MOSS, "moss")) == [("system", "s"), ("user", "q"), ("assistant", "a")]


@pytest.mark.parametrize("name", formats.NAMES)
def test_no_exchange_of_any_value_crashes(tmp_path: Path, name: str) -> None:
    """Every value of a good row, one after the other, is exchanged for every wrong kind of value."""
    wrong: list[Any] = [
        None,
        3,
        1.5,
        True,
        "",
        " ",
        [],
        {},
        [[]],
        [None],
        {"a": [1]},
        "\ud83d",
        "a\x00b",
        "[",
        '{"name": 3}',
    ]
    rows = []
    for path in places(GOOD[name]):
        for value in wrong:
            rows.append(put(GOOD[name], path, value))
        rows.append(put(GOOD[name], path, None, remove=True))
    found = read(tmp_path, "rows.jsonl", "\n".join(json.dumps(row) for row in rows), name)
    assert [item.line for item in found] == list(range(1, len(rows) + 1))
    for item, row in zip(found, rows, strict=True):
        if isinstance(item, Broken):
            assert item.reason in REASONS, item
            for language in LANGUAGES:
                told = reason(Reason(decision="-", code=item.reason, parameters=item.parameters), language)
                assert "?" not in told, item
        else:
            assert right(item), (row, item)


def right(sample: Sample) -> bool:
    """Is it a conversation in order whose texts can be encoded, or a text?"""
    if sample.text is not None:
        return bool(sample.text.strip()) and "\x00" not in sample.text and bool(sample.text.encode())
    roles = [message.role for message in sample.messages]
    turns = roles[1:] if roles[0] == "system" else roles
    texts = "".join(f"{one.content}{one.name}{one.reasoning}{calls(one)}" for one in sample.messages) + sample.tools
    asked = all(message.content.strip() for message in sample.messages if message.role == "user")
    return turns[0] == "user" and turns[-1] == "assistant" and asked and "\x00" not in texts and texts.encode() != b""


def calls(message: Message) -> str:
    return "".join(call.name + json.dumps(call.arguments, ensure_ascii=False) for call in message.tool_calls)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(place for key, part in inner for place in places(part, (*path, key)))]


def put(row: Any, path: tuple[Any, ...], value: Any, *, remove: bool = False) -> Any:
    copied = copy.deepcopy(row)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copied


@pytest.mark.parametrize("name", formats.NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_no_damage_to_the_bytes_crashes(tmp_path: Path, name: str, seed: int) -> None:
    dice = random.Random(seed)
    for ending in ("json", "jsonl", "csv"):
        whole = json.dumps([GOOD[name]] * 3) if ending == "json" else "\n".join([json.dumps(GOOD[name])] * 3)
        for _ in range(60):
            data = bytearray(whole.encode())
            for _ in range(dice.randint(1, 4)):
                at = dice.randrange(len(data))
                data[at : at + dice.randint(0, 2)] = bytes(dice.choices(range(256), k=dice.randint(0, 3)))
            for item in read(tmp_path, f"rows.{ending}", bytes(data), name):
                assert isinstance(item, Broken) or right(item)


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, "row") for name in formats.NAMES] + [(name, "inside") for name in ("sharegpt", "openai", "moss")],
)
def test_a_key_that_is_there_twice_is_told(tmp_path: Path, name: str, place: str) -> None:
    """Python would keep the last and say nothing."""
    text = json.dumps(GOOD[name])
    if place == "row":
        key = next(iter(GOOD[name]))
        text = text[:-1] + f', {json.dumps(key)}: "x"}}'
    else:
        key = {"sharegpt": "from", "openai": "role", "moss": "Human"}[name]
        text = text.replace(f'"{key}"', f'"{key}": "x", "{key}"', 1)
    (broken,) = read(tmp_path, "row.jsonl", text, name)
    assert isinstance(broken, Broken)
    assert broken.reason == "row.duplicate_key"
    assert str(broken.parameters["key"]).endswith(key)


@pytest.mark.parametrize("ending", ["json", "jsonl", "txt", "csv"])
def test_a_row_beyond_all_measure_is_told_and_not_held(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("json_rows", "text_rows", "csv_rows"):
        monkeypatch.setattr(f"engine.formats.{module}.LONGEST_ROW", 1000)
    monkeypatch.setattr("engine.formats.json_rows.CHUNK", 300)
    long, good = "word " * 1000, {"text": "fine"}
    content = {
        "json": json.dumps([good, {"text": long}, good]),
        "jsonl": "\n".join(json.dumps(row) for row in (good, {"text": long}, good)),
        "txt": f"fine\n{long}\nfine\n",
        "csv": f"text\nfine\n{long}\nfine\n",
    }[ending]
    found = read(tmp_path, f"rows.{ending}", content, "text")
    assert [item.line for item in found[:2]] == ([1, 1] if ending == "json" else [2, 3] if ending == "csv" else [1, 2])
    assert isinstance(found[0], Sample)
    assert isinstance(found[1], Broken)
    assert found[1].reason == "row.too_long"
    assert records.LONGEST_ROW >= 1 << 22, "a long book"
    if ending in ("jsonl", "txt"):
        assert isinstance(found[2], Sample)


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        (("user", "user", "assistant"), "row.role_order"),
        (("assistant",), "row.role_order"),
        (("tool", "assistant"), "row.role_order"),
        (("user", "system", "assistant"), "row.role_order"),
        (("user", "assistant", "assistant"), "row.role_order"),
        (("user",), "row.no_answer"),
        (("user", "assistant", "tool"), "row.no_answer"),
        (("system",), "row.empty"),
        ((), "row.empty"),
        (("user", "narrator"), "row.unknown_role"),
    ],
)
def test_openai_turns_out_of_order_are_refused(tmp_path: Path, roles: tuple[str, ...], reason: str) -> None:
    row = {"messages": [{"role": role, "content": "x"} for role in roles]}
    broken = one(tmp_path, row, "openai")
    assert isinstance(broken, Broken)
    assert broken.reason == reason


def test_several_results_of_tools_in_a_row_are_right(tmp_path: Path) -> None:
    row = {"messages": [{"role": role, "content": "x"} for role in ("user", "assistant", "tool", "tool", "assistant")]}
    assert isinstance(one(tmp_path, row, "openai"), Sample)


def test_pictures_are_refused_by_their_place(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}
    broken = one(tmp_path, row, "openai")
    assert broken == Broken(1, "row.not_only_text", {"key": "messages[0].content[0]", "found": "image_url"})


def test_columns_and_roles_can_have_other_names(tmp_path: Path) -> None:
    columns = ColumnNames(prompt="q", query="more", response="a", history="before", system="told")
    choice = DatasetChoice(path="-", format="alpaca", columns=columns)
    row = {"q": "1", "more": "2", "a": "3", "before": [["4", "5"]], "told": "6", "instruction": "no"}
    assert [text for _, text in said(one(tmp_path, row, choice))] == ["6", "4", "5", "1\n2", "3"]
    tags = TagNames(role="who", content="what", user="me", assistant="you", observation="world", function="do")
    columns = ColumnNames(messages="talk", tools="can", system="told")
    turns = [{"who": who, "what": "x"} for who in ("me", "do", "world", "you")]
    for name in ("sharegpt", "openai"):
        choice = DatasetChoice(path="-", format=name, columns=columns, tags=tags)  # type: ignore[arg-type]
        sample = one(tmp_path, {"talk": turns, "can": [{"name": "f"}], "told": "s"}, choice)
        assert isinstance(sample, Sample)
        assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
        assert json.loads(sample.tools) == [{"name": "f"}]
    choice = DatasetChoice(path="-", format="text", columns=ColumnNames(text="body"))
    assert one(tmp_path, {"body": "x", "text": "y"}, choice) == Sample(1, text="x")
