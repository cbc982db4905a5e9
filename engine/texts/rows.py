"""Why a row of a dataset cannot be used, and why a printed number is doubted."""

from engine.texts.entry import Text

TEXTS = {
    "file.not_utf8": Text("The bytes at column {column} are no UTF-8 text.", "第 {column} 列处的字节不是 UTF-8 文本。"),
    "json.syntax": Text(
        "This is no correct JSON at column {column}: {expected}.", "第 {column} 列处的 JSON 有误：{expected}。"
    ),
    "json.unreadable": Text("This JSON is nested too deep or has too long a number.", "此处 JSON 嵌套过深或数字过长。"),
    "row.missing_key": Text("The key {key} is missing.", "缺少键 {key}。"),
    "row.not_text": Text("{key} must be text, but is: {found}.", "{key} 应为文本，实际为：{found}。"),
    "row.not_list": Text("{key} must be a list, but is: {found}.", "{key} 应为列表，实际为：{found}。"),
    "row.not_object": Text("An object is expected here, but there is: {found}.", "此处应为对象，实际为：{found}。"),
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
