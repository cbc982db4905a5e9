"""`Architecture`: the dimensions of a model, from which parameters, memory and arithmetic follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture-of-experts feed-forward. The first `first_dense_layers` layers have an ordinary one."""

    count: int
    top_k: int
    intermediate_size: int
    shared: int
    """Experts that every token passes."""
    first_dense_layers: int
    correction_bias: bool
    """Does the router keep one learned bias an expert (DeepSeek-V3's e_score_correction_bias)?"""


@dataclass(frozen=True, kw_only=True)
class LatentAttention:
    """DeepSeek's multi-head latent attention: queries, keys and values go through low-rank projections."""

    q_lora_rank: int
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True, kw_only=True)
class VisionTower:
    depth: int
    hidden_size: int
    heads: int
    intermediate_size: int
    gated: bool
    """gate/up/down with biases; else fc1/fc2 with biases."""
    rms_norm: bool
    """Norms with a weight alone; else weight and bias."""
    patch_size: int
    temporal_patch_size: int
    merge_size: int


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One row of model_architecture.csv. Hashable: results are cached by it."""

    model: str
    model_type: str
    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    max_position_embeddings: int
    rope_theta: float | None
    rope_scaling: str
    tie_word_embeddings: bool
    qkv_bias: bool
    remote_code: bool
    """Does transformers 5 need code from the model's own folder?"""
    experts: Experts | None
    latent_attention: LatentAttention | None
    vision: VisionTower | None
    total_params: int | None
    """As published; `planner.memory.parameters` computes its own."""
    source: str
    note: str

    def __hash__(self) -> int:
        """Of a few fields: equal rows have equal ones, and a cache asks for it thousands of times in a check."""
        return hash((self.model, self.num_hidden_layers, self.hidden_size, self.vocab_size))

    @property
    def query_size(self) -> int:
        return self.num_attention_heads * self.head_dim

    @property
    def key_value_size(self) -> int:
        """Width of the keys, and of the values."""
        return self.num_key_value_heads * self.head_dim

    @property
    def key_value_heads_to_split(self) -> int:
        """Heads that a tensor-parallel size has to divide beside the attention heads."""
        return self.num_attention_heads if self.latent_attention is not None else self.num_key_value_heads
