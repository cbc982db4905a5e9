"""Model, framework, dataset choice, schedule, layout and batch."""

from engine.texts.entry import Text

TEXTS = {
    "spec.not_json": Text(
        "The request is no correct JSON at line {line}, column {column}: {error}.",
        "请求不是正确的 JSON，第 {line} 行第 {column} 列：{error}。",
        "Correct it there.",
        "请在该处改正。",
    ),
    "spec.unreadable": Text(
        "The request {path} cannot be read: {error}.",
        "无法读取请求 {path}：{error}。",
        "Correct the path.",
        "请改正路径。",
    ),
    "catalog.unreadable": Text(
        "The resource tables cannot be read: {error}.",
        "无法读取资源表：{error}。",
        "Name the folder that holds hardware.csv, models.csv and the other tables.",
        "请指定含有 hardware.csv、models.csv 等表的目录。",
    ),
    "run_dir.unusable": Text(
        "The folder {path} cannot be used for this run: {error}.",
        "目录 {path} 不能用于此次运行：{error}。",
        "Choose another folder.",
        "请选择另一个目录。",
    ),
    "model.unknown": Text(
        "The model {model} is not in the model table.",
        "模型表中没有 {model}。",
        "Choose a listed model; similar names: {near}.",
        "请选择表中的模型；相近的名称：{near}。",
    ),
    "model.retired": Text(
        "The vendor no longer lists this model ({status}).",
        "厂商已不再列出此模型（{status}）。",
        "Prefer a newer model of the same family if you have the choice.",
        "如有选择，建议使用同系列的较新模型。",
    ),
    "framework.not_for_model": Text(
        "{framework} is not offered for {model}.",
        "{model} 不支持 {framework} 框架。",
        "Use one of: {offered}.",
        "请使用以下之一：{offered}。",
    ),
    "framework.unknown_template": Text(
        "The chat template {template} of {model} is not among those of LLaMA-Factory {release}.",
        "{model} 的对话模板 {template} 不在 LLaMA-Factory {release} 的模板之中。",
        "Let the administrator correct the model's row in the table, or see whether the installed release has it.",
        "请管理员更正模型表中该行，或确认所安装的版本是否包含它。",
    ),
    "llama_factory.template": Text(
        "LLaMA-Factory has no chat template with the same text as {template} here.",
        "LLaMA-Factory 没有与此处的 {template} 文本相同的对话模板。",
        "Leave it empty for the template of the model's row in the table, or use one of: {known}.",
        "请留空以使用模型表中该行的模板，或使用以下之一：{known}。",
    ),
    "llama_factory.train_on": Text(
        "With the chat template {template}, LLaMA-Factory cannot learn {train_on} alone: the next speaker's token ends "
        "an answer there.",
        "使用对话模板 {template} 时，LLaMA-Factory 无法只学习 {train_on}：其中回答以下一发言者的标记结束。",
        "Let it learn every answer.",
        "请改为学习每个回答。",
    ),
    "llama_factory.documents_together": Text(
        "In LLaMA-Factory's pre-training, documents that share a sample see each other.",
        "LLaMA-Factory 预训练时，同一样本中的文档彼此可见。",
        "Leave packing empty if that is meant: it is what pre-training does.",
        "如果可以接受，请将打包留空：预训练本来如此。",
    ),
    "llama_factory.documents_cut": Text(
        "Without packing, LLaMA-Factory trains on the first {seq_length} tokens of a document and leaves the rest out.",
        "不打包时，LLaMA-Factory 只训练每个文档的前 {seq_length} 个词元，其余部分被丢弃。",
        "Leave packing empty, so that documents are cut into samples instead.",
        "请将打包留空，文档将被切分为多个样本。",
    ),
    "framework.not_installed": Text(
        "{framework} is not installed on this machine, or not where the settings say.",
        "本机未安装 {framework}，或其位置与设置不符。",
        "Let the administrator install it and set TRAINYARD_LLAMA_FACTORY_PYTHON, or TRAINYARD_MINDSPEED_LLM_HOME and "
        "TRAINYARD_MINDSPEED_LLM_PYTHON; docs/operations.md says how.",
        "请管理员安装它并设置 TRAINYARD_LLAMA_FACTORY_PYTHON，或 TRAINYARD_MINDSPEED_LLM_HOME 与 "
        "TRAINYARD_MINDSPEED_LLM_PYTHON；方法见 docs/operations.md。",
    ),
    "framework.one_node": Text(
        "The job needs {nodes} nodes at once; this release starts a run on one node only.",
        "该作业需要同时使用 {nodes} 个节点；本版本只能在单个节点上启动运行。",
        "Ask for no more devices than one node has, or start the planned commands yourself on each node.",
        "请减少设备数至单个节点以内，或自行在每个节点上启动所规划的命令。",
    ),
    "framework.native_cpu_only": Text(
        "In this release the native framework trains on {allowed} only, not on {hardware}.",
        "本版本的 native 框架只能在 {allowed} 上训练，不能在 {hardware} 上训练。",
        "Choose {allowed} as the hardware.",
        "请将硬件选为 {allowed}。",
    ),
    "framework.not_on_hardware": Text(
        "{framework} does not run on {hardware}.",
        "{framework} 不能在 {hardware} 上运行。",
        "Choose one of: {allowed}.",
        "请选择以下硬件之一：{allowed}。",
    ),
    "dataset.format_not_in_framework": Text(
        "{framework} does not read the {format} format.",
        "{framework} 不支持 {format} 格式。",
        "Convert the data to one of: {allowed}, or choose another framework.",
        "请把数据转换为以下格式之一：{allowed}，或选择其他框架。",
    ),
    "dataset.needs_conversations": Text(
        "Fine-tuning ({stage}) needs questions with answers, and the {format} format has none.",
        "微调（{stage}）需要带回答的对话，而 {format} 格式中没有。",
        "Choose alpaca or sharegpt, or pre-train on this text.",
        "请选择 alpaca 或 sharegpt 格式，或用此文本做预训练。",
    ),
    "dataset.needs_text": Text(
        "Pre-training ({stage}) reads one text in each row, and the {format} format has conversations.",
        "预训练（{stage}）读取每行中的一段文本，而 {format} 格式是对话。",
        "Choose the text format (rows with a text field, or a .txt file), or fine-tune on these conversations.",
        "请选择 text 格式（含 text 字段的行或 .txt 文件），或用这些对话做微调。",
    ),
    "dataset.name_unused": Text(
        "The {format} format does not look at this name.",
        "{format} 格式不使用此名称。",
        "Leave it empty, or choose the format that it belongs to. Names that {format} looks at: {read}.",
        "请留空，或选择它所属的格式。{format} 使用的名称：{read}。",
    ),
    "dataset.name_twice": Text(
        "The name {name} stands for two different things.",
        "名称 {name} 被用于两个不同的用途。",
        "Give each its own name, as the rows have it.",
        "请按数据行中的实际名称分别填写。",
    ),
    "dataset.template_unknown": Text(
        "There is no chat template named {template}.",
        "没有名为 {template} 的对话模板。",
        "Leave it empty for the tokenizer's own, or use one of: {known}.",
        "请留空以使用分词器自带的模板，或使用以下之一：{known}。",
    ),
    "dataset.template_unused": Text(
        "Pre-training writes no conversations, so the chat template is not used.",
        "预训练不涉及对话，因此不使用对话模板。",
        "Leave it empty, or fine-tune.",
        "请留空，或改为微调。",
    ),
    "dataset.train_on_unused": Text(
        "Pre-training learns every token of a text, whatever is chosen here.",
        "预训练学习文本中的每个词元，此处的选择不起作用。",
        "Leave it as it is, or fine-tune.",
        "请保留默认值，或改为微调。",
    ),
    "dataset.ending": Text(
        "A file that ends in {ending} cannot be read as {format}.",
        "扩展名为 {ending} 的文件不能按 {format} 格式读取。",
        "Use a file with one of these endings: {allowed}.",
        "请使用以下扩展名的文件：{allowed}。",
    ),
    "seq_length.too_long": Text(
        "A length of {seq_length} is more than the {limit} positions that {model} has.",
        "长度 {seq_length} 超过了 {model} 的 {limit} 个位置。",
        "Set the sequence length to {limit} or less.",
        "请把序列长度设为 {limit} 或更小。",
    ),
    "seq_length.beyond_trained": Text(
        "A length of {seq_length} is more than the {limit} positions that {model} was trained with. The vendor's "
        "tables have this length for it all the same.",
        "长度 {seq_length} 超过了 {model} 训练时的 {limit} 个位置。不过，厂商的表格中仍列有该模型的此长度。",
        "Keep it if the model is to learn longer texts; else set the sequence length to {limit} or less.",
        "若要让模型学习更长的文本，可保留该值；否则请把序列长度设为 {limit} 或更小。",
    ),
    "seq_length.short": Text(
        "With a length of {seq_length} most rows are cut before their answer begins; such rows are left out.",
        "长度为 {seq_length} 时，多数行在回答开始之前就被截断；这样的行会被舍弃。",
        "Use 128 or more, unless the rows are very short.",
        "除非各行都很短，请使用 128 或更大的值。",
    ),
    "train_iters.too_many_tokens": Text(
        "These iterations would read {tokens} tokens; at most {limit} are accepted.",
        "这些迭代将读取 {tokens} 个词元；最多接受 {limit} 个。",
        "Use fewer iterations, a smaller global batch or a shorter sequence length.",
        "请减少迭代数、减小全局批或缩短序列长度。",
    ),
    "epochs.unused": Text(
        "Both a number of iterations and of epochs are given: {train_iters} iterations are run, and {epochs} epochs "
        "are not looked at.",
        "同时给出了迭代数和轮数：将运行 {train_iters} 次迭代，忽略 {epochs} 轮。",
        "Leave out one of the two.",
        "请去掉其中一个。",
    ),
    "min_learning_rate.too_large": Text(
        "The lowest learning rate {min_learning_rate} is above the learning rate {learning_rate}.",
        "最小学习率 {min_learning_rate} 高于学习率 {learning_rate}。",
        "Set it to {learning_rate} or less, or leave it empty for a tenth of the learning rate.",
        "请设为 {learning_rate} 或更小，或留空（取学习率的十分之一）。",
    ),
    "resume.not_yet": Text(
        "Continuing from a checkpoint is not in this release yet.",
        "本版本还不支持从检查点续训。",
        "Leave it empty; a new run starts from the weights of the model folder.",
        "请留空；新的运行从模型目录的权重开始。",
    ),
    "lora.alpha_not_whole": Text(
        "LLaMA-Factory takes only whole numbers for alpha, not {alpha}.",
        "LLaMA-Factory 的 alpha 只能是整数，不能是 {alpha}。",
        "Use a whole number.",
        "请使用整数。",
    ),
    "sample_prompts.unused": Text(
        "{framework} does not answer the sample prompts: they change nothing.",
        "{framework} 不会回答示例提示词，它们不起作用。",
        "Ask the trained model yourself, or train with the native framework.",
        "请自行向训练好的模型提问，或使用 native 框架训练。",
    ),
    "lora.unused": Text(
        "The LoRA options are not used with the strategy {strategy}.",
        "策略为 {strategy} 时不使用 LoRA 选项。",
        "Choose the strategy lora if you mean them.",
        "如需使用，请选择 lora 策略。",
    ),
    "layout.not_yet": Text(
        "The native framework does not support {name} = {value} in this release: it has data, tensor and pipeline "
        "parallel and ZeRO.",
        "本版本的 native 框架不支持 {name} = {value}，只支持数据并行、张量并行、流水线并行和 ZeRO。",
        "Leave it empty.",
        "请留空。",
    ),
    "layout.product": Text(
        "Tensor × pipeline × context = {tensor_parallel_size} × {pipeline_parallel_size} × {context_parallel_size} = "
        "{product} does not divide {devices} devices.",
        "张量 × 流水线 × 上下文 = {tensor_parallel_size} × {pipeline_parallel_size} × {context_parallel_size} = "
        "{product}，不能整除 {devices} 个设备。",
        "Use a multiple of {product} devices, or smaller sizes.",
        "请使用 {product} 的倍数个设备，或减小并行规模。",
    ),
    "layout.heads": Text(
        "Tensor parallel {tensor_parallel_size} does not divide the {heads} attention heads and the {key_value_heads} "
        "key-value heads of the model.",
        "张量并行 {tensor_parallel_size} 不能整除模型的 {heads} 个注意力头和 {key_value_heads} 个键值头。",
        "Use a size that divides both.",
        "请使用能同时整除两者的规模。",
    ),
    "batch.micro_too_large": Text(
        "The micro-batch of {micro_batch_size} is larger than the global batch of {global_batch_size}.",
        "微批大小 {micro_batch_size} 大于全局批大小 {global_batch_size}。",
        "Make it {global_batch_size} or less, or make the global batch larger.",
        "请设为 {global_batch_size} 或更小，或增大全局批。",
    ),
    "batch.not_of_micro": Text(
        "The global batch of {global_batch_size} is not a multiple of the micro-batch of {micro_batch_size}.",
        "全局批大小 {global_batch_size} 不是微批大小 {micro_batch_size} 的倍数。",
        "Use a multiple of {unit}.",
        "请使用 {unit} 的倍数。",
    ),
    "batch.not_divisible": Text(
        "The global batch of {global_batch_size} is not a multiple of {unit} (micro-batch {micro_batch_size} × data "
        "parallel {data_parallel_size}).",
        "全局批大小 {global_batch_size} 不是 {unit} 的倍数"
        "（微批 {micro_batch_size} × 数据并行 {data_parallel_size}）。",
        "Use a multiple of {unit}.",
        "请使用 {unit} 的倍数。",
    ),
}
