"""Rules of the memory model: what does not fit is refused with the numbers that break it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from math import inf, isqrt

from engine.plan import Layout
from engine.planner.ask import Ask, round_up
from engine.planner.choice.native_micro import native_micro
from engine.planner.fitting import ANY, MOST_NODES, counts, fits, smallest
from engine.planner.layouts import LARGEST_CUT, divides_length, legal, of_native
from engine.planner.memory import Estimate, Setting, device, estimate
from engine.planner.memory.constants import GIB, LITTLE_ROOM
from engine.planner.rules import layout
from engine.planner.rules.devices import usable
from engine.planner.sizing import need_of, setting_of, wish_of
from engine.problems import Problem, Value


def does_not_fit(ask: Ask) -> Iterator[Problem]:
    """On the micro-batch or the layout if that is what breaks it, else on the devices."""
    setting, wish, devices = _judged(ask), wish_of(ask), ask.spec.devices
    if setting is None or fits(setting, devices, wish):
        return
    found, alone = smallest(setting, devices, wish), setting.with_micro_batch(1)
    if found is None:
        return
    if fits(alone, devices, wish):
        near: dict[str, Value] = {"train.micro_batch_size": _micro_that_fits(setting, ask)}
        yield _problem("memory.micro_batch", "train.micro_batch_size", ask, found, near)
    elif fits(alone, devices):
        asked = [f"train.layout.{name}" for name, value in wish if value is not None]
        freed: dict[str, Value] = dict.fromkeys(asked)
        if setting.micro_batch_size > 1:
            freed["train.micro_batch_size"] = None
        yield _problem("memory.layout", asked[0], ask, found, freed)
    else:
        yield _too_few(ask, alone, smallest(alone, devices) or found)


def no_layout(ask: Ask) -> Iterator[Problem]:
    """Nothing legal, though no single size is at fault: too few devices to cut a long sequence, or sizes that do not
    go together."""
    setting, wish, devices = _judged(ask), wish_of(ask), ask.spec.devices
    if setting is None or ask.hardware is None or fits(setting, devices, wish):
        return
    if smallest(setting, devices, wish) is not None or any(_errors_of_sizes(ask)):
        return
    asked = [f"train.layout.{name}" for name, value in wish if value is not None]
    parameters: dict[str, Value] = {"devices": devices, "seq_length": ask.spec.train.seq_length}
    if smallest(setting, devices) is not None:
        yield Problem(code="layout.none", field=asked[0], parameters=parameters, nearest=dict.fromkeys(asked))
        return
    alone = setting.with_micro_batch(1)
    more = (number for number in counts(ask.hardware) if number > devices and fits(alone, number))
    enough = next(more, None)
    near: dict[str, Value] = {} if enough is None else {**dict.fromkeys(asked), "devices": enough}
    yield Problem(code="layout.none", field="devices", parameters=parameters, nearest=near)


def _errors_of_sizes(ask: Ask) -> Iterator[bool]:
    for rule in (
        layout.product,
        layout.heads,
        layout.stages,
        layout.experts,
        layout.not_of_framework,
        layout.fixed_in_framework,
    ):
        yield from (problem.severity == "error" for problem in rule(ask))


def _judged(ask: Ask) -> Setting | None:
    """None where the memory model has nothing to say."""
    setting, hardware = setting_of(ask), ask.hardware
    cell, model = ask.cell, ask.model
    if setting is None or hardware is None or model is None or setting.memory_gib is None:
        return None
    offered = ask.spec.framework in model.frameworks and (cell is None or cell.devices is not None)
    runs = ask.spec.hardware in ask.framework.hardware
    if not (offered and runs) or usable(ask.spec.devices, hardware) != ask.spec.devices:
        return None
    return setting


def _micro_that_fits(setting: Setting, ask: Ask) -> int:
    """A divisor of the requested one: what it divided is divided by it too. 1 fits, and memory never falls with it."""
    whole = setting.micro_batch_size
    small = [size for size in range(1, isqrt(whole) + 1) if whole % size == 0]
    sizes = sorted({*small, *(whole // size for size in small)} - {1, whole})
    wish, devices = wish_of(ask), ask.spec.devices
    fitting = bisect_left(sizes, True, key=lambda size: not fits(setting.with_micro_batch(size), devices, wish))
    return sizes[fitting - 1] if fitting else 1


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
    return {"needed": round(found.memory().per_device_gib, 2), "capacity": capacity, **parts}


def little_room(ask: Ask) -> Iterator[Problem]:
    """The model is good to about ten per cent: what fills more than nine tenths may fail all the same."""
    setting, wish, devices = _judged(ask), wish_of(ask), ask.spec.devices
    if setting is None or not fits(setting, devices, wish) or fits(setting, devices, wish, LITTLE_ROOM):
        return
    found = smallest(setting, devices, wish)
    if found is not None:
        parameters = {"percent": round(100 * found.share), **figures(found)}
        yield Problem(code="memory.little_room", field="devices", severity="note", parameters=parameters)


def below_recommended(ask: Ask) -> Iterator[Problem]:
    """Where the vendor's table does not decide."""
    cell = ask.cell
    if cell is not None and not cell.suspect:
        return
    setting, number = _judged(ask), need_of(ask).recommended
    if setting is None or number is None or ask.spec.devices >= number:
        return
    if not fits(setting, ask.spec.devices, wish_of(ask)):
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
    setting, wish, devices = _judged(ask), wish_of(ask), ask.spec.devices
    total, micro = ask.spec.train.global_batch_size, ask.spec.train.micro_batch_size or 1
    if setting is None or total is None or total % micro or not ask.framework.splits_models:
        return
    if ask.replicas is not None or not fits(setting, devices, wish):
        return
    layouts = _layouts(setting, ask)
    sharing = (one for one in layouts if total % (micro * one.data_parallel_size) == 0)
    if not any(estimate(setting, one).fits for one in sharing):
        layouts.sort(key=lambda one: one.data_parallel_size)
        least = next(one.data_parallel_size for one in layouts if estimate(setting, one).fits) * micro
        yield Problem(
            code="batch.no_layout",
            field="train.global_batch_size",
            parameters={"global_batch_size": total, "devices": devices, "unit": least},
            nearest={"train.global_batch_size": round_up(total, least)},
        )


