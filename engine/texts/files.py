"""Dataset files and model folders."""

from engine.texts.entry import Text

TEXTS = {
    "path.unusable": Text("{path} is no usable path.", "{path} 不是可用的路径。", "Correct the path.", "请改正路径。"),
    "path.outside": Text(
        "{path} leads out of the folders that may be used.",
        "{path} 超出了允许使用的目录。",
        "Put the files into one of: {roots}.",
        "请把文件放到以下目录之一：{roots}。",
    ),
    "dataset.missing": Text(
        "There is no file {path}.",
        "文件 {path} 不存在。",
        "Correct the path or upload the file.",
        "请改正路径或上传文件。",
    ),
    "dataset.not_a_file": Text(
        "{path} is neither a file nor a folder.", "{path} 既不是文件也不是目录。", "Name one.", "请指定文件或目录。"
    ),
    "dataset.model_folder": Text(
        "{path} is the folder of a model: a configuration or a tokenizer lies in it.",
        "{path} 是模型目录：其中含有配置文件或分词器。",
        "Name the folder or the file with the rows to train on.",
        "请指定存放训练数据的目录或文件。",
    ),
    "dataset.no_files": Text(
        "No file of a dataset is found at {path}.",
        "在 {path} 处没有找到数据文件。",
        "Name a folder or a pattern with files that end in one of: {endings}.",
        "请指定目录或通配符，其中的文件扩展名应为：{endings}。",
    ),
    "dataset.many_files": Text(
        "There are more than {limit} files at {path}.",
        "{path} 处的文件超过 {limit} 个。",
        "Join them into fewer files, or name a part of them.",
        "请合并文件，或只指定其中一部分。",
    ),
    "dataset.parquet": Text(
        "Parquet files are read when the run begins, not before. Files that have not been looked at: {count}.",
        "Parquet 文件在运行开始时才读取，此前不检查。未检查的文件数：{count}。",
    ),
    "dataset.column_absent": Text(
        "The first row has no column named {name}.",
        "第一行没有名为 {name} 的列。",
        "Correct the name; a column that is missing counts as empty if it may be.",
        "请改正名称；可省略的列缺失时按空值处理。",
    ),
    "dataset.empty": Text(
        "{path} is empty.", "{path} 是空文件。", "Choose a file with rows in it.", "请选择有内容的文件。"
    ),
    "dataset.unreadable": Text(
        "{path} cannot be read: {error}.",
        "无法读取 {path}：{error}。",
        "Let the administrator see to its permissions and its disk.",
        "请管理员检查文件权限和磁盘。",
    ),
    "dataset.no_rows": Text(
        "{path} holds no row.", "{path} 中没有任何行。", "Choose a file with rows in it.", "请选择有内容的文件。"
    ),
    "dataset.other_format": Text(
        "The file does not look like {format}; it looks like {looks_like}.",
        "文件看起来不是 {format} 格式，而是 {looks_like} 格式。",
        "Choose the format {looks_like}, or another file.",
        "请选择 {looks_like} 格式，或更换文件。",
    ),
    "dataset.broken_rows": Text(
        "{path}, line {line}: {why_text} Broken rows: {count} of {rows}, on the lines {lines}.",
        "{path} 第 {line} 行：{why_text} 共 {rows} 行，其中 {count} 行有错，位于第 {lines} 行。",
        "Correct or delete these rows, or choose that broken rows are left out.",
        "请改正或删除这些行，或选择略去有错的行。",
    ),
    "dataset.rows_left_out": Text(
        "{count} of {rows} rows cannot be read and will be left out, as chosen: on the lines {lines}. The first, "
        "{path}, line {line}: {why_text}",
        "{rows} 行中有 {count} 行无法读取，将按所选略去：第 {lines} 行。首个为 {path} 第 {line} 行：{why_text}",
        "Make sure that these rows are not needed.",
        "请确认不需要这些行。",
    ),
    "dataset.ends_left_out": Text(
        "{path} breaks off at line {line}: {why_text} All that stands behind it is lost, and how many rows that are is "
        "not known. Files that break off: {count}. Training would use only what stands before.",
        "{path} 在第 {line} 行中断：{why_text} 其后的内容全部丢失，丢失多少行无法得知。中断的文件数：{count}。训练只会"
        "使用之前的部分。",
        "Most often the file was not copied to its end: fetch it again.",
        "多半是文件没有复制完整：请重新获取。",
    ),
    "dataset.none_usable": Text(
        "None of the {rows} rows can be used. The first, {path}, line {line}: {why_text}",
        "{rows} 行中没有一行可用。首个为 {path} 第 {line} 行：{why_text}",
        "Correct the file, or choose the format and the names of columns that it has.",
        "请修正文件，或选择与文件相符的格式和列名。",
    ),
    "dataset.partly": Text(
        "The file is large: its first {rows} rows have been checked.",
        "文件很大：已检查前 {rows} 行。",
        "Preprocessing looks at all of them; what it does with a broken one is chosen with the dataset.",
        "预处理会检查全部行；遇到有错的行时按数据集的设置处理。",
    ),
    "dataset.empty_answers": Text(
        "{count} of {rows} rows have an empty answer, the first on line {line}; the model learns to say nothing there.",
        "{rows} 行中有 {count} 行的回答为空，首个在第 {line} 行；模型会学到不作回答。",
        "Delete these rows if that is not meant.",
        "如非有意，请删除这些行。",
    ),
    "model_path.missing": Text(
        "There is no folder {path}.", "目录 {path} 不存在。", "Correct the path.", "请改正路径。"
    ),
    "model_path.not_a_folder": Text(
        "{path} is not a folder.",
        "{path} 不是目录。",
        "Name the folder that holds config.json.",
        "请指定含有 config.json 的目录。",
    ),
    "model_path.unreadable": Text(
        "{path} cannot be read: {error}.",
        "无法读取 {path}：{error}。",
        "Let the administrator see to its permissions and its disk.",
        "请管理员检查文件权限和磁盘。",
    ),
    "model_path.no_config": Text(
        "{path} has no config.json.",
        "{path} 中没有 config.json。",
        "Use a folder in Hugging Face format.",
        "请使用 Hugging Face 格式的目录。",
    ),
    "model_path.no_tokenizer": Text(
        "{path} has no tokenizer (tokenizer.json, tokenizer.model, or vocab.json with merges.txt).",
        "{path} 中没有分词器（tokenizer.json、tokenizer.model，或 vocab.json 加 merges.txt）。",
        "Copy the tokenizer files of the model into it.",
        "请把该模型的分词器文件复制到其中。",
    ),
    "model_path.no_weights": Text(
        "{path} has no weights (model.safetensors, or the files that its index names).",
        "{path} 中没有权重（model.safetensors，或其索引所列的文件）。",
        "Copy the weight files of the model into it.",
        "请把该模型的权重文件复制到其中。",
    ),
    "model_path.pickled": Text(
        "{path} holds its weights as pickles (*.bin, *.pt), which can run any code when they are opened.",
        "{path} 中的权重是 pickle 文件（*.bin、*.pt），打开时可能执行任意代码。",
        "Convert them to safetensors, or download the model in that form.",
        "请转换为 safetensors，或下载该格式的模型。",
    ),
    "model_path.truncated": Text(
        "{file} in {path} is not whole: it ends before its data do, or goes on behind them.",
        "{path} 中的 {file} 不完整：文件大小与其数据不符。",
        "Download the file again.",
        "请重新下载该文件。",
    ),
    "model_path.no_header": Text(
        "{file} in {path} is no safetensors file.",
        "{path} 中的 {file} 不是 safetensors 文件。",
        "Download the file again.",
        "请重新下载该文件。",
    ),
    "model_path.bad_tensor": Text(
        "{file} in {path} describes a tensor whose shape, type and place do not fit together.",
        "{path} 中的 {file} 有张量的形状、类型与位置互不相符。",
        "Download the file again.",
        "请重新下载该文件。",
    ),
    "model_path.shard_elsewhere": Text(
        "The index in {path} names a file outside of the folder: {file}.",
        "{path} 中的索引指向目录之外的文件：{file}。",
        "Download the model again, from where you trust it.",
        "请从可信来源重新下载该模型。",
    ),
    "model_path.adapter": Text(
        "{path} holds an adapter (adapter_config.json), which names another folder to load.",
        "{path} 是适配器（adapter_config.json），会指向另一个目录。",
        "Use the merged model, or the folder of the base model.",
        "请使用合并后的模型，或基础模型的目录。",
    ),
    "model_path.too_many_files": Text(
        "{path} holds more than {limit} files.",
        "{path} 中的文件超过 {limit} 个。",
        "Name the folder of one model.",
        "请指定单个模型的目录。",
    ),
    "model_path.bad_tokenizer": Text(
        "tokenizer.json in {path} is no tokenizer.",
        "{path} 中的 tokenizer.json 不是分词器。",
        "Copy the tokenizer files of the model into the folder again.",
        "请把该模型的分词器文件重新复制到该目录。",
    ),
    "model_path.no_model_type": Text(
        "config.json in {path} does not say which kind of model it is (model_type).",
        "{path} 中的 config.json 没有说明模型类型（model_type）。",
        "Download the model again.",
        "请重新下载该模型。",
    ),
    "model_path.bad_number": Text(
        "{name} in the config.json of {path} must be a whole number above 0, but is {found}.",
        "{path} 的 config.json 中 {name} 应为大于 0 的整数，实际为 {found}。",
        "Download the model again.",
        "请重新下载该模型。",
    ),
    "model_path.own_code": Text(
        "The model in {path} ({model_type}) needs code from its own folder, which native does not run.",
        "{path} 中的模型（{model_type}）需要运行其目录中的代码，native 不会运行它。",
        "Use a model that transformers knows itself; if it does, take auto_map out of config.json.",
        "请使用 transformers 自带的模型；如果它已自带，请从 config.json 中删去 auto_map。",
    ),
    "model_path.missing_shard": Text(
        "{path} lacks {count} of the files that its index names, such as {file}.",
        "{path} 缺少索引所列文件中的 {count} 个，例如 {file}。",
        "Download the model again.",
        "请重新下载该模型。",
    ),
    "model_path.bad_json": Text(
        "{file} in {path} cannot be read.",
        "{path} 中的 {file} 无法读取。",
        "Download the model again.",
        "请重新下载该模型。",
    ),
    "model_path.other_template": Text(
        "The tokenizer in {path} has no {token}, with which the chat template {template} ends an answer.",
        "{path} 中的分词器没有 {token}，而对话模板 {template} 用它结束回答。",
        "LLaMA-Factory would add it beyond the vocabulary. Use the folder of the model's chat or instruct version.",
        "LLaMA-Factory 会把它加到词表之外。请使用该模型的 chat 或 instruct 版本的目录。",
    ),
    "model_path.differs": Text(
        "The folder's {name} is {found}, but {model} has {expected}.",
        "目录中的 {name} 为 {found}，而 {model} 为 {expected}。",
        "Make sure that this is the folder of the chosen model.",
        "请确认这是所选模型的目录。",
    ),
    "model_path.other_model": Text(
        "The folder {path} holds another model than {model}: its dimensions are those of {found}. What differs (with "
        "what {model} has): {differences}.",
        "目录 {path} 中不是 {model}，其结构与 {found} 一致。不同之处（括号内为 {model} 的值）：{differences}。",
        "Choose the model {found}, or the folder of {model}.",
        "请选择模型 {found}，或 {model} 的目录。",
    ),
    "model_path.unlike": Text(
        "The folder {path} does not hold {model}, and no other model of the tables. What differs (with what {model} "
        "has): {differences}.",
        "目录 {path} 中不是 {model}，也不是表中的其他模型。不同之处（括号内为 {model} 的值）：{differences}。",
        "Name the folder of {model}, or let the administrator add a model with these dimensions.",
        "请指定 {model} 的目录，或请管理员添加具有这些结构参数的模型。",
    ),
    "seq_length.beyond_weights": Text(
        "A length of {seq_length} is more than the {limit} positions of the model in this folder.",
        "长度 {seq_length} 超过了该目录中模型的 {limit} 个位置。",
        "Set the sequence length to {limit} or less.",
        "请把序列长度设为 {limit} 或更小。",
    ),
}
