"""Rules about hardware and the number of devices, with the minimum-device table."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from engine.catalog import Catalog, HardwareRow, MinDevicesRow
from engine.planner.ask import Ask, round_up
from engine.planner.sizing import need_of
from engine.problems import Problem, Value
from engine.tables_csv import ONE_DIE, OTHER_PAGES, SWAPPED


def unknown_hardware(ask: Ask) -> Iterator[Problem]:
    if ask.hardware is None:
        yield not_known(ask.catalog, ask.spec.hardware)


def not_known(catalog: Catalog, name: str) -> Problem:
    """Of any name, also one that no request can hold."""
    names = list(catalog.hardware)
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return Problem(
        code="hardware.unknown",
        field="hardware",
        parameters={"hardware": name, "known": ", ".join(names)},
        nearest={"hardware": near[0]} if near else {},
    )


def step(ask: Ask) -> Iterator[Problem]:
    row, devices = ask.hardware, ask.spec.devices
    if row is not None and devices % row.device_step:
        yield Problem(
            code="devices.step",
            field="devices",
            parameters={"devices": devices, "step": row.device_step, "hardware": row.name},
            nearest={"devices": usable(devices, row)},
        )


def nodes(ask: Ask) -> Iterator[Problem]:
    """Above one node whole nodes; and our own engine stays on one machine for now."""
    row, devices = ask.hardware, ask.spec.devices
    if row is None or devices <= row.devices_per_node:
        return
    parameters: dict[str, Value] = {"devices": devices, "per_node": row.devices_per_node, "hardware": row.name}
    if ask.spec.framework == "native":
        near = {"devices": row.devices_per_node}
        yield Problem(code="devices.one_machine", field="devices", parameters=parameters, nearest=near)
    elif devices % row.devices_per_node:
        near = {"devices": usable(devices, row)}
        yield Problem(code="devices.whole_nodes", field="devices", parameters=parameters, nearest=near)


def shared_storage(ask: Ask) -> Iterator[Problem]:
    """Of several nodes the first alone preprocesses and converts; the others read what it has written."""
    row = ask.hardware
    if row is not None and ask.framework.table and ask.spec.devices > row.devices_per_node:
        parameters: dict[str, Value] = {"nodes": -(-ask.spec.devices // row.devices_per_node)}
        yield Problem(code="devices.shared_storage", field="devices", severity="note", parameters=parameters)


def usable(devices: int, row: HardwareRow) -> int:
    """The least number from `devices` up that this hardware gives out."""
    unit = row.devices_per_node if devices > row.devices_per_node else row.device_step
    return round_up(devices, unit)


def unsupported(ask: Ask) -> Iterator[Problem]:
    cell = ask.cell
    if cell is not None and cell.devices is None:
        model = ask.model
        others = [name for name in model.frameworks if name != cell.framework] if model is not None else []
        yield Problem(
            code="devices.unsupported",
            field="framework",
            parameters=_named(cell),
            nearest={"framework": others[0]} if others else {},
        )


def too_few(ask: Ask) -> Iterator[Problem]:
    cell = ask.cell
    if cell is None or cell.devices is None or ask.spec.devices >= cell.devices:
        return
    row = ask.hardware
    yield Problem(
        code="devices.too_few",
        field="devices",
        parameters={**_named(cell), "devices": ask.spec.devices, "minimum": cell.devices},
        nearest={"devices": usable(cell.devices, row) if row is not None else cell.devices},
    )


def printed_below(ask: Ask) -> MinDevicesRow | None:
    """Where no row is printed: the undoubted row of a shorter length that asks for the most devices.

    None where memory refuses every number, or nothing is known of it: there the answer is another one.
    """
    if ask.cell is not None or not ask.framework.table or need_of(ask).floor is None:
        return None
    spec = ask.spec
    rows = ask.catalog.min_devices_of(spec.model, spec.framework, spec.hardware)
    shorter = [
        row
        for row in rows
        if row.strategy == spec.train.strategy and row.seq_length < spec.train.seq_length and not row.suspect
    ]
    return max((row for row in shorter if row.devices), key=lambda row: row.devices or 0, default=None)


def too_few_for_shorter(ask: Ask) -> Iterator[Problem]:
    """A longer sample needs no fewer devices than a shorter one for which the vendor prints a number."""
    below, row = printed_below(ask), ask.hardware
    if below is None or below.devices is None or ask.spec.devices >= below.devices:
        return
    yield Problem(
        code="devices.too_few_for_shorter",
        field="devices",
        parameters={
            **_named(below),
            "shorter": below.seq_length,
            "seq_length": ask.spec.train.seq_length,
            "devices": ask.spec.devices,
            "minimum": below.devices,
        },
        nearest={"devices": usable(below.devices, row) if row is not None else below.devices},
    )


def no_row(ask: Ask) -> Iterator[Problem]:
    """Not a fault: the memory model answers, and where it cannot the number is the person's own."""
    spec, model = ask.spec, ask.model
    if ask.cell is not None or model is None or ask.hardware is None or not ask.framework.table or ask.on_cpu:
        return
    if spec.framework not in model.frameworks or spec.hardware not in ask.framework.hardware:
        return
    lengths, need = _lengths(ask), need_of(ask)
    parameters: dict[str, Value] = {
        "model": spec.model,
        "strategy": spec.train.strategy,
        "seq_length": spec.train.seq_length,
        "framework": spec.framework,
        "hardware": spec.hardware,
        "lengths": ", ".join(map(str, lengths)) or "-",
    }
    near = _next_length(spec.train.seq_length, lengths)
    known = need.floor is not None and need.recommended is not None
    if known:
        parameters |= {"floor": need.floor, "recommended": need.recommended}
    yield Problem(
        code="devices.no_row" if known else "devices.no_row_no_estimate",
        field="devices",
        severity="note",
        parameters=parameters,
        nearest=near,
    )


