"""What this site lacks: nodes, devices, frameworks."""

from engine.texts.entry import Text

TEXTS = {
    "node.none": Text(
        "No node has reported to this site yet; the job waits until one does.",
        "还没有节点向本站点报到；作业将等待节点报到后再运行。",
        "Ask the administrator to start a worker.",
        "请管理员启动 worker。",
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
