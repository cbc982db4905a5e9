"""The rows. Rules about training are in the engine; rules about one row are on its model."""

from jobs.models.asset import Dataset, Weights
from jobs.models.audit import AuditEvent
from jobs.models.dataset import DatasetVersion, Inspection, InspectionState, Upload, UploadState
from jobs.models.job import Job, Run, RunTransition, StageRecord
from jobs.models.node import DeviceLease, Node
from jobs.models.speed import RunSpeed
from jobs.models.tables import Accumulation, Hardware, InferenceLimit, MinDevices, ParallelConfig, Quantization
from jobs.models.team import Membership, Team
from jobs.models.trainable import TrainableModel

__all__ = [
    "Accumulation",
    "AuditEvent",
    "Dataset",
    "DatasetVersion",
    "DeviceLease",
    "Hardware",
    "InferenceLimit",
    "Inspection",
    "InspectionState",
    "Job",
    "Membership",
    "MinDevices",
    "Node",
    "ParallelConfig",
    "Quantization",
    "Run",
    "RunSpeed",
    "RunTransition",
    "StageRecord",
    "Team",
    "TrainableModel",
    "Upload",
    "UploadState",
    "Weights",
]
