"""`python -m engine.training STAGE_JSON`, alone or under torchrun: the stage `train`."""

from __future__ import annotations

import math
import sys

import torch

from engine.events import Emitter
from engine.failures import Failure, Stopped
from engine.preprocess.store import opened
from engine.stage_file import StageFile
from engine.stage_process import run_stage
from engine.training.build import build
from engine.training.data import Shape
from engine.training.packing import require_isolation
from engine.training.parallel import Replicas, joined
from engine.training.report import Reporter
from engine.training.samples import Samples, answer
from engine.training.stop import StopRequest
from engine.weights.load import load_model, load_tokenizer


def main(stage: StageFile, emitter: Emitter) -> None:
    stop = StopRequest()
    stop.listen()
    try:
        with joined() as replicas:
            train(stage, emitter, replicas, stop)
    except RuntimeError as error:
        if not stop.asked:
            raise
        raise Stopped("with its peers, as asked") from error  # they left while this one waited for them


def train(stage: StageFile, emitter: Emitter, replicas: Replicas, stop: StopRequest) -> None:
    """The part of one process: load, answer, train, answer."""
    asked = stage.spec.train
    shape = _shape(stage, replicas)
    store = opened(stage.folder.data, asked)
    total = _train_iters(stage, len(store))
    reporter = Reporter(emitter, seq_length=asked.seq_length, devices=stage.layout.devices, speaks=replicas.first)
    reporter.progress(0, total, "iterations")
    reporter.say(f"loading {stage.spec.model_path} ({torch.get_num_threads()} threads, {replicas.size} processes)")
    model = load_model(stage.spec.model_path, stage.roots)
    if asked.packing:
        require_isolation(model)
    samples = _samples(stage, model, stop) if replicas.first and asked.sample_prompts else None
    if samples:
        reporter.say(f"answering {len(asked.sample_prompts)} prompts before the training")
        samples.before()
    trainer = build(stage, model, store, shape, total, replicas, reporter, stop)
    trainer.train()
    if samples:
        reporter.say("answering the same prompts after the training")
        samples.after()
    replicas.barrier()


def _shape(stage: StageFile, replicas: Replicas) -> Shape:
    """The cut of a batch, from the plan. Raises Failure when the started processes are not the planned ones."""
    shape = Shape(
        stage.batch.micro_batch_size, stage.batch.gradient_accumulation_steps, stage.layout.data_parallel_size
    )
    if shape.replicas != replicas.size or stage.layout.devices != replicas.size:
        raise Failure("train.wrong_world", "devices", "software", planned=stage.layout.devices, started=replicas.size)
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


def _samples(stage: StageFile, model: torch.nn.Module, stop: StopRequest) -> Samples:
    tokenizer = load_tokenizer(stage.spec.model_path, stage.roots)
    chat = stage.spec.train.stage == "sft"

    def ask(prompt: str) -> str:
        if stop.asked:
            raise Stopped("while answering the sample prompts, as asked")
        model.eval()
        return answer(model, tokenizer, prompt, chat=chat)  # type: ignore[arg-type]

    return Samples(stage.folder.samples, stage.spec.train.sample_prompts, ask)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
