"""What this site lacks: nodes, devices, frameworks."""

from engine.texts.entry import Text

TEXTS = {
    "node.none": Text(
        "No node reports to this site; the job waits until one does.",
        "没有节点向本站点报到；作业将等待节点报到后再运行。",
        "Ask the administrator to start a worker.",
        "请管理员启动 worker。",
    ),
    "memory.too_small": Text(
        "By the estimate this takes about {needed} GiB (processes: {devices}); "
        "the largest machine here has {there} GiB.",
        "按估算约需 {needed} GiB 内存（进程数：{devices}）；本站点最大的机器只有 {there} GiB。",
        "Use a smaller micro-batch, shorter samples, LoRA or a smaller model.",
        "请减小微批大小、缩短序列长度、改用 LoRA 或选择更小的模型。",
    ),
    "memory.little_room": Text(
        "By the estimate this takes about {needed} GiB (processes: {devices}), more than the {there} GiB "
        "of the largest machine here; the estimate may be too high.",
        "按估算约需 {needed} GiB 内存（进程数：{devices}），超过本站点最大机器的 {there} GiB；该估算可能偏高。",
        "Use a smaller micro-batch, shorter samples, LoRA or a smaller model, to be safe.",
        "为稳妥起见，请减小微批大小、缩短序列长度、改用 LoRA 或选择更小的模型。",
    ),
    "run.folder_gone": Text(
        "The folder of the run has disappeared from the disk; its training is lost.",
        "运行目录已从磁盘上消失；其训练已丢失。",
        "Start the job again.",
        "请重新启动作业。",
    ),
    "run.node_gone": Text(
        "The node {node} has been silent for too long; the training there is lost.",
        "节点 {node} 长时间没有报到；其上的训练已丢失。",
        "Ask the administrator about the node, and start the job again.",
        "请向管理员了解该节点的情况，然后重新启动作业。",
    ),
    "run.cannot_start": Text(
        "The node {node} was asked several times to start the run or to take it over, and did not succeed.",
        "已多次要求节点 {node} 启动或接管该运行，均未成功。",
        "The cause is in the worker's log. Start the job again when it is mended.",
        "原因见 worker 的日志；修复后请重新启动作业。",
    ),
    "hardware.not_here": Text(
        "No node of this site has {hardware}; there is: {there}.",
        "本站点没有 {hardware} 节点；现有：{there}。",
        "Choose one of: {there}.",
        "请选择以下之一：{there}。",
    ),
    "devices.not_here": Text(
        "A run stays on one node, and the largest {hardware} node of this site has {largest} devices, not {devices}.",
        "一次运行只能使用一个节点，本站点最大的 {hardware} 节点有 {largest} 个设备，不足 {devices} 个。",
        "Use {largest} or fewer.",
        "请使用 {largest} 个或更少。",
    ),
    "dataset.other_team": Text(
        "{path} is registered by another team and is not yours to use.",
        "{path} 由其他团队登记，您的团队无权使用。",
        "Choose a dataset of your own team, or ask the administrator.",
        "请选择本团队的数据集，或联系管理员。",
    ),
    "weights.other_team": Text(
        "{path} is registered by another team and is not yours to use.",
        "{path} 由其他团队登记，您的团队无权使用。",
        "Choose weights of your own team, or ask the administrator.",
        "请选择本团队的权重，或联系管理员。",
    ),
    "framework.nowhere": Text(
        "No node of this site has {framework} installed.",
        "本站点没有节点安装了 {framework}。",
        "Choose another framework, or ask the administrator to install it.",
        "请更换框架，或请管理员安装。",
    ),
    "framework.installing": Text(
        "The packages of {framework} are still being installed; the job starts when they are there.",
        "{framework} 的软件包仍在安装；安装完成后作业会自动开始。",
    ),
}
