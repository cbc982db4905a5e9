"""Rules of the memory model: what does not fit is refused with the numbers that break it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.planner.batching import native_micro
from engine.planner.fitting import ANY, MOST_NODES, counts, fits, smallest
from engine.planner.layouts import legal
from engine.planner.memory import Estimate, Setting, estimate
from engine.planner.memory.constants import GIB, LITTLE_ROOM
from engine.planner.rules.devices import usable
from engine.planner.sizing import need_of, setting_of, wish_of
from engine.problems import Problem, Value


def does_not_fit(ask: Ask) -> Iterator[Problem]:
    """On the micro-batch or the layout if that is what breaks it, else on the devices."""
    setting, found = _judged(ask)
    if setting is None or found is None or found.fits:
        return
    alone, wish, devices = setting.with_micro_batch(1), wish_of(ask), ask.spec.devices
    smaller = smallest(alone, devices, wish)
    free = smallest(alone, devices)
    if smaller is not None and smaller.fits:
        near: dict[str, Value] = {"train.micro_batch_size": _micro_that_fits(setting, ask)}
        yield _problem("memory.micro_batch", "train.micro_batch_size", ask, found, near)
    elif free is not None and free.fits:
        asked = [f"train.layout.{name}" for name, value in wish if value is not None]
        freed: dict[str, Value] = dict.fromkeys(asked)
        if setting.micro_batch_size > 1:
            freed["train.micro_batch_size"] = None
        yield _problem("memory.layout", asked[0], ask, found, freed)
    else:
        yield _too_few(ask, alone, free or found)


def _judged(ask: Ask) -> tuple[Setting | None, Estimate | None]:
    """The best that the request can have; None where the memory model has nothing to say."""
    setting, hardware = setting_of(ask), ask.hardware
    cell, model = ask.cell, ask.model
    if setting is None or hardware is None or model is None or setting.memory_gib is None:
        return None, None
    offered = ask.spec.framework in model.frameworks and (cell is None or cell.devices is not None)
    runs = ask.spec.hardware in ask.framework.hardware
    if not (offered and runs) or usable(ask.spec.devices, hardware) != ask.spec.devices:
        return None, None
    return setting, smallest(setting, ask.spec.devices, wish_of(ask))


def _micro_that_fits(setting: Setting, ask: Ask) -> int:
    """A divisor of the requested one: what it divided is divided by it too."""
    divisors = (size for size in range(setting.micro_batch_size // 2, 1, -1) if setting.micro_batch_size % size == 0)
    for size in divisors:
        found = smallest(setting.with_micro_batch(size), ask.spec.devices, wish_of(ask))
        if found is not None and found.fits:
            return size
    return 1


def _too_few(ask: Ask, alone: Setting, found: Estimate) -> Problem:
    assert ask.hardware is not None
    for number in counts(ask.hardware):
        if number > ask.spec.devices and fits(alone, number):
            more: dict[str, Value] = {"devices": number}
            if wish_of(ask) != ANY:
                more |= {f"train.layout.{name}": None for name, value in wish_of(ask) if value is not None}
            return _problem("devices.memory", "devices", ask, found, more, enough=number)
    most = MOST_NODES * ask.hardware.devices_per_node
    return _problem("devices.memory_never", "train.seq_length", ask, found, {}, most=most)


def _problem(code: str, field: str, ask: Ask, found: Estimate, nearest: dict[str, Value], **more: Value) -> Problem:
    spec = ask.spec
    parameters: dict[str, Value] = {
        "model": spec.model,
        "strategy": spec.train.strategy,
        "seq_length": spec.train.seq_length,
        "framework": spec.framework,
        "devices": spec.devices,
        "micro_batch_size": found.micro_batch_size,
        **figures(found),
        **more,
    }
    return Problem(code=code, field=field, parameters=parameters, nearest=nearest)


def figures(found: Estimate) -> dict[str, Value]:
    """Needed, capacity and the parts, GiB."""
    parts: dict[str, Value] = {name: round(value, 1) for name, value in found.breakdown.gib().items()}
    capacity = None if found.capacity is None else round(found.capacity / GIB, 2)
    return {"needed": round(found.breakdown.total / GIB, 2), "capacity": capacity, **parts}


def little_room(ask: Ask) -> Iterator[Problem]:
    """The model is good to about ten per cent: what fills more than nine tenths may fail all the same."""
    _, found = _judged(ask)
    if found is not None and LITTLE_ROOM < found.share <= 1:
        parameters = {"percent": round(100 * found.share), **figures(found)}
        yield Problem(code="memory.little_room", field="devices", severity="note", parameters=parameters)


def below_recommended(ask: Ask) -> Iterator[Problem]:
    """Where the vendor's table does not decide."""
    cell = ask.cell
    if cell is not None and not cell.suspect:
        return
    _, found = _judged(ask)
    number = need_of(ask).recommended
    if found is None or not found.fits or number is None or ask.spec.devices >= number:
        return
    yield Problem(
        code="devices.below_recommended",
        field="devices",
        severity="warning",
        parameters={"devices": ask.spec.devices, "recommended": number},
        nearest={"devices": number},
    )


def batch_of_layouts(ask: Ask) -> Iterator[Problem]:
    """With no layout that fits can the global batch be shared out over the replicas."""
    setting, found = _judged(ask)
    total, micro = ask.spec.train.global_batch_size, ask.spec.train.micro_batch_size or 1
    if setting is None or found is None or not found.fits or total is None or not ask.framework.splits_models:
        return
    if total % micro or ask.replicas is not None or total % (micro * found.layout.data_parallel_size) == 0:
        return
    layouts = legal(setting, ask.spec.devices, wish_of(ask), recompute=found.layout.recompute, reuse=True)
    fitting = [layout for layout in layouts if estimate(setting, layout).fits]
    if not any(total % (micro * layout.data_parallel_size) == 0 for layout in fitting):
        least = min(layout.data_parallel_size for layout in fitting) * micro
        yield Problem(
            code="batch.no_layout",
            field="train.global_batch_size",
            parameters={"global_batch_size": total, "devices": ask.spec.devices, "unit": least},
            nearest={"train.global_batch_size": -(-total // least) * least},
        )


def native_estimate(ask: Ask) -> Problem | None:
    """What one process of our own engine takes; None if the model's dimensions are not known."""
    micro = native_micro(ask.spec, 1, [])
    setting = setting_of(ask, micro_batch_size=micro)
    if setting is None:
        return None
    (layout,) = legal(setting, 1, ANY, recompute="none")
    parameters = {"micro_batch_size": micro, **figures(estimate(setting, layout))}
    return Problem(code="devices.native_estimate", field="devices", severity="note", parameters=parameters)


def no_table(ask: Ask) -> Iterator[Problem]:
    """The vendor's table does not speak of this framework: the estimate does, where there is one."""
    if ask.framework.table or ask.model is None or ask.hardware is None:
        return
    yield native_estimate(ask) or Problem(code="devices.no_table", field="devices", severity="note")