def length_of_layouts(ask: Ask) -> Iterator[Problem]:
    """With no layout that fits, and shares out the batch, can a sample be cut evenly."""
    setting, train = _judged(ask), ask.spec.train
    tokens, total, micro = train.seq_length, train.global_batch_size, train.micro_batch_size or 1
    if setting is None or ask.spec.framework != "mindspeed-llm" or tokens % LARGEST_CUT == 0 or any(layout.length(ask)):
        return
    layouts = _layouts(setting, ask)
    sharing = [one for one in layouts if total is None or total % (micro * one.data_parallel_size) == 0]
    even = (one for one in sharing if divides_length(tokens, *_cut(one)))
    if any(estimate(setting, one).fits for one in even):
        return
    cuts = {_cut(one) for one in sharing if estimate(setting, one).fits}
    if not cuts:
        return
    unit = next(unit for unit in (2**power for power in range(8)) if any(divides_length(unit, *cut) for cut in cuts))
    yield Problem(
        code="layout.length_none",
        field="train.seq_length",
        parameters={"seq_length": tokens, "devices": ask.spec.devices, "unit": unit},
        nearest={"train.seq_length": round_up(tokens, unit)},
    )


def _cut(layout: Layout) -> tuple[int, int]:
    return layout.tensor_parallel_size, layout.context_parallel_size


def _layouts(setting: Setting, ask: Ask) -> list[Layout]:
    """Those that may fit, with all on that saves memory."""
    wish, most = wish_of(ask), device.capacity(setting) or inf
    return list(legal(setting, ask.spec.devices, wish, recompute=wish.recompute or "full", reuse=True, most=most))


def native_estimate(ask: Ask, processes: int = 1) -> Problem | None:
    """What each of these processes of our own engine takes; None if the model's dimensions are not known."""
    total = ask.spec.train.global_batch_size
    shared = processes if total is None or total % processes == 0 else 1  # else that is what the check finds
    wish = wish_of(ask) if shared == ask.spec.devices else ANY
    layout = next(of_native(ask.shape, shared, wish), None) or next(of_native(ask.shape, shared, ANY))
    micro = native_micro(ask.spec, layout, [])
    setting = setting_of(ask, micro_batch_size=micro)
    if setting is None:
        return None
    parameters = {"micro_batch_size": micro, **figures(estimate(setting, layout))}
    return Problem(code="devices.native_estimate", field="devices", severity="note", parameters=parameters)


def no_table(ask: Ask) -> Iterator[Problem]:
    """The vendor's table does not speak of this framework: the estimate does, where there is one."""
    if ask.framework.table or ask.model is None or ask.hardware is None:
        return
    yield native_estimate(ask, ask.spec.devices) or Problem(code="devices.no_table", field="devices", severity="note")
