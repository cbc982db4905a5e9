"""Names and amounts as a person says them, in English and Simplified Chinese."""

from __future__ import annotations

from engine.problem_texts import known

HARDWARE = {"snt9b": "Snt9B", "snt9b23": "Snt9B23", "cuda": "CUDA", "cpu": "CPU"}
FRAMEWORKS = {"native": "Native", "mindspeed-llm": "MindSpeed-LLM", "llama-factory": "LLaMA-Factory"}
_STRATEGIES = {"full": ("full", "全参"), "lora": ("LoRA", "LoRA")}
_UNITS = {
    "snt9b": ("card", "cards", "张卡"),
    "snt9b23": ("DIE", "DIE", "个 DIE"),
    "cuda": ("GPU", "GPUs", "块 GPU"),
    "cpu": ("process", "processes", "个进程"),
}
_DEVICE = ("device", "devices", "个设备")


def is_english(language: str) -> bool:
    return known(language) == "en"


def hardware(name: str) -> str:
    return HARDWARE.get(name, name)


def framework(name: str) -> str:
    return FRAMEWORKS.get(name, name)


def strategy(name: str, language: str) -> str:
    return _STRATEGIES[name][0 if is_english(language) else 1] if name in _STRATEGIES else name


def units(name: str, language: str) -> str:
    """What this hardware counts: cards, DIE, GPUs, processes; in Chinese with its measure word."""
    _one, many, chinese = _UNITS.get(name, _DEVICE)
    return many if is_english(language) else chinese


def count(number: int, name: str, language: str) -> str:
    """`1 card`, `8 cards`, `8 张卡`."""
    one, many, chinese = _UNITS.get(name, _DEVICE)
    if is_english(language):
        return f"{number} {one if number == 1 else many}"
    return f"{number} {chinese}"


def each(name: str, language: str) -> str:
    """`each card`, `每张卡`."""
    one, _many, chinese = _UNITS.get(name, _DEVICE)
    return f"each {one}" if is_english(language) else f"每{chinese}"


def gib(size: float) -> str:
    """Three digits: `1.5`, `12.5`, `1,290`."""
    return f"{size:,.0f}" if size >= 100 else f"{size:.3g}"
