"""Names of the layers that adapters are put beside."""

from __future__ import annotations

import re
from collections.abc import Mapping

_IN_A_BLOCK = re.compile(r"\.\d+\.")


def matches(layer: str, target: str) -> bool:
    """Whether a layer's full name is meant by a name such as `q_proj` or `self_attn.q_proj`."""
    return layer == target or layer.endswith(f".{target}")


def linear_layers(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Full names of the linear layers of the blocks, by the shapes of the weights on disk: matrices."""
    suffix = ".weight"
    return [
        name.removesuffix(suffix)
        for name, shape in shapes.items()
        if len(shape) == 2 and name.endswith(suffix) and _IN_A_BLOCK.search(name)
    ]
