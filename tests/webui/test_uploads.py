"""Uploads over HTTP: resumed, refused in JSON, and nobody else's."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from jobs.models import Dataset, Inspection, Membership, Team, Upload

AsUser = Callable[[User], Client]
DATA = b'{"instruction": "a", "output": "b"}\n' * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()


def begin(client: Client, for_team: Team, **changes: Any) -> HttpResponse:
    asked = {"team": for_team.pk, "name": "rows.jsonl", "size": len(DATA), "modified": 1, **changes}
    return client.post("/uploads/", json.dumps(asked), content_type="application/json")


def put(client: Client, url: str, start: object, piece: bytes, digest: str = "") -> HttpResponse:
    proof = digest or f"sha-256=:{base64.b64encode(hashlib.sha256(piece).digest()).decode()}:"
    headers = {"Upload-Offset": str(start), "Content-Digest": proof}
    return client.put(url, piece, content_type="application/octet-stream", headers=headers)


def finish(client: Client, url: str, sha256: object = SHA256, name: object = "") -> HttpResponse:
    return client.post(f"{url}finish/", json.dumps({"sha256": sha256, "name": name}), content_type="application/json")


@pytest.fixture
def url(as_user: AsUser, alice: User, team: Team) -> str:
    return str(begin(as_user(alice), team).json()["url"])


def test_an_upload_is_resumed_proven_and_looked_at(as_user: AsUser, alice: User, team: Team, url: str) -> None:
    client = as_user(alice)
    assert put(client, url, 0, DATA[:10_000]).json() == {"offset": 10_000}
    again = as_user(alice)  # another day
    told = begin(again, team)
    assert (told.status_code, told.json()["url"], told.json()["offset"]) == (200, url, 10_000)
    assert again.get(url).json()["offset"] == 10_000
    assert put(again, url, 10_000, DATA[10_000:]).json() == {"offset": len(DATA)}
    done = finish(again, url, name=" My <b>rows</b>\n ").json()
    dataset = Dataset.objects.get()
    assert (done["state"], done["dataset"]) == ("done", f"/datasets/{dataset.pk}/")
    assert dataset.name == "My <b>rows</b>"
    assert Inspection.objects.get().version.dataset == dataset
    assert "My &lt;b&gt;rows&lt;/b&gt;" in client.get(f"/datasets/{dataset.pk}/").content.decode()
    assert finish(again, url).json()["dataset"] == done["dataset"]


@pytest.mark.parametrize("who", ["bob", "charlie", "admin", "gone"])
def test_an_upload_is_nobody_elses(
    as_user: AsUser, alice: User, bob: User, charlie: User, admin_user: User, url: str, who: str
) -> None:
    if who == "gone":
        Membership.objects.filter(user=alice).delete()
    client = as_user({"bob": bob, "charlie": charlie, "admin": admin_user, "gone": alice}[who])
    answers = [client.get(url), put(client, url, 0, b"abc"), finish(client, url), client.delete(url)]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert Upload.objects.get().state == "open"


def test_who_is_not_logged_in_is_told_so(url: str, client: Client, team: Team) -> None:
    answers = [begin(client, team), client.get(url), put(client, url, 0, b"a"), finish(client, url), client.delete(url)]
    assert [answer.status_code for answer in answers] == [401] * 5


def test_nothing_is_uploaded_for_another_team(as_user: AsUser, charlie: User, alice: User, team: Team) -> None:
    assert begin(as_user(charlie), team).status_code == 404
    assert begin(as_user(alice), Team.objects.get(name="Elsewhere")).status_code == 404
    assert not Upload.objects.exists()


def test_every_change_wants_a_token(alice: User, team: Team, url: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    answers = [begin(client, team), put(client, url, 0, b"a"), finish(client, url), client.delete(url)]
    assert [answer.status_code for answer in answers] == [403] * 4


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 7}, {"name": None}, {"size": "7"}, {"size": -1}, {"size": True}, {"size": 2**63}, {"size": 1.5},
        {"modified": "x"}, {"team": None}, {"team": "1"}, {"name": "\ud800.json"},
    ],
)  # fmt: skip
def test_a_beginning_of_the_wrong_shape_is_refused(
    as_user: AsUser, alice: User, team: Team, changes: dict[str, Any]
) -> None:
    assert begin(as_user(alice), team, **changes).status_code == 400
    assert not Upload.objects.exists()


@pytest.mark.parametrize("body", ["", "[]", "null", "{", '{"team": 1', "[" * 9000])
def test_a_body_that_is_no_object_is_refused(as_user: AsUser, alice: User, team: Team, body: str) -> None:
    assert as_user(alice).post("/uploads/", body, content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    ("start", "digest"),
    [
        ("", ""), ("-1", ""), ("1e3", ""), ("9" * 40, ""),
        (0, "md5=:x:"), (0, "sha-256=:AAAA:"), (0, "sha-256=:" + "!" * 43 + "=:"),
    ],
)  # fmt: skip
def test_a_piece_with_wrong_headers_is_refused(
    as_user: AsUser, alice: User, url: str, start: object, digest: str
) -> None:
    client = as_user(alice)
    assert put(client, url, start, b"abc", digest).status_code == 400
    assert client.get(url).json()["offset"] == 0


def test_a_piece_that_is_too_large_is_refused(as_user: AsUser, alice: User, url: str) -> None:
    assert put(as_user(alice), url, 0, bytes(8 * 1024 * 1024 + 1)).status_code == 413


@pytest.mark.parametrize("sha256", ["", "a" * 63, "g" * 64, 7, None])
def test_a_checksum_that_is_none_is_refused(as_user: AsUser, alice: User, url: str, sha256: object) -> None:
    client = as_user(alice)
    put(client, url, 0, DATA)
    assert finish(client, url, sha256).status_code == 400
    assert finish(client, url).status_code == 200


def test_too_many_at_once_are_told_when_to_come_back(as_user: AsUser, alice: User, team: Team) -> None:
    client = as_user(alice)
    statuses = [begin(client, team, modified=number).status_code for number in range(7)]
    assert statuses == [201] * 5 + [429] * 2
    assert begin(client, team, modified=99)["Retry-After"] == "60"


def test_an_unfinished_upload_is_listed_and_can_be_removed(as_user: AsUser, alice: User, bob: User, url: str) -> None:
    put(as_user(alice), url, 0, DATA[:5000])
    assert f'data-upload="{url}"' in as_user(alice).get("/datasets/").content.decode()
    assert f'data-upload="{url}"' not in as_user(bob).get("/datasets/").content.decode()
    assert as_user(alice).delete(url).json()["state"] == "cancelled"
    assert f'data-upload="{url}"' not in as_user(alice).get("/datasets/").content.decode()
    assert put(as_user(alice), url, 5000, DATA[5000:]).status_code == 410
