"""Reports about datasets: asked for by a page, begun by a worker, made by the engine, recorded here.

The same content with the same tokenizer and settings is one row, so that it is inspected once for the whole team.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from pydantic import ValidationError

from engine.dataset_report import VERSION, DatasetReport
from engine.failures import Failure
from engine.formats.contents import file_digest
from engine.problems import Problem
from engine.roots import resolved
from jobs.datasets.commands import request
from jobs.datasets.process import TIMED_OUT, answer, is_alive, launch, refuse, returncode
from jobs.datasets.summary import summary_of
from jobs.datasets.versions import current_version, settle, stamp
from jobs.foreign import is_foreign, is_foreign_data
from jobs.messages import send_inspect
from jobs.models import Dataset, DatasetVersion, Inspection, InspectionState, Team

DROPS = "report.drops.jsonl"
"""Complete list of the rows that cannot be used, beside the answer."""
ENDED = (InspectionState.DONE, InspectionState.FAILED)
SECONDS = 6 * 3600.0
"""What a report may take."""
SLOTS = 2
"""Reports that are made at once."""
MOST_RUNNING = 8
"""Processes, those that wait for a slot among them; more reports wait as rows."""
MOST_UNFINISHED = 10
"""Reports that one person waits for."""
RESEND_AFTER = timedelta(seconds=15)
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "chat_template.jinja", "chat_template.json", "config.json",
)  # fmt: skip


class NothingThere(Exception):
    """There is nothing at the dataset's path that could be inspected."""


class TooMany(Exception):
    """The person waits for so many reports that no more are begun."""


def ask(dataset: Dataset, asked: Mapping[str, Any], user: User | None, *, again: bool = False) -> Inspection:
    """The report about what lies there now; begun unless there is one already. Raises NothingThere and TooMany.

    asked: format, tokenizer (a folder), template, train_on, seq_length, columns, tags; what is empty is left out.
    again: make it anew even where there is one.
    """
    version = current_version(dataset)
    if version is None:
        raise NothingThere(dataset.path)
    wanted = {name: value for name, value in sorted(asked.items()) if value}
    key = _key(version, wanted)
    with transaction.atomic():
        found = _same(version, key, dataset.team)
        if user is not None and (found is None or found.ended):
            _refuse_too_many(user)
        if found is None:
            facts = {"asked": wanted, "created_by": user}
            found, _new = Inspection.objects.get_or_create(version=version, key=key, defaults=facts)
        elif found.state == InspectionState.FAILED or (again and found.ended):
            _begin_again(found)
        if not found.ended:
            transaction.on_commit(lambda: _send(found))
    return found


def start(inspection_id: int) -> bool:
    """Begin a report that is waiting, in a process of its own; True when that was done. For the worker."""
    found = Inspection.objects.select_related("version__dataset__team").filter(pk=inspection_id).first()
    if found is None or found.ended:
        return False
    running = Inspection.objects.filter(state=InspectionState.RUNNING).exclude(pk=found.pk)
    if running.count() >= MOST_RUNNING:
        return False  # the reconciler asks again
    Inspection.objects.filter(pk=found.pk, state=InspectionState.WAITING).update(state=InspectionState.RUNNING)
    foreign = foreign_problem(found)
    if foreign is not None:
        refuse(found.folder, foreign)
        return False
    drops = str(found.folder / DROPS)
    asked = {"progress": True, "drops": drops, "digest": not found.version.digest}
    question = request(found.version.dataset.path, found.asked, **asked)
    return launch(found.folder, question, seconds=SECONDS, slots=slots("report", SLOTS))


def record(found: Inspection) -> Inspection:
    """Bring the row up to date with the folder; may be done by several at once."""
    code = None if found.ended else returncode(found.folder)
    if code is None:
        return found
    report = read_report(found)
    changes: dict[str, Any] = {"finished_at": timezone.now()}
    if report is None:
        changes |= {"state": InspectionState.FAILED, "reason": _why(found.folder, code)}
    elif _moved_on(found.version):
        changes |= {"state": InspectionState.FAILED, "reason": "changed"}
    else:
        changes |= {"state": InspectionState.DONE, "reason": "", "summary": summary_of(report)}
        _learn_format(found.version.dataset, report)
    same = Inspection.objects.filter(pk=found.pk, attempt=found.attempt)
    if same.exclude(state__in=ENDED).update(**changes):
        for name, value in changes.items():
            setattr(found, name, value)
        if report is not None and found.state == InspectionState.DONE and report.digest:
            _content_known(found, report.digest)
    return found


def _content_known(found: Inspection, digest: str) -> None:
    """From now on the report is found by content, and one of the same content that it repeats goes."""
    version = settle(found.version, digest)
    key = _key(version, found.asked)
    with transaction.atomic():
        version.inspections.filter(key=key).exclude(pk=found.pk).delete()
        Inspection.objects.filter(pk=found.pk).update(version=version, key=key)
    found.refresh_from_db()


def read_report(found: Inspection) -> DatasetReport | None:
    """None while there is none that can be read."""
    text = answer(found.folder)
    try:
        return None if text is None else DatasetReport.model_validate_json(text)
    except ValidationError:
        return None


