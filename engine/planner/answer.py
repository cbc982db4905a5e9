"""How many devices a request needs: what the minimum-device table prints, with the memory model beside it."""

from __future__ import annotations

from engine.plan import DeviceNeed
from engine.planner.ask import Ask
from engine.planner.fitting import fits
from engine.planner.rules.devices import printed_below, safer, usable
from engine.planner.sizing import need_of, setting_of


def device_need(ask: Ask) -> DeviceNeed:
    cell, estimate, need, below = ask.cell, ask.estimate, need_of(ask), printed_below(ask)
    least_printed = 0 if below is None else below.devices or 0
    return DeviceNeed(
        table=None if cell is None else cell.devices,
        unsupported=cell is not None and cell.devices is None,
        floor=need.floor and _least_known(ask, need.floor),
        recommended=safer(ask) or (need.recommended and max(need.recommended, least_printed)),
        estimate=None if cell is not None or estimate is None else estimate.devices,
        suspect=None if cell is None else cell.suspect or None,
    )


def _least_known(ask: Ask, floor: int) -> int:
    """The floor is a number that tables print; one between them that is asked for may be enough, and is smaller."""
    setting, row, devices = setting_of(ask, micro_batch_size=1), ask.hardware, ask.spec.devices
    if setting is None or row is None or devices >= floor or usable(devices, row) != devices:
        return floor
    return devices if fits(setting, devices) else floor


def least(ask: Ask, need: DeviceNeed) -> int | None:
    """The smallest number that the check accepts, as far as tables print it; None if none or not known."""
    below = printed_below(ask)
    printed = need.table if below is None else below.devices
    known = [number for number in (printed, need.floor) if number is not None]
    if need.unsupported or not known:
        return None
    return max(known) if ask.hardware is None else usable(max(known), ask.hardware)
