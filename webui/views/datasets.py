"""The page of a dataset: its versions, its report, and a view of each row."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, cast

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from engine.dataset_report import DatasetReport
from jobs.datasets import rows
from jobs.datasets.inspections import DROPS, NothingThere, TooMany, ask, read_report, record
from jobs.datasets.process import progress
from jobs.datasets.removing import remove
from jobs.datasets.versions import PIECE
from jobs.models import AuditEvent, Dataset, Inspection
from webui.dataset_forms import FORMAT, InspectForm, default_asked
from webui.datasets.page import chosen_inspection, page_context, told
from webui.datasets.viewer import shown_row

LARGEST_ROW = 10**15
TOO_MANY = gettext_lazy("You wait for many reports already. Let some of them end first.")


@require_safe
@login_required
@never_cache
def dataset_detail(request: HttpRequest, dataset_id: int) -> HttpResponse:
    dataset = _dataset(request, dataset_id)
    return render(request, "webui/dataset/detail.html", page_context(request, _person(request), dataset))


@require_POST
@login_required
@never_cache
def dataset_inspect(request: HttpRequest, dataset_id: int) -> HttpResponse:
    """Look at the data with these settings, which are kept with the dataset; `again` makes a report anew."""
    dataset, user = _dataset(request, dataset_id), _person(request)
    form = InspectForm(dataset, user, request.POST)
    if not form.is_valid():
        context = page_context(request, user, dataset, form)
        return render(request, "webui/dataset/detail.html", context, status=422)
    wanted = (form.cleaned_data[FORMAT], form.options())
    if wanted != (dataset.format, dataset.options):
        dataset.format, dataset.options = wanted
        dataset.save(update_fields=["format", "options"])
        AuditEvent.objects.create(user=user, action="dataset.read_as", detail={"dataset": dataset.pk})
    try:
        inspection = ask(dataset, form.asked(), user, again="again" in request.POST)
    except NothingThere:
        messages.error(request, _("Nothing that can be used lies at this path now."))
        return redirect("dataset", dataset.pk)
    except TooMany:
        messages.error(request, str(TOO_MANY))
        return redirect("dataset", dataset.pk)
    response = redirect("dataset", dataset.pk)
    response["Location"] += f"?report={inspection.pk}"
    return response


@require_POST
@login_required
@never_cache
def dataset_remove(request: HttpRequest, dataset_id: int) -> HttpResponse:
    """Take a dataset out of the list, once it is confirmed."""
    dataset = _dataset(request, dataset_id)
    if request.POST.get("confirmed") != "1":
        messages.error(request, _("Nothing was taken out: it was not confirmed."))
        return redirect("dataset", dataset.pk)
    deleted = remove(dataset, _person(request))
    words = _("“%(name)s” is taken out, and its file is deleted.") if deleted else _("“%(name)s” is taken out.")
    messages.success(request, words % {"name": dataset.name})
    return redirect("dataset-list")


@require_safe
@never_cache
def dataset_progress(request: HttpRequest, dataset_id: int, inspection_id: int) -> HttpResponse:
    """Whether a report is there; for the page's script."""
    inspection = record(_inspection(request, dataset_id, inspection_id))
    state = {"state": inspection.state, "ended": inspection.ended, **progress(inspection.folder)}
    return JsonResponse(state)


@require_safe
@never_cache
def dataset_report(request: HttpRequest, dataset_id: int, inspection_id: int) -> HttpResponse:
    """The report as JSON, to keep."""
    report = read_report(_inspection(request, dataset_id, inspection_id))
    if report is None:
        raise Http404
    return _download(report, f"report-{inspection_id}.json")


@require_safe
@never_cache
def dataset_drops(request: HttpRequest, dataset_id: int, inspection_id: int) -> HttpResponseBase:
    """Every row that cannot be used, a line of JSON each, to keep."""
    inspection = _inspection(request, dataset_id, inspection_id)
    path = inspection.folder / DROPS
    if not path.is_file():
        raise Http404
    response = StreamingHttpResponse(_pieces(path), content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="dropped-{inspection_id}.jsonl"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    """Asynchronous: Django would collect a plain iterator in memory."""
    file = await sync_to_async(_opened)(path)
    try:
        while data := await sync_to_async(file.read)(PIECE):
            yield data
    finally:
        file.close()


@require_safe
@login_required
@never_cache
def dataset_row(request: HttpRequest, dataset_id: int, row: int) -> HttpResponse:
    """What the model sees of a row: `?report=` names the settings, `?all=1` shows a long row whole."""
    if not 1 <= row <= LARGEST_ROW:
        raise Http404
    dataset = _dataset(request, dataset_id)
    inspection = chosen_inspection(dataset, None, request.GET.get("report", ""))
    if inspection is None:
        return _first_report(request, dataset, row)
    whole = request.GET.get("all") == "1"
    seen = rows.see(inspection, row, rows.ALL_TOKENS if whole else rows.TOKENS)
    total = seen.view.rows if seen.view and seen.view.rows else inspection.summary.get("read")
    if seen.view is not None:
        rows.ask_ahead(inspection, row + 1, row - 1)
    context = {
        "dataset": dataset,
        "inspection": inspection,
        "row": row,
        "total": total,
        "previous": row - 1 if row > 1 else None,
        "next": row + 1 if total is None or row < total else None,
        "whole": whole,
        "shown": shown_row(seen.view, whole) if seen.view else None,
        "reason": seen.reason,
        "why": told(seen.problems),
        "query": f"?report={inspection.pk}",
    }
    return render(request, "webui/dataset/row.html", context)


@require_safe
@never_cache
def dataset_row_ready(request: HttpRequest, dataset_id: int, inspection_id: int, row: int) -> HttpResponse:
    """Whether a view is there; for the page's script. Asks for it again when nothing has come of it."""
    if not 1 <= row <= LARGEST_ROW:
        raise Http404
    inspection = _inspection(request, dataset_id, inspection_id)
    seen = rows.see(inspection, row, rows.ALL_TOKENS if request.GET.get("all") == "1" else rows.TOKENS)
    return JsonResponse({"ended": seen.ended})


def _first_report(request: HttpRequest, dataset: Dataset, row: int) -> HttpResponse:
    """A row is looked at with the settings of a report: where there is none, one is begun."""
    try:
        inspection = ask(dataset, default_asked(dataset), _person(request))
    except NothingThere:
        messages.error(request, _("Nothing that can be used lies at this path now."))
        return redirect("dataset", dataset.pk)
    except TooMany:
        messages.error(request, str(TOO_MANY))
        return redirect("dataset", dataset.pk)
    response = redirect("dataset-row", dataset.pk, row)
    response["Location"] += f"?report={inspection.pk}"
    return response


def _download(report: DatasetReport, name: str) -> HttpResponse:
    text = json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=2)
    response = HttpResponse(text + "\n", content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _dataset(request: HttpRequest, dataset_id: int) -> Dataset:
    """404 for what belongs to another team, and for who is not logged in where a script asks."""
    if not request.user.is_authenticated:
        raise Http404
    found = Dataset.objects.visible_to(request.user).select_related("team").filter(pk=dataset_id).first()
    if found is None:
        raise Http404
    return found


def _inspection(request: HttpRequest, dataset_id: int, inspection_id: int) -> Inspection:
    dataset = _dataset(request, dataset_id)
    mine = Inspection.objects.select_related("version__dataset").filter(version__dataset=dataset)
    found = mine.filter(pk=inspection_id).first()
    if found is None:
        raise Http404
    return found


def _person(request: HttpRequest) -> User:
    return cast(User, request.user)
