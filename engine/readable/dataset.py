"""The report on a dataset and the view of a row, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from engine.dataset_report import AtLength, DatasetReport, Drop, FileReport, Lengths, RowView, TemplateChoice, row_text
from engine.problem_texts import message, remedy
from engine.problems import Problem
from engine.readable import words
from engine.readable.columns import aligned

_WORDS = {
    "error": ("error", "错误"),
    "warning": ("warning", "警告"),
    "note": ("note", "提示"),
    "format": ("format", "格式"),
    "unknown": ("unknown", "未知"),
    "asked": ("as asked for", "按指定"),
    "rows": ("Rows: {read} read = {kept} kept + {dropped} dropped; {shortened} shortened",
             "行数：读取 {read} = 保留 {kept} + 略过 {dropped}；截断 {shortened}"),
    "row": ("row {row} (line {line})", "第 {row} 行（文件第 {line} 行）"),
    "more": ("… {count} more", "…… 另有 {count} 行"),
    "all_in": ("All of them are listed in {name}.", "完整列表见 {name}。"),
    "template": ("Chat template: {name}", "对话模板：{name}"),
    "tokenizer": ("the tokenizer's own", "分词器自带"),
    "source_asked": ("{name}, as asked for", "{name}（按指定）"),
    "family": ("{name}, ours, since the tokenizer has none", "{name}（分词器没有模板，使用内置的）"),
    "tokens": ("Tokens", "词元"),
    "characters": ("Characters", "字符"),
    "lengths": ("{unit}: {total} in all; a row has {shortest} to {longest}, half of them up to {p50}, "
                "90 % {p90}, 95 % {p95}, 99 % {p99}",
                "{unit}：共 {total}；每行 {shortest} 至 {longest}，中位数 {p50}，90 % {p90}，95 % {p95}，99 % {p99}"),
    "trained": ("Trained tokens: {tokens} ({share:.1%})", "参与训练的词元：{tokens}（{share:.1%}）"),
    "table": ("seq_length|whole|cut|dropped|tokens lost|padding|packed into|its padding",
              "seq_length|完整|截断|略过|丢失词元|填充|打包成|打包填充"),
    "joined": ("seq_length|samples|padding", "seq_length|样本|填充"),
    "usable": ("It can be used.", "可以使用。"),
    "unusable": ("It cannot be used.", "不能使用。"),
    "raw": ("As the file has it:", "文件中的内容："),
    "cut_short": ("… ({size} bytes in all)", "……（共 {size} 字节）"),
    "rendered": ("As the model sees it:", "模型所见："),
    "not_used": ("This row is not used: {why}", "此行不会使用：{why}"),
    "place": ("Row {row} of {rows}: {path}, line {line}", "第 {row} 行（共 {rows} 行）：{path} 第 {line} 行"),
    "count": ("{tokens} tokens, {trained} of them trained; [ ] is read, «» is trained, ‖ is where {seq_length} cuts",
              "共 {tokens} 个词元，其中 {trained} 个参与训练；[ ] 为只读，«» 为训练，‖ 为 {seq_length} 处的截断点"),
    "tokenized": ("… the row is too long to be tokenized at once: these are tokens of its first {count} characters",
                  "…… 此行过长，无法立即分词：只有前 {count} 个字符的词元"),
    "left": ("… tokens {first} to {last} of {count} are shown", "…… 共 {count} 个词元，显示第 {first} 至 {last} 个"),
}  # fmt: skip
_SHOWN = 3
"""Rows that are named for each reason."""
_FILES = 20
"""Files that are named when all is well with them."""


def _say(word: str, language: str, /, **values: object) -> str:
    return _WORDS[word][0 if words.is_english(language) else 1].format(**values)


def report_text(report: DatasetReport, language: str) -> str:
    """Ends without a newline."""
    return "\n".join(_clean(line) for line in _report(report, language))


def _report(report: DatasetReport, language: str) -> Iterator[str]:
    for problem in report.problems:
        yield from _problem(problem, language)
    if not report.files:
        yield _say("unusable", language)
        return
    wrong = [file for file in report.files if file.rows.dropped or file.format.differs or file.broken_off]
    for file in report.files[:_FILES] + tuple(file for file in report.files[_FILES:] if file in wrong):
        yield _file(file, language)
    yield _say("rows", language, **report.rows.model_dump())
    for drop in report.drops:
        yield from _drop(drop, language)
    if report.drops and report.drops_file:
        yield f"  {_say('all_in', language, name=report.drops_file)}"
    if report.template is not None:
        yield _template(report.template, language)
    yield from _lengths(report.tokens or report.characters, language)
    if report.trained is not None and report.trained.tokens:
        yield _say("trained", language, **report.trained.model_dump())
    yield from _table(report, language)
    yield _say("usable" if report.usable else "unusable", language)


def _problem(problem: Problem, language: str) -> Iterator[str]:
    yield f"{_say(problem.severity, language)}: {problem.field}: {message(problem, language)}"
    if told := remedy(problem, language):
        yield f"    {told}"


def _file(file: FileReport, language: str) -> str:
    choice = file.format
    why = _say("asked", language) if choice.asked else row_text(choice.why, choice.parameters, language)
    told = f"{choice.used} ({why})" if choice.used and why else choice.used or _say("unknown", language)
    rows = _say("rows", language, **file.rows.model_dump())
    return f"{file.path}: {_say('format', language)} {told}; {rows[0].lower()}{rows[1:]}"


def _drop(drop: Drop, language: str) -> Iterator[str]:
    for example in drop.examples[:_SHOWN]:
        place = _say("row", language, row=example.row, line=example.line)
        yield f"  {place}: {row_text(drop.reason, example.parameters, language)}"
    if (more := drop.rows - min(_SHOWN, len(drop.examples))) > 0:
        yield f"  {_say('more', language, count=more)} ({drop.reason})"


def _template(template: TemplateChoice, language: str) -> str:
    key = {"tokenizer": "tokenizer", "asked": "source_asked", "family": "family"}[template.source]
    notes = [row_text(code, {}, language) for code in template.notes]
    said = _say("template", language, name=_say(key, language, name=template.name))
    return ("；" if language == "zh-hans" else "; ").join([said, *notes])


def _lengths(lengths: Lengths, language: str) -> Iterator[str]:
    if lengths.longest:
        values = {**lengths.model_dump(exclude={"unit", "histogram"}), "unit": _say(lengths.unit, language)}
        yield _say("lengths", language, **values)


def _table(report: DatasetReport, language: str) -> Iterator[str]:
    if not report.seq_lengths:
        return
    head = _say("joined" if report.joined else "table", language).split("|")
    rows = [_joined(at) if report.joined else _at(at) for at in report.seq_lengths]
    yield from aligned([head, *rows])


def _name(at: AtLength) -> str:
    return f"{at.seq_length} *" if at.asked else str(at.seq_length)


def _joined(at: AtLength) -> list[str]:
    return [_name(at), str(at.sequences), f"{at.padding_share:.1%}"]


def _at(at: AtLength) -> list[str]:
    counts = (at.rows_whole, at.rows_cut, at.rows_dropped, at.tokens_lost)
    return [
        _name(at),
        *map(str, counts),
        f"{at.padding_share:.1%}",
        str(at.packed_sequences),
        f"{at.packed_padding_share:.1%}",
    ]


def row_view_text(view: RowView, language: str) -> str:
    """Ends without a newline."""
    return "\n".join(_clean(part) for part in _row(view, language))


def _row(view: RowView, language: str) -> Iterator[str]:
    rows = "?" if view.rows is None else view.rows
    yield _say("place", language, row=view.place.row, rows=rows, path=view.path, line=view.place.line)
    if view.reason:
        yield _say("not_used", language, why=row_text(view.reason, view.parameters, language))
    yield _say("raw", language)
    yield view.raw
    if len(view.raw) < view.raw_size // 4:
        yield _say("cut_short", language, size=view.raw_size)
    if view.rendered is None:
        return
    if view.template is not None:
        yield _template(view.template, language)
    yield _say("rendered", language)
    yield _marked(view)
    if view.tokenized is not None:
        yield _say("tokenized", language, count=view.tokenized)
        return
    cut = "-" if view.cut is None else view.cut.seq_length
    yield _say("count", language, tokens=view.token_count, trained=view.trained_tokens, seq_length=cut)
    shown = len(view.tokens or ())
    if view.token_count is not None and shown < view.token_count:
        last = view.first_token + shown
        yield _say("left", language, first=view.first_token + 1, last=last, count=view.token_count)


def _marked(view: RowView) -> str:
    """Every token between marks that say whether it is trained."""
    position = None if view.cut is None else view.cut.position
    parts = []
    for token in view.tokens or ():
        text = token.text if not token.part or token.part.startswith("1/") else "…"
        ends = "«»" if token.trained else "[]"
        parts.append(f"{'‖' if token.position == position else ''}{ends[0]}{text}{ends[1]}")
    return "".join(parts)


def _clean(text: str) -> str:
    """A terminal would take control characters of a file as commands."""
    return "".join(letter if letter in "\n\t" or letter.isprintable() else _spelt(letter) for letter in text)


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape").decode() if letter < "\x80" or not letter.isspace() else " "
