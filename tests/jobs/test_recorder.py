from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from engine.events import Event
from engine.problems import Problem
from engine.run_folder import write_atomic
from engine.runner import Result, run
from engine.spec import canonical_json
from jobs.models import Run
from jobs.recorder import rebuild, record
from jobs.states import RunState
from tests.jobs.rows import at_once, run_in
from tests.made_runs import SUCCEED, plan_of, stage

pytestmark = pytest.mark.django_db
PROBLEM = Problem(code="loss.nan", field="train.learning_rate").model_dump(mode="json")


@pytest.fixture(autouse=True)
def _here(data_dir: Path) -> None:
    """Run folders go to a folder of the test's own."""


def two_stages() -> Any:
    return plan_of(stage("preprocess", "pass"), stage("train", SUCCEED, outputs=("output/model",)))


def write(run: Run, *events: tuple[str, str, dict[str, Any]], start: int = 1, half: bytes = b"") -> None:
    with run.folder.events.open("ab") as file:
        for seq, (kind, name, data) in enumerate(events, start):
            file.write(Event(seq=seq, time=1e9 + seq, stage=name, kind=kind, data=data).line())  # type: ignore[arg-type]
        file.write(half)


def end(run: Run, state: str, returncode: int | None = 0) -> None:
    result = Result(state=state, returncode=returncode, stage="train", finished_at=1e9, leftover_processes=0)  # type: ignore[arg-type]
    write_atomic(run.folder.result, canonical_json(result))


STORY: list[tuple[str, str, dict[str, Any]]] = [
    ("started", "", {"spec_version": 1}),
    ("started", "preprocess", {"argv": ["python", "-m", "engine.preprocess"], "pid": 7}),
    ("progress", "preprocess", {"done": 3, "total": 4, "unit": "rows", "seconds_left": 1.0}),
    ("finished", "preprocess", {"state": "succeeded", "returncode": 0}),
    ("started", "train", {"argv": ["python", "-m", "engine.training"], "pid": 8}),
    ("metric", "train", {"iteration": 1, "lm_loss": 2.5}),
    ("problem", "train", {"problem": PROBLEM}),
    ("metric", "train", {"iteration": 2, "lm_loss": "NaN"}),
]


def derived(run: Run) -> dict[str, Any]:
    run.refresh_from_db()
    columns = ("stage", "progress", "metrics", "problems", "recorded_offset", "state")
    stages = list(run.stages.values_list("name", "state", "argv", "started_at", "finished_at", "returncode"))
    return {name: getattr(run, name) for name in columns} | {"stages": stages}


def test_rows_say_what_the_events_say() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY)
    assert record(run)
    run.refresh_from_db()
    assert run.stage == "train"
    assert run.metrics == {"iteration": 2, "lm_loss": "NaN"}
    assert run.progress == {}
    assert run.problems == [{**PROBLEM, "stage": "train"}]
    assert [(row.name, row.state, row.returncode) for row in run.stages.all()] == [
        ("preprocess", "succeeded", 0),
        ("train", "running", None),
    ]
    assert run.recorded_offset == run.folder.events.stat().st_size


def test_the_count_of_stages_is_no_progress_of_a_stage() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY[:4], ("progress", "", {"done": 1, "total": 2, "unit": "stages", "seconds_left": None}))
    record(run)
    run.refresh_from_db()
    assert run.progress == {"done": 3, "total": 4, "unit": "rows", "seconds_left": 1.0, "stage": "preprocess"}


def test_recording_again_changes_nothing() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY)
    record(run)
    before = derived(run)
    assert not record(run)
    assert derived(run) == before


def test_any_cut_into_pieces_gives_the_same_rows() -> None:
    whole, pieces = run_in(RunState.RUNNING, two_stages()), run_in(RunState.RUNNING, two_stages())
    write(whole, *STORY)
    record(whole)
    for place, event in enumerate(STORY, 1):
        write(pieces, event, start=place)
        record(pieces)
    assert derived(pieces) == derived(whole)


def test_half_a_line_waits_for_its_other_half() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY[:6])
    line = Event(seq=7, time=1.0, stage="train", kind="metric", data={"iteration": 9}).line()
    with run.folder.events.open("ab") as file:
        file.write(line[:10])
    record(run)
    assert run.metrics["iteration"] == 1
    with run.folder.events.open("ab") as file:
        file.write(line[10:])
    record(run)
    assert run.metrics["iteration"] == 9


def test_an_unreadable_line_is_left_out_and_does_not_block_the_next() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY[:5], half=b"{broken}\n")
    write(run, STORY[5], start=6)
    record(run)
    assert run.metrics["iteration"] == 1


def test_rows_can_be_built_again_from_the_files() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY)
    record(run)
    before = derived(run)
    Run.objects.filter(pk=run.pk).update(metrics={"iteration": 99}, problems=[], stage="nonsense", progress={"a": 1})
    run.stages.update(state="failed", argv=[])
    rebuild(run)
    assert derived(run) == before


@pytest.mark.parametrize(
    ("state", "stages"),
    [
        ("succeeded", ["succeeded", "failed"]),
        ("failed", ["succeeded", "failed"]),
        ("stopped", ["succeeded", "stopped"]),
    ],
)
def test_the_result_ends_the_run_and_frees_its_device(state: str, stages: list[str]) -> None:
    """The story breaks off in its second stage: that one has not succeeded, whatever the run did."""
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY)
    end(run, state, 3)
    record(run)
    run.refresh_from_db()
    assert (run.state, run.returncode, run.leases.count()) == (state, 3, 0)
    assert run.finished_at is not None
    assert run.finished_at.timestamp() == 1e9
    assert [row.state for row in run.stages.all()] == stages


def test_a_stage_that_never_began_was_skipped() -> None:
    run = run_in(RunState.RUNNING, two_stages())
    write(run, *STORY[:3])
    end(run, "stopped", None)
    record(run)
    assert [row.state for row in run.stages.all()] == ["stopped", "skipped"]


def test_a_stopping_run_may_still_succeed() -> None:
    run = run_in(RunState.STOPPING, two_stages())
    end(run, "succeeded")
    record(run)
    assert run.state == RunState.SUCCEEDED


def test_a_real_run_is_recorded_as_it_was() -> None:
    row = run_in(RunState.RUNNING, two_stages())
    run(row.folder)
    record(row)
    assert row.state == RunState.SUCCEEDED
    assert [(each.state, each.returncode) for each in row.stages.all()] == [("succeeded", 0), ("succeeded", 0)]
    assert row.progress.get("unit") != "stages"  # those count the run's stages, not the present one's progress


@pytest.mark.django_db(transaction=True)
def test_recorders_at_the_same_time_count_no_event_twice(redis_server: object) -> None:
    run = run_in(RunState.RUNNING, two_stages())
    numbers = iter(range(1, 41))
    writing = threading.Lock()

    def work() -> None:
        """Each thread writes a part of the story, and each records all of it."""
        mine = Run.objects.get(pk=run.pk)
        while True:
            with writing:
                number = next(numbers, None)
                if number is None:
                    return
                write(
                    run, ("problem", "train", {"problem": {**PROBLEM, "parameters": {"number": number}}}), start=number
                )
            record(mine)

    at_once(3, work)
    record(run)
    run.refresh_from_db()
    assert [problem["parameters"]["number"] for problem in run.problems] == list(range(1, 41))
