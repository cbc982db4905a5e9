"""From a request to the question that the memory model answers."""

from __future__ import annotations

from engine.planner.ask import Ask
from engine.planner.fitting import Need, need
from engine.planner.memory import Setting
from engine.spec import LayoutRequest


def setting_of(ask: Ask, *, micro_batch_size: int | None = None) -> Setting | None:
    """None where the model's dimensions or the hardware are not known.

    micro_batch_size: instead of the requested one, which is 1 where none is.
    """
    spec, hardware = ask.spec, ask.hardware
    shape = ask.shape
    if shape is None or hardware is None:
        return None
    train = spec.train
    return Setting(
        framework=spec.framework,
        shape=shape,
        seq_length=train.seq_length,
        micro_batch_size=micro_batch_size or train.micro_batch_size or 1,
        lora_rank=train.lora.rank if train.strategy == "lora" else None,
        memory_gib=hardware.memory_gib,
        on_cpu=hardware.name == "cpu",
    )


def need_of(ask: Ask) -> Need:
    """Devices that this model, strategy and length need, with a micro-batch of 1 and any layout."""
    setting, hardware = setting_of(ask, micro_batch_size=1), ask.hardware
    if setting is None or hardware is None or not _is_offered(ask):
        return Need(None, None)
    return need(setting, hardware)


def _is_offered(ask: Ask) -> bool:
    """Does the framework take this model on this hardware at all?"""
    cell, model = ask.cell, ask.model
    if cell is not None:
        return cell.devices is not None
    return model is not None and ask.spec.framework in model.frameworks and ask.spec.hardware in ask.framework.hardware


def wish_of(ask: Ask) -> LayoutRequest:
    """The layout that the person insists on."""
    return ask.spec.train.layout
