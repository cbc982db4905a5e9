"""Why a layout, its memory and its time are as they are."""

from engine.texts.entry import Text

TEXTS = {
    "reason.asked": Text("{value}, as asked for.", "按请求取 {value}。"),
    "reason.layout_table": Text(
        "{value}, as the vendor's table of parallel configurations has it; it fits.",
        "按厂商的并行配置表取 {value}，放得下。",
    ),
    "reason.tensor_least": Text(
        "{value}: of all layouts that fit, this one cuts the model the least.",
        "{value}：在放得下的布局中，切分模型最少。",
    ),
    "reason.pipeline_least": Text(
        "{value}: the fewest stages that fit with this tensor parallel size.",
        "{value}：在此张量并行下放得下的最少阶段数。",
    ),
    "reason.uneven_layers": Text(
        "The {layers} layers are split unevenly over {value} stages, since no even split fits.",
        "{layers} 层不均匀地分到 {value} 个阶段，因为均匀切分放不下。",
    ),
    "reason.context_long": Text(
        "{value}: above {limit} tokens the sequence has to be cut.", "{value}：长度超过 {limit} 时必须切分序列。"
    ),
    "reason.context_fits": Text(
        "{value}: at length {seq_length} cutting the sequence is what makes it fit with the least cutting.",
        "{value}：长度为 {seq_length} 时，切分序列才能以最少的切分放下。",
    ),
    "reason.expert_parallel": Text(
        "{value}: the experts are shared out over {value} of the replicas.", "{value}：专家分布在 {value} 个副本上。"
    ),
    "reason.replicas": Text(
        "Replicas: {value}; each takes {cut} of the {devices} devices.",
        "{value} 个副本：共 {devices} 个设备，每个副本占 {cut} 个。",
    ),
    "reason.distributed_optimizer": Text(
        "The optimizer states are shared out over {replicas} devices (distributed optimizer).",
        "优化器状态分布在 {replicas} 个设备上（分布式优化器）。",
    ),
    "reason.no_distributed_optimizer": Text(
        "The optimizer states are not shared out (replicas: {replicas}).", "优化器状态不做切分（副本数：{replicas}）。"
    ),
    "reason.recompute_none": Text(
        "Not needed: the fullest device uses {percent} % of the usable memory.",
        "不需要：最满的设备使用可用内存的 {percent} %。",
    ),
    "reason.recompute_full": Text(
        "Activations are made again in the backward pass: {percent} % of the usable memory; without, this layout would "
        "use {without} %.",
        "反向传播时重新计算激活：占可用内存的 {percent} %；若不重计算，此布局将占 {without} %。",
    ),
    "reason.recompute_mixture": Text(
        "Activations are made again in the backward pass, as published scripts do for mixtures of experts: {percent} % "
        "of the usable memory.",
        "反向传播时重新计算激活，与已公开的混合专家模型脚本一致：占可用内存的 {percent} %。",
    ),
    "reason.recompute_always": Text(
        "LLaMA-Factory always trains with gradient checkpointing.", "LLaMA-Factory 始终启用梯度检查点。"
    ),
    "reason.reuse_fp32": Text(
        "Weights are kept inside their fp32 copies (--reuse-fp32-param): {percent} % of the usable memory.",
        "权重保存在其 fp32 副本中（--reuse-fp32-param）：占可用内存的 {percent} %。",
    ),
    "reason.zero_replicas": Text(
        "Each of the {devices} devices takes its share of every batch; states are sharded among them.",
        "{devices} 个设备各自分担每一批数据，并在彼此间切分状态。",
    ),
    "reason.whole_replicas": Text(
        "Each of the {devices} devices takes its share of every batch, and holds all states.",
        "{devices} 个设备各自分担每一批数据，并各自保存全部状态。",
    ),
    "reason.zero_alone": Text(
        "One device shares out nothing: {percent} % of the usable memory.",
        "单个设备无需切分：占可用内存的 {percent} %。",
    ),
    "reason.zero_unknown": Text(
        "ZeRO-{value}: the memory of this hardware is not known, and this level needs the least.",
        "ZeRO-{value}：此硬件的内存未知，而该级别占用最少。",
    ),
    "reason.zero_table": Text(
        "ZeRO-{value}, as the vendor's table has it; it fits.",
        "按厂商表格取 ZeRO-{value}，放得下。",
    ),
    "reason.zero_roomy": Text(
        "ZeRO-{value} is the lowest level that leaves a fifth free: {percent} % of the usable memory.",
        "ZeRO-{value} 是能留出五分之一余量的最低级别：占可用内存的 {percent} %。",
    ),
    "reason.zero_tight": Text(
        "ZeRO-{value} needs the least: {percent} % of the usable memory, with little room.",
        "ZeRO-{value} 占用最少：占可用内存的 {percent} %，余量很小。",
    ),
    "reason.layout_blind": Text(
        "The dimensions of {model} are not known: only what was asked for is cut.",
        "{model} 的结构参数未知：只按请求切分。",
    ),
    "reason.micro_batch_fits": Text(
        "{micro_batch_size} at a time: {percent} % of the usable memory.",
        "每次 {micro_batch_size} 条：占可用内存的 {percent} %。",
    ),
    "reason.micro_batch_unknown": Text(
        "{micro_batch_size} at a time, since the memory of this hardware is not known.",
        "每次 {micro_batch_size} 条，因为此硬件的内存未知。",
    ),
    "reason.accumulation_usual": Text(
        "{value} samples an iteration: {steps} accumulation steps, as in most rows of the vendor's table.",
        "每次迭代 {value} 条样本：累积 {steps} 步，与厂商表格中的大多数行一致。",
    ),
    "reason.accumulation_table": Text(
        "{value} samples an iteration: {steps} accumulation steps, as the vendor's table has it.",
        "每次迭代 {value} 条样本：按厂商表格累积 {steps} 步。",
    ),
    "reason.no_memory_estimate": Text(
        "The dimensions of {model} are not known, so its memory is not estimated.",
        "{model} 的结构参数未知，因此不估算内存。",
    ),
    "reason.memory_model": Text(
        "An estimate from formulas and published numbers, not measured; expect 10 % either way.",
        "由公式和公开数据得出的估计，并非实测；误差约 10 %。",
    ),
    "reason.memory_native": Text(
        "An estimate on the usual formulas: 16 bytes a trained parameter, and what autograd keeps of a micro-batch of "
        "full length; shorter samples take less.",
        "按通用公式的估计：每个训练参数 16 字节，加上自动求导为一个微批（按最大长度）保留的张量；样本较短时更少。",
    ),
    "reason.no_eta": Text(
        "The time left is measured once the first iterations are done.", "完成最初几次迭代后即可测得剩余时间。"
    ),
    "reason.eta_default_mfu": Text(
        "{low} to {high} tokens a second and device: around {percent} % of {teraflops} TFLOP/s, usual for such a job "
        "by published figures; padding counts as work.",
        "每设备每秒 {low} 到 {high} 个 token：按公开数据，此类作业约为 {teraflops} TFLOP/s 的 {percent} %；"
        "填充也计入工作量。",
    ),
    "reason.eta_own_runs": Text(
        "{low} to {high} tokens a second and device, from {runs} finished runs of this model, length and strategy.",
        "每设备每秒 {low} 到 {high} 个 token，来自此模型、长度和策略的 {runs} 次已完成运行。",
    ),
    "reason.eta_own_runs_scaled": Text(
        "{low} to {high} tokens a second and device, scaled from {runs} finished runs of this model and strategy with "
        "another length; a wider range than from runs of this length.",
        "每设备每秒 {low} 到 {high} 个 token，由此模型和策略的 {runs} 次其他长度的已完成运行换算；"
        "范围比同长度的运行更宽。",
    ),
    "reason.eta_cpu_measured": Text(
        "{low} to {high} tokens a second and process: a fifth to twice the {gflops} GFLOP/s of matrix products that "
        "were measured on this site's machines; a first guess, until a run has finished.",
        "每进程每秒 {low} 到 {high} 个 token：按本站点机器实测的 {gflops} GFLOP/s 矩阵运算的五分之一到两倍估计；"
        "在有运行完成之前仅供参考。",
    ),
    "reason.eta_cpu_cores": Text(
        "{low} to {high} tokens a second and process, from the number of cores alone (up to {cores}); nothing has been "
        "measured on this site yet, so that the range is very wide.",
        "每进程每秒 {low} 到 {high} 个 token，仅按核数（最多 {cores} 个）估计；本站点尚无实测，因此范围很宽。",
    ),
    "reason.eta_after_preprocessing": Text(
        "The number of iterations is known after preprocessing, and with it the time.",
        "预处理后才知道迭代数，届时即可估计时间。",
    ),
}
