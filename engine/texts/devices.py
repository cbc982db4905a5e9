"""Hardware and the number of devices."""

from engine.texts.entry import Text

TEXTS = {
    "hardware.unknown": Text(
        "The hardware {hardware} is not in the hardware table.",
        "硬件表中没有 {hardware}。",
        "Choose one of: {known}.",
        "请选择以下之一：{known}。",
    ),
    "devices.step": Text(
        "{devices} is not a multiple of {step}: {hardware} is given out in steps of {step} (two DIE are one card).",
        "{devices} 不是 {step} 的倍数：{hardware} 以 {step} 为单位分配（两个 DIE 为一张卡）。",
        "Use a multiple of {step}.",
        "请使用 {step} 的倍数。",
    ),
    "devices.whole_nodes": Text(
        "{devices} devices are more than one node of {hardware} ({per_node}) and not whole nodes.",
        "{devices} 个设备超过一个 {hardware} 节点（{per_node} 个），且不是整节点。",
        "Above one node use a multiple of {per_node}.",
        "超过一个节点时，请使用 {per_node} 的倍数。",
    ),
    "devices.shared_storage": Text(
        "Of the {nodes} nodes the first alone preprocesses the data and converts the weights.",
        "{nodes} 个节点中，只有第一个节点预处理数据并转换权重。",
        "Keep dataset, weights and results on storage that all of them share.",
        "请把数据集、权重和结果放在所有节点共享的存储上。",
    ),
    "devices.one_machine": Text(
        "The native framework runs on one machine in this release: at most {per_node} on {hardware}, not {devices}.",
        "本版本的 native 框架在单机上运行：{hardware} 最多 {per_node} 个，不能是 {devices} 个。",
        "Use {per_node} or fewer.",
        "请使用 {per_node} 个或更少。",
    ),
    "devices.unsupported": Text(
        "The minimum-device table marks {framework} on {hardware} as unsupported for {model}, {strategy}, length "
        "{seq_length}.",
        "最小卡数表标明：{model}、{strategy}、长度 {seq_length} 在 {hardware} 上不支持 {framework}。",
        "Choose another framework, strategy or model.",
        "请更换框架、策略或模型。",
    ),
    "devices.too_few": Text(
        "{model} with {strategy} at length {seq_length} needs at least {minimum} devices with {framework} on "
        "{hardware}; {devices} are asked for.",
        "{model} 以 {strategy}、长度 {seq_length} 在 {hardware} 上用 {framework} 训练至少需要 {minimum} 个设备，"
        "现在请求了 {devices} 个。",
        "Ask for {minimum} or more.",
        "请使用 {minimum} 个或更多。",
    ),
    "devices.too_few_for_shorter": Text(
        "The table has no row for length {seq_length}, but {model} with {strategy} needs at least {minimum} devices at "
        "length {shorter} already, with {framework} on {hardware}; {devices} are asked for.",
        "表中没有长度 {seq_length} 的行，但 {model} 以 {strategy}、长度 {shorter} 在 {hardware} 上用 {framework} "
        "训练就至少需要 {minimum} 个设备，现在请求了 {devices} 个。",
        "Ask for {minimum} or more.",
        "请使用 {minimum} 个或更多。",
    ),
    "devices.no_row": Text(
        "The minimum-device table has no row for {model}, {strategy}, length {seq_length}, {framework}, {hardware}. "
        "By the memory model (an estimate) {floor} devices are enough, and {recommended} are recommended.",
        "最小卡数表中没有 {model}、{strategy}、长度 {seq_length}、{framework}、{hardware} 这一行。"
        "按内存模型估计，{floor} 个设备足够，推荐 {recommended} 个。",
        "Lengths that it has: {lengths}. The row of a longer one is on the safe side.",
        "表中有的长度：{lengths}。按更长的一行准备更为稳妥。",
    ),
    "devices.no_row_no_estimate": Text(
        "The minimum-device table has no row for {model}, {strategy}, length {seq_length}, {framework}, {hardware}; "
        "whether the devices are enough is not known.",
        "最小卡数表中没有 {model}、{strategy}、长度 {seq_length}、{framework}、{hardware} 这一行，"
        "无法判断设备是否足够。",
        "Lengths that it has: {lengths}. The row of a longer one is on the safe side.",
        "表中有的长度：{lengths}。按更长的一行准备更为稳妥。",
    ),
    "devices.no_table": Text(
        "The minimum-device table does not speak of the native framework; one process is enough to start.",
        "最小卡数表不包含 native 框架；一个进程即可开始。",
        "More processes share the batch among them.",
        "更多的进程会分担每一批数据。",
    ),
    "devices.suspect": Text(
        "The printed number {printed} is doubted: {why}.",
        "表中所印的 {printed} 存疑：{why}。",
        "The safer number is {safer}.",
        "更稳妥的数量是 {safer}。",
    ),
    "suspect.swapped": Text(
        "The printed number {printed} is doubted: the LLaMA-Factory cells for full and LoRA look exchanged.",
        "表中所印的 {printed} 存疑：LLaMA-Factory 的全参与 LoRA 两格似乎互换了。",
        "The safer number is {safer}.",
        "更稳妥的数量是 {safer}。",
    ),
    "suspect.other_pages": Text(
        "The printed number {printed} is doubted: other pages of the vendor print 2.",
        "表中所印的 {printed} 存疑：厂商的其他页面印为 2。",
        "The safer number is {safer}.",
        "更稳妥的数量是 {safer}。",
    ),
    "suspect.one_die": Text(
        "The printed number {printed} is doubted: two DIE are the smallest unit of a parallel strategy.",
        "表中所印的 {printed} 存疑：并行策略的最小单位是两个 DIE。",
        "The safer number is {safer}.",
        "更稳妥的数量是 {safer}。",
    ),
}
