"""Series are an index of the metric events: complete, rebuildable, quick, and no spike or NaN is hidden."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.events import Event, finite
from engine.run_folder import RunFolder
from jobs.series import RECORD, downsample, extend, series


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "17")
    folder.create()
    return folder


def metric(seq: int, iteration: int, **values: Any) -> bytes:
    data = finite({"iteration": iteration, "total_iterations": 10, **values})
    return Event(seq=seq, time=0.0, stage="train", kind="metric", data=data).line()


def append(folder: RunFolder, *lines: bytes) -> None:
    with folder.events.open("ab") as file:
        file.write(b"".join(lines))


def oracle(iterations: np.ndarray, values: np.ndarray, points: int) -> list[tuple[int, float | None, float | None]]:
    """The same by a plain loop over numpy's own splitting."""
    buckets = []
    for places in np.split(np.arange(len(values)), [len(values) * i // points for i in range(1, points)]):
        if len(places) == 0:
            continue
        good = [v for v in values[places] if math.isfinite(v)]
        buckets.append((int(iterations[places[0]]), min(good, default=None), max(good, default=None)))
    return buckets


def test_of_an_iteration_that_was_done_again_the_last_value_counts(folder: RunFolder) -> None:
    values = [(1, 3.0), (2, 2.5), (3, math.nan), (4, 2.0), (3, 2.4), (4, 2.3)]
    append(folder, *(metric(seq, it, lm_loss=loss) for seq, (it, loss) in enumerate(values, start=1)))
    answer = series(folder, "lm_loss")
    assert (answer["iteration"], answer["min"]) == ([1, 2, 3, 4], [3.0, 2.5, 2.4, 2.3])
    assert (answer["max"], answer["nan"], answer["count"]) == (answer["min"], [], 4)


def test_a_short_series_is_given_point_by_point(folder: RunFolder) -> None:
    append(folder, metric(1, 1, lm_loss=3.0), metric(2, 2, lm_loss=2.5), metric(3, 3, lm_loss=2.0))
    answer = series(folder, "lm_loss")
    assert answer == {
        "iteration": [1, 2, 3],
        "min": [3.0, 2.5, 2.0],
        "max": [3.0, 2.5, 2.0],
        "nan": [],
        "nan_count": 0,
        "count": 3,
        "seq": 3,
    }


def test_buckets_agree_with_a_plain_loop() -> None:
    random = np.random.default_rng(7)
    for size, points in ((1, 5), (7, 7), (10, 3), (1000, 64), (999, 500), (5003, 1500)):
        values = random.normal(size=size)
        values[random.random(size) < 0.1] = np.nan
        values[random.random(size) < 0.05] = np.inf
        iterations = np.arange(1, size + 1)
        answer = downsample(iterations, values, points)
        found = list(zip(answer["iteration"], answer["min"], answer["max"], strict=True))
        assert found == oracle(iterations, values, min(points, size))


@pytest.mark.parametrize("place", [0, 1, 499_999, 731_233, 999_999])
def test_a_single_spike_among_a_million_is_seen(place: int) -> None:
    values = np.ones(1_000_000)
    values[place] = 50.0
    assert max(downsample(np.arange(1_000_000), values, 1500)["max"]) == 50.0


@pytest.mark.parametrize("place", [0, 1, 499_999, 731_233, 999_999])
def test_a_single_nan_among_a_million_is_told(place: int) -> None:
    values = np.ones(1_000_000)
    values[place] = np.nan
    answer = downsample(np.arange(1_000_000), values, 1500)
    assert answer["nan"] == [place]
    assert set(answer["min"]) == {1.0}


def test_a_series_that_has_diverged_has_no_number_to_draw(folder: RunFolder) -> None:
    append(folder, metric(1, 1, lm_loss=3.0), metric(2, 2, lm_loss=float("nan")), metric(3, 3, lm_loss=float("inf")))
    answer = series(folder, "lm_loss")
    assert (answer["min"], answer["nan"], answer["nan_count"]) == ([3.0, None, None], [2, 3], 2)


def test_new_events_extend_a_series(folder: RunFolder) -> None:
    append(folder, metric(1, 1, lm_loss=3.0))
    assert series(folder, "lm_loss")["count"] == 1
    append(folder, metric(2, 2, lm_loss=2.0, grad_norm=1.0), b'{"seq": 3, "kind": "met')
    assert series(folder, "lm_loss")["iteration"] == [1, 2]
    assert series(folder, "grad_norm")["iteration"] == [2]
    append(folder, b'ric", "data": {"iteration": 3, "lm_loss": 1.0}}\n')
    assert series(folder, "lm_loss")["min"] == [3.0, 2.0, 1.0]


def test_an_extension_that_was_killed_half_way_is_done_again(folder: RunFolder) -> None:
    append(folder, metric(1, 1, lm_loss=3.0))
    index = extend(folder)
    with (folder.path / "series" / "lm_loss.bin").open("ab") as file:
        file.write(b"x" * (RECORD.itemsize + 5))  # written, but the index was not
    append(folder, metric(2, 2, lm_loss=2.0))
    assert extend(folder).counts == {"lm_loss": index.counts["lm_loss"] + 1}
    assert series(folder, "lm_loss")["min"] == [3.0, 2.0]


@pytest.mark.parametrize("damage", ["delete", "scribble", "other run"])
def test_a_lost_or_wrong_index_is_made_again(folder: RunFolder, damage: str) -> None:
    append(folder, metric(1, 1, lm_loss=3.0), metric(2, 2, lm_loss=2.0))
    before = series(folder, "lm_loss")
    index = folder.path / "series" / "index.json"
    if damage == "delete":
        index.unlink()
    elif damage == "scribble":
        index.write_text("{")
    else:
        index.write_text('{"offset": 99999, "seq": 9, "counts": {"lm_loss": 7}}')
    assert series(folder, "lm_loss") == before


def test_a_lost_series_file_is_made_again(folder: RunFolder) -> None:
    append(folder, metric(1, 1, lm_loss=3.0, grad_norm=1.0), metric(2, 2, lm_loss=2.0, grad_norm=1.5))
    before = series(folder, "lm_loss")
    (folder.path / "series" / "lm_loss.bin").unlink()
    assert series(folder, "lm_loss") == before


def test_readers_at_the_same_time_make_one_index(folder: RunFolder) -> None:
    append(folder, *(metric(n, n, lm_loss=float(n)) for n in range(1, 5001)))
    answers: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: answers.append(series(folder, "lm_loss", 9999))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert all(answer["min"] == [float(n) for n in range(1, 5001)] for answer in answers)
    assert (folder.path / "series" / "lm_loss.bin").stat().st_size == 5000 * RECORD.itemsize


def test_a_part_of_the_run_can_be_asked_for(folder: RunFolder) -> None:
    append(folder, *(metric(n, n * 10, lm_loss=float(n)) for n in range(1, 101)))
    answer = series(folder, "lm_loss", first=205, last=240)
    assert answer["iteration"] == [210, 220, 230, 240]
    assert answer["count"] == 4


@pytest.mark.parametrize("key", ["iteration", "../../etc/passwd", "nothing_like_it", "LM_LOSS", ""])
def test_an_unknown_metric_is_an_empty_series(folder: RunFolder, key: str) -> None:
    append(folder, metric(1, 1, lm_loss=3.0))
    assert series(folder, key)["count"] == 0


def test_a_run_without_events_has_empty_series(folder: RunFolder) -> None:
    assert series(folder, "lm_loss")["iteration"] == []


def test_a_million_iterations_are_drawn_quickly(folder: RunFolder) -> None:
    place = folder.path / "series"
    place.mkdir()
    records = np.zeros(1_000_000, RECORD)
    records["iteration"] = np.arange(1, 1_000_001)
    records["value"] = np.random.default_rng(1).normal(size=1_000_000)
    records.tofile(place / "lm_loss.bin")
    folder.events.touch()
    (place / "index.json").write_text('{"offset": 0, "seq": 0, "counts": {"lm_loss": 1000000}}')
    series(folder, "lm_loss")
    began = time.process_time()
    answer = series(folder, "lm_loss")
    assert time.process_time() - began < 0.5  # some 20 ms; a parse of the events takes seconds
    assert len(answer["iteration"]) == 1500
    assert min(answer["min"]) == records["value"].min()
