"""Put a trainer together: adapters, this process's piece, optimizer, and the checkpoint to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from engine.preprocess.store import TokenStore
from engine.spec import TrainOptions
from engine.stage_file import StageFile
from engine.training.data import Shape
from engine.training.gradients import work
from engine.training.optimizer import adamw
from engine.training.piece import Piece
from engine.training.report import Reporter
from engine.training.schedule import Schedule
from engine.training.splitting import pipeline, shards, tensor
from engine.training.stop import StopRequest
from engine.training.trainer import Trainer
from engine.training.world import World
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
    world: World,
    reporter: Reporter,
    stop: StopRequest,
) -> Trainer:
    """A trainer at the point where the run's newest checkpoint stands, or at the start. Changes `model` in place."""
    train = stage.spec.train
    prepare(model, train)
    source = checkpoint.newest(stage.folder.checkpoints)
    if source is not None:
        checkpoint.require_fit(source, model)
    piece, tied = divide(model, world)
    optimizer = adamw(piece.parameters(), train.learning_rate)
    progress = Progress(strategy=train.strategy, seed=train.seed)
    if source is not None:
        checkpoint.load_weights(source, piece.model)
        checkpoint.load_optimizer(source, piece.model, optimizer)
        progress = checkpoint.read_progress(source).model_copy(update={"seed": train.seed})
        reporter.say(f"resuming from {source} at iteration {progress.iteration}")
    return Trainer(
        piece=piece,
        work=work(tied, world, torch.device("cpu"), shape.accumulation_steps),
        optimizer=optimizer,
        schedule=_schedule(train, total),
        store=store,
        shape=shape,
        width=train.seq_length if world.layout.pipeline_parallel_size > 1 else None,
        world=world,
        reporter=reporter,
        stop=stop,
        checkpoints=stage.folder.checkpoints,
        save_interval=train.save_interval,
        progress=progress,
    )


def prepare(model: PreTrainedModel, train: TrainOptions) -> None:
    """What is trained: everything, or adapters whose first values the seed decides."""
    torch.manual_seed(train.seed)
    if train.strategy == "lora":
        add_adapters(model, train.lora)


def divide(model: PreTrainedModel, world: World) -> tuple[Piece, nn.Module]:
    """This process's piece of a model that is changed in place, and the same tied to its replicas."""
    layout = world.layout
    if layout.pipeline_parallel_size > 1:
        pipeline.keep(model, world.place("pp"), layout.pipeline_parallel_size)
    if layout.tensor_parallel_size > 1:
        tensor.split(model, world.along("tp"))
    piece = Piece(model, world.first_piece, world.last_piece)
    return piece, shards.replicate(piece, world)


def _schedule(train: TrainOptions, total: int) -> Schedule:
    least = train.learning_rate * SMALLEST_SHARE if train.min_learning_rate is None else train.min_learning_rate
    return Schedule(train.learning_rate, least, total)
