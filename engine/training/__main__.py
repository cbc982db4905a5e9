"""`python -m engine.training STAGE_JSON`, alone or under torchrun: the stage `train`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import torch

from engine.events import Emitter
from engine.failures import Failure, Stopped
from engine.preprocess.store import opened
from engine.stage_file import StageFile
from engine.stage_process import run_stage
from engine.training.build import build, prepare
from engine.training.data import Shape
from engine.training.proofs import require_isolation, require_plain_head
from engine.training.report import Reporter
from engine.training.samples import Samples, answer
from engine.training.stop import StopRequest
from engine.training.trainer import Trainer
from engine.training.world import World, joined
from engine.weights import checkpoint
from engine.weights.load import load_model, load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def main(stage: StageFile, emitter: Emitter) -> None:
    stop = StopRequest()
    stop.listen()
    try:
        with joined(stage.layout) as world:
            train(stage, emitter, world, stop)
    except RuntimeError as error:
        if not stop.asked:
            raise
        raise Stopped("with its peers, as asked") from error  # they left while this one waited for them


def train(stage: StageFile, emitter: Emitter, world: World, stop: StopRequest) -> None:
    """The part of one process: load, answer, train, answer."""
    asked = stage.spec.train
    shape = _shape(stage)
    store = opened(stage.folder.data, asked)
    total = _train_iters(stage, len(store))
    reporter = Reporter(emitter, seq_length=asked.seq_length, devices=stage.layout.devices, speaks=world.first)
    reporter.progress(0, total, "iterations")
    reporter.say(f"loading {stage.spec.model_path} ({torch.get_num_threads()} threads, {world.size} processes)")
    model = load_model(stage.spec.model_path, stage.roots)
    if asked.packing:
        require_isolation(model)
    require_plain_head(model)
    answers = world.first and bool(asked.sample_prompts)
    if answers:
        reporter.say(f"answering {len(asked.sample_prompts)} prompts before the training")
        _samples(stage, model, stop).before()
    trainer = build(stage, model, store, shape, total, world, reporter, stop)
    trainer.train()
    if answers:
        reporter.say("answering the same prompts after the training")
        _samples(stage, _whole(stage, trainer), stop).after()
    world.barrier()


def _whole(stage: StageFile, trainer: Trainer) -> PreTrainedModel:
    """The trained model: as it is where this process holds all of it, else read again from the last checkpoint."""
    layout = stage.layout
    if layout.tensor_parallel_size == layout.pipeline_parallel_size == 1 and layout.zero_stage == 0:
        return trainer.piece.model
    model = load_model(stage.spec.model_path, stage.roots)
    prepare(model, stage.spec.train)
    checkpoint.load_weights(stage.folder.checkpoints / checkpoint.name(trainer.progress.iteration), model)
    return model


def _shape(stage: StageFile) -> Shape:
    """The cut of a batch, from the plan."""
    shape = Shape(
        stage.batch.micro_batch_size, stage.batch.gradient_accumulation_steps, stage.layout.data_parallel_size
    )
    if shape.global_batch_size != stage.batch.global_batch_size:
        raise Failure(
            "train.wrong_batch",
            "train.global_batch_size",
            "software",
            product=shape.global_batch_size,
            global_batch_size=stage.batch.global_batch_size,
        )
    return shape


def _train_iters(stage: StageFile, samples: int) -> int:
    """Iterations asked for, or enough that every sample is seen `epochs` times."""
    if stage.batch.train_iters is not None:
        return stage.batch.train_iters
    return max(1, math.ceil((stage.batch.epochs or 1.0) * samples / stage.batch.global_batch_size))


def _samples(stage: StageFile, model: PreTrainedModel, stop: StopRequest) -> Samples:
    tokenizer = load_tokenizer(stage.spec.model_path, stage.roots)
    chat = stage.spec.train.stage == "sft"

    def ask(prompt: str) -> str:
        if stop.asked:
            raise Stopped("while answering the sample prompts, as asked")
        model.eval()
        return answer(model, tokenizer, prompt, chat=chat)

    return Samples(stage.folder.samples, stage.spec.train.sample_prompts, ask)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
