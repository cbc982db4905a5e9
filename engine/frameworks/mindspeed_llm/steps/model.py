"""Before converting: does config.json in the model's folder say what the commands will say?

Megatron is told every dimension by hand, and a wrong rotary base or norm epsilon gives a bad loss without a word.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from engine.events import Emitter
from engine.failures import Failure
from engine.model_folder import guarded, read_json_object
from engine.stage_file import StageFile
from engine.stage_process import run_stage

EXPECTED = "config/model.json"
ALIASES: dict[str, tuple[str, ...]] = {
    "num_hidden_layers": ("num_layers", "n_layer"),
    "hidden_size": ("n_embd",),
    "num_attention_heads": ("n_head",),
    "num_key_value_heads": ("multi_query_group_num",),
    "vocab_size": ("padded_vocab_size",),
    "rms_norm_eps": ("layernorm_epsilon", "layer_norm_epsilon"),
    "rope_theta": ("rotary_emb_base",),
}
"""What older models call it in their config.json."""


def main(stage: StageFile, _emitter: Emitter) -> None:
    folder = guarded(stage.spec.model_path, stage.roots)
    config = read_json_object(folder / "config.json")
    if config is None:
        raise Failure("mindspeed_llm.no_config", "model_path", path=str(folder))
    if "quantization_config" in config:
        raise Failure("mindspeed_llm.quantized", "model_path", path=str(folder))
    expected: dict[str, Any] = json.loads((stage.folder.path / EXPECTED).read_text(encoding="utf-8"))
    wrong = [
        f"{name}: {there} ({value})"
        for name, value in expected.items()
        if (there := _there(config, name)) is not None and not _same(there, value)
    ]
    if wrong:
        raise Failure(
            "mindspeed_llm.other_model", "model", model=stage.spec.model, path=str(folder), wrong="; ".join(wrong)
        )
    print(f" {folder}: config.json agrees with the commands", flush=True)


def _there(config: dict[str, Any], name: str) -> Any | None:
    """None where it does not say, as where it keeps to its class's default."""
    if name == "rope_theta":
        nested = config.get("rope_parameters")
        if isinstance(nested, dict) and "rope_theta" in nested:
            return nested["rope_theta"]
        if "rope_ratio" in config:
            return 10_000 * float(config["rope_ratio"])
    if name == "vocab_size" and "padded_vocab_size" in config:
        return config["padded_vocab_size"]
    return next((config[key] for key in (name, *ALIASES.get(name, ())) if key in config), None)


def _same(there: Any, value: Any) -> bool:
    if isinstance(value, (int, float)) and isinstance(there, (int, float)) and not isinstance(value, bool):
        return math.isclose(there, value, rel_tol=1e-6)
    return bool(there == value)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
