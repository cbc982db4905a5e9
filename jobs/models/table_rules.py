"""Rules about a row of the resource tables, in plain words. Each raises ValidationError on the field at fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from unicodedata import category

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _

from engine.frameworks import FOLDERS
from engine.tables_csv import ONE_DIE

if TYPE_CHECKING:
    from jobs.models.tables import Hardware
    from jobs.models.trainable import TrainableModel

MOST_CARDS = 16
MOST_LETTERS = 30_000
"""Of a note: a cell of a spreadsheet holds 32,767, and one of CSV not much more than four times as many."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Unicode's categories of control and format characters, spaces and separators."""
SHARE_ABOVE, SHARE_BELOW = MinValueValidator(0.01), MaxValueValidator(1.0)


_found: ContextVar[dict[tuple[str, str], Any] | None] = ContextVar("_found", default=None)


@contextmanager
def looking_up_once() -> Iterator[None]:
    """Inside, each row that rules refer to is asked for once: a file of thousands of rows names few models."""
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def _named(table: str, name: str) -> Any:
    """The row of that name, or None."""
    found = _found.get()
    if found is not None and (table, name) in found:
        return found[table, name]
    row = apps.get_model("jobs", table).objects.filter(name=name).first()
    if found is not None:
        found[table, name] = row
    return row


def model_named(name: str) -> TrainableModel | None:
    row: TrainableModel | None = _named("TrainableModel", name)
    return row


def known_model(name: str) -> TrainableModel:
    """The row of a model."""
    row = model_named(name)
    if row is None:
        raise ValidationError({"model": _("The model table has no row of this name.")})
    return row


def unknown_model(name: str) -> dict[str, str]:
    """A doubt and no fault: the printed tables, too, name models that cannot be trained."""
    if model_named(name) is not None:
        return {}
    return {"model": _("The model table has no row “%(name)s”.") % {"name": name}}


def cards_of_node(cards: int | None) -> None:
    """No machine of these tables has more."""
    if cards and cards > MOST_CARDS:
        words = _("A node has at most %(most)d cards.") % {"most": MOST_CARDS}
        raise ValidationError({"cards_per_node": words})


def device_count(name: str, devices: int | None, suspect: str) -> None:
    """Whole cards, and above a node whole nodes. The printed cells of one DIE, which are doubted, may stay."""
    hardware: Hardware | None = _named("Hardware", name)
    if hardware is None:
        raise ValidationError({"hardware": _("The hardware table has no row of this name.")})
    if not devices or (devices == 1 and suspect == ONE_DIE):
        return
    names = {"hardware": hardware.name, "step": hardware.device_step, "node": hardware.devices_per_node}
    if devices % hardware.device_step:
        raise ValidationError(
            {"devices": _("%(hardware)s uses devices in steps of %(step)d; leave it empty for unsupported.") % names}
        )
    if devices > hardware.devices_per_node and devices % hardware.devices_per_node:
        raise ValidationError(
            {"devices": _("A node of %(hardware)s has %(node)d devices; above that, whole nodes are used.") % names}
        )


def text(name: str, text: str) -> None:
    """Of a text of several lines: it must survive an export."""
    if CONTROL.search(text):
        raise ValidationError({name: _("There is a control character in it.")})
    if len(text) > MOST_LETTERS:
        numbers = {"count": len(text), "most": MOST_LETTERS}
        raise ValidationError({name: _("It has %(count)d characters; at most %(most)d are kept.") % numbers})


def unseen(text: str) -> str | None:
    """The first character that nobody sees; names are compared letter by letter."""
    return next((letter for letter in text if letter != " " and category(letter) in UNSEEN), None)


def seen(name: str, text: str) -> None:
    """Of a text of one line, as in a file: no request could name the row, and no import bring it back."""
    letter = unseen(text)
    if letter is not None:
        words = _("There is an invisible character in it (U+%(code)s).")
        raise ValidationError({name: words % {"code": f"{ord(letter):04X}"}})


def estimated(framework: str, estimate: bool) -> None:
    """Only cells that no page prints: a printed one that is marked so would no longer be the least that is accepted."""
    if estimate and framework != "native":
        raise ValidationError({"estimate": _("Only numbers of our own engine (native) are estimates.")})


def devices_of_node(cards: int | None, dies: int | None, devices: int | None, step: int | None) -> None:
    if not cards or not dies or not devices or not step:
        return  # each has its own message
    if devices != cards * dies:
        raise ValidationError({"devices_per_node": _("This must be cards per node times DIE per card.")})
    if devices % step:
        raise ValidationError({"device_step": _("The devices of a node must be a multiple of the step.")})


def parallel_sizes(model: TrainableModel | None, tensor: int | None, pipeline: int | None) -> None:
    """Whole attention heads and key-value heads on each device, and a layer in each stage, of a model that we know."""
    if model is None:
        return
    heads, layers = model.heads_to_split, model.num_hidden_layers
    if tensor and heads is not None and any(number % tensor for number in heads):
        names = {"heads": heads[0], "key_value_heads": heads[1]}
        raise ValidationError(
            {
                "tensor_parallel_size": _(
                    "It must divide the attention heads (%(heads)d) and the key-value heads (%(key_value_heads)d)."
                )
                % names
            }
        )
    if pipeline and layers is not None and pipeline > layers:
        raise ValidationError(
            {"pipeline_parallel_size": _("The model has only %(layers)d layers.") % {"layers": layers}}
        )


def sizes_in_devices(tensor: int | None, pipeline: int | None, nodes: int | None, cards: int | None) -> None:
    if tensor and pipeline and nodes and cards and (nodes * cards) % (tensor * pipeline):
        raise ValidationError(
            {
                "nodes": _("Tensor times pipeline parallel size (%(sizes)d) must divide the %(devices)d devices.")
                % {"sizes": tensor * pipeline, "devices": nodes * cards}
            }
        )


def known_frameworks(names: object) -> None:
    """A list of frameworks that the engine knows."""
    known = ", ".join(FOLDERS)
    if not isinstance(names, list) or any(name not in FOLDERS for name in names):
        raise ValidationError(_("Known frameworks: %(known)s.") % {"known": known})


def all_or_none(row: object, names: tuple[str, ...], first: str) -> None:
    """When `first` is filled in, so must the others be."""
    missing = [name for name in names if getattr(row, name) is None]
    if getattr(row, first) is not None and missing:
        raise ValidationError({name: _("Needed with the other dimensions.") for name in missing})
