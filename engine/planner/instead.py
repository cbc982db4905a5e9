"""What needs fewer devices than a request that is short of them: a shorter length, LoRA, another framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.plan import DeviceNeed
from engine.planner.answer import device_need, least
from engine.planner.ask import Ask
from engine.planner.nearest import changed
from engine.planner.verdict import Instead
from engine.problems import Problem, Value

SHORT = {"devices.too_few", "devices.too_few_for_shorter", "devices.memory", "devices.memory_never"}
NOT_OFFERED = {"devices.unsupported", "framework.not_for_model"}


def instead(ask: Ask, need: DeviceNeed, problems: Sequence[Problem]) -> tuple[Instead, ...]:
    """At most one of each kind, each with the devices that it needs; empty where devices are not the trouble."""
    codes = {problem.code for problem in problems if problem.severity == "error"}
    if codes & NOT_OFFERED:
        return tuple(_frameworks(ask, None))
    if not codes & SHORT:
        return ()
    limit = least(ask, need)
    return (*_shorter(ask, limit), *_adapters(ask, limit), *_frameworks(ask, limit))


def _shorter(ask: Ask, limit: int | None) -> Iterator[Instead]:
    """The longest printed length that the devices are enough for, else the one that needs the fewest."""
    spec, found = ask.spec, list[Instead]()
    rows = ask.catalog.min_devices_of(spec.model, spec.framework, spec.hardware)
    lengths = {row.seq_length for row in rows if row.seq_length < spec.train.seq_length}
    for length in sorted(lengths, reverse=True):
        found += _tried(ask, "train.seq_length", length, limit)
    enough = [one for one in found if one.devices <= spec.devices]
    fewest = sorted(found, key=lambda one: one.devices)  # of equal ones the longest stays first
    yield from enough[:1] or fewest[:1]


def _adapters(ask: Ask, limit: int | None) -> Iterator[Instead]:
    if ask.spec.train.strategy == "full":
        yield from _tried(ask, "train.strategy", "lora", limit)


def _frameworks(ask: Ask, limit: int | None) -> Iterator[Instead]:
    """The vendor's frameworks: our own, on a CPU, answers another question."""
    model = ask.model
    others = [name for name in model.frameworks if name not in ("native", ask.spec.framework)] if model else []
    found = [one for name in others for one in _tried(ask, "framework", name, limit)]
    enough = [one for one in found if limit is None or one.devices <= ask.spec.devices]
    yield from enough[:1]


def _tried(ask: Ask, path: str, value: Value, limit: int | None) -> Iterator[Instead]:
    """This one change, if it needs fewer devices than `limit`."""
    spec = changed(ask.spec, {path: value})
    if spec is None:
        return
    other = Ask(spec, ask.catalog)
    number = least(other, device_need(other))
    if number is not None and (limit is None or number < limit):
        yield Instead(field=path, value=value, devices=number)
