"""Files and metric series of a run, for the page's scripts and for people who want them whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.access import visible_run
from jobs.models import Run
from jobs.run_files import PIECE, Piece, line_end, open_followed, read_before, read_lines
from jobs.series import is_key, series

MOST_BYTES = 4 * 1024 * 1024


@require_safe
@never_cache
def run_file(request: HttpRequest, run_id: int, name: str) -> HttpResponseBase:
    """Whole lines of a log or of the events.

    ?since=<offset>     from that offset
    ?since=-<bytes>     the last so many bytes, from the start of a line
    ?before=<offset>    the `limit` bytes before that offset, from the start of a line
    ?limit=<bytes>      at most so many (256 KiB; 64 KiB to 4 MiB)
    ?download=1         all of it, as an attachment
    """
    folder = _run(request, run_id).folder.path
    limit = min(max(_number(request, "limit", PIECE), 1), MOST_BYTES)
    try:
        if request.GET.get("download"):
            return _download(folder, run_id, name)
        piece = _piece(folder, name, _number(request, "since", 0), _number(request, "before", -1), limit)
    except FileNotFoundError as error:
        raise Http404 from error
    response = HttpResponse(piece.data, content_type="text/plain; charset=utf-8")
    response["X-Start-Offset"], response["X-End-Offset"] = str(piece.start), str(piece.end)
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
@never_cache
def run_series(request: HttpRequest, run_id: int, key: str) -> JsonResponse:
    """A metric over the iterations, see `jobs.series.series`: ?points=1500&first=&last="""
    run = _run(request, run_id)
    if not is_key(key):
        raise Http404
    first, last = (_number(request, name, -1) if request.GET.get(name) else None for name in ("first", "last"))
    return JsonResponse(series(run.folder, key, _number(request, "points", 1500), first, last))


def _piece(folder: Path, name: str, since: int, before: int, limit: int) -> Piece:
    with open_followed(folder, name) as file:
        if before >= 0:
            return read_before(file, min(before, line_end(file)), limit)
        if since < 0:
            return read_before(file, line_end(file), min(-since, MOST_BYTES))
        return read_lines(file, since, limit)


def _download(folder: Path, run_id: int, name: str) -> StreamingHttpResponse:
    open_followed(folder, name).close()
    response = StreamingHttpResponse(_pieces(folder, name), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="run-{run_id}-{Path(name).name}"'
    return response


async def _pieces(folder: Path, name: str) -> AsyncIterator[bytes]:
    """Asynchronous: Django would collect a plain iterator in memory."""
    file = await sync_to_async(open_followed)(folder, name)
    try:
        while data := await sync_to_async(file.read)(PIECE):
            yield data
    finally:
        file.close()


def _run(request: HttpRequest, run_id: int) -> Run:
    run = visible_run(request.user, run_id)
    if run is None:
        raise Http404
    return run


def _number(request: HttpRequest, name: str, default: int) -> int:
    try:
        return int(request.GET.get(name) or default)
    except ValueError:
        return default
