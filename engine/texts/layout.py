"""Parallel sizes that cannot be, and what is particular about single models."""

from engine.texts.entry import Text

TEXTS = {
    "layout.not_of_framework": Text(
        "{framework} knows {name} up to {most} only; {value} is asked for.",
        "{framework} 的 {name} 最大为 {most}，现在请求了 {value}。",
        "Set it to {most}, or leave it empty.",
        "请设为 {most} 或留空。",
    ),
    "layout.fixed_in_framework": Text(
        "{framework} runs on {hardware} with {name} {only} only; {value} is asked for.",
        "{framework} 在 {hardware} 上的 {name} 只能是 {only}，现在请求了 {value}。",
        "Leave it empty.",
        "请留空。",
    ),
    "layout.length": Text(
        "Tensor parallel {tensor_parallel_size} and context parallel {context_parallel_size} do not cut {seq_length} "
        "tokens evenly.",
        "张量并行 {tensor_parallel_size} 和上下文并行 {context_parallel_size} 不能均匀切分 {seq_length} 个 token。",
        "Use a multiple of {unit} tokens, or smaller sizes.",
        "请使用 {unit} 的倍数作为长度，或减小并行规模。",
    ),
    "layout.length_none": Text(
        "No layout that fits on these devices ({devices}) cuts {seq_length} tokens evenly.",
        "在这些设备（{devices} 个）上放得下的布局都不能均匀切分 {seq_length} 个 token。",
        "Use a multiple of {unit} tokens, or more devices.",
        "请使用 {unit} 的倍数作为长度，或增加设备。",
    ),
    "layout.tensor_too_large": Text(
        "Tensor parallel {tensor_parallel_size} is more than {most}: it has to stay among cards with fast links.",
        "张量并行 {tensor_parallel_size} 超过 {most}：它必须在高速互联的卡之间进行。",
        "Use {most} or less, and pipeline parallel for the rest.",
        "请使用 {most} 或更小，其余用流水线并行。",
    ),
    "layout.too_many_stages": Text(
        "{pipeline_parallel_size} pipeline stages cannot be filled with {layers} layers.",
        "{layers} 层无法分满 {pipeline_parallel_size} 个流水线阶段。",
        "Use {most} or less, or leave it empty.",
        "请使用 {most} 或更小，或留空。",
    ),
    "layout.uneven": Text(
        "{layers} layers do not divide over {pipeline_parallel_size} pipeline stages: the split has to be uneven.",
        "{layers} 层不能被 {pipeline_parallel_size} 个流水线阶段整除：只能不均匀切分。",
        "Prefer a size that divides the layers; an uneven split needs a list of layers for each stage.",
        "建议使用能整除层数的规模；不均匀切分需要给出每个阶段的层数。",
    ),
    "layout.empty_layers": Text(
        "{layers} layers do not divide over {pipeline_parallel_size} pipeline stages: empty layers fill the last one.",
        "{layers} 层不能被 {pipeline_parallel_size} 个流水线阶段整除：最后的阶段用空层补足。",
    ),
    "layout.context_needed": Text(
        "Above {limit} tokens MindSpeed-LLM needs a context-parallel size of at least 2; the length is {seq_length}.",
        "长度超过 {limit} 时，MindSpeed-LLM 的上下文并行至少为 2；现在的长度为 {seq_length}。",
        "Set it to 2 or more, or leave it empty.",
        "请设为 2 或更大，或留空。",
    ),
    "layout.context_family": Text(
        "The vendor's pages offer context parallel, which lengths above {limit} need, for the Llama 3 family alone; "
        "{model} is of another one.",
        "厂商的页面说明，上下文并行（长度超过 {limit} 时必需）只用于 Llama 3 系列，而 {model} 属于其他系列。",
        "Try a few iterations first, or set the sequence length to {limit} or less without context parallel.",
        "请先试运行几次迭代，或将序列长度设为 {limit} 或更小并不使用上下文并行。",
    ),
    "layout.no_experts": Text(
        "Expert parallel {expert_parallel_size} is asked for, but {model} has no experts.",
        "请求了专家并行 {expert_parallel_size}，但 {model} 没有专家。",
        "Leave it empty.",
        "请留空。",
    ),
    "layout.experts": Text(
        "Expert parallel {expert_parallel_size} must divide the {experts} experts and the {replicas} replicas.",
        "专家并行 {expert_parallel_size} 必须能整除 {experts} 个专家和 {replicas} 个副本。",
        "Use a size that divides both, or leave it empty.",
        "请使用能同时整除两者的规模，或留空。",
    ),
    "resume.not_with_lora": Text(
        "MindSpeed-LLM cannot continue a LoRA training from a checkpoint.",
        "MindSpeed-LLM 的 LoRA 训练不支持断点续训。",
        "Leave the checkpoint empty and start anew, or train all parameters.",
        "请将检查点留空并重新开始，或使用全参训练。",
    ),
    "resume.recovery_first": Text(
        "Two places to load from are named. Every run saves into a fresh folder, which is empty at first: so the first "
        "start loads the named checkpoint. After an interruption automatic recovery comes first: the newest checkpoint "
        "of the run itself is loaded, and the named one is not looked at.",
        "同时设置了两个加载来源。每次运行都保存到全新的目录，开始时为空，因此首次启动加载所指定的检查点；"
        "中断之后故障快恢优先，加载该运行自己最新的检查点，而忽略所指定的检查点。",
    ),
    "resume.fresh_folder": Text(
        "The run saves into a fresh folder, never into that of the named checkpoint. Automatic recovery is off: after "
        "an interruption the run starts from the named checkpoint again.",
        "该运行保存到全新的目录，不会写入所指定检查点的目录。自动恢复已关闭：中断之后会再次从所指定的检查点开始。",
    ),
    "model.pinned_revision": Text(
        "{model} is supported in the revision {revision} alone.",
        "{model} 只支持 {revision} 这一版本。",
        "Download exactly this revision of the weights.",
        "请下载该版本的权重。",
    ),
    "model.remote_code": Text(
        "{model} brings its own code in its folder, which is older than today's transformers; the file to edit before "
        "use: {file}.",
        "{model} 的目录中带有自己的代码，比现在的 transformers 旧；使用前需要修改的文件：{file}。",
        "Follow the vendor's page for this model, and allow remote code only from a source that you trust.",
        "请按厂商对该模型的说明操作，并且只对可信来源启用远程代码。",
    ),
    "model.slow_tokenizer": Text(
        "The fast tokenizer of {model} counts 63992 entries where the model has 64000.",
        "{model} 的快速分词器为 63992 个词，而模型有 64000 个。",
        "Add --tokenizer-not-use-fast.",
        "请添加 --tokenizer-not-use-fast。",
    ),
    "model.chat_weights": Text(
        "The vendor recommends the chat weights of {model}.",
        "厂商建议使用 {model} 的 chat 权重。",
        "Make sure that the folder holds them, unless you mean the base weights.",
        "请确认目录中是 chat 权重，除非有意使用基础权重。",
    ),
    "model.do_sample": Text(
        "From transformers 4.46 on, the generation_config.json of {model} is refused as it is.",
        "自 transformers 4.46 起，{model} 的 generation_config.json 会被拒绝。",
        'Add "do_sample": true to it.',
        '请在其中添加 "do_sample": true。',
    ),
}
