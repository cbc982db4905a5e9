from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Node(models.Model):
    """A machine whose worker has reported itself."""

    name = models.CharField(_("name"), max_length=200, unique=True)
    hardware = models.CharField(_("hardware"), max_length=40)
    devices = models.PositiveIntegerField(_("devices"))
    frameworks = models.JSONField(_("frameworks"), default=dict)
    """Name → version of each framework that the node can really start."""
    memory_gib = models.FloatField(_("memory (GiB)"), null=True)
    """Main memory of the machine: what processes on a CPU share."""
    write_mb_per_second = models.FloatField(_("write speed (MB/s)"), null=True)
    """Of the disk of the runs, each write on the disk before it counts; as last measured."""
    write_measured = models.DateTimeField(_("write speed measured"), null=True)
    gflops = models.FloatField(_("matrix products (GFLOP/s)"), null=True)
    """Of all cores of a CPU together in fp32; as last measured by the engine."""
    gflops_measured = models.DateTimeField(_("matrix products measured"), null=True)
    last_seen = models.DateTimeField(_("last seen"))

    class Meta:
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class DeviceLease(models.Model):
    """One device held by one run. The row's existence is the lease; the constraint forbids a second."""

    node = models.ForeignKey(Node, models.PROTECT, related_name="leases")
    device = models.PositiveIntegerField(_("device"))
    run = models.ForeignKey("jobs.Run", models.CASCADE, related_name="leases")
    since = models.DateTimeField(_("since"), auto_now_add=True)

    class Meta:
        verbose_name = _("device lease")
        verbose_name_plural = _("device leases")
        constraints = [models.UniqueConstraint(fields=("node", "device"), name="one_run_a_device")]

    def __str__(self) -> str:
        return f"{self.node}:{self.device}"
