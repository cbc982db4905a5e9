"""The verdict in one sentence, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalog import load
from engine.planner import check, plan
from engine.readable import verdict_text
from engine.readable.sentence import sentence
from engine.readable.words import gib
from engine.spec import JobSpec
from tests.engine.asked import native, request

CATALOG = load()
LARGE = {"model": "llama3.1-70b", "train__seq_length": 8192}
SAID: list[tuple[dict[str, Any], str, str]] = [
    (
        request(**LARGE, devices=32),
        "llama3.1-70b, full, 8192, MindSpeed-LLM on Snt9B needs 64 cards; you chose 32. "
        "4096 fits on 32; LoRA fits on 16.",
        "llama3.1-70b（全参，长度 8192，Snt9B 上的 MindSpeed-LLM）需要 64 张卡，当前选择了 32 张卡。"
        "长度 4096 只需 32 张卡；LoRA 只需 16 张卡。",
    ),
    (
        request(**LARGE, devices=8),
        "llama3.1-70b, full, 8192, MindSpeed-LLM on Snt9B needs 64 cards; you chose 8. 4096 needs 32; LoRA needs 16.",
        "llama3.1-70b（全参，长度 8192，Snt9B 上的 MindSpeed-LLM）需要 64 张卡，当前选择了 8 张卡。"
        "长度 4096 需要 32 张卡；LoRA 需要 16 张卡。",
    ),
    (
        request(),
        "llama3.1-8b, full, 4096, MindSpeed-LLM on Snt9B fits on 8 cards; the table asks for 4.",
        "llama3.1-8b（全参，长度 4096，Snt9B 上的 MindSpeed-LLM）可用 8 张卡训练；表中要求至少 4 张卡。",
    ),
    (
        request(hardware="snt9b23", devices=3),
        "llama3.1-8b, full, 4096, MindSpeed-LLM on Snt9B23 needs 4 DIE; you chose 3.",
        "llama3.1-8b（全参，长度 4096，Snt9B23 上的 MindSpeed-LLM）需要 4 个 DIE，当前选择了 3 个 DIE。",
    ),
    (
        request(hardware="snt9b23", devices=5),
        "Snt9B23 gives out DIE in steps of 2; you chose 5.",
        "Snt9B23 以 2 个 DIE 为单位分配，当前选择了 5 个 DIE。",
    ),
    (
        request(devices=12),
        "Above 8 cards Snt9B is used in whole nodes; you chose 12.",
        "Snt9B 超过 8 张卡时须使用整节点，当前选择了 12 张卡。",
    ),
    (
        request(model="qwen2vl-7b"),
        "The vendor's table marks qwen2vl-7b, full, 4096, MindSpeed-LLM on Snt9B as unsupported. "
        "LLaMA-Factory fits on 8.",
        "厂商的表格标明不支持 qwen2vl-7b（全参，长度 4096，Snt9B 上的 MindSpeed-LLM）。LLaMA-Factory 只需 8 张卡。",
    ),
    (
        request(model="llama3-70b", devices=24, train__global_batch_size=None),
        "By estimate llama3-70b, full, 4096, MindSpeed-LLM on Snt9B fits on 24 cards; "
        "it needs at least 24, and 32 are recommended.",
        "据估计，llama3-70b（全参，长度 4096，Snt9B 上的 MindSpeed-LLM）可用 24 张卡训练；"
        "至少需要 24 张卡，推荐 32 张卡。",
    ),
    (
        request(model="mixtral-8x7b", train__strategy="lora"),
        "By estimate mixtral-8x7b, LoRA, 4096, MindSpeed-LLM on Snt9B fits on 8 cards; it needs at least 2, and 2 are "
        "recommended.",
        "据估计，mixtral-8x7b（LoRA，长度 4096，Snt9B 上的 MindSpeed-LLM）可用 8 张卡训练；"
        "至少需要 2 张卡，推荐 2 张卡。",
    ),
    (
        request(model="qwen2-7b", framework="llama-factory", devices=1),
        "qwen2-7b, full, 4096, LLaMA-Factory on Snt9B needs 4 cards; you chose 1.",
        "qwen2-7b（全参，长度 4096，Snt9B 上的 LLaMA-Factory）需要 4 张卡，当前选择了 1 张卡。",
    ),
    (
        request(model="llama3.2-1b", framework="llama-factory", hardware="snt9b23", devices=2),
        "llama3.2-1b, full, 4096, LLaMA-Factory on Snt9B23 fits on 2 DIE; the printed minimum of 1 is in doubt, and 2 "
        "is the safer number.",
        "llama3.2-1b（全参，长度 4096，Snt9B23 上的 LLaMA-Factory）可用 2 个 DIE 训练；"
        "表中的最少数量 1 存疑，更稳妥的是 2 个 DIE。",
    ),
    (request(hardware="cuda"), "MindSpeed-LLM does not run on CUDA.", "MindSpeed-LLM 不能在 CUDA 上运行。"),
    (
        request(framework="llama-factory", hardware="cuda", devices=1),
        "Whether llama3.1-8b, full, 4096, LLaMA-Factory on CUDA fits on 1 GPU is not known.",
        "无法判断 llama3.1-8b（全参，长度 4096，CUDA 上的 LLaMA-Factory）用 1 块 GPU 是否足够。",
    ),
    (
        request(framework="llama-factory", model="llama3.1-70b", train__seq_length=16384),
        "llama3.1-70b, full, 16384, LLaMA-Factory on Snt9B fits on no number of cards up to 1024. "
        "8192 needs 64; MindSpeed-LLM needs 64.",
        "llama3.1-70b（全参，长度 16384，Snt9B 上的 LLaMA-Factory）在 1024 张卡以内都放不下。"
        "长度 8192 需要 64 张卡；MindSpeed-LLM 需要 64 张卡。",
    ),
    (
        native(),
        "smollm2-135m, full, 512, Native on CPU runs in 1 process, by estimate with 10.8 GiB of memory in each.",
        "smollm2-135m（全参，长度 512，CPU 上的 Native）可用 1 个进程运行，估计每个进程需要 10.8 GiB 内存。",
    ),
    (
        native(devices=65, train__global_batch_size=None),
        "Native stays on one machine, which has at most 64 processes; you chose 65.",
        "Native 只在单机上运行，最多 64 个进程，当前选择了 65 个进程。",
    ),
]


@pytest.mark.parametrize(("data", "english", "chinese"), SAID, ids=[said[1][:60] for said in SAID])
def test_a_verdict_is_said_in_one_sentence(data: dict[str, Any], english: str, chinese: str) -> None:
    verdict = check(data, CATALOG)
    assert sentence(verdict, "en") == english
    assert sentence(verdict, "zh-hans") == chinese


@pytest.mark.parametrize("data", [data for data, _, _ in SAID], ids=[said[1][:60] for said in SAID])
def test_what_fits_instead_passes_the_check(data: dict[str, Any]) -> None:
    from engine.planner.nearest import changed

    verdict = check(data, CATALOG)
    assert verdict.spec is not None
    for one in verdict.instead:
        spec = changed(verdict.spec, {one.field: one.value, "devices": one.devices, "train.global_batch_size": None})
        assert check(spec, CATALOG).fits, one


def test_the_sentence_needs_neither_name_nor_files() -> None:
    data = request(devices=2)
    del data["name"], data["model_path"], data["train"]["dataset"]
    verdict = check(data, CATALOG)
    assert verdict.spec is None
    assert sentence(verdict, "en").endswith("needs 4 cards; you chose 2.")


@pytest.mark.parametrize("data", [request(model="lama"), request(hardware="abacus"), request(devices="many"), {}])
def test_nothing_is_said_of_what_is_not_known(data: dict[str, Any]) -> None:
    assert sentence(check(data, CATALOG), "en") == ""


def test_the_terminal_gets_the_sentence_too() -> None:
    assert "needs 4 cards; you chose 2." in verdict_text(check(request(devices=2), CATALOG), "en")


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_the_memory_of_native_processes_is_that_of_the_plan(devices: int) -> None:
    spec = JobSpec.model_validate(native(devices=devices, train__global_batch_size=None))
    memory = plan(spec, CATALOG).memory
    assert memory is not None
    assert f"with {gib(round(memory.per_device_gib, 2))} GiB" in sentence(check(spec, CATALOG), "en")
