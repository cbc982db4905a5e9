"""The resource tables in the back office and on the page for everybody: who sees, who changes, and how."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.html import escape

from engine.problem_texts import suspect
from engine.spec import JobSpec
from jobs.catalog import current
from jobs.models import Accumulation, Hardware, Job, MinDevices, ParallelConfig, TrainableModel
from jobs.outlook import outlook
from jobs.submit import preview
from jobs.table_values import TABLES

SLUGS = [table.slug for table in TABLES]


@pytest.fixture
def chief() -> User:
    return User.objects.create_superuser("chief")


@pytest.fixture
def admin(tables: None, chief: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(chief)


def staff(*permissions: str) -> User:
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def change_list(rows: list[MinDevices], **devices: object) -> dict[str, object]:
    """The list's form, saved with other numbers of devices."""
    form: dict[str, object] = {"form-TOTAL_FORMS": len(rows), "form-INITIAL_FORMS": len(rows), "_save": "Save"}
    for place, row in enumerate(rows):
        form |= {f"form-{place}-id": row.pk, f"form-{place}-devices": devices.get(row.hardware, row.devices)}
    return form


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("page", ["", "add/", "import/", "export/", "{pk}/change/", "{pk}/history/"])
def test_every_table_has_its_pages(admin: Client, slug: str, page: str) -> None:
    table = next(table for table in TABLES if table.slug == slug)
    row = table.model._default_manager.first()
    assert row is not None
    assert admin.get(f"/admin/jobs/{slug}/{page.format(pk=row.pk)}").status_code == 200


def test_a_list_is_edited_in_place_and_each_change_has_a_name(admin: Client) -> None:
    rows = list(MinDevices.objects.filter(model="llama3.1-8b", strategy="full", seq_length=4096)
                .exclude(framework="native").filter(framework="mindspeed-llm"))  # fmt: skip
    query = "?q=llama3.1-8b&strategy=full&seq_length=4096&framework=mindspeed-llm"
    answer = admin.post(f"/admin/jobs/mindevices/{query}", change_list(rows, snt9b=6, snt9b23=8))
    assert answer.status_code == 302
    changed = MinDevices.objects.filter(edited=True)
    assert {(row.hardware, row.devices) for row in changed} == {("snt9b", 6), ("snt9b23", 8)}
    newest = changed[0].history.first()
    assert (newest.history_user.username, newest.history_change_reason) == ("chief", "devices")


def test_what_is_wrong_beside_the_columns_of_a_list_is_said_of_the_row(admin: Client) -> None:
    TrainableModel.objects.get(name="llama3.1-8b").delete()
    rows = list(MinDevices.objects.filter(model="llama3.1-8b", framework="mindspeed-llm", strategy="full"))
    answer = admin.post(
        "/admin/jobs/mindevices/?q=llama3.1-8b&strategy=full&framework=mindspeed-llm", change_list(rows, snt9b=6)
    )
    assert "The model table has no row of this name." in answer.content.decode()


def test_an_older_state_is_brought_back_from_the_history(admin: Client) -> None:
    row = MinDevices.objects.get(
        model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm", hardware="snt9b"
    )
    names = ("model", "strategy", "seq_length", "framework", "hardware", "devices", "suspect", "source", "note")
    old = {name: getattr(row, name) for name in names}
    address = f"/admin/jobs/mindevices/{row.pk}"
    assert admin.post(f"{address}/change/", {**old, "devices": 6}).status_code == 302
    oldest = row.history.last()
    shown = admin.get(f"{address}/history/{oldest.history_id}/").content.decode()
    assert "Revert" in shown
    assert admin.post(f"{address}/history/{oldest.history_id}/", old).status_code == 302
    row.refresh_from_db()
    assert row.devices == old["devices"]
    assert [entry.history_user and entry.history_user.username for entry in row.history.all()] == [
        "chief",
        "chief",
        None,
    ]


