from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from jobs import node_report
from jobs.models import Node
from jobs.node_report import report
from tests.engine.stand_in_llama_factory import make
from tests.made_runs import PROJECT_ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _plain(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRAINYARD_DEVICES", "TRAINYARD_HARDWARE"):
        monkeypatch.delenv(name, raising=False)


def test_a_node_reports_what_it_is_and_has() -> None:
    node = report()
    assert node.name == "test-node"
    assert node.devices >= 1
    assert node.frameworks["native"] == version("torch")
    assert "mindspeed-llm" not in node.frameworks


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_DEVICES", "16")
    monkeypatch.setenv("TRAINYARD_HARDWARE", "snt9b23")
    node = report()
    assert (node.hardware, node.devices) == ("snt9b23", 16)


def test_a_framework_with_an_interpreter_of_its_own_is_found_by_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "llama-factory" not in report().frameworks
    monkeypatch.setenv("TRAINYARD_LLAMA_FACTORY_PYTHON", str(make(tmp_path)))
    assert report().frameworks["llama-factory"] == "0.9.5"
    monkeypatch.setenv("TRAINYARD_LLAMA_FACTORY_PYTHON", "/bin/false")
    assert "llama-factory" not in report().frameworks


def test_a_checkout_counts_only_with_its_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_MINDSPEED_LLM_HOME", str(tmp_path))
    assert "mindspeed-llm" not in report().frameworks
    (tmp_path / "pretrain_gpt.py").touch()
    assert "mindspeed-llm" in report().frameworks


def test_a_framework_counts_only_when_all_of_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_report, "NATIVE", ("torch", "no-such-package"))
    assert report().frameworks == {}


def test_while_packages_are_being_installed_the_node_says_so(data_dir: Path) -> None:
    (data_dir / "run" / "engine-installing").touch()
    assert report().frameworks == {"native": "installing"}
    (data_dir / "run" / "engine-installing").unlink()
    assert report().frameworks["native"] != "installing"


def test_a_second_report_renews_the_same_row() -> None:
    first = report().last_seen
    assert report().last_seen > first
    assert Node.objects.count() == 1


def test_reporting_does_not_import_torch() -> None:
    code = (
        "import django, sys; django.setup(); from jobs import node_report, tasks, worker_signals;"
        "node_report.frameworks(); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT_ROOT)
