"""What goes wrong while a job runs: stages, processes, checkpoints, sites."""

from engine.texts.entry import Text

TEXTS = {
    "stage.out_of_memory": Text(
        "There was not enough memory: {reason}.",
        "内存不足：{reason}。",
        "Use a smaller micro-batch or a shorter sequence length, or fewer processes on this machine.",
        "请减小微批或序列长度，或减少本机上的进程数。",
    ),
    "stage.unexpected": Text(
        "The stage broke off with an error that is not foreseen: {reason}.",
        "该阶段因未预料的错误而中断：{reason}。",
        "Show the log to the administrator.",
        "请把日志提供给管理员。",
    ),
}
