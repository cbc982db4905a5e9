"""The models that can be trained, with their dimensions: memory and layouts follow from them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from jobs.models import table_rules as rules
from jobs.models.tables import POSITIVE, Sourced

DIMENSIONS = (
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
)
EXPERTS = (
    "experts_count",
    "experts_top_k",
    "experts_intermediate_size",
    "experts_shared",
    "experts_first_dense_layers",
)
LATENT = (
    "latent_kv_lora_rank",
    "latent_q_lora_rank",
    "latent_qk_nope_head_dim",
    "latent_qk_rope_head_dim",
    "latent_v_head_dim",
)
VISION = (
    "vision_depth",
    "vision_hidden_size",
    "vision_heads",
    "vision_intermediate_size",
    "vision_patch_size",
    "vision_temporal_patch_size",
    "vision_merge_size",
)


def dimension(label: str) -> models.PositiveIntegerField[int | None, int | None]:
    """Names that have no translation are those of config.json."""
    return models.PositiveIntegerField(label, null=True, blank=True, validators=POSITIVE)


def optional(label: str) -> models.PositiveIntegerField[int | None, int | None]:
    """As `dimension`; 0 is possible."""
    return models.PositiveIntegerField(label, null=True, blank=True)


class TrainableModel(Sourced):
    """A model. Without `hidden_size` its dimensions are not known, and its memory is not estimated."""

    family = models.CharField(_("family"), max_length=60)
    name = models.CharField(_("name"), max_length=80, unique=True)
    params = models.CharField(_("parameters"), max_length=20)
    hf_repo_id = models.CharField(_("Hugging Face name"), max_length=200, blank=True)
    revision = models.CharField(_("revision"), max_length=80, blank=True)
    template = models.CharField(_("chat template"), max_length=60, blank=True)
    multimodal = models.BooleanField(_("multimodal"), default=False)
    frameworks = models.JSONField(_("frameworks"), default=list, validators=[rules.known_frameworks])
    status = models.CharField(_("status"), max_length=200, blank=True)
    architecture = models.CharField(
        _("architecture"), max_length=120, blank=True, help_text=_("Class name in the config.json of its weights.")
    )
    total_params = models.BigIntegerField(_("number of parameters"), null=True, blank=True, validators=POSITIVE)
    max_position_embeddings = models.PositiveIntegerField(
        _("longest sequence"), null=True, blank=True, validators=POSITIVE
    )
    num_hidden_layers = models.PositiveIntegerField(_("layers"), null=True, blank=True, validators=POSITIVE)
    num_attention_heads = models.PositiveIntegerField(_("attention heads"), null=True, blank=True, validators=POSITIVE)
    num_key_value_heads = models.PositiveIntegerField(_("key-value heads"), null=True, blank=True, validators=POSITIVE)
    vocab_size = models.PositiveIntegerField(_("vocabulary"), null=True, blank=True, validators=POSITIVE)
    hidden_size = dimension("hidden_size")
    intermediate_size = dimension("intermediate_size")
    head_dim = dimension("head_dim")
    model_type = models.CharField("model_type", max_length=60, blank=True)
    rope_theta = models.FloatField("rope_theta", null=True, blank=True)
    rope_scaling = models.CharField("rope_scaling", max_length=120, blank=True)
    tie_word_embeddings = models.BooleanField("tie_word_embeddings", default=False)
    qkv_bias = models.BooleanField("qkv_bias", default=False)
    remote_code = models.BooleanField("remote_code", default=False)
    experts_count = dimension("experts_count")
    experts_top_k = dimension("experts_top_k")
    experts_intermediate_size = dimension("experts_intermediate_size")
    experts_shared = optional("experts_shared")
    experts_first_dense_layers = optional("experts_first_dense_layers")
    experts_correction_bias = models.BooleanField("experts_correction_bias", default=False)
    latent_kv_lora_rank = dimension("latent_kv_lora_rank")
    latent_q_lora_rank = optional("latent_q_lora_rank")
    latent_qk_nope_head_dim = dimension("latent_qk_nope_head_dim")
    latent_qk_rope_head_dim = dimension("latent_qk_rope_head_dim")
    latent_v_head_dim = dimension("latent_v_head_dim")
    vision_depth = dimension("vision_depth")
    vision_hidden_size = dimension("vision_hidden_size")
    vision_heads = dimension("vision_heads")
    vision_intermediate_size = dimension("vision_intermediate_size")
    vision_patch_size = dimension("vision_patch_size")
    vision_temporal_patch_size = dimension("vision_temporal_patch_size")
    vision_merge_size = dimension("vision_merge_size")
    vision_gated = models.BooleanField("vision_gated", default=False)
    vision_rms_norm = models.BooleanField("vision_rms_norm", default=False)
    shape_source = models.CharField(_("source of the dimensions"), max_length=400, blank=True)
    shape_note = models.TextField(_("note on the dimensions"), blank=True)
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")
        ordering = ("family", "name")

    @property
    def heads_to_split(self) -> tuple[int, int] | None:
        """Attention heads and key-value heads that tensor parallel has to share out; None if they are not known."""
        heads, key_value = self.num_attention_heads, self.num_key_value_heads
        if heads is None or key_value is None:
            return None
        return heads, heads if self.latent_kv_lora_rank is not None else key_value

    def clean(self) -> None:
        """Dimensions come together, and the heads must go into each other. Raises ValidationError."""
        rules.all_or_none(self, DIMENSIONS, "hidden_size")
        for part in (EXPERTS, LATENT, VISION):
            rules.all_or_none(self, part, part[0])
        heads, key_value = self.num_attention_heads, self.num_key_value_heads
        if heads and key_value and heads % key_value:
            raise ValidationError({"num_key_value_heads": _("It must divide the attention heads.")})

    def __str__(self) -> str:
        return self.name
