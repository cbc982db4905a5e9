"""Whatever the numbers at the edges of the fields: the check answers, and proposes nothing that no request can hold."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine.catalog import load
from engine.planner import check
from engine.planner.nearest import changed
from engine.spec import JobSpec

DEVICES = (1, 3, 5, 7, 24, 64, 65535, 65536)
BATCHES = (None, 1, 3, 720720, 1048575, 1048576)
SIZES = (None, 1, 2, 3, 5, 7, 16)
MODELS = ("llama3.1-8b", "qwen2-72b", "mixtral-8x7b", "smollm2-135m", "qwen2vl-7b", "glm4-9b")


def _request(draw: random.Random) -> dict[str, Any]:
    return {
        "name": "edge",
        "model": draw.choice(MODELS),
        "model_path": "models/edge",
        "framework": draw.choice(("native", "mindspeed-llm", "llama-factory")),
        "hardware": draw.choice(("snt9b", "snt9b23", "cuda", "cpu")),
        "devices": draw.choice(DEVICES),
        "train": {
            "stage": "sft",
            "strategy": draw.choice(("full", "lora")),
            "dataset": {"path": "data/edge.json", "format": "alpaca"},
            "seq_length": draw.choice((8, 4096, 8192, 8193, 131072)),
            "micro_batch_size": draw.choice((None, 1, 3, 64)),
            "global_batch_size": draw.choice(BATCHES),
            "layout": {
                "tensor_parallel_size": draw.choice(SIZES),
                "pipeline_parallel_size": draw.choice(SIZES),
            },
        },
    }


@pytest.mark.parametrize("seed", range(120))
def test_any_numbers_are_answered_with_changes_that_a_request_can_hold(seed: int) -> None:
    data = _request(random.Random(seed))
    verdict = check(data, load())
    spec = JobSpec.model_validate(data)
    offered = [*verdict.nearest, *(problem.nearest for problem in verdict.problems if problem.nearest)]
    assert all(changed(spec, difference) is not None for difference in offered)


@pytest.mark.parametrize("size", ["tensor_parallel_size", "pipeline_parallel_size"])
def test_a_proposal_beyond_the_most_devices_is_left_out(size: str) -> None:
    data = _request(random.Random(0)) | {
        "model": "llama3.1-8b",
        "framework": "mindspeed-llm",
        "hardware": "snt9b",
        "devices": 65536,
    }
    data["train"]["layout"] = {size: 3}
    assert not check(data, load()).fits
