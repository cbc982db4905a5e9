from __future__ import annotations

from django.db import models


class RunSpeed(models.Model):
    """How fast a finished run was, with what was trained: the estimate of the next one begins here."""

    run = models.OneToOneField("jobs.Run", models.CASCADE, primary_key=True, related_name="speed")
    team = models.ForeignKey("jobs.Team", models.CASCADE)
    model = models.CharField(max_length=80)
    framework = models.CharField(max_length=40)
    strategy = models.CharField(max_length=20)
    seq_length = models.PositiveIntegerField()
    hardware = models.CharField(max_length=40)
    tokens_per_second_per_device = models.FloatField()
    """The median over its iterations."""

    class Meta:
        ordering = ("-run_id",)
        indexes = [
            models.Index(
                fields=("team", "model", "framework", "strategy", "seq_length", "hardware", "-run"), name="speed_alike"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.tokens_per_second_per_device:g}"
