"""Why a queued run is not running yet. The dispatcher writes the code, pages show the text."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

NO_NODE = "no_node"
NO_FRAMEWORK = "no_framework"
INSTALLING = "installing"
TOO_FEW_DEVICES = "too_few_devices"
DEVICES_BUSY = "devices_busy"

_TEXTS = {
    NO_NODE: _("Waits for a node with this hardware: none has reported within the last minute."),
    NO_FRAMEWORK: _("Waits for a node that has this framework."),
    INSTALLING: _("Waits until the engine packages are installed."),
    TOO_FEW_DEVICES: _("Waits for a node with enough devices: a run stays on one node, and no node has so many."),
    DEVICES_BUSY: _("Waits until enough devices are free."),
}
CODES = tuple(_TEXTS)


def waiting_text(code: str) -> str:
    """The reason in the reader's language; empty for an empty or unknown code."""
    return str(_TEXTS.get(code, ""))
