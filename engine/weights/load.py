"""Read a model folder in Hugging Face's layout. Never goes to the network, never runs code from the folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def quiet_transformers() -> None:
    """No progress bars in log files: a terminal's carriage returns make one endless line there."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()


def load_tokenizer(path: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder. Raises Failure `weights.no_tokenizer`."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise Failure("weights.no_tokenizer", "model_path", path=str(path), reason=_first_line(error)) from error


def load_model(path: str | Path) -> PreTrainedModel:
    """The causal language model of a folder, in fp32 on the CPU. Raises Failure `weights.unreadable`."""
    import torch
    from transformers import AutoModelForCausalLM

    quiet_transformers()
    try:
        model = AutoModelForCausalLM.from_pretrained(
            str(path), dtype=torch.float32, local_files_only=True, attn_implementation="sdpa"
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise Failure("weights.unreadable", "model_path", path=str(path), reason=_first_line(error)) from error
    return model


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
