"""What MindSpeed-LLM cannot do, and what it would pass over in silence."""

from engine.texts.entry import Text

TEXTS = {
    "mindspeed_llm.no_commands": Text(
        "No MindSpeed-LLM command is known for {model}: neither its template nor its converter.",
        "没有 {model} 的 MindSpeed-LLM 命令：不知道其模板和权重转换方式。",
        "Choose a model of the list, or train it with another framework.",
        "请选择列表中的模型，或使用其他框架训练。",
    ),
    "mindspeed_llm.no_converter": Text(
        "MindSpeed-LLM {release} has no converter for the weights of {model}.",
        "MindSpeed-LLM {release} 没有 {model} 的权重转换工具。",
        "Let the administrator install release {known}.",
        "请管理员安装 {known} 版本。",
    ),
    "mindspeed_llm.unknown_release": Text(
        "The site says that MindSpeed-LLM {release} is installed, whose options are not known here.",
        "站点设置的 MindSpeed-LLM 版本 {release} 的参数未知。",
        "Set TRAINYARD_MINDSPEED_LLM_RELEASE to one of: {known}.",
        "请把 TRAINYARD_MINDSPEED_LLM_RELEASE 设为以下之一：{known}。",
    ),
    "mindspeed_llm.not_back": Text(
        "MindSpeed-LLM {release} does not convert {model} back to Hugging Face's format rightly: the run ends with "
        "Megatron's checkpoints.",
        "MindSpeed-LLM {release} 无法正确地把 {model} 转回 Hugging Face 格式：运行将以 Megatron 检查点结束。",
        "With release {known} the model is converted back.",
        "使用 {known} 版本可转换回来。",
    ),
    "mindspeed_llm.vocabulary": Text(
        "Tensor parallel {tensor_parallel_size} does not divide the vocabulary of {vocab_size}, which this model's "
        "converter does not pad.",
        "张量并行 {tensor_parallel_size} 不能整除词表大小 {vocab_size}，而该模型的转换工具不会补齐词表。",
        "Choose a size that divides it.",
        "请选择能整除的大小。",
    ),
    "mindspeed_llm.samples": Text(
        "This release does not pass on {name} = {value} to MindSpeed-LLM.",
        "本版本不会把 {name} = {value} 传给 MindSpeed-LLM。",
        "Leave it out: the template is the model's own, every answer is learnt, and each row is a sample.",
        "请去掉该项：模板取模型自己的，学习每个回答，每行为一个样本。",
    ),
    "mindspeed_llm.lora_dropout": Text(
        "MindSpeed-LLM has no dropout for LoRA; {dropout} is asked for.",
        "MindSpeed-LLM 的 LoRA 没有 dropout，现在请求了 {dropout}。",
        "Set it to 0.",
        "请设为 0。",
    ),
    "mindspeed_llm.lora_alpha": Text(
        "MindSpeed-LLM takes whole numbers for LoRA's alpha; {alpha} is asked for.",
        "MindSpeed-LLM 的 LoRA alpha 只能是整数，现在请求了 {alpha}。",
        "Set it to {nearest}.",
        "请设为 {nearest}。",
    ),
    "mindspeed_llm.lora_layer": Text(
        "MindSpeed-LLM has no layer {layer} for adapters.",
        "MindSpeed-LLM 没有可加适配器的层 {layer}。",
        "Choose among: {known}.",
        "请从以下选择：{known}。",
    ),
    "mindspeed_llm.lora_widened": Text(
        "Megatron has queries, keys and values in one layer, and gate and up in another: {layers} get adapters too.",
        "Megatron 把查询、键、值合为一层，把 gate 与 up 合为一层：{layers} 也会加上适配器。",
    ),
    "mindspeed_llm.tools": Text(
        "{path}, line {line}: the conversation uses tools, whose words depend on the model's template.",
        "{path} 第 {line} 行：该对话使用了工具，其写法取决于模型模板。",
        "Take such conversations out; this release passes on the turns of user and assistant alone.",
        "请去掉此类对话；本版本只传递用户与助手的轮次。",
    ),
    "mindspeed_llm.no_index": Text(
        "Preprocessing has left no whole dataset: {reason}.",
        "预处理没有留下完整的数据集：{reason}。",
        "The cause is in logs/preprocess.0.log.",
        "原因见 logs/preprocess.0.log。",
    ),
    "mindspeed_llm.rows_dropped": Text(
        "{dropped} of {read} rows were left out, since they are not shorter than {seq_length} tokens.",
        "{read} 行中有 {dropped} 行因不短于 {seq_length} 个词元而被舍弃。",
        "A longer sequence length keeps them.",
        "增大序列长度可保留它们。",
    ),
    "mindspeed_llm.no_config": Text(
        "There is no config.json in {path} that can be read.",
        "{path} 中没有可读的 config.json。",
        "Download the model again.",
        "请重新下载该模型。",
    ),
    "mindspeed_llm.quantized": Text(
        "The weights in {path} are quantized; the converter takes them for what they are not.",
        "{path} 中的权重是量化权重，转换工具会误读它们。",
        "Use the model's weights in bf16.",
        "请使用该模型的 bf16 权重。",
    ),
    "mindspeed_llm.other_model": Text(
        "The weights in {path} are not those of {model}: config.json says (and for {model} should say): {wrong}.",
        "{path} 中的权重不是 {model} 的；config.json 中的值（{model} 应有的值）：{wrong}。",
        "Choose the model that the folder holds.",
        "请选择与该目录一致的模型。",
    ),
    "mindspeed_llm.other_layout": Text(
        "The checkpoint {path} has {parts} parts, and is not cut as this job is: tensor parallel {tensor}, pipeline "
        "parallel {pipeline}, expert parallel {expert}.",
        "检查点 {path} 有 {parts} 个部分，与本作业的切分不同：张量并行 {tensor}、流水线并行 {pipeline}、"
        "专家并行 {expert}。",
        "Ask for the parallel sizes that it was trained with.",
        "请使用训练该检查点时的并行大小。",
    ),
    "mindspeed_llm.random_weights": Text(
        "MindSpeed-LLM found no checkpoint to load and trained random weights.",
        "MindSpeed-LLM 没有找到可加载的检查点，训练的是随机权重。",
        "See what the stage convert has left in weights/, and the start of logs/train.0.log.",
        "请检查 convert 阶段在 weights/ 中留下的内容以及 logs/train.0.log 的开头。",
    ),
    "mindspeed_llm.not_trained": Text(
        "The training ended without an error at iteration {iteration} of {train_iters}.",
        "训练未报错，但在第 {iteration} 次迭代（共 {train_iters} 次）就结束了。",
        "It ends so when a checkpoint cannot be loaded; the cause is in logs/train.0.log.",
        "无法加载检查点时会这样结束；原因见 logs/train.0.log。",
    ),
    "mindspeed_llm.checkpoint_incomplete": Text(
        "The last checkpoint {path} lacks parts: {missing}.",
        "最后的检查点 {path} 缺少部分文件：{missing}。",
        "See whether the disk is full.",
        "请检查磁盘是否已满。",
    ),
    "mindspeed_llm.no_model": Text(
        "The converter has left no model with weights in {folders}.",
        "转换工具没有在 {folders} 中留下含权重的模型。",
        "The cause is in logs/export.0.log.",
        "原因见 logs/export.0.log。",
    ),
    "mindspeed_llm.other_weights": Text(
        "After converting back {count} weights are missing or have another shape, such as {name}.",
        "转换回来后有 {count} 个权重缺失或形状不同，例如 {name}。",
        "The checkpoint is right; do not use output/model. Let the administrator see which release is installed.",
        "检查点没有问题；请勿使用 output/model，并请管理员检查安装的版本。",
    ),
}
