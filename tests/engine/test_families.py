"""Chat templates of families: the exact texts that each family's own software writes, as its documents have them."""

from __future__ import annotations

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine import families

SYSTEM = {"role": "system", "content": "S"}
TURNS = [
    {"role": "user", "content": "U1"},
    {"role": "assistant", "content": "A1"},
    {"role": "user", "content": "U2"},
    {"role": "assistant", "content": "A2"},
]
HEADER = "<|start_header_id|>{}<|end_header_id|>\n\n{}<|eot_id|>"
TURN = "<|im_start|>{}\n{}<|im_end|>\n"
CHATML = "".join(TURN.format(turn["role"], turn["content"]) for turn in TURNS)
WRITTEN = {
    "llama2": (
        "<s>[INST] U1 [/INST] A1 </s><s>[INST] U2 [/INST] A2 </s>",
        "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU1 [/INST] A1 </s><s>[INST] U2 [/INST] A2 </s>",
        "",
    ),
    "llama3": (
        "<s>" + "".join(HEADER.format(turn["role"], turn["content"]) for turn in TURNS),
        "<s>" + "".join(HEADER.format(turn["role"], turn["content"]) for turn in [SYSTEM, *TURNS]),
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "chatml": (CHATML, TURN.format("system", "S") + CHATML, "<|im_start|>assistant\n"),
    "yi": (CHATML, TURN.format("system", "S") + CHATML, "<|im_start|>assistant\n"),
    "qwen": (
        TURN.format("system", "You are a helpful assistant.") + CHATML,
        TURN.format("system", "S") + CHATML,
        "<|im_start|>assistant\n",
    ),
    "mistral": (
        "<s>[INST] U1 [/INST] A1</s>[INST] U2 [/INST] A2</s>",
        "<s>[INST] S\n\nU1 [/INST] A1</s>[INST] U2 [/INST] A2</s>",
        "",
    ),
    "glm4": (
        "[gMASK]<sop><|user|>\nU1<|assistant|>\nA1<|user|>\nU2<|assistant|>\nA2",
        "[gMASK]<sop><|system|>\nS<|user|>\nU1<|assistant|>\nA1<|user|>\nU2<|assistant|>\nA2",
        "<|assistant|>",
    ),
    "chatglm3": (
        "[gMASK]sop<|user|>\n U1<|assistant|>\n A1<|user|>\n U2<|assistant|>\n A2",
        "[gMASK]sop<|system|>\n S<|user|>\n U1<|assistant|>\n A1<|user|>\n U2<|assistant|>\n A2",
        "<|assistant|>",
    ),
    "baichuan2": (
        "<reserved_106>U1<reserved_107>A1<reserved_106>U2<reserved_107>A2",
        "S<reserved_106>U1<reserved_107>A1<reserved_106>U2<reserved_107>A2",
        "<reserved_107>",
    ),
    "deepseek3": (
        "<s><｜User｜>U1<｜Assistant｜>A1</s><｜User｜>U2<｜Assistant｜>A2</s>",
        "<s>S<｜User｜>U1<｜Assistant｜>A1</s><｜User｜>U2<｜Assistant｜>A2</s>",
        "<｜Assistant｜>",
    ),
}


def render(name: str, turns: list[dict[str, str]], opened: bool = False) -> str:
    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        families.get(name).TEMPLATE.strip()
    )
    return template.render(messages=turns, add_generation_prompt=opened, bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("name", families.NAMES)
def test_a_family_writes_its_conversations_to_the_letter(name: str) -> None:
    plain, with_system, opening = WRITTEN[name]
    assert render(name, TURNS) == plain
    assert render(name, [SYSTEM, *TURNS]) == with_system
    assert render(name, TURNS, opened=True) == plain + opening


@pytest.mark.parametrize(
    ("model_type", "tokens", "name"),
    [
        ("llama", {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, "llama3"),
        ("llama", {"<|im_start|>", "<|im_end|>"}, "chatml"),
        ("llama", {"<|im_start|>", "<|im_end|>", "<|startoftext|>"}, "yi"),
        ("qwen2", {"<|im_start|>", "<|im_end|>"}, "qwen"),
        ("llama", set(), "llama2"),
        ("mistral", set(), "mistral"),
        ("chatglm", {"[gMASK]", "sop", "<|system|>", "<|user|>", "<|assistant|>"}, "chatglm3"),
        ("chatglm", {"[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>"}, "glm4"),
        ("deepseek_v3", {"<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"}, "deepseek3"),
        ("", set(), None),
        ("bert", {"<|im_start|>", "<|im_end|>"}, None),
    ],
)
def test_the_family_of_a_tokenizer_is_told_by_its_tokens_and_the_models_type(
    model_type: str, tokens: set[str], name: str | None
) -> None:
    assert families.of(model_type, tokens) == name
