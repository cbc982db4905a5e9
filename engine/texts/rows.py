"""Why a row of a dataset cannot be used, and why a printed number is doubted."""

from engine.texts.entry import Text

TEXTS = {
    "file.not_utf8": Text("The bytes at column {column} are no UTF-8 text.", "第 {column} 列处的字节不是 UTF-8 文本。"),
    "json.syntax": Text(
        "This is no correct JSON at column {column}: {expected}.", "第 {column} 列处的 JSON 有误：{expected}。"
    ),
    "file.encoding": Text(
        "The file is {encoding} text, not UTF-8. Make it UTF-8 with “iconv -f {encoding} -t UTF-8 OLD > NEW”.",
        "该文件是 {encoding} 编码，不是 UTF-8。请用“iconv -f {encoding} -t UTF-8 旧文件 > 新文件”转换。",
    ),
    "file.compressed": Text("The file is packed ({kind}). Unpack it first.", "该文件是压缩文件（{kind}）。请先解压。"),
    "file.binary": Text(
        "The file is no text ({kind}). Export it as JSON lines, CSV or Parquet.",
        "该文件不是文本（{kind}）。请导出为 JSON Lines、CSV 或 Parquet。",
    ),
    "file.not_parquet": Text("The file ends in .parquet, but is none.", "该文件扩展名为 .parquet，但内容不是。"),
    "file.parquet": Text("Parquet files are read when the run begins, not before.", "Parquet 文件在运行开始时才读取。"),
    "file.broken_parquet": Text("The Parquet file cannot be read on: {error}.", "Parquet 文件无法继续读取：{error}。"),
    "csv.syntax": Text(
        "This row is no correct CSV: {error}. All behind it is unsure.", "此行 CSV 有误：{error}。其后的内容无法确定。"
    ),
    "csv.cells": Text(
        "The row has {found} cells, but there are {expected} columns.", "此行有 {found} 个单元格，而列数为 {expected}。"
    ),
    "csv.separator": Text(
        "The columns are not separated by commas. Export the file with commas.",
        "各列不是以逗号分隔。请用逗号分隔导出。",
    ),
    "json.unreadable": Text("This JSON is nested too deep or has too long a number.", "此处 JSON 嵌套过深或数字过长。"),
    "sniff.text_file": Text("{file} is a text file: a document a line.", "{file} 是文本文件：每行一篇文档。"),
    "sniff.no_rows": Text("{file} has no rows.", "{file} 中没有数据行。"),
    "sniff.unreadable": Text("{file}, line {line}: {why_text}", "{file} 第 {line} 行：{why_text}"),
    "sniff.text": Text("The rows have a text under {keys}.", "数据行在 {keys} 下有一段文本。"),
    "sniff.moss": Text(
        "The rows have, under {keys}, turns with Human and MOSS.", "数据行在 {keys} 下有含 Human 和 MOSS 的轮次。"
    ),
    "sniff.alpaca": Text("The rows have a question and an answer: {keys}.", "数据行含有问题和回答：{keys}。"),
    "sniff.sharegpt": Text(
        "The rows have, under {keys}, turns with from and value.", "数据行在 {keys} 下有含 from 和 value 的轮次。"
    ),
    "sniff.openai": Text(
        "The rows have, under {keys}, turns with role and content.", "数据行在 {keys} 下有含 role 和 content 的轮次。"
    ),
    "sniff.unknown": Text(
        "The rows of {file} look like none of the formats; their keys are: {keys}.",
        "{file} 的数据行不像任何一种格式；其中的键有：{keys}。",
    ),
    "template.system_in_question": Text(
        "The chat template leaves out the system text, so that it is put in front of the first question.",
        "对话模板会忽略系统文本，因此将其放在第一个问题之前。",
    ),
    "template.tools_as_text": Text(
        "Should rows describe tools: the chat template knows none, so the descriptions are put behind the system text.",
        "若数据含工具描述：对话模板不支持工具，描述会附在系统文本之后。",
    ),
    "template.calls_as_text": Text(
        "Should rows call tools: the template knows no calls, so they are JSON in answers, and results are questions.",
        "若数据含工具调用：对话模板不支持调用，调用会写成 JSON 回答，工具返回的结果作为提问。",
    ),
    "template.end_added": Text(
        "The chat template does not end an answer: the end token is put behind the last one and learnt.",
        "对话模板不标记回答的结尾：在最后一个回答之后加上结束词元并学习它。",
    ),
    "row.missing_key": Text("The key {key} is missing.", "缺少键 {key}。"),
    "row.not_text": Text("{key} must be text, but is: {found}.", "{key} 应为文本，实际为：{found}。"),
    "row.not_list": Text("{key} must be a list, but is: {found}.", "{key} 应为列表，实际为：{found}。"),
    "row.not_object": Text("An object is expected here, but there is: {found}.", "此处应为对象，实际为：{found}。"),
    "row.not_object_at": Text("{key} must be an object, but is: {found}.", "{key} 应为对象，实际为：{found}。"),
    "row.duplicate_key": Text("The key {key} is there twice.", "键 {key} 重复出现。"),
    "row.not_json": Text("{key} cannot be written as JSON.", "{key} 无法写成 JSON。"),
    "row.nul": Text("{key} holds a null character.", "{key} 含有空字符（NUL）。"),
    "row.too_long": Text(
        "The row is longer than {limit} MB. Split it into several rows.", "此行超过 {limit} MB。请拆分为多行。"
    ),
    "row.empty_turn": Text("Turn {number} says nothing.", "第 {number} 轮没有内容。"),
    "row.unknown_role": Text(
        "{key} is {found}, which is none of the roles. Other words for roles can be given as tags.",
        "{key} 的值 {found} 不是已知角色。其他角色名称可在标签中指定。",
    ),
    "row.not_only_text": Text(
        "{key} is of the kind {found}; only text can be learnt.", "{key} 的类型为 {found}；只能学习文本。"
    ),
    "row.not_pair": Text("{key} must be a pair of question and answer.", "{key} 应为一问一答的二元组。"),
    "row.empty": Text("{key} is empty.", "{key} 为空。"),
    "row.bad_unicode": Text("{key} holds half of a character.", "{key} 含有不完整的字符。"),
    "row.role_order": Text(
        "Turn {number} is from {found}, where {expected} is expected.", "第 {number} 轮来自 {found}，应为 {expected}。"
    ),
    "row.no_answer": Text("The conversation ends with {found}, without an answer.", "对话以 {found} 结束，没有回答。"),
    "suspect.swapped.short": Text(
        "the LLaMA-Factory cells for full and LoRA look exchanged", "LLaMA-Factory 的全参与 LoRA 两格似乎互换了"
    ),
    "suspect.other_pages.short": Text("other pages of the vendor print 2", "厂商的其他页面印为 2"),
    "suspect.one_die.short": Text(
        "two DIE are the smallest unit of a parallel strategy", "并行策略的最小单位是两个 DIE"
    ),
}
