"""Who sees and who changes the resource tables: every person, at every address, also past the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.forms import model_to_dict
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver

from jobs.models import Membership, MinDevices
from jobs.table_values import TABLES
from tests.webui.tables_in_admin import as_csv, changed, hidden, upload
from webui.tables.waiting import WaitingFile

SLUGS = [table.slug for table in TABLES]
LOOKS, FORBIDDEN, LOGIN = 200, 403, 302


def named_addresses() -> set[str]:
    """The names of all addresses under /admin/jobs/mindevices/, as the site has them."""
    admin = next(one for one in get_resolver().url_patterns if getattr(one, "namespace", None) == "admin")
    folders = [one for one in admin.url_patterns if "mindevices" in str(one.pattern)]
    found = {one.name or str(one.pattern) for folder in folders for one in folder.url_patterns}
    return {name.removeprefix("jobs_mindevices_") for name in found}


def requests(slug: str, row: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each way to change something at `/admin/jobs/<slug>/`: the address, and what a person would post."""
    version = row.history.first().history_id
    form = {name: value for name, value in model_to_dict(row).items() if value not in (None, False)}
    form["note"] = "changed by a stranger"
    listed = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": row.pk, "_save": "Save"}
    chosen = {"_selected_action": [row.pk]}
    waiting = WaitingFile()
    waiting.save(as_csv(changed(devices="8")))
    confirmation = {"import_file_name": waiting.name, "original_file_name": "x.csv", "format": "0", "seen": "1.1"}
    yield "", {**listed, **{f"form-0-{name}": value for name, value in form.items()}}
    yield "", {**chosen, "action": "change_selected", "apply": "1", "column": "note", "value": "x"}
    yield "", {**chosen, "action": "delete_selected", "post": "yes"}
    yield "", {**chosen, "action": "export_admin_action", "format": "0"}
    yield "add/", form
    yield f"{row.pk}/change/", form
    yield f"{row.pk}/delete/", {"post": "yes"}
    yield f"{row.pk}/history/{version}/", form
    yield "import/", {"format": "0", "resource": "0"}
    yield "process_import/", confirmation
    yield "export/", {"format": "0", "resource": "0"}
    yield "deleted/", {"record": version}


PAGES = ("", "add/", "import/", "process_import/", "export/", "deleted/", "{pk}/change/", "{pk}/delete/",
         "{pk}/history/", "{pk}/history/{version}/", "{pk}/")  # fmt: skip


def state() -> list[Any]:
    """Every row and the length of every history."""
    rows = [list(table.model._default_manager.order_by("pk").values_list()) for table in TABLES]
    return [*rows, *(table.history._default_manager.count() for table in TABLES)]


def person(kind: str, team: Any) -> Client:
    client = Client()
    if kind == "anonymous":
        return client
    user = User.objects.create_user(kind, is_staff=kind.startswith("staff"))
    if kind == "member of a team":
        Membership.objects.create(team=team, user=user)
    elif kind == "staff who may look":
        user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_no_address_of_a_table_is_left_out_here() -> None:
    known = {"changelist", "add", "import", "process_import", "export", "deleted", "change", "delete", "history",
             "simple_history", "<path:object_id>/"}  # fmt: skip
    assert named_addresses() == known


@pytest.mark.parametrize(
    "kind", ["anonymous", "without a team", "member of a team", "staff without rights", "staff who may look"]
)
def test_who_may_not_change_the_tables_changes_nothing_anywhere(tables: None, team: Any, kind: str) -> None:
    client, before = person(kind, team), state()
    for table in TABLES:
        row = table.model._default_manager.all()[0]
        for address, values in requests(table.slug, row):
            answer: HttpResponse = client.post(f"/admin/jobs/{table.slug}/{address}", values)
            allowed = (200, 302, 403) if kind == "staff who may look" else (403,) if "staff" in kind else (302,)
            assert answer.status_code in allowed, (table.slug, address, answer.status_code)
            if not kind.startswith("staff"):
                assert answer.headers["Location"].startswith("/admin/login/")
    assert state() == before


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("anonymous", LOGIN), ("without a team", LOGIN), ("member of a team", LOGIN), ("staff without rights", FORBIDDEN)],
)  # fmt: skip
def test_the_back_office_opens_to_nobody_else(tables: None, team: Any, kind: str, expected: int) -> None:
    client = person(kind, team)
    for table in TABLES:
        row: Any = table.model._default_manager.all()[0]
        for page in PAGES:
            address = page.format(pk=row.pk, version=row.history.first().history_id)
            answer = client.get(f"/admin/jobs/{table.slug}/{address}")
            allowed = {expected, 405} if page == "process_import/" else {expected}
            if page == "{pk}/":
                allowed = {expected, 302}  # leads to the form, which refuses
            assert answer.status_code in allowed, (table.slug, page)


