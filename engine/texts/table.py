"""What is known of printed numbers of devices that memory does not explain."""

from engine.texts.entry import Text

_MODEL = " By the memory model {floor} are enough and {recommended} are recommended."
_MODEL_ZH = "按内存模型，{floor} 个足够，推荐 {recommended} 个。"

TEXTS = {
    "table.twice_its_sibling": Text(
        "The printed {printed} is twice that of llama3.1-8b, which needs as much memory." + _MODEL,
        "表中的 {printed} 是内存需求相同的 llama3.1-8b 的两倍。" + _MODEL_ZH,
    ),
    "table.below_its_sibling": Text(
        "The printed {printed} fits, but the smaller text model qwen2.5-72b is printed with 64 at this length: it was "
        "probably tried with short samples." + _MODEL,
        "表中的 {printed} 放得下，但更小的文本模型 qwen2.5-72b 在此长度下为 64：可能是用短样本测得的。" + _MODEL_ZH,
    ),
    "table.headroom": Text(
        "The printed {printed} leaves room: half of it is nearly full." + _MODEL,
        "表中的 {printed} 留有余量：一半的设备几乎占满。" + _MODEL_ZH,
    ),
    "table.without_recompute": Text(
        "The printed {printed} is for an even split without recompute; a published script trains llama3.1-70b at this "
        "length on 32 with an uneven one." + _MODEL,
        "表中的 {printed} 对应均匀切分且不重计算；有公开脚本以不均匀切分在 32 个设备上训练同长度的 llama3.1-70b。"
        + _MODEL_ZH,
    ),
    "table.for_speed": Text(
        "The printed {printed} is sized for speed, or for the layout of the full training, not for memory." + _MODEL,
        "表中的 {printed} 是按速度或全参训练的布局确定的，而不是按内存。" + _MODEL_ZH,
    ),
    "table.of_scripts": Text(
        "The printed {printed} is exactly the cluster of the published scripts; estimates for mixtures of experts are "
        "uncertain." + _MODEL,
        "表中的 {printed} 正是公开脚本所用的集群规模；混合专家模型的估计不确定。" + _MODEL_ZH,
    ),
    "table.one_step_up": Text(
        "The printed {printed} is one step above what memory asks for; why is not known." + _MODEL,
        "表中的 {printed} 比内存所需高一档，原因未知。" + _MODEL_ZH,
    ),
    "table.little_room": Text(
        "With the printed {printed} more than four fifths of the memory are used: the vendor accepts that here."
        + _MODEL,
        "使用表中的 {printed} 时内存占用超过五分之四：厂商在此接受这一点。" + _MODEL_ZH,
    ),
    "table.with_recompute": Text(
        "The printed {printed} is enough only with recompute." + _MODEL,
        "表中的 {printed} 只有在重计算时才足够。" + _MODEL_ZH,
    ),
}
