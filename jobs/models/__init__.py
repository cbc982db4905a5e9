"""The rows. Rules about training are in the engine; rules about one row are on its model."""

from jobs.models.asset import Dataset, Weights
from jobs.models.audit import AuditEvent
from jobs.models.job import Job, Run, RunTransition, StageRecord
from jobs.models.node import DeviceLease, Node
from jobs.models.tables import Hardware, MinDevices, TrainableModel
from jobs.models.team import Membership, Team

__all__ = [
    "AuditEvent",
    "Dataset",
    "DeviceLease",
    "Hardware",
    "Job",
    "Membership",
    "MinDevices",
    "Node",
    "Run",
    "RunTransition",
    "StageRecord",
    "Team",
    "TrainableModel",
    "Weights",
]
