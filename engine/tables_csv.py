"""The resource tables from CSV files. Columns get our names here, and numbers stay as printed.

What the printed tables leave out, and what is known from elsewhere, is filled in here and not in the files:
memory of a Snt9B23 DIE, the models that the native framework takes, and the cells that are doubted.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.catalog import HardwareRow, MinDevicesRow, ModelRow

SNT9B23_MEMORY_GIB = 64.0
SNT9B23_MEMORY_NOTE = "memory per DIE: CloudMatrix384 has 48 TB for 384 packages of two DIE"
SWAPPED = "suspect.swapped"
ONE_DIE = "suspect.one_die"
OTHER_PAGES = "suspect.other_pages"
DISAGREEING = {("qwen2-7b", "lora"), ("qwen2.5-7b", "full")}
"""With MindSpeed-LLM other pages of the vendor print 2 for these (releases 6.5.904 and 6.5.905)."""


@dataclass(frozen=True)
class Line:
    """One row of a table, which knows its place."""

    path: Path
    number: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        try:
            return self.cells[column] or ""
        except KeyError:
            raise ValueError(f"{self.path}: there is no column {column!r}") from None

    def optional_int(self, column: str) -> int | None:
        """The number in a cell; None for an empty cell or "-"."""
        cell = self.text(column).strip()
        if cell in ("", "-"):
            return None
        try:
            return int(cell)
        except ValueError:
            raise ValueError(f"{self.path}:{self.number}: {column} is {cell!r}, which is no whole number") from None

    def optional_float(self, column: str) -> float | None:
        cell = self.text(column).strip()
        try:
            return float(cell) if cell else None
        except ValueError:
            raise ValueError(f"{self.path}:{self.number}: {column} is {cell!r}, which is no number") from None

    def integer(self, column: str) -> int:
        number = self.optional_int(column)
        if number is None:
            raise ValueError(f"{self.path}:{self.number}: {column} is empty")
        return number


def table(folder: Path, name: str) -> Iterator[Line]:
    """The rows of `<name>.csv`. Raises FileNotFoundError."""
    path = folder / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        for cells in reader:
            yield Line(path, reader.line_num, cells)


def hardware_rows(folder: Path) -> Iterator[HardwareRow]:
    for line in table(folder, "hardware"):
        memory = line.optional_int("memory_gib")
        name, note = line.text("name"), line.text("note")
        if name == "snt9b23" and memory is None:
            note = "; ".join(part for part in (note, SNT9B23_MEMORY_NOTE) if part)
        yield HardwareRow(
            name=name,
            cards_per_node=line.integer("cards_per_node"),
            dies_per_card=line.integer("dies_per_card"),
            devices_per_node=line.integer("schedulable_units_per_node"),
            device_step=_leading_int(line, "min_unit"),
            memory_gib=SNT9B23_MEMORY_GIB if name == "snt9b23" and memory is None else memory,
            source=line.text("source"),
            note=note,
        )


def _leading_int(line: Line, column: str) -> int:
    """The number at the start of a cell such as "2 DIE (= 1 card)"."""
    digits = line.text(column).split(" ")[0]
    if not digits.isdecimal():
        raise ValueError(f"{line.path}:{line.number}: {column} does not begin with a number")
    return int(digits)


def model_rows(folder: Path) -> Iterator[ModelRow]:
    shapes = {line.text("model"): line for line in table(folder, "model_architecture")}
    for line in table(folder, "models"):
        yield _model_row(line, shapes.get(line.text("model")))


def _model_row(line: Line, shape: Line | None) -> ModelRow:
    def size(column: str) -> int | None:
        return None if shape is None else shape.optional_int(column)

    return ModelRow(
        family=line.text("family"),
        name=line.text("model"),
        params=line.text("params"),
        hf_repo_id=line.text("hf_repo_id"),
        revision=line.text("revision"),
        template=line.text("llamafactory_template"),
        multimodal=line.text("multimodal") == "yes",
        frameworks=_frameworks(line, shape),
        status=line.text("status"),
        max_position_embeddings=size("max_position_embeddings"),
        num_attention_heads=size("num_attention_heads"),
        num_key_value_heads=size("num_key_value_heads"),
        num_hidden_layers=size("num_hidden_layers"),
        vocab_size=size("vocab_size"),
        total_params=size("total_params"),
        source=line.text("source"),
        note=line.text("note"),
        architecture="" if shape is None else shape.text("architecture_class"),
    )


def _frameworks(line: Line, shape: Line | None) -> tuple[str, ...]:
    """The printed frameworks, and native for a text model that transformers 5 has without remote code."""
    printed = tuple(name for name in line.text("frameworks").split(";") if name)
    known = shape is not None and shape.text("transformers_5x") == "native" and line.text("multimodal") != "yes"
    return (*printed, "native") if known and "native" not in printed else printed


def min_devices_rows(folder: Path) -> Iterator[MinDevicesRow]:
    for line in table(folder, "min_cards"):
        yield MinDevicesRow(
            model=line.text("model"),
            strategy=line.text("strategy"),
            seq_length=line.integer("seq_len"),
            framework=line.text("framework"),
            hardware=line.text("hardware"),
            devices=line.optional_int("cards"),
            suspect=_suspect(line),
            source=line.text("source"),
            note=line.text("note"),
        )


def _suspect(line: Line) -> str:
    """Why a printed number is doubted: a code of `engine.problem_texts`.

    LLaMA-Factory's full and lora cells of qwen2-7b look exchanged (full on one card would need 138 GiB), and
    one DIE is less than the two that the same page names as the smallest unit of a parallel strategy.
    """
    if (line.text("model"), line.text("framework")) == ("qwen2-7b", "llama-factory"):
        return SWAPPED
    if line.text("hardware") == "snt9b23" and line.optional_int("cards") == 1:
        return ONE_DIE
    row = (line.text("model"), line.text("strategy"))
    if line.text("framework") == "mindspeed-llm" and row in DISAGREEING:
        return OTHER_PAGES
    return ""
