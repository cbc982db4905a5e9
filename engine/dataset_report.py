"""What `inspect` says of a dataset: the report over all rows, and the view of one row. Plain values, no text.

Codes become texts by `engine.problem_texts`. A row number counts every record of the input from 1, through
all its files in their order, broken ones too: row 7 of the report is `--row 7`, and `rows.read` is the last one.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from engine.plan import Reason
from engine.problem_texts import reason
from engine.problems import Problem, Value
from engine.spec import BrokenRows, TrainOn

VERSION = 1
Unit = Literal["tokens", "characters"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(_Shape):
    """One row: file is a place in `DatasetReport.files`, from 0; line is within that file, from 1."""

    file: int
    row: int
    line: int


class Example(Place):
    """A row with what is said of it; parameters are those of the reason's text."""

    parameters: dict[str, Value] = {}


class Pair(_Shape):
    """Two rows of the same content."""

    first: Place
    again: Place


class Drop(_Shape):
    """Rows that are not used, by the code of the reason; examples are the first few."""

    reason: str
    rows: int
    examples: tuple[Example, ...] = ()


class Finding(_Shape):
    """Rows that are used, but that a person should look at."""

    rows: int = 0
    examples: tuple[Example, ...] = ()


class Duplicates(_Shape):
    """rows: those that repeat an earlier one, so that without them each content is there once."""

    rows: int = 0
    examples: tuple[Pair, ...] = ()


class Rows(_Shape):
    """read = kept + dropped, always. shortened: kept rows of which `seq_length` cuts something off. broken: dropped
    rows that cannot be read; nothing can be learnt from the others."""

    read: int = 0
    kept: int = 0
    shortened: int = 0
    dropped: int = 0
    broken: int = 0


class FormatChoice(_Shape):
    """sniffed: what this file looks like, null if like none; used: the dataset's, which is what was asked for, else
    what the first file that looks like something looks like."""

    used: str | None
    sniffed: str | None
    asked: str | None
    why: str = ""
    """Code of the text that says by what it was recognised, or why it was not."""
    parameters: dict[str, Value] = {}
    columns: dict[str, str] = {}
    tags: dict[str, str] = {}
    """Names that were used in the place of the format's own: as asked, else as seen."""

    @property
    def differs(self) -> bool:
        return self.sniffed is not None and self.used != self.sniffed


class FileReport(_Shape):
    """One file. Broken off: reading stopped before the end; `drops` says where and why."""

    path: str
    size: int
    """In bytes."""
    first_row: int
    """Number of its first row; the next file's first row if it has none."""
    format: FormatChoice
    rows: Rows
    broken_off: bool = False
    drops: tuple[Drop, ...] = ()


class TemplateChoice(_Shape):
    """Which chat template renders the conversations.

    source: `tokenizer` (it brings its own), `asked` (named in the request), `family` (ours, for the model's family).
    """

    name: str
    source: Literal["tokenizer", "asked", "family"]
    notes: tuple[str, ...] = ()
    """Codes of what was done because the template does not take everything, such as a system text."""


class Vocabulary(_Shape):
    """size: ids that the tokenizer knows. model_size: `vocab_size` of config.json; null if there is none.

    Ids of model_size and above have no embedding: a row with one of them cannot be trained.
    """

    size: int
    largest_id: int
    model_size: int | None = None
    outside_count: int = 0
    outside: tuple[str, ...] = ()
    """The first few tokens of the tokenizer whose id the model lacks."""


class Bar(_Shape):
    """Rows whose length is at least `start` and below `end`."""

    start: int
    end: int
    rows: int


class Lengths(_Shape):
    """Lengths of the usable rows before any cut. Above 262,144 they are exact to a thousandth; `longest` always."""

    unit: Unit
    total: int = 0
    shortest: int = 0
    mean: float = 0.0
    p50: int = 0
    p90: int = 0
    p95: int = 0
    p99: int = 0
    longest: int = 0
    histogram: tuple[Bar, ...] = ()


