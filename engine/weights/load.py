"""Read a model folder in Hugging Face's layout. Never goes to the network, never runs code from the folder."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from engine.disk import tells_of_full_disk
from engine.failures import Failure
from engine.model_folder import guarded
from engine.problems import Value
from engine.roots import Roots

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

UNFIT = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError,
    ImportError, pickle.UnpicklingError,
)  # fmt: skip
"""What transformers raises for a folder that it cannot make a model or a tokenizer of."""


def quiet_transformers() -> None:
    """No progress bars in log files: a terminal's carriage returns make one endless line there."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()


def load_tokenizer(path: str | Path, roots: Roots = None) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder. Raises Failure `weights.no_tokenizer`, or that the folder leads elsewhere."""
    from transformers import AutoTokenizer

    folder = guarded(path, roots)
    if not folder.is_dir():  # transformers would take it for a name on a hub
        raise Failure("weights.no_tokenizer", "model_path", path=str(path), reason="no such folder")
    try:
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except (*UNFIT, SafetensorError, StrictDataclassError) as error:
        _pass_on(error)
        raise Failure("weights.no_tokenizer", "model_path", path=str(path), reason=_first_line(error)) from error


def load_model(path: str | Path, roots: Roots = None) -> PreTrainedModel:
    """The causal language model of a folder, in fp32 on the CPU.

    Raises Failure `weights.unreadable`, `weights.incomplete`, or that the folder leads elsewhere. Weights come
    from safetensors alone: a pickle runs code when it is opened.
    """
    import torch
    from transformers import AutoModelForCausalLM

    quiet_transformers()
    folder = guarded(path, roots)
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(folder),
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            attn_implementation="sdpa",
            output_loading_info=True,
        )
    except (*UNFIT, SafetensorError, StrictDataclassError) as error:
        _pass_on(error)
        raise Failure("weights.unreadable", "model_path", path=str(path), reason=_first_line(error)) from error
    model, loading = loaded
    missing = sorted(loading["missing_keys"])
    if missing:  # transformers would go on with random numbers in their place
        parameters: dict[str, Value] = {"path": str(path), "count": len(missing), "name": missing[0]}
        raise Failure("weights.incomplete", "model_path", **parameters)
    return cast("PreTrainedModel", model)


def _pass_on(error: Exception) -> None:
    """What is not the folder's fault is not said to be."""
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or tells_of_full_disk(error):
        raise error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
