"""Fields of a wrong shape."""

from engine.texts.entry import Text

TEXTS = {
    "shape.missing": Text("This field is required.", "此项必填。", "Give a value.", "请填写。"),
    "shape.unknown": Text(
        "There is no field named {name}.",
        "没有名为 {name} 的字段。",
        "Take it out, or correct its spelling; the closest name is: {near}.",
        "请删除它或改正拼写；最接近的名称是：{near}。",
    ),
    "shape.not_integer": Text(
        "This must be a whole number.", "此项必须是整数。", "Enter digits only.", "请只输入数字。"
    ),
    "shape.not_number": Text(
        "This must be a finite number.",
        "此项必须是有限的数值。",
        "Write it like 0.00001 or 1e-5.",
        "写法如 0.00001 或 1e-5。",
    ),
    "shape.not_boolean": Text(
        "This must be true or false.", "此项必须是 true 或 false。", "Use true or false.", "请用 true 或 false。"
    ),
    "shape.not_text": Text("This must be text.", "此项必须是文本。", "Put it in quotation marks.", "请加上引号。"),
    "shape.not_list": Text(
        "This must be a list.", "此项必须是列表。", "Write it in square brackets.", "请写在方括号中。"
    ),
    "shape.not_object": Text(
        "This must be a group of named fields.",
        "此项必须是一组具名字段。",
        "Write it in curly brackets.",
        "请写在花括号中。",
    ),
    "shape.empty": Text("This must not be empty.", "此项不能为空。", "Give a value.", "请填写。"),
    "shape.too_long": Text(
        "This is longer than {limit} characters.", "此项超过 {limit} 个字符。", "Shorten it.", "请缩短。"
    ),
    "shape.too_many": Text(
        "There are more than {limit} entries.", "此项超过 {limit} 个条目。", "Leave some out.", "请减少条目。"
    ),
    "shape.control_characters": Text(
        "This holds a line break or another control character.",
        "此项含有换行符或其他控制字符。",
        "Take it out; only prompts may have several lines.",
        "请删除；只有提示可以有多行。",
    ),
    "shape.more": Text(
        "There are {count} more findings of this kind.",
        "此类问题还有 {count} 个。",
        "Correct the ones that are shown first.",
        "请先改正已列出的问题。",
    ),
    "shape.too_small": Text(
        "This must be at least {limit}.",
        "此项不得小于 {limit}。",
        "Enter {limit} or more.",
        "请输入 {limit} 或更大的值。",
    ),
    "shape.too_large": Text(
        "This must be at most {limit}.",
        "此项不得大于 {limit}。",
        "Enter {limit} or less.",
        "请输入 {limit} 或更小的值。",
    ),
    "shape.not_above": Text(
        "This must be more than {limit}.",
        "此项必须大于 {limit}。",
        "Enter a value above {limit}.",
        "请输入大于 {limit} 的值。",
    ),
    "shape.not_below": Text(
        "This must be less than {limit}.",
        "此项必须小于 {limit}。",
        "Enter a value below {limit}.",
        "请输入小于 {limit} 的值。",
    ),
    "shape.not_one_of": Text(
        "{given} is not one of the choices.",
        "{given} 不在可选值之中。",
        "Choose one of: {allowed}.",
        "请从以下选择：{allowed}。",
    ),
    "shape.invalid": Text(
        "This value cannot be used ({kind}).",
        "此值不可用（{kind}）。",
        "Correct it or leave it out.",
        "请改正或去掉此项。",
    ),
}
