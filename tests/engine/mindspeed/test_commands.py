"""Every command that is planned is one that the release's own parser takes, and its parts agree with each other."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import cycle
from math import gcd

import pytest

from engine.architecture import Architecture
from engine.catalog import load
from engine.frameworks.mindspeed_llm.families import family_of
from engine.frameworks.mindspeed_llm.flags import READ_BY
from engine.frameworks.mindspeed_llm.profiles import NEW, OLD, PROFILES, UnknownRelease, chosen
from engine.frameworks.mindspeed_llm.profiles.options import TRAIN, options
from engine.frameworks.mindspeed_llm.split import padded_vocabulary, shards, split_of
from engine.frameworks.mindspeed_llm.stages import stages
from engine.plan import Batch, Layout, Stage
from engine.planner import plan
from engine.spec import JobSpec
from tests.engine.asked import request
from tests.engine.mindspeed.parsers import Rejected, of_stage, parsed, parser
from tests.test_architecture import spec_fields

CATALOG = load()
OFFERED = [row.name for row in CATALOG.models.values() if "mindspeed-llm" in row.frameworks]
RELEASES = list(PROFILES)


def shape_of(model: str) -> Architecture:
    return CATALOG.architectures[model]


def layouts(model: str) -> Iterator[Layout]:
    """What the vendor prints for the model, and others that its heads and layers allow."""
    shape = shape_of(model)
    printed = [row for row in CATALOG.parallel_configs.values() if row.model == model]
    sizes = {(row.tensor_parallel_size, row.pipeline_parallel_size, 1, 1) for row in printed}
    common = gcd(shape.num_attention_heads, shape.key_value_heads_to_split)
    layers = shape.num_hidden_layers
    tensors = [size for size in (1, 2, 8) if common % size == 0]
    pipelines = [size for size in (1, 3, 8) if (size - 1) * -(-layers // size) < layers]
    sizes |= {(tensor, pipeline, 1, 1) for tensor in tensors for pipeline in pipelines}
    sizes |= {(1, pipelines[-1], 2, 1 if shape.experts is None else 8)}
    for tensor, pipeline, context, expert in sorted(sizes):
        yield Layout(
            devices=tensor * pipeline * context * expert,
            tensor_parallel_size=tensor,
            pipeline_parallel_size=pipeline,
            context_parallel_size=context,
            expert_parallel_size=expert,
            data_parallel_size=expert,
            zero_stage=int(expert * context > 1),
            recompute=("none", "full", "selective")[(tensor + pipeline) % 3],
            reuse_fp32_param=pipeline == 8,
        )


def made(model: str, layout: Layout, release: str, **changes: object) -> tuple[Stage, ...]:
    changed = {"model": model, "train__train_iters": 20, "devices": layout.devices, **changes}
    spec = JobSpec.model_validate(request(**changed))
    batch = Batch(
        micro_batch_size=1,
        global_batch_size=8 * layout.data_parallel_size,
        gradient_accumulation_steps=8,
        train_iters=spec.train.train_iters,
        epochs=None if spec.train.train_iters else spec.train.epochs,
    )
    return stages(spec, layout, batch, shape_of(model), profile=PROFILES[release])


KINDS = (("full", "sft", "alpaca"), ("lora", "sft", "moss"), ("full", "pretrain", "text"), ("lora", "pretrain", "text"))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("model", OFFERED)
def test_every_command_is_one_that_the_release_takes(model: str, release: str) -> None:
    """All kinds of training with the first layout, and in turn with the others."""
    first, *others = layouts(model)
    cases = [(first, kind) for kind in KINDS] + list(zip(others, cycle(KINDS), strict=False))
    for layout, (strategy, stage, form) in cases:
        changes = {"train__strategy": strategy, "train__stage": stage, "train__dataset__format": form}
        found = made(model, layout, release, **changes)
        told = {one.name: read for one in found for command in one.commands if (read := parsed(command, release))}
        family = family_of(shape_of(model))
        assert family is not None
        if PROFILES[release].converter(family) is None:
            assert not told
        else:
            assert {"preprocess", "convert", "train"} <= set(told)
            _agree(told["train"][1], told["convert"][1], layout, shape_of(model))


def _agree(train: Namespace, convert: Namespace, layout: Layout, shape: Architecture) -> None:
    """Converter and training cut the model alike, and Megatron's own rules on sizes hold."""
    assert convert.target_tensor_parallel_size == train.tensor_model_parallel_size == layout.tensor_parallel_size
    assert convert.target_pipeline_parallel_size == train.pipeline_model_parallel_size
    assert (convert.num_layer_list, convert.noop_layers) == (train.num_layer_list, train.noop_layers)
    assert convert.moe_grouped_gemm == train.moe_grouped_gemm
    assert train.num_attention_heads % train.tensor_model_parallel_size == 0
    assert train.max_position_embeddings >= train.seq_length
    assert train.padded_vocab_size % train.tensor_model_parallel_size == 0
    assert 0 <= train.padded_vocab_size - shape.vocab_size < train.tensor_model_parallel_size
    sizes = list(map(int, (train.num_layer_list or "").split(","))) if train.num_layer_list else []
    if sizes:
        assert (sum(sizes), len(sizes)) == (train.num_layers, train.pipeline_model_parallel_size)
        assert min(sizes) > 0
    else:
        assert train.num_layers % train.pipeline_model_parallel_size == 0
        empty = len(train.noop_layers.split(",")) if train.noop_layers else 0
        assert train.num_layers - empty == shape.num_hidden_layers


