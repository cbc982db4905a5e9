"""Put a trainer together: adapters, optimizer, replicas, and the checkpoint to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.preprocess.store import TokenStore
from engine.stage_file import StageFile
from engine.training.data import Shape
from engine.training.loss import SummedLoss
from engine.training.optimizer import adamw
from engine.training.parallel import Replicas
from engine.training.report import Reporter
from engine.training.schedule import Schedule
from engine.training.stop import StopRequest
from engine.training.trainer import Trainer
from engine.weights import checkpoint
from engine.weights.checkpoint import Progress
from engine.weights.lora import add_adapters

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SMALLEST_SHARE = 0.1
"""`min_learning_rate` as a share of `learning_rate` where none is given."""


def build(
    stage: StageFile,
    model: PreTrainedModel,
    store: TokenStore,
    shape: Shape,
    total: int,
    replicas: Replicas,
    reporter: Reporter,
    stop: StopRequest,
) -> Trainer:
    """A trainer at the point where the run's newest checkpoint stands, or at the start. Changes `model` in place."""
    train = stage.spec.train
    torch.manual_seed(train.seed)  # the adapters' first values
    if train.strategy == "lora":
        add_adapters(model, train.lora)
    optimizer = adamw(model.parameters(), train.learning_rate)
    progress = Progress(strategy=train.strategy, seed=train.seed)
    source = checkpoint.newest(stage.folder.checkpoints)
    if source is not None:
        checkpoint.load_weights(source, model)
        checkpoint.load_optimizer(source, optimizer)
        progress = checkpoint.read_progress(source).model_copy(update={"seed": train.seed})
        reporter.say(f"resuming from {source} at iteration {progress.iteration}")
    least = train.learning_rate * SMALLEST_SHARE if train.min_learning_rate is None else train.min_learning_rate
    return Trainer(
        model=model,
        loss=replicas.wrap(SummedLoss(model)),
        optimizer=optimizer,
        schedule=Schedule(train.learning_rate, least, total),
        store=store,
        shape=shape,
        replicas=replicas,
        reporter=reporter,
        stop=stop,
        checkpoints=stage.folder.checkpoints,
        save_interval=train.save_interval,
        progress=progress,
    )
