"""Parameters of a model, counted from its dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from engine.architecture import Architecture, Experts, LatentAttention, VisionTower


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Numbers of parameters. A layer is counted without its routed experts, which stand apart."""

    embedding: int
    output: int
    """The output layer; 0 if it is the embedding."""
    dense_layer: int
    """A layer with an ordinary feed-forward; in a mixture of experts one of the first."""
    moe_layer: int
    """A mixture layer: attention, norms, router and shared experts. 0 without experts."""
    routed_experts: int
    """All routed experts of one layer."""
    dense_layers: int
    moe_layers: int
    final_norm: int
    vision: int

    @property
    def layers(self) -> int:
        return self.dense_layers + self.moe_layers

    @cached_property
    def text(self) -> int:
        """Everything but the vision tower."""
        return self.embedding + self.output + self.final_norm + self.all_layers

    @cached_property
    def all_layers(self) -> int:
        mixture = self.moe_layers * (self.moe_layer + self.routed_experts)
        return self.dense_layers * self.dense_layer + mixture

    @cached_property
    def total(self) -> int:
        return self.text + self.vision

    @property
    def largest_layer(self) -> int:
        return max(self.dense_layer, self.moe_layer + self.routed_experts)


@lru_cache(maxsize=256)
def count(shape: Architecture) -> Counts:
    embedding = shape.vocab_size * shape.hidden_size
    experts = shape.experts
    around = _attention(shape) + 2 * shape.hidden_size
    dense_layers = shape.num_hidden_layers if experts is None else experts.first_dense_layers
    return Counts(
        embedding=embedding,
        output=0 if shape.tie_word_embeddings else embedding,
        dense_layer=around + feed_forward(shape.hidden_size, shape.intermediate_size),
        moe_layer=0 if experts is None else around + _router_and_shared(shape.hidden_size, experts),
        routed_experts=0 if experts is None else experts.count * _expert(shape.hidden_size, experts),
        dense_layers=dense_layers,
        moe_layers=shape.num_hidden_layers - dense_layers,
        final_norm=shape.hidden_size,
        vision=0 if shape.vision is None else _vision(shape.vision, shape.hidden_size),
    )


def feed_forward(hidden: int, intermediate: int) -> int:
    """Gate, up and down projection, without biases."""
    return 3 * hidden * intermediate


def _expert(hidden: int, experts: Experts) -> int:
    return feed_forward(hidden, experts.intermediate_size)


def _router_and_shared(hidden: int, experts: Experts) -> int:
    bias = experts.count if experts.correction_bias else 0
    return hidden * experts.count + bias + experts.shared * _expert(hidden, experts)


def _attention(shape: Architecture) -> int:
    if shape.latent_attention is not None:
        return _latent(shape, shape.latent_attention)
    query, key_value = shape.query_size, shape.key_value_size
    weights = shape.hidden_size * (2 * query + 2 * key_value)
    return weights + (query + 2 * key_value if shape.qkv_bias else 0)


def _latent(shape: Architecture, latent: LatentAttention) -> int:
    """Down and up projections of queries and of keys and values, with a norm between, and the output."""
    hidden, heads = shape.hidden_size, shape.num_attention_heads
    query_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim
    query = latent.q_lora_rank * (hidden + 1 + heads * query_dim)
    shared_key = hidden * latent.qk_rope_head_dim
    key_value = latent.kv_lora_rank * (hidden + 1 + heads * (latent.qk_nope_head_dim + latent.v_head_dim))
    return query + shared_key + key_value + heads * latent.v_head_dim * hidden


def _vision(tower: VisionTower, hidden: int) -> int:
    """Patch embedding, blocks, and the merger that leads into the text model. All projections have biases."""
    width, inner = tower.hidden_size, tower.intermediate_size
    norm = width if tower.rms_norm else 2 * width
    attention = 4 * width * width + 4 * width
    projections = 3 * width * inner + (2 * inner + width) if tower.gated else 2 * width * inner + inner + width
    patch = 3 * tower.temporal_patch_size * tower.patch_size**2 * width
    merged = width * tower.merge_size**2
    merger = norm + merged * merged + merged + merged * hidden + hidden
    return patch + tower.depth * (2 * norm + attention + projections) + merger
