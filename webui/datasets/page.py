"""The page of one dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from engine.problem_texts import message, remedy
from engine.problems import Problem
from jobs.datasets.inspections import newest_done, read_report, record
from jobs.datasets.process import TIMED_OUT
from jobs.datasets.removing import is_upload
from jobs.datasets.versions import current_version, latest
from jobs.models import Dataset, DatasetVersion, Inspection, InspectionState, Run, Weights
from webui.dataset_forms import InspectForm
from webui.datasets.report import shown
from webui.reader import language, sentences

VERSIONS_SHOWN = 20


def page_context(request: HttpRequest, user: User, dataset: Dataset, form: InspectForm | None = None) -> dict[str, Any]:
    """The report is the newest of the newest version, else of an older one, or the one that `?report=` names."""
    version = current_version(dataset)
    dataset.refresh_from_db()
    inspection = chosen_inspection(dataset, version, request.GET.get("report", ""))
    report = read_report(inspection) if inspection and inspection.state == InspectionState.DONE else None
    return {
        "dataset": dataset,
        "version": version,
        "known": version or latest(dataset),
        "versions": list(dataset.versions.all()[:VERSIONS_SHOWN]),
        "inspection": inspection,
        "outdated": inspection is not None and version is not None and inspection.version_id != version.pk,
        "why": why_failed(inspection),
        "shown": None if report is None else shown(report),
        "lost": inspection is not None and inspection.state == InspectionState.DONE and report is None,
        "form": form or InspectForm(dataset, user),
        "train_url": train_url(dataset, inspection),
        "kept": Run.objects.filter(dataset_version__dataset=dataset).exists(),
        "uploaded": is_upload(dataset),
    }


def chosen_inspection(dataset: Dataset, version: DatasetVersion | None, asked: str) -> Inspection | None:
    """The one that a page is about, brought up to date."""
    mine = Inspection.objects.select_related("version__dataset").filter(version__dataset=dataset)
    if asked.isdecimal() and len(asked) < 18:
        found = mine.filter(pk=asked).first()
    else:
        newest = mine.filter(version=version).first() if version else None
        found = newest or newest_done(version) or mine.first()
    return None if found is None else record(found)


def why_failed(inspection: Inspection | None) -> str:
    """In words; empty where nothing has failed."""
    if inspection is None or inspection.state != InspectionState.FAILED:
        return ""
    if inspection.reason == "changed":
        return _("The data changed while it was being read. Make the report again.")
    if inspection.reason == TIMED_OUT:
        return _("It took too long and was ended.")
    try:
        return told([Problem.model_validate(one) for one in json.loads(inspection.reason)])
    except (ValueError, TypeError):
        return inspection.reason


def told(problems: Iterable[Problem]) -> str:
    """Findings in the reader's language, one after the other."""
    return sentences(
        *(text for one in problems for text in (message(one, language()), remedy(one, language())) if text)
    )


def train_url(dataset: Dataset, inspection: Inspection | None) -> str:
    """The form of a new job, filled in with this dataset and what it was looked at with."""
    query = {"train.dataset.path": dataset.path, "train.dataset.format": dataset.format, **dataset.options}
    if dataset.format == "text":
        query["train.stage"] = "pretrain"
    asked = inspection.asked if inspection else {}
    weights = Weights.objects.filter(team=dataset.team_id, path=asked.get("tokenizer", "")).first()
    if weights is not None:
        query |= {"model": weights.model, "model_path": weights.path}
    if asked.get("seq_length"):
        query["train.seq_length"] = str(asked["seq_length"])
    return f"{reverse('job-new')}?{urlencode({name: value for name, value in query.items() if value})}"
