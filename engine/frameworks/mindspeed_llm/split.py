"""How the layers of a model are shared out over the pipeline, in the same words for converter and training.

Layers that the stages do not divide are spelled out (`--num-layer-list`); a mixture of experts is filled up with
empty layers at the end instead (`--noop-layers`), as the published DeepSeek scripts do. Both must be told alike when
converting and when training: otherwise a stage loads another's layers.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.architecture import Architecture
from engine.plan import Layout


@dataclass(frozen=True)
class Split:
    layers: int
    """Layers that Megatron counts, empty ones too."""
    sizes: tuple[int, ...] = ()
    """Layers of each stage where they are not equal."""
    empty: tuple[int, ...] = ()
    """Numbers of the empty layers."""

    def arguments(self) -> list[str]:
        if self.empty:
            return ["--noop-layers", ",".join(map(str, self.empty))]
        return ["--num-layer-list", ",".join(map(str, self.sizes))] if self.sizes else []


def split_of(shape: Architecture, layout: Layout) -> Split:
    layers, stages = shape.num_hidden_layers, layout.pipeline_parallel_size
    if layers % stages == 0:
        return Split(layers)
    each = -(-layers // stages)
    if shape.experts is not None:
        return Split(each * stages, empty=tuple(range(layers, each * stages)))
    sizes = tuple(max(0, min(each, layers - each * number)) for number in range(stages))
    return Split(layers, sizes=sizes)


def padded_vocabulary(shape: Architecture, layout: Layout) -> int:
    """Rows of the embedding, as the converter makes it: each tensor-parallel rank has the same number."""
    size = layout.tensor_parallel_size
    return -(-shape.vocab_size // size) * size


def shards(layout: Layout) -> tuple[str, ...]:
    """The folders of one checkpoint: mp_rank_<tensor>[_<pipeline>][_<expert>]."""
    tensor, pipeline, expert = (
        layout.tensor_parallel_size,
        layout.pipeline_parallel_size,
        layout.expert_parallel_size,
    )
    stages = [f"_{number:03d}" for number in range(pipeline)] if pipeline > 1 else [""]
    experts = [f"_{number:03d}" for number in range(expert)] if expert > 1 else [""]
    return tuple(
        f"mp_rank_{number:02d}{stage}{part}" for number in range(tensor) for stage in stages for part in experts
    )
