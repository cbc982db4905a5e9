"""The resource tables: hardware, and what the vendor prints. Seeded from `engine/tables/*.csv`; then these rows rule.

Field names equal those of the rows in `engine.catalog`. Numbers stay as printed: where a printed number breaks a
rule, the rule makes way for it and for nothing else.
"""

from __future__ import annotations

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from engine.frameworks import FOLDERS
from jobs.models import table_rules as rules

POSITIVE = [MinValueValidator(1)]
ZERO_STAGES = ("ZeRO-1", "ZeRO-2", "ZeRO-3", "ZeRO-3-Offload")


def named(*names: str) -> list[tuple[str, str]]:
    """Choices that are shown as they are spelled."""
    return [(name, name) for name in names]


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

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """A text must survive an export, too."""
        wrong: dict[str, list[ValidationError]] = {}
        try:
            super().clean_fields(exclude=exclude)
        except ValidationError as error:
            wrong = error.error_dict
        for field in self._meta.fields:
            rule = rules.text if isinstance(field, models.TextField) else rules.seen
            if isinstance(field, models.CharField | models.TextField) and field.name not in (exclude or ()):
                try:
                    rule(field.name, getattr(self, field.name))
                except ValidationError as error:
                    wrong.setdefault(field.name, []).extend(error.error_dict[field.name])
        if wrong:
            raise ValidationError(wrong)

    def doubts(self) -> dict[str, str]:
        """Column → what may be right but should be looked at."""
        return {}


class Hardware(Sourced):
    name = models.CharField(_("name"), max_length=40, unique=True)
    cards_per_node = models.PositiveIntegerField(_("cards per node"), validators=POSITIVE)
    dies_per_card = models.PositiveIntegerField(_("DIE per card"), default=1, validators=POSITIVE)
    devices_per_node = models.PositiveIntegerField(_("devices per node"), validators=POSITIVE)
    device_step = models.PositiveIntegerField(_("devices are used in steps of"), default=1, validators=POSITIVE)
    memory_gib = models.FloatField(_("memory of a device (GiB)"), null=True, blank=True, validators=POSITIVE)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("hardware")
        verbose_name_plural = _("hardware")
        ordering = ("name",)

    def clean(self) -> None:
        rules.devices_of_node(self.cards_per_node, self.dies_per_card, self.devices_per_node, self.device_step)

    def __str__(self) -> str:
        return self.name


