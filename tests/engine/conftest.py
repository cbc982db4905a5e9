"""A tiny random model with a tokenizer, made once."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    from engine.weights import tiny

    torch.set_num_threads(1)  # a tiny model gains nothing from a second thread, and waits for it on a busy machine
    return tiny.make(tmp_path_factory.mktemp("models") / "tiny", seed=7)