def test_who_may_look_sees_pages_without_a_way_to_change(tables: None, team: Any) -> None:
    client = person("staff who may look", team)
    row: Any = MinDevices.objects.all()[0]
    version = row.history.first().history_id
    seen = {page: client.get(f"/admin/jobs/mindevices/{page.format(pk=row.pk, version=version)}") for page in PAGES}
    codes = {page: answer.status_code for page, answer in seen.items() if page not in ("{pk}/", "process_import/")}
    assert codes == {
        "": 200, "add/": 403, "import/": 403, "export/": 200, "deleted/": 200, "{pk}/change/": 200, "{pk}/delete/": 403,
        "{pk}/history/": 200, "{pk}/history/{version}/": 200,
    }  # fmt: skip
    for page in ("", "{pk}/change/", "{pk}/history/{version}/"):
        text = seen[page].content.decode()
        assert 'name="_save"' not in text
        assert "Add another like this" not in text
        assert "change_selected" not in text


@pytest.mark.parametrize("kind", ["without a team", "member of a team", "staff without rights"])
@pytest.mark.parametrize("slug", SLUGS)
def test_everybody_who_is_logged_in_reads_and_posts_nothing(tables: None, team: Any, kind: str, slug: str) -> None:
    client = person(kind, team)
    page = client.get(f"/tables/{slug}/")
    assert page.status_code == 200
    assert "/admin/jobs/" not in page.content.decode()
    for method in (client.post, client.put, client.patch, client.delete):
        assert method(f"/tables/{slug}/", {"devices": 1}, content_type="application/json").status_code == 405
    assert Client().get(f"/tables/{slug}/").status_code == 302


def test_only_who_may_delete_imports_a_whole_table(tables: None, as_user: Callable[[User], Client]) -> None:
    user = User.objects.create_user("clerk", is_staff=True)
    rights = ("view_mindevices", "add_mindevices", "change_mindevices")
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client, count = as_user(user), MinDevices.objects.count()
    assert 'name="whole"' not in client.get("/admin/jobs/mindevices/import/").content.decode()
    page = upload(client, as_csv(changed(devices="8")), whole=True)
    assert "will be removed" not in page
    values = {**hidden(page), "whole": "on"}
    assert client.post("/admin/jobs/mindevices/process_import/", values).status_code == 403
    assert MinDevices.objects.count() == count
    user.user_permissions.remove(Permission.objects.get(codename="add_mindevices"))
    again: Any = User.objects.get(pk=user.pk)
    row: Any = MinDevices.objects.all()[0]
    number, version = row.pk, row.history.first().history_id
    row.delete()
    clerk = as_user(again)
    form = {name: value for name, value in model_to_dict(row).items() if value is not None}
    assert clerk.post(f"/admin/jobs/mindevices/{number}/history/{version}/", form).status_code == 403
    assert clerk.post("/admin/jobs/mindevices/deleted/", {"record": version}).status_code == 403


@pytest.mark.parametrize("slug", SLUGS)
def test_each_change_of_the_chief_has_a_name(tables: None, as_user: Callable[[User], Client], slug: str) -> None:
    client = as_user(User.objects.create_superuser("chief"))
    table = next(table for table in TABLES if table.slug == slug)
    row: Any = table.model._default_manager.all()[0]
    address = f"/admin/jobs/{slug}/"
    form = {name: value for name, value in model_to_dict(row).items() if value not in (None, False)}
    assert client.post(f"{address}{row.pk}/change/", {**form, "note": "by hand"}).status_code == 302
    bulk = {"action": "change_selected", "_selected_action": [row.pk], "apply": "1", "column": "note", "value": "bulk"}
    assert client.post(address, bulk).status_code == 302
    version = row.history.last().history_id
    assert client.post(f"{address}{row.pk}/history/{version}/", form).status_code == 302
    assert client.post(f"{address}{row.pk}/delete/", {"post": "yes"}).status_code == 302
    record = table.history._default_manager.filter(history_type="-").latest("history_id")
    assert client.post(f"{address}deleted/", {"record": record.pk}).status_code == 302
    entries = table.history._default_manager.filter(id=row.pk).order_by("history_id")
    told = [(one.history_type, one.history_user and one.history_user.username) for one in entries]
    assert told == [("+", None), *[(kind, "chief") for kind in "~~~-+"]]
