"""Rows of the minimum-device table whose numbers memory does not explain, each with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.catalog import MinDevicesRow
from engine.planner.ask import Ask
from engine.planner.sizing import need_of
from engine.problems import Problem

MINDSPEED, LLAMA_FACTORY = "mindspeed-llm", "llama-factory"
LARGE = ("llama3.1-70b", "qwen2-72b", "qwen2.5-72b")
LARGE_VISION = ("qwen2vl-72b", "qwen2_5_vl-72b")
DEEPSEEK = ("deepseek-v3", "deepseek-r1")


@dataclass(frozen=True)
class Remark:
    """Holds for every row of these models with this strategy; of any framework or length if none is named."""

    code: str
    models: tuple[str, ...]
    strategy: str
    framework: str | None = None
    seq_length: int | None = None

    def is_of(self, cell: MinDevicesRow) -> bool:
        return (
            cell.model in self.models
            and cell.strategy == self.strategy
            and self.framework in (None, cell.framework)
            and self.seq_length in (None, cell.seq_length)
        )


REMARKS = (
    Remark("table.twice_its_sibling", ("qwen2-7b",), "full", MINDSPEED, 8192),
    Remark("table.below_its_sibling", ("qwen2_5_vl-72b",), "full", LLAMA_FACTORY),
    Remark("table.headroom", LARGE, "full", LLAMA_FACTORY, 4096),
    Remark("table.without_recompute", LARGE, "full", MINDSPEED, 8192),
    Remark("table.for_speed", ("qwen2.5-14b", "qwen2.5-32b", *LARGE, *LARGE_VISION), "lora"),
    Remark("table.for_speed", ("llama3.1-8b",), "lora", MINDSPEED),
    Remark("table.of_scripts", DEEPSEEK, "full"),
    Remark("table.of_scripts", DEEPSEEK, "lora"),
    Remark("table.one_step_up", ("llama3.2-3b",), "full", LLAMA_FACTORY),
    Remark("table.one_step_up", ("qwen2.5-7b",), "full", LLAMA_FACTORY, 4096),
    Remark("table.little_room", LARGE, "full", LLAMA_FACTORY, 8192),
    Remark("table.little_room", ("qwen2vl-72b",), "full", LLAMA_FACTORY),
    Remark("table.with_recompute", ("mixtral-8x7b",), "full", MINDSPEED),
)


def remarks(ask: Ask) -> Iterator[Problem]:
    cell = ask.cell
    if cell is None or cell.devices is None:
        return
    need = need_of(ask)
    parameters = {"printed": cell.devices, "floor": need.floor, "recommended": need.recommended}
    for remark in REMARKS:
        if remark.is_of(cell):
            yield Problem(code=remark.code, field="devices", severity="note", parameters=parameters)