class MinDevices(Sourced):
    """A cell of the minimum-device table. `devices` is empty where the page prints "-": unsupported."""

    model = models.CharField(_("model"), max_length=80)
    strategy = models.CharField(_("strategy"), max_length=20, choices=named("full", "lora"))
    seq_length = models.PositiveIntegerField(_("sequence length"), validators=POSITIVE)
    framework = models.CharField(_("framework"), max_length=40, choices=named(*FOLDERS))
    hardware = models.CharField(_("hardware"), max_length=40)
    devices = models.PositiveIntegerField(
        _("devices"), null=True, blank=True, validators=POSITIVE, help_text=_("Empty means unsupported.")
    )
    estimate = models.BooleanField(
        _("estimate"), default=False, help_text=_("By the memory model; no page prints this number.")
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
        """Of a model and hardware that the tables know, in whole cards and whole nodes. Raises ValidationError."""
        rules.known_model(self.model)
        rules.device_count(self.hardware, self.devices, self.suspect)
        rules.estimated(self.framework, self.estimate)

    def __str__(self) -> str:
        return f"{self.model} {self.strategy} {self.seq_length} {self.framework} {self.hardware}"


class ParallelConfig(Sourced):
    """Tensor and pipeline size that the vendor recommends with MindSpeed-LLM."""

    model = models.CharField(_("model"), max_length=80)
    seq_length = models.PositiveIntegerField(_("sequence length"), validators=POSITIVE)
    tensor_parallel_size = models.PositiveIntegerField(_("tensor parallel size"), validators=POSITIVE)
    pipeline_parallel_size = models.PositiveIntegerField(_("pipeline parallel size"), validators=POSITIVE)
    nodes = models.PositiveIntegerField(_("nodes"), validators=POSITIVE)
    cards_per_node = models.PositiveIntegerField(_("cards per node"), validators=POSITIVE)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("parallel configuration")
        verbose_name_plural = _("parallel configurations")
        ordering = ("model", "seq_length")
        constraints = [models.UniqueConstraint(fields=("model", "seq_length"), name="one_parallel_config")]

    def clean(self) -> None:
        """The sizes must divide heads and devices, and leave every stage a layer. Raises ValidationError."""
        rules.cards_of_node(self.cards_per_node)
        model = rules.model_named(self.model)
        rules.parallel_sizes(model, self.tensor_parallel_size, self.pipeline_parallel_size)
        rules.sizes_in_devices(self.tensor_parallel_size, self.pipeline_parallel_size, self.nodes, self.cards_per_node)

    def doubts(self) -> dict[str, str]:
        return rules.unknown_model(self.model)

    def __str__(self) -> str:
        return f"{self.model} {self.seq_length}"


class Accumulation(Sourced):
    """Gradient accumulation and ZeRO level that the vendor recommends with LLaMA-Factory; a row a page."""

    model = models.CharField(_("model"), max_length=80)
    strategy = models.CharField(_("strategy"), max_length=20, choices=named("full", "lora", "dpo"))
    seq_length = models.PositiveIntegerField(_("sequence length"), validators=POSITIVE)
    gradient_accumulation_steps = models.PositiveIntegerField(
        _("gradient accumulation"), null=True, blank=True, validators=POSITIVE
    )
    per_device_train_batch_size = models.PositiveIntegerField(
        _("batch of a device"), null=True, blank=True, validators=POSITIVE
    )
    deepspeed = models.CharField("DeepSpeed", max_length=20, blank=True, choices=named(*ZERO_STAGES))
    nodes = models.PositiveIntegerField(_("nodes"), validators=POSITIVE)
    cards_per_node = models.PositiveIntegerField(_("cards per node"), validators=POSITIVE)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("gradient accumulation")
        verbose_name_plural = _("gradient accumulation")
        ordering = ("model", "strategy", "seq_length")
        constraints = [
            models.UniqueConstraint(fields=("model", "strategy", "seq_length", "source"), name="one_accumulation")
        ]

    def clean(self) -> None:
        rules.cards_of_node(self.cards_per_node)

    def doubts(self) -> dict[str, str]:
        return rules.unknown_model(self.model)

    def __str__(self) -> str:
        return f"{self.model} {self.strategy} {self.seq_length}"


class InferenceLimit(Sourced):
    """The longest context that a model serves on some devices, as the vendor measured it."""

    model = models.CharField(_("model"), max_length=80)
    memory_gib = models.PositiveIntegerField(_("memory of a device (GiB)"), validators=POSITIVE)
    min_devices = models.PositiveIntegerField(
        _("devices"), null=True, blank=True, validators=POSITIVE, help_text=_("Empty means unsupported.")
    )
    max_model_len = models.PositiveIntegerField(_("longest context"), null=True, blank=True, validators=POSITIVE)
    gpu_memory_utilization = models.FloatField(
        _("share of the memory"), null=True, blank=True, validators=[rules.SHARE_ABOVE, rules.SHARE_BELOW]
    )
    version = models.CharField(_("version"), max_length=120, blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("inference limit")
        verbose_name_plural = _("inference limits")
        ordering = ("model", "memory_gib", "version")
        constraints = [models.UniqueConstraint(fields=("model", "memory_gib", "version"), name="one_inference_limit")]

    def doubts(self) -> dict[str, str]:
        return rules.unknown_model(self.model)

    def __str__(self) -> str:
        return f"{self.model} {self.memory_gib} GiB"


class Quantization(Sourced):
    """Whether a model can be served with a kind of quantization."""

    model = models.CharField(_("model"), max_length=80)
    method = models.CharField(_("method"), max_length=40)
    supported = models.CharField(_("supported"), max_length=10, blank=True, choices=named("yes", "no"))
    version = models.CharField(_("version"), max_length=120, blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("quantization support")
        verbose_name_plural = _("quantization support")
        ordering = ("model", "method", "version")
        constraints = [models.UniqueConstraint(fields=("model", "method", "version"), name="one_quantization")]

    def doubts(self) -> dict[str, str]:
        return rules.unknown_model(self.model)

    def __str__(self) -> str:
        return f"{self.model} {self.method}"
