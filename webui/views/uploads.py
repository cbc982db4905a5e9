"""Uploads of datasets in pieces, for the page's script. JSON in and out; each answer names the offset to go on from.

    POST   /uploads/                begin {team, name, size, modified}, or find the unfinished one of the same file
    GET    /uploads/<id>/           how far it has come
    PUT    /uploads/<id>/           a piece; Upload-Offset and Content-Digest (RFC 9530, sha-256) in the headers
    DELETE /uploads/<id>/           give it up
    POST   /uploads/<id>/finish/    {sha256, name}: prove it and register it

An upload is visible to the person who began it alone, and only while they work in its team.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from jobs.datasets import uploads
from jobs.datasets.finishing import finish
from jobs.datasets.upload_refusals import UploadRefused
from jobs.models import Team, Upload, UploadState
from webui.dataset_forms import default_asked
from webui.datasets.asking import ask_quietly

DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
SHA256 = re.compile(r"[0-9a-fA-F]{64}")
LONGEST_BODY = 20_000
RETRY_SECONDS = "60"
View = Callable[..., HttpResponse]


def _json_view(view: View) -> View:
    """Refusals as JSON; who is not logged in is told so, since the page's script cannot follow to a login."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return JsonResponse({"words": _("Your login has ended. Log in again; the upload goes on.")}, status=401)
        try:
            return view(request, *args, **kwargs)
        except UploadRefused as refused:
            response = JsonResponse({"words": str(refused.words), **refused.more}, status=refused.status)
            if refused.status == 429:
                response["Retry-After"] = RETRY_SECONDS
            return response

    return wrapped


@require_POST
@never_cache
@_json_view
def upload_list(request: HttpRequest) -> HttpResponse:
    asked = _body(request)
    name = asked.get("name")
    if not isinstance(name, str):
        raise UploadRefused(400, _("The request cannot be read."))
    size, modified = _count(asked.get("size")), _count(asked.get("modified", 0))
    team = Team.objects.of(_user(request)).filter(pk=_count(asked.get("team"))).first()
    if team is None:
        raise Http404
    upload, is_new = uploads.begin(user=_user(request), team=team, name=name, size=size, modified=modified)
    return JsonResponse(_state(upload), status=201 if is_new else 200)


@require_http_methods(["GET", "HEAD", "PUT", "DELETE"])
@never_cache
@_json_view
def upload_one(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    upload = _upload(request, upload_id)
    if request.method == "PUT":
        return JsonResponse({"offset": _receive(request, upload)})
    if request.method == "DELETE":
        uploads.cancel(upload)
        upload.refresh_from_db()
    return JsonResponse(_state(upload))


@require_POST
@never_cache
@_json_view
def upload_finish(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    upload = _upload(request, upload_id)
    asked = _body(request)
    sha256, name = asked.get("sha256"), asked.get("name", "")
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256) or not isinstance(name, str):
        raise UploadRefused(400, _("The request cannot be read."))
    was_open = upload.state == UploadState.OPEN
    dataset = finish(upload, sha256, name)
    if was_open:
        ask_quietly(dataset, default_asked(dataset), _user(request))
    upload.refresh_from_db()
    return JsonResponse(_state(upload))


def _receive(request: HttpRequest, upload: Upload) -> int:
    start = request.headers.get("Upload-Offset", "")
    proof = DIGEST.fullmatch(request.headers.get("Content-Digest", ""))
    if not start.isdecimal() or len(start) > 18 or proof is None:
        raise UploadRefused(400, _("The request cannot be read."))
    length = request.headers.get("Content-Length", "0")
    if length.isdecimal() and int(length) > uploads.PIECE_BYTES:
        raise UploadRefused(413, _("A piece of this size is not taken."), offset=uploads.offset(upload))
    try:
        sha256 = base64.b64decode(proof[1], validate=True)
    except binascii.Error:
        raise UploadRefused(400, _("The request cannot be read.")) from None
    return uploads.receive(upload, int(start), request.read(uploads.PIECE_BYTES + 1), sha256)


def _state(upload: Upload) -> dict[str, Any]:
    dataset = upload.dataset
    return {
        "id": str(upload.pk),
        "url": reverse("upload", args=[upload.pk]),
        "finish": reverse("upload-finish", args=[upload.pk]),
        "name": upload.name,
        "size": upload.size,
        "state": upload.state,
        "offset": uploads.offset(upload),
        "piece": uploads.PIECE_BYTES,
        "dataset": None if dataset is None else reverse("dataset", args=[dataset.pk]),
    }


def _upload(request: HttpRequest, upload_id: UUID) -> Upload:
    teams = Team.objects.of(_user(request))
    mine = Upload.objects.select_related("dataset", "team", "user").filter(user=_user(request), team__in=teams)
    found = mine.filter(pk=upload_id).first()
    if found is None:
        raise Http404
    return found


def _body(request: HttpRequest) -> dict[str, Any]:
    try:
        data = json.loads(request.read(LONGEST_BODY).decode("utf-8"))
        json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate is no text
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise UploadRefused(400, _("The request cannot be read."))
    return data


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise UploadRefused(400, _("The request cannot be read."))
    return value


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