def unfinished() -> QuerySet[Inspection]:
    """Reports that somebody waits for."""
    return Inspection.objects.exclude(state__in=ENDED).select_related("version__dataset__team")


def look_after(found: Inspection) -> None:
    """Record a report that has ended, and begin again what was lost with a message or a worker. For the reconciler."""
    if record(found).ended or is_alive(found.folder):
        return
    if found.sent_at is None or timezone.now() - found.sent_at > RESEND_AFTER:
        _send(found)


def newest_done(version: DatasetVersion | None) -> Inspection | None:
    """The last report about this version that is there."""
    return None if version is None else version.inspections.filter(state=InspectionState.DONE).first()


def slots(kind: str, count: int) -> list[Path]:
    """Lock files of which each process of a kind takes one."""
    return [Path(settings.DATA_DIR) / "run" / f"inspect-{kind}.{number}.lock" for number in range(count)]


def foreign_problem(found: Inspection) -> Problem | None:
    """Another team may have registered a file in the folder meanwhile, or the tokenizer's folder."""
    dataset, tokenizer = found.version.dataset, found.asked.get("tokenizer")
    if is_foreign_data(dataset.path, dataset.team):
        return Problem(code="dataset.other_team", field="input", parameters={"path": dataset.path[:200]})
    if tokenizer and is_foreign(tokenizer, dataset.team):
        return Problem(code="weights.other_team", field="tokenizer", parameters={"path": tokenizer[:200]})
    return None


def _refuse_too_many(user: User) -> None:
    unfinished = Inspection.objects.filter(created_by=user).exclude(state__in=ENDED)
    if unfinished.count() >= MOST_UNFINISHED:
        raise TooMany(str(user))


def _send(found: Inspection) -> None:
    Inspection.objects.filter(pk=found.pk).update(sent_at=timezone.now())
    send_inspect(found.pk)


def _begin_again(found: Inspection) -> None:
    """In a new folder, so that a process of the last attempt that is still there disturbs nobody."""
    shutil.rmtree(found.folder, ignore_errors=True)
    changes: dict[str, Any] = {
        "state": InspectionState.WAITING,
        "reason": "",
        "summary": {},
        "finished_at": None,
        "sent_at": None,
    }
    Inspection.objects.filter(pk=found.pk).update(attempt=F("attempt") + 1, created=timezone.now(), **changes)
    found.refresh_from_db()


def _same(version: DatasetVersion, key: str, team: Team) -> Inspection | None:
    """Of this version, or of any other of the team with the same content."""
    found = Inspection.objects.select_related("version__dataset__team").filter(key=key, version__dataset__team=team)
    return found.filter(version=version).first() or found.filter(version__dataset=version.dataset).first()


def _key(version: DatasetVersion, asked: Mapping[str, Any]) -> str:
    content = version.digest or f"stamp:{version.stamp}"
    parts = {"report": VERSION, "content": content, "asked": asked, "tokenizer": _tokenizer(asked.get("tokenizer"))}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _tokenizer(path: str | None) -> dict[str, str]:
    """What the tokenizer in that folder consists of, by content."""
    if not path:
        return {}
    found = {}
    for name in TOKENIZER_FILES:
        try:
            found[name] = file_digest(resolved(Path(path) / name, "model_path", settings.ROOTS))
        except (Failure, OSError):
            continue
    return found


def _moved_on(version: DatasetVersion) -> bool:
    """Whether the files have changed while they were read: then the report is about neither version."""
    found = stamp(version.dataset.path)
    return found is None or found.value != version.stamp


def _learn_format(dataset: Dataset, report: DatasetReport) -> None:
    """Where nobody has said how it is read, it is read as it looks from now on, names of columns and tags included."""
    changes: dict[str, Any] = {"rows": report.rows.read}
    looked = next((file.format for file in report.files if file.format.used), None)
    if looked is not None and looked.used and not dataset.format:
        seen = {f"columns.{key}": name for key, name in looked.columns.items()}
        seen |= {f"tags.{key}": name for key, name in looked.tags.items()}
        options = {f"train.dataset.{path}": name for path, name in seen.items()}
        changes |= {"format": looked.used, "options": {**options, **dataset.options}}
    Dataset.objects.filter(pk=dataset.pk).update(**changes)


def _why(folder: Path, code: str) -> str:
    """Findings as JSON, else what the engine said last."""
    if code == TIMED_OUT:
        return TIMED_OUT
    told = problems_of(folder)
    if told:
        return json.dumps([problem.model_dump(mode="json") for problem in told])
    try:
        lines = (
            (folder / "errors.log").read_text(encoding="utf-8", errors="replace").replace("\0", "").strip().splitlines()
        )
    except FileNotFoundError:
        lines = []
    return f"{code}: {' '.join(line for line in lines if not line.startswith('{'))[-1900:]}"


def problems_of(folder: Path) -> list[Problem]:
    """What the engine says where it gave no answer to the question."""
    try:
        told = json.loads(answer(folder) or "{}").get("problems", [])
        return [Problem.model_validate(one) for one in told]
    except (ValueError, AttributeError):
        return []
