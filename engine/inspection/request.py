"""What an inspection is asked: a line of JSON from whoever starts the process."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.dataset_report import Asked
from engine.inspection.dropping import shown
from engine.spec import BrokenRows, ColumnNames, TagNames, TrainOn


class Request(BaseModel):
    """roots: where files may lie, none: anywhere. cache: where places of rows are kept. row: to be viewed; none: the
    report is wanted. drops: where the list of dropped rows goes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: str
    format: str | None = None
    tokenizer: str | None = None
    template: str | None = None
    train_on: TrainOn = "every_answer"
    broken_rows: BrokenRows = "refuse"
    columns: ColumnNames = ColumnNames()
    tags: TagNames = TagNames()
    seq_length: int | None = Field(default=None, ge=8, le=10_000_000)
    roots: tuple[Path, ...] | None = None
    cache: Path | None = None
    drops: Path | None = None
    progress: bool = False
    digest: bool = False
    """Is a hash of the contents wanted beside the report?"""
    row: int | None = None
    first_token: int = 0
    most_tokens: int = 2000

    @property
    def asked(self) -> Asked:
        return Asked(
            input=shown(self.input),
            format=self.format,
            tokenizer=self.tokenizer and shown(self.tokenizer),
            template=self.template,
            train_on=self.train_on,
            broken_rows=self.broken_rows,
            columns=named(self.columns),
            tags=named(self.tags),
            seq_length=self.seq_length,
        )


def named(names: ColumnNames | TagNames) -> dict[str, str]:
    return {key: shown(value) for key, value in names.model_dump().items() if value is not None}
