"""The training loop of one process."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from engine.failures import Stopped
from engine.preprocess.store import TokenStore
from engine.training.data import Order, Shape, micro_batches
from engine.training.optimizer import clip_gradients, set_learning_rate
from engine.training.parallel import Replicas, without_sync
from engine.training.report import Iteration, Reporter
from engine.training.schedule import Schedule
from engine.training.stop import StopRequest
from engine.weights import checkpoint
from engine.weights.checkpoint import Progress


@dataclass
class Trainer:
    """Everything that an iteration needs. `loss` is `SummedLoss(model)`, wrapped for the replicas."""

    model: nn.Module
    loss: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    store: TokenStore
    shape: Shape
    replicas: Replicas
    reporter: Reporter
    stop: StopRequest
    checkpoints: Path
    save_interval: int
    progress: Progress

    def __post_init__(self) -> None:
        self._order = Order(len(self.store), self.progress.seed)
        self._parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def train(self) -> None:
        """Iterate to the end, with checkpoints on the way. Raises Stopped, after saving, when asked to stop."""
        self.model.train()
        while self.progress.iteration < self.schedule.train_iters:
            self._step()
            if self.progress.iteration % self.save_interval == 0:
                self._save()
            if self.replicas.any(self.stop.asked):
                self._save()
                raise Stopped(f"at iteration {self.progress.iteration}, as asked")
        self._save()

    def _step(self) -> None:
        """One iteration: gradients, clipping, update, report."""
        started = time.perf_counter()
        before = self.progress
        torch.manual_seed(_iteration_seed(before.seed, before.iteration, self.replicas.rank))
        loss = self._gradients()
        norm = clip_gradients([p.grad for p in self._parameters if p.grad is not None])
        update = before.iteration - before.skipped + 1
        rate = self.schedule.rate(update)
        skipped = not math.isfinite(norm)
        if not skipped:
            set_learning_rate(self.optimizer, rate)
            self.optimizer.step()
        self.optimizer.zero_grad()
        self.progress = before.model_copy(
            update={
                "iteration": before.iteration + 1,
                "consumed_samples": before.consumed_samples + self.shape.global_batch_size,
                "skipped": before.skipped + skipped,
            }
        )
        elapsed_ms = (time.perf_counter() - started) * 1000
        self.reporter.iteration(self._figures(loss, norm, rate, elapsed_ms, skipped))

    def _gradients(self) -> float:
        """Add up the gradients of a global batch; returns its mean loss over all trained tokens."""
        chosen = self._order.batch(self.progress.iteration, self.shape.global_batch_size)
        tokens = self.store.trained(chosen)
        total = 0.0
        for step, batch in enumerate(micro_batches(self.store, chosen, self.shape, self.replicas.rank), start=1):
            with without_sync(self.loss, last=step == self.shape.accumulation_steps):
                loss = self.loss(batch) / tokens
                loss.backward()
            total += float(loss.detach())
        return self.replicas.total(total)

    def _figures(self, loss: float, norm: float, rate: float, elapsed_ms: float, skipped: bool) -> Iteration:
        return Iteration(
            number=self.progress.iteration,
            total=self.schedule.train_iters,
            consumed_samples=self.progress.consumed_samples,
            global_batch_size=self.shape.global_batch_size,
            loss=loss,
            grad_norm=norm,
            learning_rate=rate,
            elapsed_ms=elapsed_ms,
            skipped=skipped,
        )

    def _save(self) -> None:
        """Write a checkpoint, unless this very one is there already."""
        target = self.checkpoints / checkpoint.name(self.progress.iteration)
        if self.replicas.first and checkpoint.is_complete(target):
            checkpoint.point(self.checkpoints, self.progress.iteration)  # it may have been killed just before
        elif self.replicas.first:
            checkpoint.save(self.checkpoints, self.model, self.optimizer, self.progress)
            self.reporter.checkpoint(self.progress.iteration, f"{self.checkpoints.name}/{target.name}")
        self.replicas.barrier()


def _iteration_seed(seed: int, iteration: int, rank: int) -> int:
    """Seed of the dropout of one iteration on one replica."""
    return hash((seed, iteration, rank)) & (2**63 - 1)
