"""Parameters of LoRA adapters on every linear layer."""

from __future__ import annotations

from engine.architecture import Architecture


def megatron_adapters(shape: Architecture, rank: int, dense: int, mixture: int) -> int:
    """On linear_qkv, linear_proj, linear_fc1 and linear_fc2, which Megatron fuses; every expert gets its own."""
    attention = _pair(shape.hidden_size, shape.query_size + 2 * shape.key_value_size)
    attention += _pair(shape.query_size, shape.hidden_size)
    inside = dense * _feed_forward(shape.hidden_size, shape.intermediate_size)
    if shape.experts is not None:
        one = _feed_forward(shape.hidden_size, shape.experts.intermediate_size)
        inside += mixture * (shape.experts.count + shape.experts.shared) * one
    return rank * ((dense + mixture) * attention + inside)


def separate_adapters(shape: Architecture, rank: int) -> int:
    """On q, k, v, o, gate, up and down, each by itself, as PEFT does with target `all`."""
    hidden, query, key_value = shape.hidden_size, shape.query_size, shape.key_value_size
    attention = _pair(hidden, query) + 2 * _pair(hidden, key_value) + _pair(query, hidden)
    layer = 3 * _pair(hidden, shape.intermediate_size)
    layers = shape.num_hidden_layers
    if shape.experts is not None:
        layer = (shape.experts.count + shape.experts.shared) * 3 * _pair(hidden, shape.experts.intermediate_size)
    return rank * layers * (attention + layer)


def _feed_forward(hidden: int, intermediate: int) -> int:
    return _pair(hidden, 2 * intermediate) + _pair(intermediate, hidden)


def _pair(inputs: int, outputs: int) -> int:
    """Both low-rank factors of one linear layer, per unit of rank."""
    return inputs + outputs
