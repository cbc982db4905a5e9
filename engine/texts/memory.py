"""What the memory model finds: does it fit, with how much room, on how many devices. All numbers are estimates."""

from engine.texts.entry import Text

_PARTS = (
    "weights {weights}, gradients {gradients}, optimizer {optimizer}, activations {activations}, logits {logits}, "
    "buffers {buffers}, runtime {runtime}"
)
_PARTS_ZH = (
    "权重 {weights}，梯度 {gradients}，优化器 {optimizer}，激活 {activations}，logits {logits}，"
    "缓冲区 {buffers}，运行时 {runtime}"
)

TEXTS = {
    "devices.memory": Text(
        "{model} with {strategy} at length {seq_length} does not fit with {framework} (devices: {devices}): the best "
        f"layout needs {{needed}} of {{capacity}} GiB on a device ({_PARTS}).",
        "{model} 以 {strategy}、长度 {seq_length} 用 {framework} 无法放入 {devices} 个设备：最佳布局每设备需要 "
        f"{{needed}} GiB，而容量为 {{capacity}} GiB（{_PARTS_ZH}）。",
        "Ask for {enough} devices or more, for LoRA, or for shorter samples.",
        "请使用 {enough} 个或更多设备，或改用 LoRA，或缩短样本。",
    ),
    "devices.memory_never": Text(
        "{model} with {strategy} at length {seq_length} fits on no number of devices up to {most} with {framework}: "
        f"on {{devices}} the best layout needs {{needed}} of {{capacity}} GiB on a device ({_PARTS}).",
        "{model} 以 {strategy}、长度 {seq_length} 用 {framework} 在 {most} 个以内的设备上都无法放入："
        f"在 {{devices}} 个设备上，最佳布局每设备需要 {{needed}} GiB，而容量为 {{capacity}} GiB（{_PARTS_ZH}）。",
        "Shorten the samples, use LoRA, or choose a framework that cuts the sequence (MindSpeed-LLM).",
        "请缩短样本，改用 LoRA，或选择能切分序列的框架（MindSpeed-LLM）。",
    ),
    "memory.micro_batch": Text(
        "A micro-batch of {micro_batch_size} does not fit: the best layout on {devices} devices needs {needed} of "
        f"{{capacity}} GiB on a device ({_PARTS}).",
        "微批大小 {micro_batch_size} 放不下：在 {devices} 个设备上，最佳布局每设备需要 {needed} GiB，"
        f"而容量为 {{capacity}} GiB（{_PARTS_ZH}）。",
        "Use a smaller micro-batch; the global batch is then added up in more steps.",
        "请减小微批；全局批会分更多步累积。",
    ),
    "memory.layout": Text(
        "The parallel sizes that are asked for do not fit on {devices} devices: {needed} of {capacity} GiB on a "
        f"device ({_PARTS}).",
        "所要求的并行规模在 {devices} 个设备上放不下：每设备需要 {needed} GiB，"
        f"而容量为 {{capacity}} GiB（{_PARTS_ZH}）。",
        "Leave them empty; the planner knows a layout that fits.",
        "请留空；规划器能找到放得下的布局。",
    ),
    "memory.little_room": Text(
        f"It fits with little room: {{percent}} % of the usable memory ({{needed}} of {{capacity}} GiB: {_PARTS}). "
        "The estimate is good to about 10 %.",
        f"勉强放得下：占可用内存的 {{percent}} %（{{needed}} / {{capacity}} GiB：{_PARTS_ZH}）。估计误差约 10 %。",
        "If it runs out of memory, use more devices or shorter samples.",
        "如果内存不足，请增加设备或缩短样本。",
    ),
    "devices.below_recommended": Text(
        "{devices} devices are enough for the memory, but fewer than the recommended {recommended}: it will be slower, "
        "with recompute or little room.",
        "{devices} 个设备的内存足够，但少于推荐的 {recommended} 个：需要重计算或余量很小，速度较慢。",
        "Use {recommended} if you have them.",
        "如有条件，请使用 {recommended} 个。",
    ),
    "devices.native_estimate": Text(
        "The minimum-device table does not speak of the native framework; one process is enough to start. Estimate: "
        f"{{needed}} GiB of memory a process with a micro-batch of {{micro_batch_size}} ({_PARTS}).",
        "最小卡数表不包含 native 框架；一个进程即可开始。估计：微批为 {micro_batch_size} 时，每个进程需要 "
        f"{{needed}} GiB 内存（{_PARTS_ZH}）。",
        "More processes share the batch among them, and each needs that memory.",
        "更多的进程会分担每一批数据，每个进程都需要这些内存。",
    ),
    "batch.no_layout": Text(
        "The global batch of {global_batch_size} cannot be shared out evenly by any layout that fits on {devices} "
        "devices.",
        "全局批大小 {global_batch_size} 无法被 {devices} 个设备上任何放得下的布局均分。",
        "Use a multiple of {unit}.",
        "请使用 {unit} 的倍数。",
    ),
    "checkpoint.size": Text(
        "A checkpoint takes about {gib} GiB, every {save_interval} iterations. Each of the {nodes} nodes has to write "
        "its part within {minutes} minutes: at least {megabytes_per_second} MB/s, else the others stop waiting.",
        "每 {save_interval} 次迭代保存一个约 {gib} GiB 的检查点。{nodes} 个节点须各自在 {minutes} 分钟内写完："
        "至少 {megabytes_per_second} MB/s，否则其他节点会等待超时。",
        "Make sure that the disk holds as many as the run will write, or save less often.",
        "请确保磁盘能容纳运行中写入的所有检查点，或降低保存频率。",
    ),
    "checkpoint.size_alone": Text(
        "A checkpoint takes about {gib} GiB, every {save_interval} iterations.",
        "每 {save_interval} 次迭代保存一个约 {gib} GiB 的检查点。",
        "Make sure that the disk holds as many as the run will write, or save less often.",
        "请确保磁盘能容纳运行中写入的所有检查点，或降低保存频率。",
    ),
    "layout.none": Text(
        "There is no layout for length {seq_length} with these sizes on {devices} devices.",
        "在 {devices} 个设备上，长度 {seq_length} 没有满足这些规模的布局。",
        "Use another number of devices, or leave the parallel sizes empty.",
        "请更换设备数，或将并行规模留空。",
    ),
}
