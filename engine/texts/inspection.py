"""What an inspection finds in a dataset as a whole."""

from engine.texts.entry import Text

TEXTS = {
    "dataset.no_format": Text(
        "{path} looks like no format that is known here. {why_text}",
        "{path} 看起来不是任何已知格式。{why_text}",
        "Name the format, and the columns if they have other names.",
        "请指定格式；若列名不同，请一并指定。",
    ),
    "dataset.other_format_in": Text(
        "{path} is read as {format}, but it looks like {looks_like}.",
        "{path} 按 {format} 格式读取，但看起来是 {looks_like} 格式。",
        "Choose the format {looks_like}, or leave the file out.",
        "请选择 {looks_like} 格式，或去掉该文件。",
    ),
    "dataset.broken_off": Text(
        "{path} cannot be read beyond line {line}: {why_text} Nothing is known of the rows behind it.",
        "{path} 在第 {line} 行之后无法读取：{why_text} 其后的行情况未知。",
        "Correct the file there, or write it again.",
        "请修正该处，或重新生成文件。",
    ),
    "dataset.changed": Text(
        "{path} changed while it was being read.",
        "{path} 在读取过程中发生了变化。",
        "Wait until the file is complete, then look again.",
        "请等文件写完后再检查。",
    ),
    "dataset.nothing_kept": Text(
        "None of the {read} rows can be used.",
        "{read} 行中没有一行可用。",
        "The reasons are listed; most often the format or a column name is another one.",
        "原因已列出；多半是格式或列名选错了。",
    ),
    "dataset.rows_dropped": Text(
        "{dropped} of {read} rows cannot be used: {rows}.",
        "{read} 行中有 {dropped} 行无法使用：{rows}。",
        "Look at the reasons, and correct the rows that you need.",
        "请查看原因，并修正需要的行。",
    ),
    "dataset.broken_rows_in": Text(
        "{broken} of {read} rows cannot be read, and a training refuses them. Rows that are not used: {rows}.",
        "{read} 行中有 {broken} 行无法读取，训练会因此拒绝该数据集。不使用的行：{rows}。",
        "Correct these rows, or choose that broken rows are left out.",
        "请改正这些行，或选择略去有错的行。",
    ),
    "dataset.duplicates": Text(
        "{count} of {read} rows repeat an earlier one, the first of them row {again} (like row {first}).",
        "{read} 行中有 {count} 行与前面的行重复，首个为第 {again} 行（同第 {first} 行）。",
        "Take them out, if what they say is not meant to weigh more.",
        "如非有意加重其权重，请删除重复行。",
    ),
    "dataset.empty_answers_in": Text(
        "{count} rows have an empty answer, the first is row {row}; the model learns to say nothing there.",
        "{count} 行的回答为空，首个为第 {row} 行；模型会学到不作回答。",
        "Delete these rows if that is not meant.",
        "如非有意，请删除这些行。",
    ),
    "dataset.cut": Text(
        "At a length of {seq_length} tokens {cut} rows are cut and {dropped} are left out, since their question alone "
        "fills it; {lost} tokens are lost.",
        "长度为 {seq_length} 个词元时，{cut} 行被截断，{dropped} 行因问题已占满长度而被略过；共丢失 {lost} 个词元。",
        "Choose a longer sequence length, or split the rows.",
        "请选择更大的序列长度，或拆分这些行。",
    ),
    "dataset.outside_vocabulary": Text(
        "{count} rows hold tokens that the model does not have, the first is row {row} with the id {id}; "
        "the model knows {size} tokens.",
        "{count} 行含有模型没有的词元，首个为第 {row} 行，编号 {id}；模型只有 {size} 个词元。",
        "Use the tokenizer that belongs to the model, or enlarge the model's vocabulary.",
        "请使用与模型配套的分词器，或扩充模型的词表。",
    ),
    "dataset.larger_vocabulary": Text(
        "The tokenizer knows {size} tokens, the model {model_size}: {count} of them have no place in the model, "
        "such as {tokens}. No row uses one.",
        "分词器有 {size} 个词元，模型有 {model_size} 个：其中 {count} 个在模型中没有位置，如 {tokens}。没有行用到。",
        "Do not write these tokens into a row.",
        "请勿在数据中写入这些词元。",
    ),
    "output.no_folder": Text(
        "There is no folder {path} to write the report into.",
        "没有可写入报告的目录 {path}。",
        "Make the folder first.",
        "请先创建该目录。",
    ),
    "output.unwritable": Text(
        "{path} cannot be written: {reason}.",
        "无法写入 {path}：{reason}。",
        "Choose another folder, or see to its rights.",
        "请选择其他目录，或检查该目录的权限。",
    ),
    "inspection.died": Text(
        "The process that reads the dataset ended without an answer ({reason}).",
        "读取数据集的进程未给出结果就结束了（{reason}）。",
        "Most often the machine ran out of memory: try again when less is running on it.",
        "多半是机器内存不足：请在负载较小时重试。",
    ),
    "dataset.no_such_row": Text(
        "There is no row {row}; the dataset has {rows}.",
        "没有第 {row} 行；数据集共 {rows} 行。",
        "Ask for a row from 1 to {rows}.",
        "请指定 1 到 {rows} 之间的行。",
    ),
}
ROWS = {
    "file.too_packed": Text(
        "{packed} kB are said to hold {rows} rows, and {size} MB in a column: no real data is packed like this.",
        "{packed} kB 的文件声称含有 {rows} 行、单列 {size} MB：真实数据不会有这样的压缩率。",
    ),
    "row.no_format": Text("The format of this row is not known.", "此行的格式未知。"),
    "row.nothing_learnt": Text("There is nothing to learn in this row.", "此行没有可学习的内容。"),
    "row.question_fills_seq_length": Text(
        "The question fills the {seq_length} tokens alone; the row has {tokens}.",
        "问题本身已占满 {seq_length} 个词元；此行共 {tokens} 个。",
    ),
    "row.too_long_for_mindspeed": Text(
        "MindSpeed-LLM leaves out rows that do not fit the sequence length; it does not say which.",
        "MindSpeed-LLM 会略去超出序列长度的行，但不指明是哪些行。",
    ),
    "row.template_refused": Text("The chat template does not take this conversation.", "对话模板不接受这段对话。"),
    "row.answers_left_out": Text("The chat template leaves out the last answer.", "对话模板略去了最后一个回答。"),
}
