"""Checkpoints to go on from, and the disk that a run's own checkpoints take."""

from engine.texts.entry import Text

TEXTS = {
    "resume.missing": Text(
        "There is no folder {path} to continue from.",
        "要续训的目录 {path} 不存在。",
        "Correct the path, or leave it empty to start afresh.",
        "请改正路径，或留空以重新开始。",
    ),
    "resume.unreadable": Text(
        "{path} cannot be read: {error}.",
        "无法读取 {path}：{error}。",
        "Let the administrator see to its permissions and its disk.",
        "请管理员检查文件权限和磁盘。",
    ),
    "resume.no_latest": Text(
        "{path} has no {file}, which names the iteration to load. Iterations that are there: {there}.",
        "{path} 中没有 {file}，该文件指明要加载的迭代。现有的迭代：{there}。",
        "Name the folder that holds the iter_ directories, and write the number of the wanted one into {file}.",
        "请指定含有 iter_ 目录的目录，并把所需迭代的编号写入 {file}。",
    ),
    "resume.bad_latest": Text(
        "{file} in {path} holds no number, but: {named}. Iterations that are there: {there}.",
        "{path} 中的 {file} 不是数字，而是：{named}。现有的迭代：{there}。",
        "Write the number of the wanted iteration into it, such as 20 for iter_0000020.",
        "请写入所需迭代的编号，例如 iter_0000020 对应 20。",
    ),
    "resume.no_iteration": Text(
        "{file} in {path} names iteration {named}, whose directory is missing or empty. Iterations that are there: "
        "{there}.",
        "{path} 中的 {file} 指明迭代 {named}，但其目录缺失或为空。现有的迭代：{there}。",
        "Write the number of an iteration that is there into {file}.",
        "请把现有迭代的编号写入 {file}。",
    ),
    "resume.other_iteration": Text(
        "Iteration {wanted} is asked for, but {file} beside it names {named}: that one would be loaded.",
        "请求从迭代 {wanted} 继续，但同目录的 {file} 指明 {named}：实际会加载后者。",
        "Write {wanted} into {file}.",
        "请把 {wanted} 写入 {file}。",
    ),
    "resume.folder_of_steps": Text(
        "{path} holds checkpoints, but is none itself.",
        "{path} 中含有检查点，但它本身不是检查点。",
        "Name one of them; the newest is {newest}.",
        "请指定其中一个；最新的是 {newest}。",
    ),
    "resume.no_state": Text(
        "{path} has no {file}: it is no whole checkpoint of LLaMA-Factory.",
        "{path} 中没有 {file}：这不是完整的 LLaMA-Factory 检查点。",
        "Name a directory checkpoint-<step> that was saved whole.",
        "请指定一个完整保存的 checkpoint-<step> 目录。",
    ),
    "disk.too_small": Text(
        "The checkpoints do not fit on the disk of the runs: {count} of {gib} GiB each, with "
        "what else the run writes, need {needed} GiB, and {free} GiB are free.",
        "运行目录所在磁盘放不下检查点：{count} 个、每个 {gib} GiB，连同其他写入共需 {needed} GiB，而空闲 {free} GiB。",
        "Save less often, train with LoRA, or ask the administrator for room.",
        "请降低保存频率，改用 LoRA，或请管理员腾出空间。",
    ),
    "disk.too_slow": Text(
        "A checkpoint of about {gib} GiB a machine takes about {minutes} minutes at the {speed} MB/s that the disk of "
        "the runs was written with on {measured}; after {limit} minutes the processes that wait for it give up.",
        "每台机器约 {gib} GiB 的检查点，按运行目录所在磁盘的写入速度 {speed} MB/s（{measured} 测得）约需 {minutes} "
        "分钟；超过 {limit} 分钟，等待的进程会超时退出。",
        "Put the runs on a faster disk, spread the training over more machines, or train with LoRA.",
        "请把运行目录放到更快的磁盘上，使用更多机器分担，或改用 LoRA。",
    ),
    "disk.little_room": Text(
        "The checkpoints leave little room on the disk of the runs: {count} of {gib} GiB each, "
        "with what else the run writes, need {needed} GiB, and {free} GiB are free.",
        "检查点写入后运行目录所在磁盘余量很小："
        "{count} 个、每个 {gib} GiB，连同其他写入共需 {needed} GiB，而空闲 {free} GiB。",
        "Save less often, or ask the administrator for room.",
        "请降低保存频率，或请管理员腾出空间。",
    ),
}
