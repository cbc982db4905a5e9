"""The panel beside the form, and the same plan on the job's page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.plan import Memory
from engine.planner import check
from jobs.catalog import current
from jobs.models import Job
from tests.engine.asked import request
from webui import memory_bar
from webui.durations import duration, span

AsUser = Callable[[User], Client]
FAR = {"model": "llama3.1-8b", "framework": "mindspeed-llm", "hardware": "snt9b", "train.seq_length": "4096"}


def test_what_no_node_could_start_is_planned(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    panel = as_user(alice).post("/jobs/check/", {**inputs, **FAR, "devices": "8"}).content.decode()
    assert "llama3.1-8b, full, 4096, MindSpeed-LLM on Snt9B fits on 8 cards; the table asks for 4." in panel
    assert "Tensor parallel size" in panel
    assert re.search(r"GiB in each card \(\d+ %\)", panel)
    assert "1 iterations from the 20 rows of the dataset." in panel
    assert "of 313 TFLOP/s" in panel


def test_a_framework_of_others_shows_its_command_and_files_an_option_to_a_line(
    as_user: AsUser, alice: User, inputs: dict[str, str]
) -> None:
    asked = {**inputs, **FAR, "framework": "llama-factory", "devices": "8"}
    panel = html.unescape(as_user(alice).post("/jobs/check/", asked).content.decode())
    assert "{llama_factory_python} -m torch.distributed.run \\\n    --nnodes 1 \\\n" in panel
    assert "<summary><code>config/train.yaml</code></summary>" in panel
    assert '\ntemplate: "llama3"\nstage: "sft"\n' in panel
    assert "<summary><code>config/deepspeed.json</code></summary>" in panel


def test_the_commands_of_mindspeed_llm_are_shown_an_option_to_a_line(
    as_user: AsUser, alice: User, inputs: dict[str, str]
) -> None:
    panel = html.unescape(as_user(alice).post("/jobs/check/", {**inputs, **FAR, "devices": "8"}).content.decode())
    assert "{mindspeed_llm_python} preprocess_data.py \\\n    --input {run_dir}/data/rows.jsonl \\\n" in panel
    assert "{mindspeed_llm_python} convert_ckpt.py \\\n    --model-type GPT \\\n" in panel
    assert "    --tensor-model-parallel-size 4 \\\n" in panel
    assert "    --lora-target-modules" not in panel


def test_what_does_not_fit_shows_the_bar_that_breaks_it(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    panel = as_user(alice).post("/jobs/check/", {**inputs, **FAR, "devices": "2"}).content.decode()
    assert "memory-bad" in panel
    assert 'class="memory-limit"' in panel
    assert "too much" in panel
    assert '<div class="panel plan">' not in panel


def test_what_needs_fewer_devices_is_a_button_before_the_files_are_named(
    as_user: AsUser, alice: User, tables: None
) -> None:
    asked = {**FAR, "model": "llama3.1-70b", "train.seq_length": "8192", "train.strategy": "full", "devices": "16"}
    panel = as_user(alice).post("/jobs/check/", asked).content.decode()
    assert 'value="{&quot;train.seq_length&quot;: 4096, &quot;devices&quot;: 32}"' in panel
    assert 'value="{&quot;train.strategy&quot;: &quot;lora&quot;}"' in panel


def test_the_panel_has_no_inline_style(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    for devices in ("2", "8"):
        assert (
            " style=" not in as_user(alice).post("/jobs/check/", {**inputs, **FAR, "devices": devices}).content.decode()
        )


def test_the_job_page_shows_the_decided_plan(as_user: AsUser, alice: User, make_job: Callable[..., Job]) -> None:
    page = as_user(alice).get(f"/jobs/{make_job(alice).pk}/").content.decode()
    assert "smollm2-135m, full, 128, Native on CPU runs in 1 process" in page
    assert "memory-bar" in page
    assert "Micro batch size" in page
    assert "engine.training" in page


def test_the_parts_of_a_bar_fill_their_share_of_it() -> None:
    sizes = {"weights": 10.0, "gradients": 0.0, "optimizer": 20.0, "activations": 15.0, "runtime": 5.0}
    bar = memory_bar.of_plan(Memory(per_device_gib=50, usable_gib=100.0, breakdown=sizes), "snt9b")
    assert [(part.name, part.x, part.width) for part in bar.parts] == [
        ("weights", 0, 100),
        ("optimizer", 100, 200),
        ("activations", 300, 150),
        ("runtime", 450, 50),
    ]
    assert (bar.tone, bar.limit) == ("good", None)
    assert bar.words == "50 of 100 GiB in each card (50 %)"


@pytest.mark.parametrize(
    ("usable", "tone", "limit"), [(None, "good", None), (52.0, "warn", None), (50.0, "warn", None), (40.0, "bad", 800)]
)
def test_a_bar_says_how_much_room_there_is(usable: float | None, tone: str, limit: float | None) -> None:
    bar = memory_bar.of_plan(Memory(per_device_gib=50, usable_gib=usable, breakdown={"weights": 50.0}), "cpu")
    assert (bar.tone, bar.limit) == (tone, limit)


def test_a_refusal_brings_the_figures_of_its_bar(tables: None) -> None:
    bar = memory_bar.of_problems(check(request(devices=2), current()).problems, "snt9b")
    assert bar is not None
    assert bar.tone == "bad"
    assert bar.limit is not None
    assert sum(part.width for part in bar.parts) == pytest.approx(memory_bar.WIDTH, abs=0.1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "1 h"),
        (7500, "2 h 5 min"),
        (86399, "24 h"),
        (100_000, "1 d 4 h"),
    ],
)
def test_a_duration_is_said_in_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_range_is_a_range() -> None:
    assert span(3600, 7200) == "1 h to 2 h"
    assert span(10, 10.2) == "10 s"