@pytest.mark.parametrize(("model", "seq_length"), CATALOG.parallel_configs)
@pytest.mark.parametrize("strategy", ["full", "lora"])
def test_a_row_of_the_printed_parallel_table_becomes_its_command(model: str, seq_length: int, strategy: str) -> None:
    row = CATALOG.parallel_configs[model, seq_length]
    changes = {
        "model": model,
        "devices": row.nodes * row.cards_per_node,
        "train__seq_length": seq_length,
        "train__strategy": strategy,
        "train__layout__tensor_parallel_size": row.tensor_parallel_size,
        "train__layout__pipeline_parallel_size": row.pipeline_parallel_size,
        "train__micro_batch_size": 1,
    }
    found = plan(JobSpec.model_validate(request(**changes)), CATALOG).stages
    assert [stage.name for stage in found] == ["preprocess", "convert", "train", "export"]
    told = of_stage(found, "train", chosen({}).release)
    sizes = (told.tensor_model_parallel_size, told.pipeline_model_parallel_size, told.seq_length)
    assert sizes == (row.tensor_parallel_size, row.pipeline_parallel_size, seq_length)
    command = found[2].commands[0]
    assert (command.nodes, command.processes_per_node) == (row.nodes, row.cards_per_node)
    assert ("{node_rank}" in command.argv) == ("{master_addr}" in command.argv) == (row.nodes > 1)