def test_one_column_of_many_rows_is_changed_at_once_or_not_at_all(admin: Client) -> None:
    rows = MinDevices.objects.filter(model="llama3.1-8b", framework="llama-factory", strategy="lora")
    chosen = {"action": "change_selected", "_selected_action": [row.pk for row in rows]}
    asked = admin.post("/admin/jobs/mindevices/", chosen).content.decode()
    assert 'name="column"' in asked
    wrong = admin.post("/admin/jobs/mindevices/", {**chosen, "apply": "1", "column": "devices", "value": "3"})
    assert "in steps of 2" in wrong.content.decode()
    assert not rows.filter(edited=True).exists()
    right = admin.post("/admin/jobs/mindevices/", {**chosen, "apply": "1", "column": "devices", "value": "4"})
    assert right.status_code == 302
    assert {row.devices for row in rows.all()} == {4}
    assert {row.history.first().history_user.username for row in rows.all()} == {"chief"}


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        (ParallelConfig(model="llama3.1-8b", seq_length=4096, tensor_parallel_size=3, pipeline_parallel_size=1,
                        nodes=1, cards_per_node=3), "tensor_parallel_size", "attention heads (32)"),
        (ParallelConfig(model="qwen2.5-7b", seq_length=4096, tensor_parallel_size=7, pipeline_parallel_size=1,
                        nodes=1, cards_per_node=7), "tensor_parallel_size", "key-value heads (4)"),
        (ParallelConfig(model="llama3.1-8b", seq_length=4096, tensor_parallel_size=1, pipeline_parallel_size=64,
                        nodes=8, cards_per_node=8), "pipeline_parallel_size", "only 32 layers"),
        (ParallelConfig(model="llama3.1-8b", seq_length=4096, tensor_parallel_size=8, pipeline_parallel_size=2,
                        nodes=1, cards_per_node=8), "nodes", "(16) must divide the 8 devices"),
        (Hardware(name="new", cards_per_node=8, dies_per_card=2, devices_per_node=8), "devices_per_node", "times DIE"),
        (MinDevices(model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm",
                    hardware="snt9b", devices=12), "devices", "whole nodes"),
        (MinDevices(model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm",
                    hardware="snt9b", devices=8, estimate=True), "estimate", "Only numbers of our own engine"),
        (TrainableModel(name="x", family="x", params="1B", num_attention_heads=6, num_key_value_heads=4),
         "num_key_value_heads", "divide the attention heads"),
        (TrainableModel(name="x", family="x", params="1B", hidden_size=64), "head_dim", "Needed with the other"),
        (TrainableModel(name="x", family="x", params="1B", frameworks=["abacus"]), "frameworks", "Known frameworks"),
        (TrainableModel(name="odd\tname", family="x", params="1B"), "name", "invisible character in it (U+0009)"),
        (Hardware(name="hw\u2028x", cards_per_node=8, devices_per_node=8), "name", "(U+2028)"),
        (Hardware(name="hw", cards_per_node=8, devices_per_node=8, source="a\u3000b"), "source", "(U+3000)"),
        (Hardware(name="hw", cards_per_node=8, devices_per_node=8, note="a\x0bb"), "note", "control character"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_is_refused_in_plain_words(tables: None, row: object, column: str, words: str) -> None:
    from webui.tables.checking import row_errors

    assert words in " ".join(row_errors(row)[column])  # type: ignore[arg-type]


def test_every_row_that_comes_with_the_release_keeps_the_rules_of_texts(tables: None) -> None:
    for table in TABLES:
        for row in table.model._default_manager.all():
            row.clean_fields()


def test_changed_heads_rule_the_next_check(admin: Client) -> None:
    row = TrainableModel.objects.get(name="llama3.1-8b")
    form = {
        field.name: getattr(row, field.name)
        for field in TrainableModel._meta.fields
        if field.name not in ("id", "edited") and getattr(row, field.name) not in (None, False)
    }
    answer = admin.post(f"/admin/jobs/trainablemodel/{row.pk}/change/", {**form, "num_key_value_heads": 2})
    assert answer.status_code == 302, answer.content.decode()
    assert current().models["llama3.1-8b"].num_key_value_heads == 2
    assert current().architectures["llama3.1-8b"].num_key_value_heads == 2
    assert current().models["llama3.1-8b"].frameworks == tuple(row.frameworks)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_member_reads_every_table_and_changes_none(
    tables: None, alice: User, as_user: Callable[[User], Client], slug: str
) -> None:
    client = as_user(alice)
    page = client.get(f"/tables/{slug}/")
    assert page.status_code == 200
    assert "/admin/" not in page.content.decode()
    assert client.post(f"/tables/{slug}/", {"devices": 1}).status_code == 405
    table = next(table for table in TABLES if table.slug == slug)
    row = table.model._default_manager.first()
    assert row is not None
    for where in ("", "add/", "import/", "export/", f"{row.pk}/change/", f"{row.pk}/history/", f"{row.pk}/delete/"):
        for answer in (client.get(f"/admin/jobs/{slug}/{where}"), client.post(f"/admin/jobs/{slug}/{where}")):
            assert answer.status_code == 302
            assert answer.headers["Location"].startswith("/admin/login/")


def test_nobody_reads_the_tables_without_a_login(tables: None) -> None:
    assert Client().get("/tables/").status_code == 302


def test_staff_who_may_only_look_can_export_and_no_more(tables: None, as_user: Callable[[User], Client]) -> None:
    client = as_user(staff("view_mindevices"))
    row = MinDevices.objects.filter(devices__isnull=False)[0]
    address = "/admin/jobs/mindevices/"
    assert client.get(address).status_code == 200
    assert client.post(f"{address}export/", {"format": "0", "resource": "0"}).status_code == 200
    assert client.get(f"{address}import/").status_code == 403
    assert client.post(f"{address}process_import/", {"import_file_name": "x"}).status_code == 403
    assert client.post(f"{address}{row.pk}/change/", {"devices": 6}).status_code == 403
    names = ("model", "strategy", "seq_length", "framework", "hardware", "devices", "suspect", "source", "note")
    old = {name: getattr(row, name) for name in names}
    assert client.post(f"{address}{row.pk}/history/{row.history.first().history_id}/", old).status_code == 403
    assert client.get("/admin/jobs/hardware/").status_code == 403
    chosen = {"action": "change_selected", "_selected_action": [row.pk], "apply": "1", "column": "note", "value": "x"}
    client.post(address, chosen)
    client.post(address, change_list([row], **{row.hardware: 6}))
    assert not MinDevices.objects.filter(edited=True).exists()


def test_staff_who_may_change_but_not_add_cannot_import(tables: None, as_user: Callable[[User], Client]) -> None:
    client = as_user(staff("view_mindevices", "change_mindevices"))
    assert client.get("/admin/jobs/mindevices/import/").status_code == 403
    assert b"admin/jobs/mindevices/" in client.get("/tables/mindevices/").content


def test_the_reading_page_searches_narrows_and_turns_pages(admin: Client) -> None:
    page = admin.get("/tables/mindevices/?q=llama3.1-70b&strategy=lora&hardware=snt9b&seq_length=4096")
    text = page.content.decode()
    assert "llama3.1-70b" in text
    assert "llama3.1-8b" not in text
    first = admin.get("/tables/mindevices/").content.decode()
    assert "?page=2" in first
    assert "?page=1" in admin.get("/tables/mindevices/?page=2").content.decode()
    assert "No row matches." in admin.get("/tables/mindevices/?seq_length=abc").content.decode()
    assert admin.get("/tables/nothing/").status_code == 404


def test_a_job_keeps_the_rows_that_it_was_judged_by(
    admin: Client, alice: User, make_job: Callable[..., Job], as_user: Callable[[User], Client]
) -> None:
    job = make_job(alice)
    row = Hardware.objects.get(name="cpu")
    row.note = "edited since"
    row.save_edited()
    model = TrainableModel.objects.get(name=job.model)
    old, model.max_position_embeddings = model.max_position_embeddings, 77_777
    model.save_edited()
    job.refresh_from_db()
    assert job.verdict["rows"]["architecture"]["max_position_embeddings"] == old
    assert job.verdict["rows"]["hardware"]["note"] != "edited since"
    client = as_user(alice)
    told = client.get(f"/api/jobs/{job.pk}").json()["verdict"]["rows"]
    assert told == job.verdict["rows"]
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert 'id="judged"' in page
    assert "edited since" not in page
    new = make_job(alice)
    assert new.verdict["rows"]["architecture"]["max_position_embeddings"] == 77_777
    assert new.verdict["rows"]["hardware"]["note"] == "edited since"


def test_an_edited_cell_changes_the_next_check_and_its_words(tables: None, inputs: dict[str, str]) -> None:
    from webui.forms import to_data

    data = to_data({**inputs, "model": "llama3.1-8b", "framework": "mindspeed-llm", "hardware": "snt9b",
                    "devices": "8", "train.seq_length": "4096"})  # fmt: skip
    assert preview(data, files=False)[0].devices.table == 4
    row = MinDevices.objects.get(
        model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm", hardware="snt9b"
    )
    row.devices = 16
    row.save_edited()
    verdict = preview(data, files=False)[0]
    assert verdict.devices.table == 16
    assert "devices.too_few" in {problem.code for problem in verdict.problems}


def test_an_estimate_is_called_one(tables: None, inputs: dict[str, str]) -> None:
    from webui.forms import to_data
    from webui.verdict import answer

    data = to_data({**inputs, "model": "llama2-7b", "hardware": "snt9b", "train.seq_length": "4096"})
    told = outlook(data, files=False)
    need = told.verdict.devices
    assert (need.table, need.estimate) == (None, 4)
    assert [(one.label, one.value) for one in answer(told).numbers] == [("Estimate of the table", "4 cards")]


def test_gradient_accumulation_is_kept_with_a_job_of_its_framework(tables: None) -> None:
    from jobs.judged import judged_rows

    row = Accumulation.objects.filter(strategy="full")[0]
    spec = JobSpec.model_validate(
        {
            "name": "x", "model": row.model, "model_path": "x", "framework": "llama-factory", "hardware": "snt9b",
            "devices": 8, "train": {"stage": "sft", "strategy": "full", "seq_length": row.seq_length,
                                    "dataset": {"path": "x", "format": "alpaca"}},
        }
    )  # fmt: skip
    rows = judged_rows(spec, current())
    assert rows["accumulation"][0]["gradient_accumulation_steps"] == row.gradient_accumulation_steps
    assert "parallel_config" not in rows


def test_the_job_page_shows_the_cells_beside_its_own(
    admin: Client, alice: User, make_job: Callable[..., Job], as_user: Callable[[User], Client]
) -> None:
    job = make_job(alice)
    assert job.verdict["rows"]["beside"] == []
    job.verdict["rows"]["beside"] = [{"model": "llama3.1-8b", "strategy": "lora", "devices": 7777}]
    job.save()
    page = as_user(alice).get(f"/jobs/{job.pk}/").content.decode()
    assert "Minimum devices: cells beside it" in page
    assert "7777" in page


def judged(model: str, strategy: str, seq_length: int) -> list[dict[str, object]]:
    """The cells beside its own that a job with LLaMA-Factory on Snt9B keeps."""
    from jobs.judged import judged_rows

    spec = JobSpec.model_validate(
        {
            "name": "x", "model": model, "model_path": "x", "framework": "llama-factory", "hardware": "snt9b",
            "devices": 8, "train": {"stage": "sft", "strategy": strategy, "seq_length": seq_length,
                                    "dataset": {"path": "x", "format": "alpaca"}},
        }
    )  # fmt: skip
    return judged_rows(spec, current())["beside"]  # type: ignore[no-any-return]


def test_the_cells_that_a_verdict_quotes_are_kept_with_the_job(tables: None) -> None:
    swapped = MinDevices.objects.filter(suspect="suspect.swapped", hardware="snt9b", strategy="full")[0]
    kept = judged(swapped.model, "full", swapped.seq_length)
    assert [(row["strategy"], row["seq_length"]) for row in kept] == [("lora", swapped.seq_length)]
    lengths = {row["seq_length"] for row in judged("llama3.1-8b", "full", 6000)}
    assert lengths == {4096, 8192}
    assert judged("llama3.1-8b", "full", 4096) == []


def test_a_doubt_and_an_estimate_are_told_in_words(admin: Client) -> None:
    doubted = admin.get("/tables/mindevices/?q=qwen2-7b&framework=llama-factory").content.decode()
    assert "suspect." not in doubted
    assert escape(suspect("suspect.swapped", "en")) in doubted
    estimated = admin.get("/tables/mindevices/?framework=native").content.decode()
    assert estimated.count(">estimate</td>") == 100


def test_a_changed_memory_changes_the_estimates_at_once_and_back(admin: Client) -> None:
    before = current().estimates
    address = f"/admin/jobs/hardware/{Hardware.objects.get(name='snt9b').pk}/change/"
    form = {"name": "snt9b", "cards_per_node": 8, "dies_per_card": 1, "devices_per_node": 8, "device_step": 1}
    assert admin.post(address, {**form, "memory_gib": 24}).status_code == 302
    smaller = current().estimates
    key = ("llama2-7b", "lora", 4096, "native", "snt9b")
    assert key not in smaller
    assert len(smaller) < len(before)
    assert admin.post(address, {**form, "memory_gib": 64}).status_code == 302
    assert current().estimates == before
    assert not MinDevices.objects.filter(edited=True).exists()
