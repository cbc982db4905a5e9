"""What a team trains with: datasets and weights that lie on disk inside the allowed roots."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.team import Team


class Asset(models.Model):
    team = models.ForeignKey(Team, models.CASCADE, verbose_name=_("team"))
    name = models.CharField(_("name"), max_length=120)
    path = models.CharField(_("path"), max_length=1000)
    note = models.CharField(_("note"), max_length=300, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, verbose_name=_("registered by"))
    created = models.DateTimeField(_("registered"), auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def visible_to(self, user: User | AnonymousUser) -> DatasetQuerySet:
        return self.filter(team__in=Team.objects.of(user))


class Registered(models.Manager["Dataset"]):
    """Without those that were taken out of the list."""

    def get_queryset(self) -> DatasetQuerySet:
        return DatasetQuerySet(self.model, using=self._db).filter(removed=None)

    def visible_to(self, user: User | AnonymousUser) -> DatasetQuerySet:
        return self.get_queryset().visible_to(user)


class Dataset(Asset):
    format = models.CharField(_("format"), max_length=20, blank=True)
    """Empty until a report has said what the data looks like."""
    options = models.JSONField(_("options"), default=dict, blank=True)
    """How it is read, by field of the spec's `train.dataset`, as a form's inputs hold it."""
    rows = models.PositiveIntegerField(_("rows"), null=True, blank=True)

    removed = models.DateTimeField(_("taken out"), null=True, blank=True)
    """It stays for the runs that were trained with it, and is listed no more; registering its path brings it back."""

    objects = Registered()
    with_removed = DatasetQuerySet.as_manager()

    class Meta(Asset.Meta):
        verbose_name = _("dataset")
        verbose_name_plural = _("datasets")
        constraints = [models.UniqueConstraint(fields=("team", "path"), name="one_dataset_a_path")]


class Weights(Asset):
    model = models.CharField(_("model"), max_length=80)
    random = models.BooleanField(_("random weights"), default=False)

    class Meta(Asset.Meta):
        verbose_name = _("weights")
        verbose_name_plural = _("weights")
        constraints = [models.UniqueConstraint(fields=("team", "path"), name="one_weights_a_path")]
