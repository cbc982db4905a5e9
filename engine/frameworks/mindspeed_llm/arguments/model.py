"""The model's dimensions and what kind of model it is, as Megatron's options.

Megatron's own defaults are those of GPT-2: learned positions, LayerNorm, a dropout of 0.1, 128 as the divisor of the
vocabulary. Each is said here, since a wrong one gives a bad loss and no message.
"""

from __future__ import annotations

import re

from engine.architecture import Architecture, Experts, LatentAttention
from engine.frameworks.mindspeed_llm.families import Family
from engine.frameworks.mindspeed_llm.split import padded_vocabulary, split_of
from engine.plan import Layout

ROUTER_GROUPS, GROUPS_OF_A_TOKEN, ROUTED_SCALE = 8, 4, 2.5
"""DeepSeek-V3's config.json: n_group, topk_group, routed_scaling_factor."""
DEEPSEEK_SPEC = ("mindspeed_llm.tasks.models.spec.deepseek_spec", "layer_spec")


def words(shape: Architecture, family: Family, layout: Layout, seq_length: int, *, lora: bool) -> list[str]:
    """lora: adapters on experts need another way of sending tokens to them."""
    found = [*_dimensions(shape, layout, seq_length), *_attention(shape, family), *_positions(shape, family)]
    found += _norms_and_activation(shape, family)
    if shape.experts is not None:
        found += _experts(shape.experts, layout, lora)
    if shape.latent_attention is not None:
        found += _latent_attention(shape.latent_attention)
    return found


def _dimensions(shape: Architecture, layout: Layout, seq_length: int) -> list[str]:
    split = split_of(shape, layout)
    longest = shape.max_position_embeddings if shape.latent_attention is not None else seq_length
    tied = [] if shape.tie_word_embeddings else ["--untie-embeddings-and-output-weights"]
    return [
        "--use-mcore-models",
        *("--num-layers", str(split.layers), *split.arguments()),
        *("--hidden-size", str(shape.hidden_size)),
        *("--ffn-hidden-size", str(shape.intermediate_size)),
        *("--num-attention-heads", str(shape.num_attention_heads)),
        *("--seq-length", str(seq_length)),
        *("--max-position-embeddings", str(max(longest, seq_length))),
        *("--make-vocab-size-divisible-by", "1"),
        *("--padded-vocab-size", str(padded_vocabulary(shape, layout))),
        *tied,
    ]


def _attention(shape: Architecture, family: Family) -> list[str]:
    found = ["--use-flash-attn", "--attention-dropout", "0.0", "--hidden-dropout", "0.0", "--disable-bias-linear"]
    if shape.latent_attention is None and shape.num_key_value_heads != shape.num_attention_heads:
        found += ["--group-query-attention", "--num-query-groups", str(shape.num_key_value_heads)]
    if shape.latent_attention is None and shape.query_size != shape.hidden_size:
        found += ["--kv-channels", str(shape.head_dim)]
    return [*found, "--add-qkv-bias"] if shape.qkv_bias else found


def _positions(shape: Architecture, family: Family) -> list[str]:
    if shape.rope_theta is None:
        return ["--position-embedding-type", "alibi", "--square-alibi-mask", "--fill-neg-inf"]
    found = ["--position-embedding-type", "rope", "--rotary-base", str(int(shape.rope_theta))]
    if family.half_rotary:
        return [*found, "--use-glm-rope", "--rotary-percent", "0.5", "--no-rope-fusion"]
    return [*found, "--use-rotary-position-embeddings", *_scaling(shape)]


def _scaling(shape: Architecture) -> list[str]:
    """The catalog's words, such as `llama3 rule, factor 8, original 8192`; other rules are for longer samples only."""
    found = re.match(r"(llama3 rule,|yarn) factor (\d+), original (\d+)", shape.rope_scaling)
    if found is None:
        return ["--use-fused-rotary-pos-emb"]
    factor, original = float(found[2]), found[3]
    if found[1] == "yarn":
        return [
            *("--use-fused-rotary-pos-emb", "--rope-scaling-type", "yarn", "--rope-scaling-factor", str(factor)),
            *("--beta-fast", "32", "--beta-slow", "1"),
            *("--rope-scaling-mscale", "1.0", "--rope-scaling-mscale-all-dim", "1.0"),
            *("--rope-scaling-original-max-position-embeddings", original),
        ]
    return [
        *("--rope-scaling-type", "llama3", "--rope-scaling-factor", str(factor)),
        *("--low-freq-factor", "1.0", "--high-freq-factor", "4.0"),
        *("--original-max-position-embeddings", original),
    ]


def _norms_and_activation(shape: Architecture, family: Family) -> list[str]:
    fused = ["--no-bias-swiglu-fusion"] if family.half_rotary else []
    return [
        *("--normalization", "RMSNorm", "--norm-epsilon", repr(family.norm_epsilon), "--use-fused-rmsnorm"),
        *("--swiglu", "--use-fused-swiglu", *fused),
        *("--no-masked-softmax-fusion", "--attention-softmax-in-fp32"),
    ]


def _experts(experts: Experts, layout: Layout, lora: bool) -> list[str]:
    """With adapters upstream takes the dispatcher alltoall_seq alone, and its scripts no grouped matrix product."""
    found = [
        *("--num-experts", str(experts.count), "--moe-router-topk", str(experts.top_k)),
        *("--expert-model-parallel-size", str(layout.expert_parallel_size)),
        *("--moe-token-dispatcher-type", "alltoall_seq" if lora else "alltoall"),
    ]
    if not lora:
        found.append("--moe-grouped-gemm")
    if not experts.shared:
        return [*found, "--moe-router-load-balancing-type", "aux_loss", "--moe-aux-loss-coeff", "0.02"]
    return [
        *found,
        *("--moe-ffn-hidden-size", str(experts.intermediate_size), "--n-shared-experts", str(experts.shared)),
        *("--first-k-dense-replace", str(experts.first_dense_layers), "--moe-layer-freq", "1"),
        *("--moe-router-load-balancing-type", "none", "--moe-router-num-groups", str(ROUTER_GROUPS)),
        *("--moe-router-group-topk", str(GROUPS_OF_A_TOKEN), "--moe-router-topk-scaling-factor", str(ROUTED_SCALE)),
        *("--norm-topk-prob", "--moe-router-score-function", "sigmoid"),
        *("--moe-router-enable-expert-bias", "--moe-router-dtype", "fp32"),
    ]


def _latent_attention(attention: LatentAttention) -> list[str]:
    return [
        *("--spec", *DEEPSEEK_SPEC, "--shape-order", "BNSD", "--multi-latent-attention", "--qk-layernorm"),
        *("--q-lora-rank", str(attention.q_lora_rank), "--kv-lora-rank", str(attention.kv_lora_rank)),
        *("--qk-head-dim", str(attention.qk_nope_head_dim)),
        *("--qk-pos-emb-head-dim", str(attention.qk_rope_head_dim)),
        *("--v-head-dim", str(attention.v_head_dim)),
    ]
