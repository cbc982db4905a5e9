"""The micro-batch of our own engine."""

from __future__ import annotations

from engine.plan import Layout, Reason
from engine.planner.choice.chosen import because
from engine.spec import JobSpec

TOKENS_AT_ONCE = 4096
"""A micro-batch is chosen to hold at most this many tokens, so that logits and activations stay small."""
USUAL_NATIVE = 8
"""Samples of one iteration where the person does not say: few, since a CPU is slow."""


def native_micro(spec: JobSpec, layout: Layout, reasons: list[Reason]) -> int:
    """The requested one, else the largest that divides the samples of a replica and keeps to TOKENS_AT_ONCE; a
    pipeline gets a micro-batch for each of its stages, where there are so many samples."""
    train, usual, replicas = spec.train, USUAL_NATIVE, layout.data_parallel_size
    if train.micro_batch_size is not None:
        return train.micro_batch_size
    share = usual if train.global_batch_size is None else train.global_batch_size // replicas
    most = max(1, TOKENS_AT_ONCE // train.seq_length)
    if train.global_batch_size is None:
        most = min(most, max(1, usual // replicas))
    most = min(most, max(1, share // layout.pipeline_parallel_size))
    micro = max(number for number in range(1, min(share, most) + 1) if share % number == 0)
    parameters = {"micro_batch_size": micro, "tokens": TOKENS_AT_ONCE, "seq_length": train.seq_length}
    reasons.append(because("batch.micro_batch_size", "reason.micro_batch_size", **parameters))
    return micro
