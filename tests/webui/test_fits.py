"""What fits? Both look-ups, their links, and the forms that these fill in."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from engine.planner.survey import of_devices, of_model
from jobs.catalog import current
from jobs.models import Node, Team, Weights

AsUser = Callable[[User], Client]
LINK = re.compile(r'<a class="tile[^"]*" href="([^"]+)"><span class="visually-hidden">([^<]+)</span>')


@pytest.fixture
def site(as_user: AsUser, alice: User, tables: None) -> Client:
    return as_user(alice)


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def tiles(page: str) -> list[tuple[str, str]]:
    """Address and words of each cell."""
    return [(html.unescape(address), html.unescape(words)) for address, words in LINK.findall(page)]


def inputs_of(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query))


def test_a_stranger_is_sent_to_the_login(client: Client) -> None:
    assert client.get("/fits/").headers["Location"] == "/login/?next=/fits/"


def test_a_model_has_a_link_in_every_cell(site: Client) -> None:
    found = tiles(text(site, "/fits/?model=llama3.1-70b"))
    grid = of_model(current(), "llama3.1-70b")
    assert len(found) == sum(len(line.cells) for line in grid.lines)
    words = dict(map(reversed, found))
    address = words[
        "MindSpeed-LLM, Snt9B, full, 8192: 64 cards by the table; memory needs 32 cards; 64 cards recommended"
    ]
    assert inputs_of(address) == {
        "model": "llama3.1-70b",
        "framework": "mindspeed-llm",
        "hardware": "snt9b",
        "devices": "64",
        "train.strategy": "full",
        "train.seq_length": "8192",
    }


def test_doubted_unsupported_and_impossible_cells_are_marked(site: Client) -> None:
    swapped = text(site, "/fits/?model=qwen2-7b")
    assert "the LLaMA-Factory cells for full and LoRA look exchanged" in swapped
    assert any(words.endswith("the printed number is in doubt") for _, words in tiles(swapped))
    assert any(": unsupported" in words for _, words in tiles(text(site, "/fits/?model=qwen2vl-7b")))
    assert any(": fits on no number" in words for _, words in tiles(swapped))


def test_the_devices_that_one_has_show_what_can_be_trained(site: Client) -> None:
    found = tiles(text(site, "/fits/?hardware=snt9b&devices=8"))
    shelf = of_devices(current(), "snt9b", 8)
    assert len(found) == sum(cell is not None for row in shelf.rows for cell in row.cells)
    assert all(inputs_of(address)["devices"] == "8" for address, _ in found)


def test_without_a_question_the_sites_own_devices_are_looked_up(site: Client) -> None:
    page = text(site, "/fits/")
    assert "CPU: 2 processes" in page
    assert tiles(page)
    Node.objects.all().delete()
    assert tiles(text(site, "/fits/")) == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("model=lama3-8b", "similar names: llama3-8b"),
        ("hardware=abacus&devices=1", "is not in the hardware table"),
        ("hardware=snt9b&devices=", "must be a whole number"),
        ("hardware=snt9b&devices=-8", "must be a whole number"),
        ("hardware=snt9b&devices=²", "must be a whole number"),
        ("hardware=snt9b&devices=9999999999", "must be at most 65536"),
        ("hardware=snt9b&devices=70000", "must be at most 65536"),
        (f"hardware=snt9b&devices={'9' * 5000}", "must be a whole number"),
        ("model=%00", "is not in the model table"),
        ("hardware=snt9b23&devices=3", "is not a multiple of 2"),
        ("hardware=snt9b&devices=12", "not whole nodes"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_in_words(site: Client, query: str, words: str) -> None:
    page = text(site, f"/fits/?{query}")
    assert words in html.unescape(page)
    assert tiles(page) == []


def test_the_number_of_queries_is_the_same_for_every_question(site: Client) -> None:
    counts = set()
    site.get("/fits/")  # reads the tables
    for query in ("model=tiny-llama", "model=deepseek-v3", "hardware=snt9b&devices=8", "hardware=snt9b23&devices=512"):
        for _first_and_again in range(2):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                site.get(f"/fits/?{query}")
            counts.add(len(queries))
    assert len(counts) == 1
    assert counts.pop() <= 6


def test_it_speaks_chinese(site: Client) -> None:
    site.cookies["django_language"] = "zh-hans"
    page = text(site, "/fits/?model=llama3.1-70b")
    assert "MindSpeed-LLM, Snt9B, 全参, 8192: 表中为 64 张卡; 内存至少需要 32 张卡; 推荐 64 张卡" in page
    translation.activate("en")


@pytest.mark.parametrize("model", ["llama3.1-70b", "qwen2-7b", "qwen2vl-7b", "smollm2-135m"])
def test_a_cells_link_opens_a_form_whose_check_agrees(site: Client, model: str) -> None:
    refusing = (": unsupported", ": fits on no number")
    for address, words in tiles(text(site, f"/fits/?model={model}"))[::3]:
        inputs = inputs_of(address)
        form = text(site, address)
        for path in ("devices", "train.seq_length"):
            assert re.search(rf'name="{re.escape(path)}" value="{inputs[path]}"', form)
        for path in ("model", "framework", "hardware", "train.strategy"):
            assert f'<option value="{inputs[path]}" selected>' in form
        panel = site.post("/jobs/check/", {**inputs, "train.stage": "sft"}).content.decode()
        errors = re.findall(r'data-field="(devices|framework|train.seq_length)" data-severity="error"', panel)
        assert bool(errors) == any(mark in words for mark in refusing), words
        assert ("memory-bar" in panel) != (": unsupported" in words), words


def test_a_link_is_checked_like_everything_that_is_entered(site: Client) -> None:
    form = text(site, "/jobs/new/?model=<b>lama</b>&devices=eight&nonsense=1&train.resume.auto_recovery=off")
    assert '<option value="&lt;b&gt;lama&lt;/b&gt;" selected>' in form
    assert 'value="eight"' in form
    assert "nonsense" not in form.replace("nonsense=1", "")
    assert not re.search(r'name="train.resume.auto_recovery"[^>]* checked', form)


def test_a_linked_model_brings_its_registered_folder_or_none(site: Client, team: Team, alice: User) -> None:
    for model in ("smollm2-135m", "llama3.1-8b"):
        Weights.objects.create(team=team, name=model, path=f"/models/{model}", model=model)
    assert 'value="/models/llama3.1-8b"' in text(site, "/jobs/new/?model=llama3.1-8b")
    assert not re.search(r'name="model_path" value="/', text(site, "/jobs/new/?model=qwen2-7b"))
