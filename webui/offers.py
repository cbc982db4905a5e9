"""What the form of a job offers to a person: models, hardware, their teams' data and weights, and a sensible start."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from engine.catalog import Catalog
from engine.readable import words
from jobs.models import Dataset, Node, Team, Weights
from webui.dataset_forms import FORMAT, READ_BY, usual
from webui.fields import FIELDS
from webui.forms import Offers, Suggestion

OFF = ("", "0", "off", "false")
"""How a link says that a flag is not set; a form says it by leaving it out."""
USUAL_LENGTHS = (512, 1024, 2048)


def offers(user: User, catalog: Catalog) -> Offers:
    teams = Team.objects.of(user)
    datasets = Dataset.objects.filter(team__in=teams)
    weights = Weights.objects.filter(team__in=teams)
    lengths = sorted({*USUAL_LENGTHS, *(row.seq_length for row in catalog.min_devices.values())})
    return Offers(
        models=model_choices(catalog),
        hardware=[(name, words.hardware(name)) for name in catalog.hardware],
        suggestions={
            "datasets": [Suggestion(row.path, row.name, _read_as(row)) for row in datasets],
            "weights": [Suggestion(row.path, row.name, {"model": row.model}) for row in weights],
            "lengths": [Suggestion(str(length), "") for length in lengths],
        },
    )


def _read_as(dataset: Dataset) -> dict[str, str]:
    """How a dataset is read, by spec path: what another one may have left in these inputs is taken back."""
    read_as = {one.path: usual(one) for one in READ_BY if one.path != FORMAT}
    return {**read_as, **dataset.options, **({FORMAT: dataset.format} if dataset.format else {})}


def model_choices(catalog: Catalog) -> list[tuple[str, list[tuple[str, str]]]]:
    """Models in groups, by family and size."""
    rows = sorted(catalog.models.values(), key=lambda row: (row.family.lower(), row.total_params or 0, row.name))
    return [
        (family, [(row.name, row.name) for row in group]) for family, group in groupby(rows, key=lambda row: row.family)
    ]


def first_inputs(offered: Offers, catalog: Catalog) -> dict[str, str]:
    """What a new form holds: this site's machine and the person's own first dataset and weights."""
    node = Node.objects.order_by("-last_seen").first()
    inputs = {
        "framework": "native",
        "hardware": node.hardware if node and node.hardware in catalog.hardware else "cpu",
        "devices": "1",
        "train.dataset.format": "alpaca",
        "train.stage": "sft",
        "train.strategy": "full",
        "train.seq_length": "512",
        "train.epochs": "1",
        "train.learning_rate": "1e-5",
        "train.resume.auto_recovery": "on",
    }
    for path, name in (("train.dataset.path", "datasets"), ("model_path", "weights")):
        if offered.suggestions[name]:
            first = offered.suggestions[name][0]
            inputs |= {path: first.value, **first.sets}
    return inputs | {"name": suggested_name(inputs)}


def asked_inputs(inputs: Mapping[str, str], query: Mapping[str, str], offered: Offers) -> dict[str, str]:
    """The inputs with the values of a link's query, by spec path; a model brings a registered folder of its own."""
    asked = {path: query[path] for path in FIELDS if path in query}
    chosen = (one.sets for one in offered.suggestions["datasets"] if one.value == asked.get("train.dataset.path"))
    filled = {**inputs, **next(chosen, {}), **asked}
    for path, value in asked.items():
        if FIELDS[path].kind == "flag" and value in OFF:
            del filled[path]
    if "model" in asked and "model_path" not in asked and asked["model"] != inputs.get("model"):
        folders = (one.value for one in offered.suggestions["weights"] if one.sets.get("model") == asked["model"])
        filled["model_path"] = next(folders, "")
    if asked and "name" not in asked:
        filled["name"] = suggested_name(filled)
    return filled


def suggested_name(inputs: Mapping[str, str]) -> str:
    """Name of a job that nobody has named yet; `static/js/job-form.js` follows the same rule."""
    return " ".join(inputs[path] for path in ("model", "train.stage", "train.strategy") if inputs.get(path))


def copy_name(name: str) -> str:
    """Name of a job made from another."""
    return _("%(name)s, again") % {"name": name}