PUBLISHED = {
    # layers, hidden, ffn, heads, groups, padded vocabulary, rotary base, epsilon: the release's example scripts
    "llama3-8b": (32, 4096, 14336, 32, 8, 128256, 500000, 1e-5),
    "llama3.1-8b": (32, 4096, 14336, 32, 8, 128256, 500000, 1e-5),
    "qwen2-7b": (28, 3584, 18944, 28, 4, 152064, 1000000, 1e-6),
    "qwen2.5-7b": (28, 3584, 18944, 28, 4, 152064, 1000000, 1e-6),
    "yi-34b": (60, 7168, 20480, 56, 8, 64000, 5000000, 1e-5),
    "glm4-9b": (40, 4096, 13696, 32, 2, 151552, 5000000, 1.5625e-07),
    "mixtral-8x7b": (32, 4096, 14336, 32, 8, 32000, 1000000, 1e-5),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_dimensions_are_those_of_the_published_scripts(model: str) -> None:
    told = of_stage(made(model, Layout(devices=1, data_parallel_size=1), "2.3.0"), "train", "2.3.0")
    sizes = (told.num_layers, told.hidden_size, told.ffn_hidden_size, told.num_attention_heads, told.num_query_groups)
    assert (*sizes, told.padded_vocab_size, told.rotary_base, told.norm_epsilon) == PUBLISHED[model]
    assert told.add_qkv_bias == (model.startswith(("qwen", "glm")))
    assert told.use_glm_rope == (model == "glm4-9b")
    assert told.attention_dropout == told.hidden_dropout == 0.0
    assert (told.normalization, told.swiglu, told.disable_bias_linear) == ("RMSNorm", True, False)


def test_deepseek_is_told_as_its_published_script_tells_it() -> None:
    layout = Layout(
        devices=256, tensor_parallel_size=2, pipeline_parallel_size=8, expert_parallel_size=8, data_parallel_size=16
    )
    told = of_stage(made("deepseek-v3", layout, "26.1.0"), "train", "26.1.0")
    assert (told.num_layers, told.noop_layers) == (64, "61,62,63")
    assert (told.num_experts, told.moe_router_topk, told.moe_ffn_hidden_size, told.n_shared_experts) == (
        256,
        8,
        2048,
        1,
    )
    assert (told.first_k_dense_replace, told.moe_router_num_groups, told.moe_router_group_topk) == (3, 8, 4)
    assert (told.q_lora_rank, told.kv_lora_rank, told.qk_head_dim, told.qk_pos_emb_head_dim) == (1536, 512, 128, 64)
    assert told.spec == ["mindspeed_llm.tasks.models.spec.deepseek_spec", "layer_spec"]
    convert = of_stage(made("deepseek-v3", layout, "26.1.0"), "convert", "26.1.0")
    assert (convert.noop_layers, convert.num_layers, convert.moe_grouped_gemm) == ("61,62,63", None, True)
    assert (told.rope_scaling_type, told.rope_scaling_factor, told.max_position_embeddings) == ("yarn", 40.0, 163840)


def words_of(found: tuple[Stage, ...], name: str) -> tuple[str, ...]:
    return next(stage for stage in found if stage.name == name).commands[0].argv


@pytest.mark.parametrize("release", RELEASES)
def test_a_full_training_goes_on_from_its_own_checkpoint_with_the_optimizer(release: str) -> None:
    told = of_stage(made("llama3.1-8b", Layout(devices=1, data_parallel_size=1), release), "train", release)
    assert (told.load, told.save, told.pretrained_checkpoint) == (
        "{run_dir}/checkpoints",
        "{run_dir}/checkpoints",
        "{run_dir}/weights",
    )
    assert not told.finetune
    assert "--no-load-optim" not in words_of(
        made("llama3.1-8b", Layout(devices=1, data_parallel_size=1), release), "train"
    )
    assert told.exit_on_missing_checkpoint
    assert (told.ckpt_format, told.transformer_impl) == ("torch", "local")


def test_lora_always_begins_with_the_weights_and_is_merged_when_it_is_converted_back() -> None:
    found = made("llama3.1-8b", Layout(devices=1, data_parallel_size=1), "26.1.0", train__strategy="lora")
    told, back = of_stage(found, "train", "26.1.0"), of_stage(found, "export", "26.1.0")
    assert (told.load, told.finetune, told.lora_ckpt_filter) == ("{run_dir}/weights", True, True)
    assert (told.lora_r, told.lora_alpha) == (back.lora_r, back.lora_alpha) == (8, 16)
    assert (
        told.lora_target_modules
        == back.lora_target_modules
        == ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]
    )
    assert (back.load_dir, back.lora_load) == ("{run_dir}/weights", "{run_dir}/checkpoints")


def test_fine_tuning_names_a_prefix_and_its_template_and_pre_training_a_file() -> None:
    alone = Layout(devices=1, data_parallel_size=1)
    tuned = made("qwen2.5-7b", alone, "26.1.0")
    plain = made("qwen2.5-7b", alone, "26.1.0", train__stage="pretrain", train__dataset__format="text")
    told, data = of_stage(tuned, "train", "26.1.0"), of_stage(tuned, "preprocess", "26.1.0")
    assert (told.stage, told.is_instruction_dataset, told.data_path) == ("sft", True, ["{run_dir}/data/train"])
    assert told.prompt_type == data.prompt_type == "qwen"
    told, data = of_stage(plain, "train", "26.1.0"), of_stage(plain, "preprocess", "26.1.0")
    assert (told.stage, told.data_path, data.prompt_type) == (None, ["{run_dir}/data/train_text_document"], None)
    assert data.handler_name == "GeneralPretrainHandler"
    assert ("pretrain_gpt.py" in words_of(plain, "train"), "posttrain_gpt.py" in words_of(tuned, "train")) == (
        True,
        True,
    )


@pytest.mark.parametrize("model", OFFERED)
def test_yi_and_others_whose_fast_tokenizer_differs_get_the_slow_one_in_both_places(model: str) -> None:
    found = made(model, Layout(devices=1, data_parallel_size=1), "26.1.0")
    slow = [of_stage(found, name, "26.1.0").tokenizer_not_use_fast is False for name in ("preprocess", "train")]
    assert slow == [model.startswith(("yi-", "llama2-", "baichuan2-"))] * 2


