"""Every rule about a request, in the order in which its findings are shown."""

from engine.planner.ask import CELL, Rule
from engine.planner.rules import (
    batch,
    checkpoint,
    data,
    devices,
    framework,
    layout,
    memory,
    model,
    printed,
    quirks,
    schedule,
)

LAYOUT = (
    "train.layout.tensor_parallel_size",
    "train.layout.pipeline_parallel_size",
    "train.layout.context_parallel_size",
)
BATCH = ("framework", "devices", "train.micro_batch_size", "train.global_batch_size", *LAYOUT)
JUDGED = (*CELL, "devices", "train.micro_batch_size", "train.layout", "train.lora")
"""What the memory of a job follows from."""

RULES: tuple[Rule, ...] = (
    Rule(model.unknown, ("model",)),
    Rule(model.retired, ("model", "framework")),
    Rule(framework.not_for_model, CELL),
    Rule(framework.not_launchable, ("framework",)),
    Rule(devices.unknown_hardware, ("hardware",)),
    Rule(framework.not_on_hardware, ("framework", "hardware")),
    Rule(devices.step, ("hardware", "devices")),
    Rule(devices.nodes, ("framework", "hardware", "devices")),
    Rule(devices.unsupported, CELL),
    Rule(devices.too_few, (*CELL, "devices")),
    Rule(devices.too_few_for_shorter, (*CELL, "devices")),
    Rule(memory.does_not_fit, JUDGED),
    Rule(devices.no_row, (*CELL, "train.lora")),
    Rule(memory.no_table, CELL),
    Rule(devices.suspect, CELL),
    Rule(printed.remarks, (*CELL, "train.lora")),
    Rule(memory.below_recommended, JUDGED),
    Rule(memory.little_room, JUDGED),
    Rule(quirks.of_model, ("model", "framework")),
    Rule(data.format_of_framework, ("framework", "train.dataset.format")),
    Rule(data.format_of_stage, ("train.stage", "train.dataset.format")),
    Rule(data.names, ("train.dataset",)),
    Rule(data.template, ("framework", "train.stage", "train.dataset")),
    Rule(data.ending, ("framework", "train.dataset.path", "train.dataset.format")),
    Rule(schedule.seq_length, ("model", "framework", "train.seq_length")),
    Rule(schedule.short, ("train.stage", "train.seq_length")),
    Rule(schedule.tokens, ("train.train_iters", "train.global_batch_size", "train.seq_length")),
    Rule(schedule.both_lengths, ("train.train_iters", "train.epochs")),
    Rule(schedule.learning_rates, ("train.learning_rate", "train.min_learning_rate")),
    Rule(schedule.resume, ("framework", "train.strategy", "train.resume")),
    Rule(checkpoint.of_several_nodes, (*CELL, "devices", "train.save_interval")),
    Rule(schedule.unused_lora, ("train.strategy", "train.lora")),
    Rule(layout.not_in_framework, ("framework", "train.layout")),
    Rule(layout.product, ("framework", "devices", *LAYOUT)),
    Rule(layout.not_of_framework, ("framework", "train.layout")),
    Rule(layout.tensor_in_node, ("framework", "train.layout.tensor_parallel_size")),
    Rule(layout.heads, ("framework", "model", "train.layout.tensor_parallel_size")),
    Rule(layout.stages, ("framework", "model", "train.layout.pipeline_parallel_size")),
    Rule(layout.context, ("framework", "train.seq_length", "train.layout.context_parallel_size")),
    Rule(layout.experts, ("framework", "model", "devices", "train.layout")),
    Rule(batch.micro_in_global, ("train.micro_batch_size", "train.global_batch_size")),
    Rule(batch.replicas, BATCH),
    Rule(memory.no_layout, JUDGED),
    Rule(memory.batch_of_layouts, (*JUDGED, "train.global_batch_size")),
)
