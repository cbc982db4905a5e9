"""What one has to know of single models; each from the vendor's pages, none of it a fault of the request."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.problems import Problem


def of_model(ask: Ask) -> Iterator[Problem]:
    """Only for the frameworks of the vendor's pages: our own engine reads no code from a model's folder."""
    model, shape = ask.model, ask.shape
    if model is None or not ask.framework.table or ask.spec.framework not in model.frameworks:
        return
    if model.revision:
        yield _note("model.pinned_revision", ask, revision=model.revision)
    if shape is not None and shape.remote_code:
        yield _note("model.remote_code", ask, file=_EDITED.get(shape.model_type, "-"))
    if model.family.lower() == "yi" and ask.spec.framework == "mindspeed-llm":
        yield _note("model.slow_tokenizer", ask)
    if model.name == "llama2-70b":
        yield _note("model.chat_weights", ask)
    if model.name.startswith("llama2-"):
        yield _note("model.do_sample", ask)


_EDITED = {"chatglm": "tokenization_chatglm.py", "qwen": "modeling_qwen.py"}
"""Files in the model's folder that have to be edited, by model type."""


def _note(code: str, ask: Ask, **parameters: str) -> Problem:
    return Problem(code=code, field="model", severity="note", parameters={"model": ask.spec.model, **parameters})