class AtLength(_Shape):
    """What one `seq_length` would do to the usable rows. Tokens; shares are from 0 to 1."""

    seq_length: int
    asked: bool
    rows_whole: int
    rows_cut: int
    """Longer than `seq_length`, and something to learn is left."""
    rows_dropped: int
    """The question alone fills `seq_length`: nothing to learn is left."""
    rows_at_or_over: int
    """`seq_length` tokens or more: MindSpeed-LLM drops them without packing."""
    tokens_lost: int
    trained_tokens_lost: int
    sequences: int
    """Padded sequences without packing: one a kept row."""
    padding_share: float
    """Of all their places, how many are padding if each is filled up to `seq_length`."""
    packed_sequences: int
    """As preprocessing packs them, window by window, for the asked length; for the others by the lengths alone, which
    can be a little less."""
    packed_padding_share: float


class Trained(_Shape):
    """Tokens of all usable rows that enter the loss, before any cut."""

    tokens: int
    share: float


class Asked(_Shape):
    """The request that was answered."""

    input: str
    format: str | None = None
    tokenizer: str | None = None
    template: str | None = None
    train_on: TrainOn = "every_answer"
    broken_rows: BrokenRows = "refuse"
    columns: dict[str, str] = {}
    tags: dict[str, str] = {}
    seq_length: int | None = None


class DatasetReport(_Shape):
    """`report.json`. What needs a tokenizer is null without one."""

    report_version: int = VERSION
    asked: Asked
    usable: bool
    """No problem is an error."""
    problems: tuple[Problem, ...] = ()
    files: tuple[FileReport, ...] = ()
    rows: Rows = Rows()
    drops: tuple[Drop, ...] = ()
    """Over all files."""
    drops_file: str | None = None
    """Name of the complete list beside the report: a line {"file", "row", "line", "reason", "parameters"} each."""
    duplicates: Duplicates = Duplicates()
    empty_answers: Finding = Finding()
    role_order: Finding = Finding()
    """Dropped rows whose turns are in a wrong order, end without an answer or have an unknown role."""
    outside_vocabulary: Finding | None = None
    vocabulary: Vocabulary | None = None
    template: TemplateChoice | None = None
    characters: Lengths = Lengths(unit="characters")
    tokens: Lengths | None = None
    trained: Trained | None = None
    joined: bool = False
    """All rows are documents: they are put one behind the other and split, so that no length loses anything."""
    seq_lengths: tuple[AtLength, ...] = ()
    digest: str = ""
    """Hash of the contents (`engine.formats.contents`), where it was asked for."""
    seconds: float = 0.0


class Turn(_Shape):
    """calls: of tools, as `name({...})`; reasoning: what was thought before, where the row has it apart."""

    role: str
    content: str
    reasoning: str = ""
    calls: tuple[str, ...] = ()


class Token(_Shape):
    """One token. text: the characters of `rendered` that it stands for."""

    position: int
    id: int
    text: str
    special: bool
    trained: bool
    part: str = ""
    """`2/3`: the second of three tokens that only together make up `text`; empty: it is `text` alone."""


class Cut(_Shape):
    """Where `seq_length` cuts: tokens from `position` on are lost; null: the row fits."""

    seq_length: int
    position: int | None
    tokens_lost: int
    trained_tokens_lost: int


class RowView(_Shape):
    """`inspect --row N`. A row that cannot be used has a `reason`, and its raw text all the same."""

    view_version: int = VERSION
    asked: Asked
    path: str
    place: Place
    rows: int | None
    """Rows of the input in all; null where the rest has not been counted yet."""
    format: str | None
    raw: str
    """The row as the file has it; bytes that are no text as \\xNN."""
    raw_size: int
    """In bytes; `raw` holds fewer where the row is very long."""
    reason: str = ""
    parameters: dict[str, Value] = {}
    messages: tuple[Turn, ...] = ()
    text: str | None = None
    tools: str = ""
    template: TemplateChoice | None = None
    rendered: str | None = None
    tokens: tuple[Token, ...] | None = None
    """From `first_token` on, not more than were asked for; null without a tokenizer."""
    tokenized: int | None = None
    """Beyond a million characters only so many are tokenized: counts and cut are not known then. Null: all of them."""
    first_token: int = 0
    token_count: int | None = None
    trained_tokens: int | None = None
    cut: Cut | None = None


def row_text(code: str, parameters: dict[str, Value], language: str) -> str:
    """Why a row is not used, in words."""
    return reason(Reason(decision="row", code=code, parameters=parameters), language)
