"""The text of a document for pretraining."""

from __future__ import annotations

from engine.formats import Sample


def document(sample: Sample) -> str:
    """The text of a row; the turns of a conversation are paragraphs."""
    if sample.text is not None:
        return sample.text
    return "\n\n".join(message.content for message in sample.messages)
