"""What goes wrong while a job runs: stages, processes, checkpoints."""

from engine.texts.entry import Text

TEXTS = {
    "llama_factory.rows_lost": Text(
        "{written} rows were prepared, but LLaMA-Factory trained on {read}.",
        "已准备 {written} 行，但 LLaMA-Factory 只用了 {read} 行进行训练。",
        "Show the log of the training to the administrator: this release of LLaMA-Factory reads the data otherwise.",
        "请把训练日志提供给管理员：此版本的 LLaMA-Factory 读取数据的方式不同。",
    ),
    "llama_factory.row": Text(
        "{path}, line {line}: LLaMA-Factory cannot be told of {what} as this row has it.",
        "{path} 第 {line} 行：无法把该行中的 {what} 原样交给 LLaMA-Factory。",
        "Change the row or take it out: one tool result between two answers, nothing but calls in an answer that calls "
        "tools, thoughts inside the text, tools as a list of objects, and no {{{{idx}}}} in a question. Or train with "
        "native.",
        "请修改或去掉该行：两个回答之间只有一个工具结果；调用工具的回答只含调用；思考写在正文中；tools 为对象列表；"
        "问题中不含 {{{{idx}}}}。或使用 native 训练。",
    ),
    "stage.cannot_start": Text(
        "The stage {stage} could not be started: {reason}.",
        "无法启动阶段 {stage}：{reason}。",
        "Let the administrator see to the installation of the engine on this machine.",
        "请管理员检查本机上引擎的安装。",
    ),
    "stage.killed": Text(
        "The stage {stage} was killed by the signal {signal}.",
        "阶段 {stage} 被信号 {signal} 终止。",
        "SIGKILL most often means that the machine ran out of memory: use a smaller micro-batch, a shorter sequence "
        "length or fewer processes. The end of the log is in {log}.",
        "SIGKILL 多半表示机器内存不足：请减小微批、序列长度或进程数。日志末尾见 {log}。",
    ),
    "stage.restarted": Text(
        "The stage {stage} was interrupted, as by a restart of the machine, and was started again; it goes on from "
        "iteration {iteration} (restart {restart} of at most {most} without progress).",
        "阶段 {stage} 曾被中断（例如机器重启），现已重新启动，从第 {iteration} 次迭代继续"
        "（无进展时最多重启 {most} 次，此为第 {restart} 次）。",
    ),
    "stage.failed": Text(
        "The stage {stage} ended with the exit code {returncode}.",
        "阶段 {stage} 以退出码 {returncode} 结束。",
        "The cause is at the end of the log {log}.",
        "原因见日志 {log} 的末尾。",
    ),
    "stage.output_missing": Text(
        "The stage {stage} ended without an error, but its output {path} is missing or empty.",
        "阶段 {stage} 未报错即结束，但其输出 {path} 缺失或为空。",
        "See whether the disk is full; the log is {log}.",
        "请检查磁盘是否已满；日志为 {log}。",
    ),
    "disk.full": Text(
        "There is no space left on the disk: {reason}.",
        "磁盘空间已用完：{reason}。",
        "Free some space, then run it again; what was saved is kept.",
        "请释放空间后重新运行；已保存的内容会保留。",
    ),
    "stage.out_of_memory": Text(
        "There was not enough memory: {reason}.",
        "内存不足：{reason}。",
        "Use a smaller micro-batch or a shorter sequence length, or fewer processes on this machine.",
        "请减小微批或序列长度，或减少本机上的进程数。",
    ),
    "stage.peer_lost": Text(
        "Process {rank} lost the connection to another process, which has ended.",
        "进程 {rank} 与另一个已结束的进程失去连接。",
        "The cause is with the process that ended first.",
        "原因在最先结束的那个进程。",
    ),
    "stage.unexpected": Text(
        "The stage broke off with an error that is not foreseen: {reason}.",
        "该阶段因未预料的错误而中断：{reason}。",
        "Show the log to the administrator.",
        "请把日志提供给管理员。",
    ),
    "preprocess.unreadable": Text(
        "The dataset {path} cannot be read: {reason}.",
        "无法读取数据集 {path}：{reason}。",
        "See whether the file is still there and may be read.",
        "请检查文件是否仍在且可读。",
    ),
    "preprocess.broken_row": Text(
        "{path}, line {line}: {why_text}",
        "{path} 第 {line} 行：{why_text}",
        "Correct or delete the row, or choose that broken rows are left out.",
        "请改正或删除该行，或选择略去有错的行。",
    ),
    "preprocess.rows_left_out": Text(
        "{count} of {read} rows cannot be read and were left out, as chosen, such as those on the lines {lines}.",
        "{read} 行中有 {count} 行无法读取，已按所选略去，例如第 {lines} 行。",
        "Each reason and its first rows are in the report.json beside the prepared data.",
        "各项原因及其最初几行见预处理数据旁的 report.json。",
    ),
    "preprocess.broken_off": Text(
        "{path} breaks off at line {line}: {why_text} All that stands behind it is lost, and how many rows that are is "
        "not known; the training uses what stands before.",
        "{path} 在第 {line} 行中断：{why_text} 其后的内容全部丢失，丢失多少行无法得知；训练只使用之前的部分。",
        "Most often the file was not copied to its end: fetch it again, then train again.",
        "多半是文件没有复制完整：请重新获取后再训练。",
    ),
    "preprocess.rows_dropped": Text(
        "{dropped} of {read} rows were left out, since nothing can be learnt from them, such as those on the lines "
        "{lines}; {shortened} were shortened to {seq_length} tokens.",
        "{read} 行中有 {dropped} 行因没有可学习的内容而被舍弃，例如第 {lines} 行；{shortened} 行被截短到 {seq_length} "
        "个词元。",
        "A longer sequence length keeps rows whose answer was cut off. The reasons are in the report.json beside "
        "the prepared data.",
        "增大序列长度可保留回答被截断的行。原因见预处理数据旁的 report.json。",
    ),
    "preprocess.rows_shortened": Text(
        "{shortened} of {read} rows were shortened to {seq_length} tokens.",
        "{read} 行中有 {shortened} 行被截短到 {seq_length} 个词元。",
        "A longer sequence length keeps their ends.",
        "增大序列长度可保留其末尾。",
    ),
    "preprocess.no_samples": Text(
        "No sample is left of {path}: {report}.",
        "{path} 中没有剩下任何样本：{report}。",
        "Use longer or more rows, or a longer sequence length.",
        "请使用更长或更多的行，或增大序列长度。",
    ),
    "preprocess.changed": Text(
        "The dataset {path} was written to while it was read.",
        "数据集 {path} 在读取过程中被改动。",
        "Wait until nobody writes to it any more, then run it again.",
        "请等到无人再写入该数据集后重新运行。",
    ),
    "preprocess.worker_killed": Text(
        "One of the {workers} processes that prepare the data was killed.",
        "{workers} 个数据处理进程中有一个被终止。",
        "Most often the machine ran out of memory: run it again when there is more of it; what was done is kept.",
        "多半是机器内存不足：请在内存充足时重新运行；已完成的部分会保留。",
    ),
    "train.packing_leaks": Text(
        "The code of {model} does not keep samples apart that share a sequence: their logits differ by {difference} "
        "from those of each alone.",
        "{model} 的代码不能隔离同一序列中的样本：其 logits 与单独计算时相差 {difference}。",
        "Switch packing off for this model.",
        "请对该模型关闭打包（packing）。",
    ),
    "preprocess.no_chat_template": Text(
        "The tokenizer in {path} has no chat template, which fine-tuning on conversations needs, and is of no known "
        "family.",
        "{path} 中的分词器没有对话模板，而对话微调需要它；也无法判断其系列。",
        "Use the folder of the model's chat or instruct version, or choose a chat template: {known}.",
        "请使用该模型的 chat 或 instruct 版本的目录，或选择对话模板：{known}。",
    ),
    "preprocess.unknown_template": Text(
        "There is no chat template named {template}.",
        "没有名为 {template} 的对话模板。",
        "Leave it empty for the tokenizer's own, or use one of: {known}.",
        "请留空以使用分词器自带的模板，或使用以下之一：{known}。",
    ),
    "preprocess.template_tokens": Text(
        "The chat template {template} writes tokens that this tokenizer does not have: {tokens}.",
        "对话模板 {template} 使用了此分词器没有的词元：{tokens}。",
        "Leave the template empty, or choose the one of the model's own family.",
        "请将模板留空，或选择与模型同系列的模板。",
    ),
    "preprocess.broken_template": Text(
        "The chat template of the tokenizer in {path} is wrong: {reason}.",
        "{path} 中分词器的对话模板有误：{reason}。",
        "Correct it there, or choose a template of a family.",
        "请在该处改正，或选择某一系列的模板。",
    ),
    "preprocess.template_refuses": Text(
        "The chat template does not take a question with an answer: {reason}.",
        "对话模板不接受一问一答：{reason}。",
        "Choose a template of a family.",
        "请选择某一系列的模板。",
    ),
    "preprocess.no_end_token": Text(
        "The tokenizer in {path} has no end-of-text token, which separates documents.",
        "{path} 中的分词器没有用于分隔文档的结束标记。",
        "Set eos_token in tokenizer_config.json.",
        "请在 tokenizer_config.json 中设置 eos_token。",
    ),
    "weights.no_tokenizer": Text(
        "The tokenizer in {path} cannot be loaded: {reason}.",
        "无法加载 {path} 中的分词器：{reason}。",
        "Copy the tokenizer files of the model into the folder.",
        "请把该模型的分词器文件复制到该目录。",
    ),
    "weights.slow_tokenizer": Text(
        "The tokenizer in {path} has no fast form, which gives the place of each token in the text.",
        "{path} 中的分词器没有能给出词元位置的快速版本。",
        "Convert it to a tokenizer.json.",
        "请把它转换为 tokenizer.json。",
    ),
    "weights.unreadable": Text(
        "The weights in {path} cannot be loaded: {reason}.",
        "无法加载 {path} 中的权重：{reason}。",
        "Download the model again; native takes models that transformers knows without remote code.",
        "请重新下载该模型；native 只支持 transformers 自带的模型。",
    ),
    "weights.incomplete": Text(
        "The weights in {path} lack {count} of the model's parameters, such as {name}.",
        "{path} 中的权重缺少模型的 {count} 个参数，例如 {name}。",
        "Download the model again; config.json and the weights must be of the same model.",
        "请重新下载该模型；config.json 与权重必须属于同一模型。",
    ),
    "lora.no_such_layer": Text(
        "No linear layer of the model is named {layer}.",
        "模型中没有名为 {layer} 的线性层。",
        "Choose among: {known}.",
        "请从以下选择：{known}。",
    ),
    "checkpoint.missing": Text(
        "There is no complete checkpoint in {path}.",
        "{path} 中没有完整的检查点。",
        "Name a folder that holds one, or start anew.",
        "请指定含有检查点的目录，或重新开始。",
    ),
    "checkpoint.unfit": Text(
        "The checkpoint in {path} does not fit the model: {parameter} is missing or of another shape.",
        "{path} 中的检查点与模型不符：{parameter} 缺失或形状不同。",
        "Use the checkpoint with the model and the strategy that it was made with.",
        "请使用生成该检查点时的模型和策略。",
    ),
    "checkpoint.other_release": Text(
        "The checkpoint in {path} was written by another release, which kept its weights in other files.",
        "{path} 中的检查点由其他版本写入，其权重文件的格式不同。",
        "Start the training anew, or finish it with the release that it was begun with.",
        "请重新开始训练，或使用开始训练时的版本完成训练。",
    ),
    "train.unusual_head": Text(
        "{model} does more after its last layer than to multiply with the head: its logits differ by {difference} "
        "from that product, of which the loss is made.",
        "{model} 在最后一层之后不只是与输出头相乘：其 logits 与该乘积相差 {difference}，而损失由该乘积计算。",
        "Choose another model, or train this one with another framework.",
        "请选择其他模型，或使用其他框架训练该模型。",
    ),
    "layout.no_tensor_plan": Text(
        "{model} cannot be split for tensor parallel: there is no plan for it, or one that has not been tried here.",
        "{model} 不能做张量并行切分：没有切分方案，或该方案在此尚未验证。",
        "Leave the tensor parallel size empty; pipeline parallel and ZeRO work.",
        "请将张量并行大小留空；可以使用流水线并行和 ZeRO。",
    ),
    "train.wrong_world": Text(
        "{started} processes were started, but {planned} were planned.",
        "启动了 {started} 个进程，但计划为 {planned} 个。",
        "Start the run again; if it happens again, show the log to the administrator.",
        "请重新运行；如再次发生，请把日志提供给管理员。",
    ),
    "device.no_torch_npu": Text(
        "torch_npu cannot be imported: {reason}",
        "无法导入 torch_npu：{reason}",
        "Install engine/requirements-npu.txt, and source CANN's set_env.sh in the shell that starts the worker.",
        "请安装 engine/requirements-npu.txt，并在启动 worker 的 shell 中执行 CANN 的 set_env.sh。",
    ),
    "device.not_visible": Text(
        "This process is to use {kind} device number {wanted}, but it can see {visible} ({variable}={shown}).",
        "该进程应使用第 {wanted} 个 {kind} 设备，但只能看到 {visible} 个（{variable}={shown}）。",
        "See that the driver lists every device, that no other container holds one, and start the run again.",
        "请确认驱动列出了所有设备且没有被其他容器占用，然后重新运行。",
    ),
    "device.no_precision": Text(
        "{kind} devices of this machine do not compute in {precision}.",
        "本机的 {kind} 设备不支持 {precision} 计算。",
        "Choose another precision: fp32 runs everywhere.",
        "请选择其他精度：fp32 在任何设备上都能运行。",
    ),
    "train.wrong_batch": Text(
        "Micro-batch × processes × accumulation is {product}, but the global batch is {global_batch_size}.",
        "微批 × 进程数 × 累积步数为 {product}，但全局批为 {global_batch_size}。",
        "Start the run again; if it happens again, show the log to the administrator.",
        "请重新运行；如再次发生，请把日志提供给管理员。",
    ),
}
