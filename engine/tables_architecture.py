"""model_architecture.csv → `Architecture`. Rows without dimensions are left out: nothing follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.architecture import Architecture, Experts, LatentAttention, VisionTower
from engine.tables_csv import Line, table


def architectures(folder: Path) -> Iterator[Architecture]:
    """Raises ValueError, naming file and line, when a number is not one."""
    for line in table(folder, "model_architecture"):
        if line.optional_int("hidden_size") is not None:
            yield _architecture(line)


def _architecture(line: Line) -> Architecture:
    theta = line.optional_int("rope_theta")
    return Architecture(
        model=line.text("model"),
        model_type=line.text("model_type"),
        num_hidden_layers=line.integer("num_hidden_layers"),
        hidden_size=line.integer("hidden_size"),
        intermediate_size=line.integer("intermediate_size"),
        num_attention_heads=line.integer("num_attention_heads"),
        num_key_value_heads=line.integer("num_key_value_heads"),
        head_dim=line.integer("head_dim"),
        vocab_size=line.integer("vocab_size"),
        max_position_embeddings=line.integer("max_position_embeddings"),
        rope_theta=None if theta is None else float(theta),
        rope_scaling=line.text("rope_scaling"),
        tie_word_embeddings=line.text("tie_word_embeddings") == "true",
        qkv_bias=line.text("attention_bias") == "qkv",
        remote_code=line.text("transformers_5x") == "trust_remote_code",
        experts=_experts(line),
        latent_attention=_latent_attention(line),
        vision=_vision(line),
        total_params=line.optional_int("total_params"),
        source=line.text("config_source"),
        note=line.text("note"),
    )


def _experts(line: Line) -> Experts | None:
    count = line.optional_int("moe_num_experts")
    if count is None:
        return None
    return Experts(
        count=count,
        top_k=line.integer("moe_top_k"),
        intermediate_size=line.integer("moe_intermediate_size"),
        shared=line.integer("moe_shared_experts"),
        first_dense_layers=line.integer("moe_first_dense_layers"),
        correction_bias=line.text("model_type") == "deepseek_v3",
    )


def _latent_attention(line: Line) -> LatentAttention | None:
    rank = line.optional_int("mla_kv_lora_rank")
    if rank is None:
        return None
    return LatentAttention(
        q_lora_rank=line.integer("mla_q_lora_rank"),
        kv_lora_rank=rank,
        qk_nope_head_dim=line.integer("mla_qk_nope_head_dim"),
        qk_rope_head_dim=line.integer("mla_qk_rope_head_dim"),
        v_head_dim=line.integer("mla_v_head_dim"),
    )


def _vision(line: Line) -> VisionTower | None:
    depth = line.optional_int("vision_depth")
    if depth is None:
        return None
    return VisionTower(
        depth=depth,
        hidden_size=line.integer("vision_hidden"),
        heads=line.integer("vision_heads"),
        intermediate_size=line.integer("vision_intermediate"),
        gated=line.text("vision_mlp").startswith("gate"),
        rms_norm=line.text("vision_norm") == "RMSNorm",
        patch_size=line.integer("vision_patch"),
        temporal_patch_size=line.integer("vision_temporal_patch"),
        merge_size=line.integer("vision_merge"),
    )
