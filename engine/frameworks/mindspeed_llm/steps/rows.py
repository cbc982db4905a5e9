"""Before preprocessing: every row of the dataset is read and written again as the one form that needs no options.

Upstream drops rows whose turns are out of order, takes a path that does not exist for a name on the hub, takes an
unknown handler for pre-training, and reads MOSS with the token numbers of one model. Rows that have been read and
checked here leave none of that open: conversations become ShareGPT's, texts one object with `text` each.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Message, Sample
from engine.frameworks.rewriting import PATH, rewrite
from engine.run_folder import write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage

NAME = "rows.jsonl"
REPORT = "rows.json"
"""What became of each row on the way into NAME: the first fields of an `engine.preparation.Preparation`."""
SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt"}


def main(stage: StageFile, emitter: Emitter) -> None:
    path = stage.spec.train.dataset.path
    told = rewrite(stage, emitter, stage.folder.data / NAME, lambda sample: _row(sample, path))
    write_atomic(stage.folder.data / REPORT, json.dumps(told, indent=2) + "\n")


def _row(sample: Sample, path: str) -> dict[str, Any]:
    if sample.text is not None:
        return {"text": sample.text}
    if sample.tools or any(map(_needs_a_template, sample.messages)):
        raise Failure("mindspeed_llm.tools", PATH, path=sample.file or path, line=sample.line)
    turns = [{"from": SPEAKERS[message.role], "value": message.content} for message in sample.messages]
    return {"conversations": turns}


def _needs_a_template(message: Message) -> bool:
    return message.role not in SPEAKERS or bool(message.tool_calls) or bool(message.reasoning)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
