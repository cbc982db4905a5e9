"""A verdict in one sentence. `{head}` is the setting; each number is there bare, and with its unit as `{…_units}`."""

from engine.texts.entry import Text

HEAD = Text(
    "{model}, {strategy}, {seq_length}, {framework} on {hardware}",
    "{model}（{strategy}，长度 {seq_length}，{hardware} 上的 {framework}）",
)
REFUSALS = {
    "devices.unsupported": Text("The vendor's table marks {head} as unsupported.", "厂商的表格标明不支持{head}。"),
    "framework.not_for_model": Text("{framework} is not offered for {model}.", "{framework}不支持{model}。"),
    "framework.not_on_hardware": Text("{framework} does not run on {hardware}.", "{framework}不能在{hardware}上运行。"),
    "framework.native_cpu_only": Text(
        "{framework} does not run on {hardware} in this release.", "本版本的{framework}还不能在{hardware}上运行。"
    ),
    "devices.too_few": Text(
        "{head} needs {needed_units}; you chose {devices}.", "{head}需要{needed_units}，当前选择了{devices_units}。"
    ),
    "devices.memory_never": Text(
        "{head} fits on no number of {unit} up to {most}.", "{head}在{most_units}以内都放不下。"
    ),
    "devices.one_machine": Text(
        "{framework} stays on one machine, which has at most {per_node_units}; you chose {devices}.",
        "{framework}只在单机上运行，最多{per_node_units}，当前选择了{devices_units}。",
    ),
    "devices.step": Text(
        "{hardware} gives out {unit} in steps of {step}; you chose {devices}.",
        "{hardware}以{step_units}为单位分配，当前选择了{devices_units}。",
    ),
    "devices.whole_nodes": Text(
        "Above {per_node_units} {hardware} is used in whole nodes; you chose {devices}.",
        "{hardware}超过{per_node_units}时须使用整节点，当前选择了{devices_units}。",
    ),
    "memory.micro_batch": Text(
        "{head} fits on {devices_units}, but not with this micro-batch.", "{head}可用{devices_units}训练，但微批过大。"
    ),
    "memory.layout": Text(
        "{head} fits on {devices_units}, but not with these parallel sizes.",
        "{head}可用{devices_units}训练，但不能采用这些并行规模。",
    ),
    "layout.none": Text(
        "There is no layout of {head} on {devices_units}.", "{head}在{devices_units}上没有可行的布局。"
    ),
}
"""By the code of the error that decides, the weightiest first. `devices.memory` reads as `devices.too_few`."""
PRINTED = Text(
    "{head} fits on {devices_units}; the table asks for {table}.",
    "{head}可用{devices_units}训练；表中要求至少{table_units}。",
)
DOUBTED = Text(
    "{head} fits on {devices_units}; the printed minimum of {table} is in doubt, and {safer} is the safer number.",
    "{head}可用{devices_units}训练；表中的最少数量{table}存疑，更稳妥的是{safer_units}。",
)
ESTIMATED = Text(
    "By estimate {head} fits on {devices_units}; it needs at least {floor}, and {recommended} are recommended.",
    "据估计，{head}可用{devices_units}训练；至少需要{floor_units}，推荐{recommended_units}。",
)
NATIVE = Text(
    "{head} runs in {devices_units}, by estimate with {gib} GiB of memory in each.",
    "{head}可用{devices_units}运行，估计每个进程需要{gib} GiB 内存。",
)
UNKNOWN = Text("Whether {head} fits on {devices_units} is not known.", "无法判断{head}用{devices_units}是否足够。")
FITS = Text("{what} fits on {needed}", "{what}只需{needed_units}")
NEEDS = Text("{what} needs {needed}", "{what}需要{needed_units}")
LENGTH = Text("{value}", "长度 {value} ")
