"""One row as the model sees it, beside what the file has."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine import formats
from engine.dataset_report import Cut, Place, RowView, Token, Turn
from engine.failures import Failure
from engine.formats import Broken, DataFile, Message, Sample
from engine.inspection import findings, row_index
from engine.inspection.choosing import choose
from engine.inspection.dropping import parameters, shown
from engine.inspection.inspecting import opened, read_as
from engine.inspection.one_row import RawRow, read_row
from engine.inspection.request import Request
from engine.inspection.rows import Encoded, Refused
from engine.preparation import FILLED, NOTHING
from engine.problems import Value

if TYPE_CHECKING:
    from engine.inspection.rendering import Rendering
    from engine.preprocess.chat import Rendered

MOST_CHARACTERS = 1 << 20
"""Of a row's texts that are shown; what is longer ends with an ellipsis."""
TOKENIZED = 1 << 18
"""Characters that are tokenized of what is longer still: more tokens than anybody looks at, in a second."""


def view(request: Request, row: int) -> RowView:
    """Raises Failure `dataset.no_such_row`, or what keeps the dataset from being read; and OSError."""
    files = formats.find(request.input, request.roots, findings.INPUT)
    chosen = choose(files, request)
    used = chosen.format
    number, file, found, rows = _find(request, files, used or "", row)
    item = found.record if isinstance(found.record, Broken) else read_as(chosen)(found.record)
    shape = RowView(
        asked=request.asked,
        path=shown(file.name),
        place=Place(file=number, row=row, line=item.line),
        rows=rows,
        format=used,
        raw=found.raw,
        raw_size=found.size,
    )
    if isinstance(item, Broken):
        return shape.model_copy(update={"reason": item.reason, "parameters": parameters(item.parameters)})
    read = {"messages": tuple(map(_turn, item.messages)), "text": item.text and _short(item.text), "tools": item.tools}
    shape = shape.model_copy(update=read)
    rendering = opened(request, exact=True)
    return shape if rendering is None else _rendered(shape, item, rendering, request)


def _find(
    request: Request, files: Sequence[DataFile], format_name: str, row: int
) -> tuple[int, DataFile, RawRow, int | None]:
    """The file that holds a row, its number, the row, and the rows of all files if known."""
    before = 0
    for number, file in enumerate(files):
        if not file.path.is_file():
            continue
        index = row_index.whole(request.cache, file, format_name)
        if 0 < row <= before + index.rows:
            found = read_row(file, format_name, index, row - before)
            rows = before + index.rows if number + 1 == len(files) else None
            return number, file, found, rows
        before += index.rows
    raise Failure("dataset.no_such_row", "row", row=row, rows=before)


def _turn(message: Message) -> Turn:
    calls = tuple(f"{call.name}({call.arguments!r})" for call in message.tool_calls)
    return Turn(role=message.role, content=_short(message.content), reasoning=_short(message.reasoning), calls=calls)


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _rendered(shape: RowView, sample: Sample, rendering: Rendering, request: Request) -> RowView:
    seq_length, first = request.seq_length, request.first_token
    rendered = rendering.render(sample)
    shape = shape.model_copy(update={"template": rendering.template})
    if isinstance(rendered, Refused):
        return shape.model_copy(update={"reason": rendered.reason})
    if len(rendered.text) > MOST_CHARACTERS:  # its offsets alone would take gigabytes
        return _begun(shape, rendered, rendering, request)
    [row] = rendering.tokens([rendered])
    learnt = row.trained
    reason, values = _refusal(sample, row, seq_length)
    return shape.model_copy(
        update={
            "rendered": _short(rendered.text),
            "tokens": tuple(_tokens(rendered.text, row, rendering, first, request.most_tokens)),
            "first_token": first,
            "token_count": len(row.ids),
            "trained_tokens": learnt,
            "cut": None if seq_length is None or sample.text is not None else _cut(row, seq_length),
            "reason": reason,
            "parameters": values,
        }
    )


def _begun(shape: RowView, rendered: Rendered, rendering: Rendering, request: Request) -> RowView:
    """The begin of a row that is too long to be tokenized while somebody waits: what becomes of its end is not said."""
    from engine.preprocess.chat import Rendered  # transformers takes a second to import

    text = rendered.text[:TOKENIZED]
    spans = tuple((begin, min(end, TOKENIZED)) for begin, end in rendered.spans if begin < TOKENIZED)
    [row] = rendering.tokens([Rendered(text, spans)])
    return shape.model_copy(
        update={
            "rendered": _short(rendered.text),
            "tokens": tuple(_tokens(text, row, rendering, request.first_token, request.most_tokens)),
            "first_token": request.first_token,
            "tokenized": TOKENIZED,
        }
    )


def _refusal(sample: Sample, row: Encoded, seq_length: int | None) -> tuple[str, dict[str, Value]]:
    if sample.text is not None:
        return "", {}
    if not row.learnt.any():
        return NOTHING, {}
    if seq_length is not None and not row.learnt[:seq_length].any():
        return FILLED, {"tokens": len(row.ids), "seq_length": seq_length}
    return "", {}


def _cut(row: Encoded, seq_length: int) -> Cut:
    lost = max(0, len(row.ids) - seq_length)
    return Cut(
        seq_length=seq_length,
        position=seq_length if lost else None,
        tokens_lost=lost,
        trained_tokens_lost=int(row.learnt[seq_length:].sum()),
    )


def _tokens(text: str, row: Encoded, rendering: Rendering, first: int, most: int) -> Iterator[Token]:
    ids, offsets = rendering.offsets(text)
    if ids != row.ids.tolist():
        raise AssertionError("the tokens with offsets are other tokens")
    shared = _shared(offsets)
    for position in range(first, min(len(ids), first + most)):
        begin, end, part = shared.get(position) or (*offsets[position], "")
        yield Token(
            position=position,
            id=ids[position],
            text=text[begin:end],
            special=rendering.special(ids[position]),
            trained=bool(row.learnt[position]),
            part=part,
        )


def _shared(offsets: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int, str]]:
    """Tokens that end inside a character: for each the characters that it and its neighbours stand for together,
    and which of them it is."""
    found: dict[int, tuple[int, int, str]] = {}
    start, reach = 0, 0
    for place, (begin, end) in enumerate([*offsets, (sys.maxsize, sys.maxsize)]):
        if place and begin >= reach:
            if place - start > 1:
                whole = offsets[start][0], reach
                found |= {one: (*whole, f"{one - start + 1}/{place - start}") for one in range(start, place)}
            start = place
        reach = max(reach, end)
    return found
