"""Why the planner decided as it did."""

from engine.texts.entry import Text

TEXTS = {
    "reason.one_process": Text("{devices} process holds the whole model.", "{devices} 个进程容纳整个模型。"),
    "reason.data_parallel": Text(
        "Each of the {devices} processes holds the whole model and takes its share of every batch.",
        "{devices} 个进程各自容纳整个模型，并分担每一批数据。",
    ),
    "reason.cut_model": Text(
        "{data_parallel_size} replicas share out every batch; the matrices and layers of each are cut into {parts}.",
        "{data_parallel_size} 个副本分担每一批数据，每个副本的矩阵和层切成 {parts} 份。",
    ),
    "reason.cut_to_fit": Text(
        "{value}: with less the model does not fit; so it takes {percent} % of the usable memory.",
        "取 {value}：更小则放不下；如此占可用内存的 {percent} %。",
    ),
    "reason.micro_batch_size": Text(
        "{micro_batch_size} at a time: at length {seq_length} this is the most that keeps to {tokens} tokens and "
        "divides the share of a process.",
        "每次 {micro_batch_size} 条：长度为 {seq_length} 时，这是不超过 {tokens} 个 token "
        "且能整除每个进程份额的最大值。",
    ),
    "reason.global_batch_size": Text(
        "{global_batch_size} samples an iteration, a multiple of micro-batch {micro_batch_size} × data parallel "
        "{data_parallel_size}.",
        "每次迭代 {global_batch_size} 条样本，是微批 {micro_batch_size} × 数据并行 {data_parallel_size} 的倍数。",
    ),
    "reason.train_iters_win": Text(
        "{train_iters} iterations are run; the {epochs} epochs are not looked at.",
        "运行 {train_iters} 次迭代；忽略 {epochs} 轮。",
    ),
    "reason.one_epoch": Text(
        "Neither iterations nor epochs are given: every sample is seen once.", "未给出迭代数和轮数：每条样本训练一次。"
    ),
}
