"""Which layout a job gets on the devices that it asks for, and why."""

from __future__ import annotations

from engine.plan import Layout
from engine.planner.ask import Ask
from engine.planner.choice import deepspeed, megatron, native
from engine.planner.choice.chosen import Choice, because
from engine.planner.sizing import setting_of, wish_of

__all__ = ["Choice", "because", "choose"]


def choose(ask: Ask) -> Choice | None:
    """A layout that fits; None if there is none."""
    if ask.on_cpu:
        return native.choose(ask)
    setting = setting_of(ask)
    if setting is None:
        return _blind(ask)
    if ask.spec.framework == "mindspeed-llm":
        return megatron.choose(ask, setting)
    return deepspeed.choose(ask, setting)


def _blind(ask: Ask) -> Choice | None:
    """Without the model's dimensions: what the person asks for, and data parallel with what remains."""
    wish, devices = wish_of(ask), ask.spec.devices
    sizes = [wish.tensor_parallel_size or 1, wish.pipeline_parallel_size or 1, wish.context_parallel_size or 1]
    tensor, pipeline, context = sizes if ask.framework.splits_models else [1, 1, 1]
    if devices % (tensor * pipeline * context):
        return None
    layout = Layout(
        devices=devices,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        context_parallel_size=context,
        data_parallel_size=devices // (tensor * pipeline * context),
        zero_stage=wish.zero_stage or 0,
        recompute=wish.recompute or "none",
    )
    reason = because("layout", "reason.layout_blind", model=ask.spec.model)
    return Choice(layout, ask.spec.train.micro_batch_size or 1, None, (reason,))
