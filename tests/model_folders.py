"""A model folder for checks: right in its form, with weights of one small layer."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

TENSORS = {
    "model.embed_tokens.weight": (8, 4),
    "model.layers.0.self_attn.q_proj.weight": (4, 4),
    "model.layers.0.mlp.up_proj.weight": (4, 4),
    "model.layers.0.input_layernorm.weight": (4,),
}


def make_model(folder: Path, **config: Any) -> Path:
    """Write the folder; `config` adds to config.json."""
    folder.mkdir()
    asked = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **config}
    (folder / "config.json").write_text(json.dumps(asked))
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": {"type": "BPE"}}))
    (folder / "model.safetensors").write_bytes(weights())
    return folder


def weights(tensors: dict[str, tuple[int, ...]] = TENSORS) -> bytes:
    """A safetensors file of zeros in fp32, spelled out by hand."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        size = 4
        for number in shape:
            size *= number
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)