def test_a_converter_that_is_known_to_scramble_is_not_used_for_the_way_back() -> None:
    found = made("llama3.1-8b", Layout(devices=1, data_parallel_size=1), "26.1.0")
    assert OLD in next(stage for stage in found if stage.name == "export").commands[1].argv
    last = made("llama3.1-8b", Layout(devices=1, data_parallel_size=1), "master")
    assert NEW in last[1].commands[1].argv
    assert [stage.name for stage in last] == ["preprocess", "convert", "train"]
    whole = made("llama2-7b", Layout(devices=1, data_parallel_size=1), "master")
    assert [stage.name for stage in whole] == ["preprocess", "convert", "train", "export"]


def test_a_number_of_iterations_that_is_not_known_yet_is_added_when_the_training_starts() -> None:
    found = made("qwen2-7b", Layout(devices=1, data_parallel_size=1), "26.1.0", train__train_iters=None)
    command = found[2].commands[0]
    assert command.argv[:2] == ("{python}", "-m")
    assert command.argv[3:6] == ("{run_dir}/stages/train/stage.json", "{mindspeed_llm_home}", "--")
    assert "--train-iters" not in command.argv
    assert command.cwd is None
    known = made("qwen2-7b", Layout(devices=1, data_parallel_size=1), "26.1.0")[2]
    assert known.commands[0].argv[0] == "{mindspeed_llm_python}"
    assert known.commands[0].cwd == "{mindspeed_llm_home}"
    assert "checkpoints/iter_0000020/mp_rank_00/model_optim_rng.pt" in known.outputs


def test_the_parts_of_a_checkpoint_are_named_as_megatron_names_them() -> None:
    layout = Layout(
        devices=8, tensor_parallel_size=2, pipeline_parallel_size=2, expert_parallel_size=2, data_parallel_size=2
    )
    assert shards(layout)[0] == "mp_rank_00_000_000"
    assert shards(layout)[-1] == "mp_rank_01_001_001"
    assert len(shards(layout)) == 8
    assert shards(Layout(devices=1, data_parallel_size=1)) == ("mp_rank_00",)


def test_layers_that_do_not_divide_are_spelled_out() -> None:
    shape = shape_of("qwen2.5-7b")  # 28 layers
    layout = Layout(devices=3, pipeline_parallel_size=3, data_parallel_size=1)
    assert split_of(shape, layout).sizes == (10, 10, 8)
    assert padded_vocabulary(shape, Layout(devices=7, tensor_parallel_size=7, data_parallel_size=1)) == 152068


def test_every_field_of_a_request_is_read_or_refused_and_only_by_options_that_exist() -> None:
    assert set(READ_BY) == set(spec_fields())
    known = {
        name
        for program in (TRAIN, "preprocess_data.py", f"{OLD}:hf", f"{OLD}:mg", NEW)
        for name in options(program, "26.1.0")
    }
    launcher = {"--nproc_per_node", "--nnodes"}
    named = {word for words in READ_BY.values() for word in words if word.startswith("--")}
    assert named <= known | launcher


def test_the_recorded_options_differ_by_release() -> None:
    counts = {release: len(options(TRAIN, release)) for release in RELEASES}
    assert counts == {"2.3.0": 729, "26.1.0": 796, "master": 800}


@pytest.mark.parametrize("words", [["--no-such-option"], ["--num-layers", "many"], ["--stage", "rlhf"]])
def test_the_parser_of_these_tests_refuses_what_upstream_refuses(words: list[str]) -> None:
    with pytest.raises(Rejected):
        parser(TRAIN, "26.1.0").parse_args(words)


def test_the_site_says_which_release_it_has() -> None:
    assert chosen({}).release == "26.1.0"
    assert chosen({"TRAINYARD_MINDSPEED_LLM_RELEASE": "2.3.0"}).release == "2.3.0"
    with pytest.raises(UnknownRelease):
        chosen({"TRAINYARD_MINDSPEED_LLM_RELEASE": "1.0"})


def test_no_command_is_written_for_a_model_that_looks_at_pictures() -> None:
    assert family_of(shape_of("qwen2vl-7b")) is None
    assert isinstance(parser(TRAIN, "master").parse_args([]), Namespace)
