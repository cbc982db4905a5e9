"""What is learnt of a conversation: every answer with its end and nothing else, whatever the template does."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.failures import Failure
from engine.formats import Message, Sample, ToolCall
from engine.preprocess import chat
from engine.preprocess.store import IGNORED
from engine.spec import TrainOn

END = "<|im_end|>"
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
INJECTS = (
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nToday is ' + strftime_now('%d %b %Y') "
    "+ '<|im_end|>\n' }}{% endif %}" + CHATML
)
THINKS = """
{%- for m in messages %}
    {%- set content = m.content %}
    {%- if m.role == 'assistant' %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].split('<think>')[-1].strip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.last %}{{- '<think>\\n' + thought + '\\n</think>\\n\\n' }}{%- endif %}
        {{- content + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
"""As reasoning models do: earlier thoughts are left out, and the last answer gets an empty one if it has none."""
REWRITES = (
    "{% for m in messages %}{% set kept = m.role == 'user' or loop.last %}"
    "{{ m.role + ': ' + (m.content if kept else '(left out)') + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ m.content + eos_token }}{% endif %}{% endfor %}"
)
GENERATION = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\n' }}{% else %}{{ m.content + '<|im_end|>\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITH_TOOLS = """
{%- if tools %}{{- '<|im_start|>system\\n' + (tools | tojson) + '<|im_end|>\\n' }}{%- endif %}
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' + m.content }}
    {%- for call in m.tool_calls or [] %}{{- '<call>' + (call.function | tojson) + '</call>' }}{%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
OPEN_ENDED = (
    "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Where is platform 2?"),
    Message("assistant", "All aboard! Over the bridge."),
    Message("user", "谢谢！"),
    Message("assistant", "列车即将出发。"),
)


@pytest.fixture
def tokenizer(tiny_model: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_model)


def learnt(
    tokenizer: PreTrainedTokenizerBase, template: str, messages: Sequence[Message], train_on: TrainOn = "every_answer"
) -> list[str]:
    """The texts that are learnt, each run of tokens by itself."""
    tokenizer.chat_template = template
    chosen = chat.Chat(tokenizer, train_on=train_on)
    rendered = chosen.render(Sample(1, messages=tuple(messages)))
    ids, labels = chosen.encode([rendered])[0]
    assert ids.tolist() == tokenizer(rendered.text, add_special_tokens=False)["input_ids"]
    assert ((labels == ids) | (labels == IGNORED)).all()
    return runs(tokenizer, labels.tolist())


def runs(tokenizer: PreTrainedTokenizerBase, labels: list[int]) -> list[str]:
    found: list[list[int]] = [[]]
    for label in labels:
        if label != IGNORED:
            found[-1].append(label)
        elif found[-1]:
            found.append([])
    return [tokenizer.decode(run) for run in found if run]


ANSWERS = [f"All aboard! Over the bridge.{END}", f"列车即将出发。{END}"]


def test_what_is_learnt_can_be_chosen(tokenizer: PreTrainedTokenizerBase) -> None:
    assert learnt(tokenizer, CHATML, TURNS) == ANSWERS
    assert learnt(tokenizer, CHATML, TURNS, "last_answer") == ANSWERS[1:]
    (whole,) = learnt(tokenizer, CHATML, TURNS, "whole_text")
    assert whole.startswith("<|im_start|>system\nBe brief.")
    assert whole.rstrip().endswith(ANSWERS[1])


def test_the_mask_is_the_templates_own_where_it_has_one(tokenizer: PreTrainedTokenizerBase) -> None:
    dice = random.Random(3)
    tokenizer.chat_template = GENERATION
    chosen = chat.Chat(tokenizer)
    for _ in range(100):
        messages = made_up(dice)
        ids, labels = chosen.encode([chosen.render(Sample(1, messages=messages))])[0]
        oracle = tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in messages],
            return_dict=True, return_assistant_tokens_mask=True,
        )  # fmt: skip
        assert ids.tolist() == oracle["input_ids"]
        assert (labels != IGNORED).astype(int).tolist() == oracle["assistant_masks"]


WORDS = ("Ä", "combe\u0301", " ", "\n", "word", "列车", "<|im_end|>", "assistant", "1234", "🚂", "'s", "\t", "</think>")


def made_up(dice: random.Random, words: Sequence[str] = WORDS[:6] + WORDS[7:12]) -> tuple[Message, ...]:
    def text() -> str:
        return "".join(dice.choice(words) for _ in range(dice.randint(1, 9)))

    def answer() -> str:
        return text() if dice.random() < 0.9 else ""

    system = (Message("system", text()),) if dice.random() < 0.5 else ()
    pairs = [(Message("user", text()), Message("assistant", answer())) for _ in range(dice.randint(1, 4))]
    return (*system, *(message for pair in pairs for message in pair))


LOOKS = (
    "m.content if (m.content | upper) == 'WORD' else (m.content + '?')",
    "m.content if m.content[:3] == 'wor' else (m.content + '?')",
    "m.content ~ '!' | trim",
    "m.content | replace('a', 'b')",
    "'%s!' % m.content",
    "'{}!'.format(m.content)",
    "(m.role + m.content) | trim",
    "m.content.strip() + '!'",
    "m.content if m.content | trim | length > 7 else (m.content + '?')",
    "'yes' if 'a' in m.content else m.content",
    "m.content.split('a')[-1]",
    "m.content if m.content else 'nothing'",
    "m.content | tojson",
    "m.content | e",
    "m.content | safe | trim",
    "[m.role, m.content] | join(': ') | trim",
    "'one' if m.content == 'word' else m.content.lstrip()",
    "m.content | default('x', true)",
    "m.content if {'word': true}[m.content] else (m.content + '?')",
    "m.content if m.content is sequence",
    "'x' if m.content.endswith('1234') else m.content.rstrip()",
    "(' ' + m.content).strip()",
    "m.content | string",
    "m.content.strip('a').strip()",
    "m.content if m.content in ['word', 'Ä'] else ('no ' + m.content)",
)
"""What a template may do with a text, where it has to be noticed that it is looked at or changed."""


@pytest.mark.parametrize("expression", LOOKS)
def test_a_template_that_looks_into_texts_is_rendered_as_jinja_does(
    tokenizer: PreTrainedTokenizerBase, expression: str
) -> None:
    tokenizer.chat_template = (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{{ EXPRESSION }}{{ '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ).replace("EXPRESSION", expression)
    quick, slow = chat.Chat(tokenizer), chat.Chat(tokenizer)
    slow._skeletons._usable = False
    dice = random.Random(11)
    for _ in range(60):
        sample = Sample(1, messages=made_up(dice, WORDS))
        assert outcome(quick, sample) == outcome(slow, sample)


@pytest.mark.parametrize("template", [CHATML, INJECTS, THINKS, GENERATION, NO_SYSTEM, WITH_TOOLS, OPEN_ENDED])
def test_what_is_rendered_in_gaps_is_what_jinja_renders(tokenizer: PreTrainedTokenizerBase, template: str) -> None:
    """With texts that hold the template's own marks too: these rows take the careful way."""
    tokenizer.chat_template = template
    quick, slow = chat.Chat(tokenizer), chat.Chat(tokenizer)
    slow._skeletons._usable = False
    dice = random.Random(5)
    for _ in range(300):
        sample = Sample(1, messages=made_up(dice, WORDS))
        assert outcome(quick, sample) == outcome(slow, sample)


def outcome(chosen: chat.Chat, sample: Sample) -> chat.Rendered | str:
    try:
        return chosen.render(sample)
    except chat.Unusable as unusable:
        return str(unusable)


def test_a_system_text_that_the_template_adds_is_not_learnt_and_has_the_same_date_on_every_day(
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    assert learnt(tokenizer, INJECTS, TURNS[1:]) == ANSWERS
    tokenizer.chat_template = INJECTS
    assert "Today is 26 Jul 2024" in chat.Chat(tokenizer).render(Sample(1, messages=TURNS[1:])).text


def test_earlier_thoughts_that_are_left_out_shift_no_mask(tokenizer: PreTrainedTokenizerBase) -> None:
    turns = [
        Message("user", "q"),
        Message("assistant", "<think>\nhm\n</think>\n\nFirst."),
        Message("user", "r"),
        Message("assistant", "<think>\nso\n</think>\n\nSecond."),
    ]
    assert learnt(tokenizer, THINKS, turns) == [f"First.{END}", f"<think>\nso\n</think>\n\nSecond.{END}"]
    assert learnt(tokenizer, THINKS, TURNS) == [ANSWERS[0], f"<think>\n\n</think>\n\n{ANSWERS[1]}"]


def test_an_answer_that_the_template_replaces_is_not_learnt_and_counted(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = REWRITES
    chosen = chat.Chat(tokenizer)
    rendered = chosen.render(Sample(1, messages=TURNS[1:]))
    assert [rendered.text[begin:end] for begin, end in rendered.spans] == ["列车即将出发。<|im_end|>"]
    assert rendered.left_out == 1


def test_the_templates_marks_in_the_texts_do_not_move_the_mask(tokenizer: PreTrainedTokenizerBase) -> None:
    turns = [
        Message("user", "Say <|im_start|>assistant\nno<|im_end|>"),
        Message("assistant", "I write <|im_end|> and go on."),
        Message("user", "More"),
        Message("assistant", "<|im_start|>assistant\n"),
    ]
    assert learnt(tokenizer, CHATML, turns) == [
        f"I write {END} and go on.{END}", f"<|im_start|>assistant\n{END}",
    ]  # fmt: skip


def test_a_system_text_that_the_template_leaves_out_opens_the_first_question(
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    assert learnt(tokenizer, NO_SYSTEM, TURNS) == ANSWERS
    chosen = chat.Chat(tokenizer)
    assert "[INST]Be brief.\n\nWhere is platform 2?[/INST]" in chosen.render(Sample(1, messages=TURNS)).text
    assert "template.system_in_question" in chosen.notes


def test_where_nothing_ends_an_answer_the_end_token_is_added_and_learnt(tokenizer: PreTrainedTokenizerBase) -> None:
    found = learnt(tokenizer, OPEN_ENDED, TURNS)
    assert found == ["\nAll aboard! Over the bridge.", f"\n列车即将出发。{tokenizer.eos_token}"]
    assert "template.end_added" in chat.Chat(tokenizer).notes


CALLS = (
    Message("user", "When does it leave?"),
    Message("assistant", "", (ToolCall("timetable", {"to": "Köln"}),)),
    Message("tool", '{"at": "9:14"}'),
    Message("assistant", "At 9:14."),
)
TOOLS = json.dumps([{"name": "timetable", "parameters": {}}])


def test_calls_of_tools_are_learnt_and_results_are_not(tokenizer: PreTrainedTokenizerBase) -> None:
    call = '<call>{"name": "timetable", "arguments": {"to": "Köln"}}</call>'
    assert learnt(tokenizer, WITH_TOOLS, CALLS) == [f"{call}{END}", f"At 9:14.{END}"]
    chosen = chat.Chat(tokenizer)
    assert '"function": {"name": "timetable"' in chosen.render(Sample(1, messages=CALLS, tools=TOOLS)).text
    assert chosen.notes == ()


def test_a_template_without_tools_gets_them_as_text(tokenizer: PreTrainedTokenizerBase) -> None:
    found = learnt(tokenizer, CHATML, CALLS)
    assert found == [f'{{"name": "timetable", "arguments": {{"to": "Köln"}}}}{END}', f"At 9:14.{END}"]
    chosen = chat.Chat(tokenizer)
    text = chosen.render(Sample(1, messages=CALLS, tools=TOOLS)).text
    assert text.startswith(f"<|im_start|>system\n{TOOLS}<|im_end|>")
    assert '<|im_start|>user\n{"at": "9:14"}<|im_end|>' in text
    assert chosen.notes == ("template.tools_as_text", "template.calls_as_text")


def test_a_row_without_an_answer_or_that_the_template_refuses_says_so(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = CHATML
    assert outcome(chat.Chat(tokenizer), Sample(1, messages=TURNS[:2])) == "no_answer"
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.content == 'Where is platform 2?' %}{{ raise_exception('no') }}{% endif %}"
        "{% endfor %}" + CHATML
    )
    assert outcome(chat.Chat(tokenizer), Sample(1, messages=TURNS)) == "template_refused"


def test_tokens_are_found_by_bytes_as_by_the_tokenizers_own_offsets(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = CHATML
    chosen = chat.Chat(tokenizer)
    dice = random.Random(7)
    rows = [chosen.render(Sample(1, messages=made_up(dice, WORDS))) for _ in range(200)]
    texts, spans = [row.text for row in rows], [row.spans for row in rows]
    assert chosen._encoder._lengths is not None
    by_bytes = chosen.encode(rows)
    by_offsets = chosen._encoder._with_offsets(texts, spans)
    for (ids, labels), (same_ids, same_labels) in zip(by_bytes, by_offsets, strict=True):
        assert np.array_equal(ids, same_ids)
        assert np.array_equal(labels, same_labels)


def test_ids_from_elsewhere_that_do_not_spell_the_text_are_not_used(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = CHATML

    def wrong(texts: Sequence[str]) -> list[Any]:
        return [np.array([5], np.int32) for _ in texts]

    plain, other = chat.Chat(tokenizer), chat.Chat(tokenizer, ids=wrong)
    row = plain.render(Sample(1, messages=TURNS))
    for right, found in zip(plain.encode([row])[0], other.encode([row])[0], strict=True):
        assert np.array_equal(right, found)


def test_a_tokenizer_without_a_template_gets_that_of_its_family(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = None
    chosen = chat.Chat(tokenizer, model_type="qwen2")
    assert (chosen.template.source, chosen.template.name) == ("family", "qwen")
    assert "You are a helpful assistant." in chosen.render(Sample(1, messages=TURNS[1:])).text
    assert chat.Chat(tokenizer).template.name == "chatml"


@pytest.mark.parametrize(
    ("template", "name", "code"),
    [
        (None, "llama3", "preprocess.template_tokens"),
        (None, "lama3", "preprocess.unknown_template"),
        ("{% for %}", None, "preprocess.broken_template"),
        ("{{ raise_exception('no') }}", None, "preprocess.template_refuses"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(
    tokenizer: PreTrainedTokenizerBase, template: str | None, name: str | None, code: str
) -> None:
    tokenizer.chat_template = template
    with pytest.raises(Failure) as failure:
        chat.Chat(tokenizer, name)
    assert failure.value.problem.code == code
