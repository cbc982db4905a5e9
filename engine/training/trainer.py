"""The training loop of one process."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.failures import Stopped
from engine.preprocess.store import TokenStore
from engine.training.data import Order, Shape, micro_batches
from engine.training.gradients import Work, scale, squared_norm
from engine.training.optimizer import clipping, set_learning_rate
from engine.training.piece import Piece
from engine.training.report import Iteration, Reporter
from engine.training.schedule import Schedule
from engine.training.stop import StopRequest
from engine.training.world import World
from engine.weights import checkpoint
from engine.weights.checkpoint import Progress


@dataclass
class Trainer:
    """Everything that an iteration needs. `work` gets the gradients of `piece`."""

    piece: Piece
    work: Work
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    store: TokenStore
    shape: Shape
    width: int | None
    """Length that every row is padded to; null: the longest of its micro-batch."""
    world: World
    reporter: Reporter
    stop: StopRequest
    checkpoints: Path
    save_interval: int
    progress: Progress

    def __post_init__(self) -> None:
        self._order = Order(len(self.store), self.progress.seed)
        self._parameters = [parameter for parameter in self.piece.parameters() if parameter.requires_grad]

    def train(self) -> None:
        """Iterate to the end, with checkpoints on the way. Raises Stopped, after saving, when asked to stop."""
        self.piece.train()
        while self.progress.iteration < self.schedule.train_iters:
            stop = self._step()
            if stop or self.progress.iteration % self.save_interval == 0:
                self._save()
            if stop:
                raise Stopped(f"at iteration {self.progress.iteration}, as asked")
        self._save()

    def _step(self) -> bool:
        """One iteration: gradients, clipping, update, report. Has any process been asked to stop?"""
        started = time.perf_counter()
        before = self.progress
        torch.manual_seed(self._seed())
        loss, norm, stop = self._gradients()
        update = before.iteration - before.skipped + 1
        rate = self.schedule.rate(update)
        skipped = not math.isfinite(norm)
        if not skipped:
            scale(self._parameters, clipping(norm))
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
        return stop

    def _gradients(self) -> tuple[float, float, bool]:
        """Add up the gradients of a global batch. Returns its mean loss over all trained tokens, the gradients' norm,
        and whether any process has been asked to stop: what all have to know travels together."""
        chosen = self._order.batch(self.progress.iteration, self.shape.global_batch_size)
        batches = list(micro_batches(self.store, chosen, self.shape, self.world.place("dp"), self.width))
        loss = self.work(batches, self.store.trained(chosen))
        squared = squared_norm(self.piece, self._parameters, self.world)
        loss, squared, stop = self.world.totals([loss, squared, float(self.stop.asked)])
        return loss, math.sqrt(squared) if squared >= 0 else math.nan, stop > 0

    def _seed(self) -> int:
        """Of the dropout of one iteration: another on each replica and each piece, the same on tensor-parallel peers,
        whose activations are copies of each other."""
        place = (self.world.place("dp"), self.world.place("pp"))
        return hash((self.progress.seed, self.progress.iteration, *place)) & (2**63 - 1)

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
        if not checkpoint.is_complete(target):
            checkpoint.save(self.checkpoints, self.piece.model, self.optimizer, self.progress, self.world)
            self.reporter.checkpoint(self.progress.iteration, f"{self.checkpoints.name}/{target.name}")
        elif self.world.first:
            checkpoint.point(self.checkpoints, self.progress.iteration)  # it may have been killed just before