def _lengths(ask: Ask) -> list[int]:
    """Lengths that the table has for this model, strategy, framework and hardware."""
    rows = ask.catalog.min_devices_of(ask.spec.model, ask.spec.framework, ask.spec.hardware)
    return sorted(row.seq_length for row in rows if row.strategy == ask.spec.train.strategy and row.devices)


def _next_length(asked: int, lengths: list[int]) -> dict[str, Value]:
    """A longer row is safe for a shorter length; failing that, the longest row."""
    longer = [length for length in lengths if length >= asked]
    chosen = min(longer) if longer else max(lengths, default=None)
    return {} if chosen is None else {"train.seq_length": chosen}


def suspect(ask: Ask) -> Iterator[Problem]:
    cell = ask.cell
    if cell is None or not cell.suspect or cell.devices is None:
        return
    known = cell.suspect in (SWAPPED, ONE_DIE, OTHER_PAGES)
    safe = safer(ask)
    yield Problem(
        code=cell.suspect if known else "devices.suspect",
        field="devices",
        severity="warning",
        fault="site",
        parameters={"printed": cell.devices, "safer": safe, "why": cell.suspect},
        nearest={"devices": safe} if safe is not None and safe > ask.spec.devices else {},
    )


def safer(ask: Ask) -> int | None:
    """The number to use in the place of a doubted one; None if the row is not doubted.

    Exchanged cells: the largest number printed for that model and length. One DIE: a whole card.
    """
    cell, row = ask.cell, ask.hardware
    if cell is None or cell.devices is None or not cell.suspect:
        return None
    number = cell.devices
    if cell.suspect == SWAPPED:
        rows = ask.catalog.min_devices_of(cell.model, cell.framework, cell.hardware)
        number = max(other.devices or 0 for other in rows if other.seq_length == cell.seq_length)
    return usable(number, row) if row is not None else number


def quoted_beside(ask: Ask) -> list[MinDevicesRow]:
    """Printed cells other than the request's own whose numbers or lengths these rules tell.

    Of exchanged cells the others of that length; where no row is printed, the other lengths.
    """
    cell, spec = ask.cell, ask.spec
    rows = ask.catalog.min_devices_of(spec.model, spec.framework, spec.hardware)
    if cell is None:
        return [row for row in rows if row.strategy == spec.train.strategy] if ask.framework.table else []
    if cell.suspect != SWAPPED:
        return []
    return [row for row in rows if row.seq_length == cell.seq_length and row.key != cell.key]


def _named(cell: MinDevicesRow) -> dict[str, Value]:
    return {
        "model": cell.model,
        "strategy": cell.strategy,
        "seq_length": cell.seq_length,
        "framework": cell.framework,
        "hardware": cell.hardware,
    }
