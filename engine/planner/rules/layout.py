"""Rules about parallel sizes that the person insists on."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm

from engine.planner.ask import Ask, round_up
from engine.planner.layouts import CONTEXT_ABOVE, MAX_TENSOR, divides_length, pipeline_sizes
from engine.planner.memory.megatron import layers_of_stage
from engine.planner.rules.devices import usable
from engine.problems import Problem, Value

SPLITS = ("tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size")
LATER: dict[str, Value] = {"context_parallel_size": 1, "expert_parallel_size": 1, "recompute": "none"}
"""What our own engine does not have yet → the value that asks for nothing."""


def not_in_framework(ask: Ask) -> Iterator[Problem]:
    """Our own engine has data, tensor and pipeline parallel and ZeRO; the others are refused one by one."""
    if ask.spec.framework != "native":
        return
    for name, idle in LATER.items():
        value = getattr(ask.spec.train.layout, name)
        if value is not None and value != idle:
            yield Problem(
                code="layout.not_yet",
                field=f"train.layout.{name}",
                fault="software",
                parameters={"name": name, "value": value},
                nearest={f"train.layout.{name}": None},
            )


def product(ask: Ask) -> Iterator[Problem]:
    if not ask.framework.splits_models:
        return
    sizes = {name: getattr(ask.spec.train.layout, name) or 1 for name in SPLITS}
    if ask.spec.framework == "native":
        sizes["context_parallel_size"] = 1  # any other is refused by name
    total = sizes["tensor_parallel_size"] * sizes["pipeline_parallel_size"] * sizes["context_parallel_size"]
    if ask.spec.devices % total:
        yield Problem(
            code="layout.product",
            field=f"train.layout.{max(sizes, key=lambda name: sizes[name])}",
            parameters={**sizes, "product": total, "devices": ask.spec.devices},
            nearest={"devices": _multiple(ask, total)},
        )


def _multiple(ask: Ask, total: int) -> int:
    """The least number of devices from the requested one up that `total` divides and the hardware gives out."""
    number = round_up(ask.spec.devices, total)
    while ask.hardware is not None and usable(number, ask.hardware) != number:
        number = round_up(usable(number, ask.hardware), total)
    return number


def heads(ask: Ask) -> Iterator[Problem]:
    """Tensor parallel gives each device whole attention heads, of queries and of keys and values."""
    size, model = ask.spec.train.layout.tensor_parallel_size, ask.model
    if size is None or model is None or model.num_attention_heads is None or not ask.framework.splits_models:
        return
    key_value = model.num_key_value_heads or model.num_attention_heads
    common = gcd(model.num_attention_heads, key_value)
    if common % size:
        fitting = max(number for number in range(1, min(size, common) + 1) if common % number == 0)
        yield Problem(
            code="layout.heads",
            field="train.layout.tensor_parallel_size",
            parameters={
                "tensor_parallel_size": size,
                "heads": model.num_attention_heads,
                "key_value_heads": key_value,
            },
            nearest={"train.layout.tensor_parallel_size": fitting},
        )


def not_of_framework(ask: Ask) -> Iterator[Problem]:
    """LLaMA-Factory does not cut a model, and MindSpeed-LLM shares out optimizer states alone (ZeRO stage 1)."""
    wish = ask.spec.train.layout
    if ask.spec.framework == "llama-factory":
        for name in (*SPLITS, "expert_parallel_size"):
            if (getattr(wish, name) or 1) > 1:
                yield _not_of(ask, name, getattr(wish, name), 1)
    if ask.spec.framework == "mindspeed-llm" and (wish.zero_stage or 0) > 1:
        yield _not_of(ask, "zero_stage", wish.zero_stage, 1)


def _not_of(ask: Ask, name: str, value: Value, nearest: Value) -> Problem:
    return Problem(
        code="layout.not_of_framework",
        field=f"train.layout.{name}",
        parameters={"framework": ask.spec.framework, "name": name, "value": value, "most": nearest},
        nearest={f"train.layout.{name}": nearest},
    )


def fixed_in_framework(ask: Ask) -> Iterator[Problem]:
    """LLaMA-Factory recomputes on accelerators always and on a CPU never, where it runs without DeepSpeed, too."""
    wish = ask.spec.train.layout
    if ask.spec.framework != "llama-factory":
        return
    fixed: dict[str, Value] = {"recompute": "none", "zero_stage": 0} if ask.on_cpu else {"recompute": "full"}
    for name, only in fixed.items():
        value = getattr(wish, name)
        if value not in (None, only):
            place = f"train.layout.{name}"
            parameters = {"framework": ask.spec.framework, "hardware": ask.spec.hardware, "name": name}
            yield Problem(
                code="layout.fixed_in_framework",
                field=place,
                fault="software",
                parameters={**parameters, "only": only, "value": value},
                nearest={place: None},
            )


def tensor_in_node(ask: Ask) -> Iterator[Problem]:
    size = ask.spec.train.layout.tensor_parallel_size
    if ask.spec.framework == "native":
        return  # its processes are on one machine in any case
    if size is not None and size > MAX_TENSOR and ask.framework.splits_models:
        yield Problem(
            code="layout.tensor_too_large",
            field="train.layout.tensor_parallel_size",
            parameters={"tensor_parallel_size": size, "most": MAX_TENSOR},
            nearest={"train.layout.tensor_parallel_size": None},
        )


def stages(ask: Ask) -> Iterator[Problem]:
    """Every pipeline stage needs a layer; an uneven split works, but has to be spelled out to MindSpeed-LLM."""
    size, shape = ask.spec.train.layout.pipeline_parallel_size, ask.shape
    layers = ask.model.num_hidden_layers if ask.model is not None else None
    if size is None or layers is None or not ask.framework.splits_models:
        return
    parameters: dict[str, Value] = {"pipeline_parallel_size": size, "layers": layers}
    place = "train.layout.pipeline_parallel_size"
    if ask.spec.framework == "native":
        if size > layers:
            yield Problem(
                code="layout.too_many_stages",
                field=place,
                parameters={**parameters, "most": layers},
                nearest={place: None},
            )
        return
    if (size - 1) * layers_of_stage(layers, size) >= layers:
        most = max(pipeline_sizes(layers, 2**10))
        yield Problem(
            code="layout.too_many_stages", field=place, parameters={**parameters, "most": most}, nearest={place: None}
        )
    elif layers % size:
        filled = shape is not None and shape.experts is not None
        yield Problem(
            code="layout.empty_layers" if filled else "layout.uneven",
            field=place,
            severity="note" if filled else "warning",
            parameters=parameters,
        )


def context(ask: Ask) -> Iterator[Problem]:
    """MindSpeed-LLM asks for a context-parallel size of at least 2 above 32768 tokens."""
    size, length = ask.spec.train.layout.context_parallel_size, ask.spec.train.seq_length
    if size == 1 and length > CONTEXT_ABOVE and ask.spec.framework == "mindspeed-llm":
        yield Problem(
            code="layout.context_needed",
            field="train.layout.context_parallel_size",
            parameters={"seq_length": length, "limit": CONTEXT_ABOVE},
            nearest={"train.layout.context_parallel_size": None},
        )


def length(ask: Ask) -> Iterator[Problem]:
    """Sizes that are asked for must cut a sample evenly."""
    wish, tokens = ask.spec.train.layout, ask.spec.train.seq_length
    tensor, split = wish.tensor_parallel_size or 1, wish.context_parallel_size or 1
    if ask.spec.framework != "mindspeed-llm" or divides_length(tokens, tensor, split):
        return
    unit = split * lcm(tensor, 2 if split > 1 else 1)
    yield Problem(
        code="layout.length",
        field="train.seq_length",
        parameters={
            "seq_length": tokens,
            "tensor_parallel_size": tensor,
            "context_parallel_size": split,
            "unit": unit,
        },
        nearest={"train.seq_length": round_up(tokens, unit)},
    )


def context_family(ask: Ask) -> Iterator[Problem]:
    """The vendor's pages offer context parallel for Llama 3 alone; published scripts have it for others too, so that
    it is a warning: where it is asked for, and where the length needs it."""
    size, length = ask.spec.train.layout.context_parallel_size, ask.spec.train.seq_length
    if ask.model is None or ask.spec.framework != "mindspeed-llm" or ask.model.family.startswith("llama3"):
        return
    if (size or 1) > 1 or length > CONTEXT_ABOVE:
        yield Problem(
            code="layout.context_family",
            field="train.layout.context_parallel_size" if (size or 1) > 1 else "train.seq_length",
            severity="warning",
            parameters={"model": ask.spec.model, "limit": CONTEXT_ABOVE},
        )


def experts(ask: Ask) -> Iterator[Problem]:
    """Expert parallel needs experts, and divides them and the replicas."""
    size, shape = ask.spec.train.layout.expert_parallel_size, ask.shape
    if size is None or size == 1 or shape is None or not ask.framework.splits_models:
        return
    place, replicas = "train.layout.expert_parallel_size", ask.replicas
    if shape.experts is None:
        parameters: dict[str, Value] = {"expert_parallel_size": size, "model": ask.spec.model}
        yield Problem(code="layout.no_experts", field=place, parameters=parameters, nearest={place: 1})
        return
    count = shape.experts.count
    if count % size or (ask.spec.devices if replicas is None else replicas) % size:
        parameters = {"expert_parallel_size": size, "experts": count, "replicas": replicas or ask.spec.devices}
        yield Problem(code="layout.experts", field=place, parameters=parameters, nearest={place: None})
