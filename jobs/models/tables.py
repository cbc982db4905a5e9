"""The resource tables. Seeded from `engine/tables/*.csv`; from then on these rows rule.

Field names equal those of the rows in `engine.catalog`.
"""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

POSITIVE = [MinValueValidator(1)]


class Sourced(models.Model):
    """A row that says where its numbers come from, and whether a person has changed it."""

    source = models.CharField(_("source"), max_length=300, blank=True)
    note = models.TextField(_("note"), blank=True)
    edited = models.BooleanField(_("edited here"), default=False, editable=False)

    class Meta:
        abstract = True

    def save_edited(self) -> None:
        """Save a change that a person made; loading the tables again will not overwrite it."""
        self.edited = True
        self.save()


class Hardware(Sourced):
    name = models.CharField(_("name"), max_length=40, unique=True)
    cards_per_node = models.PositiveIntegerField(_("cards per node"), validators=POSITIVE)
    dies_per_card = models.PositiveIntegerField(_("DIE per card"), default=1, validators=POSITIVE)
    devices_per_node = models.PositiveIntegerField(_("devices per node"), validators=POSITIVE)
    device_step = models.PositiveIntegerField(_("devices are used in steps of"), default=1, validators=POSITIVE)
    memory_gib = models.FloatField(_("memory of a device (GiB)"), null=True, blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("hardware")
        verbose_name_plural = _("hardware")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class TrainableModel(Sourced):
    family = models.CharField(_("family"), max_length=60)
    name = models.CharField(_("name"), max_length=80, unique=True)
    params = models.CharField(_("parameters"), max_length=20)
    hf_repo_id = models.CharField(_("Hugging Face name"), max_length=200, blank=True)
    revision = models.CharField(_("revision"), max_length=80, blank=True)
    template = models.CharField(_("chat template"), max_length=60, blank=True)
    multimodal = models.BooleanField(_("multimodal"), default=False)
    frameworks = models.JSONField(_("frameworks"), default=list, help_text=_('A list of names, such as ["native"].'))
    status = models.CharField(_("status"), max_length=200, blank=True)
    architecture = models.CharField(
        _("architecture"), max_length=120, blank=True, help_text=_("Class name in the config.json of its weights.")
    )
    max_position_embeddings = models.PositiveIntegerField(_("longest sequence"), null=True, blank=True)
    num_attention_heads = models.PositiveIntegerField(_("attention heads"), null=True, blank=True)
    num_key_value_heads = models.PositiveIntegerField(_("key-value heads"), null=True, blank=True)
    num_hidden_layers = models.PositiveIntegerField(_("layers"), null=True, blank=True)
    vocab_size = models.PositiveIntegerField(_("vocabulary"), null=True, blank=True)
    total_params = models.BigIntegerField(_("number of parameters"), null=True, blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")
        ordering = ("family", "name")

    def __str__(self) -> str:
        return self.name


class MinDevices(Sourced):
    """A cell of the minimum-device table. `devices` is empty where the page prints "-": unsupported."""

    model = models.CharField(_("model"), max_length=80)
    strategy = models.CharField(_("strategy"), max_length=20)
    seq_length = models.PositiveIntegerField(_("sequence length"), validators=POSITIVE)
    framework = models.CharField(_("framework"), max_length=40)
    hardware = models.CharField(_("hardware"), max_length=40)
    devices = models.PositiveIntegerField(
        _("devices"), null=True, blank=True, validators=POSITIVE, help_text=_("Empty means unsupported.")
    )
    suspect = models.CharField(_("doubt"), max_length=500, blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("minimum devices")
        verbose_name_plural = _("minimum devices")
        ordering = ("model", "strategy", "seq_length", "framework", "hardware")
        constraints = [
            models.UniqueConstraint(
                fields=("model", "strategy", "seq_length", "framework", "hardware"), name="one_min_devices_cell"
            )
        ]

    def clean(self) -> None:
        """Devices must be whole cards of a hardware that the table knows. Raises ValidationError."""
        hardware = Hardware.objects.filter(name=self.hardware).first()
        if hardware is None:
            raise ValidationError({"hardware": _("The hardware table has no row of this name.")})
        if self.devices and self.devices % hardware.device_step:
            step = {"hardware": hardware.name, "step": hardware.device_step}
            raise ValidationError(
                {"devices": _("%(hardware)s uses devices in steps of %(step)d; leave it empty for unsupported.") % step}
            )

    def __str__(self) -> str:
        return f"{self.model} {self.strategy} {self.seq_length} {self.framework} {self.hardware}"
