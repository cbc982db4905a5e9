"""The lines of a training log, in every form that the releases have written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from engine import events
from engine.frameworks import reader
from engine.frameworks.mindspeed_llm.output import metric

LINES = (Path(__file__).parent / "train.log").read_text(encoding="utf-8").splitlines()
FACTS = [data for line in LINES if (data := metric(line)) is not None]


def test_only_the_lines_of_an_iteration_are_metrics() -> None:
    assert [data["iteration"] for data in FACTS] == [1, 120, 3, 88, 40, 20, 30, 11, 10]


def test_the_facts_of_an_iteration_are_read_by_name() -> None:
    assert FACTS[0] == {
        "iteration": 1,
        "total_iterations": 2000,
        "consumed_samples": 64,
        events.ELAPSED_MS: 15873.4,
        events.LEARNING_RATE: 6.25e-08,
        events.LM_LOSS: 11.93217,
        events.GRAD_NORM: 24.317,
        events.SKIPPED: 0,
    }


def test_columns_that_come_and_go_do_not_shift_the_others() -> None:
    assert [data.get(events.LM_LOSS) for data in FACTS[4:7]] == [2.314557, 5.1, 5.1]
    assert [data[events.GRAD_NORM] for data in FACTS[4:7]] == [0.914, 1.234, 1.234]


def test_a_skipped_step_and_a_diverged_one_have_no_loss_but_can_be_seen() -> None:
    skipped, diverged = FACTS[2], FACTS[3]
    assert events.LM_LOSS not in skipped
    assert events.GRAD_NORM not in skipped
    assert skipped[events.SKIPPED] == 1
    assert events.LM_LOSS not in diverged
    assert math.isnan(diverged[events.GRAD_NORM])


def test_the_forms_of_the_first_release_and_of_the_other_trainer_are_read() -> None:
    first, other = FACTS[7], FACTS[8]
    assert (first["total_iterations"], first[events.LM_LOSS], first[events.SKIPPED]) == (50000, 13.76514, 0)
    assert "total_iterations" not in other
    assert (other["iteration"], other[events.LM_LOSS], other[events.GRAD_NORM]) == (10, 1.9021, 0.874)


def test_the_speed_follows_from_the_arguments_that_rank_0_lists() -> None:
    log = reader("mindspeed-llm")
    told = [data for line in LINES if (data := log.metric(line)) is not None]
    assert told[0][events.TOKENS_PER_SECOND] == pytest.approx(64 * 4096 / 15.8734 / 8)
    assert told[7][events.TOKENS_PER_SECOND] == pytest.approx(512 * 4096 / 52.7281 / 8)
    assert events.TOKENS_PER_SECOND not in FACTS[0]


@pytest.mark.parametrize(
    "line",
    ["", "iteration", "iteration 5/ 10 |", " iteration 5/10 | nothing: 3 |", "saving checkpoint at iteration 2 to x"],
)
def test_other_lines_are_none(line: str) -> None:
    assert metric(line) is None


def test_a_cell_that_is_no_number_is_left_out() -> None:
    data = metric(" iteration 5/10 | consumed samples: 8 | lm loss: oops | learning rate: inf |")
    assert data == {"iteration": 5, "total_iterations": 10, "consumed_samples": 8, "learning_rate": math.inf}
