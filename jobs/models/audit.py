from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEvent(models.Model):
    """Who did what to which job; only ever appended."""

    time = models.DateTimeField(_("time"), auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, verbose_name=_("user"))
    action = models.CharField(_("action"), max_length=40)
    job = models.ForeignKey("jobs.Job", models.CASCADE, null=True, related_name="audit", verbose_name=_("job"))
    detail = models.JSONField(_("detail"), default=dict)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.user}: {self.action}"
