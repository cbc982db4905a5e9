"""Before converting back: a folder of links to the model's files.

The converter writes the new weights into a folder below the one that it reads config and tokenizer from. The model's
own folder is shared and may be read-only.
"""

from __future__ import annotations

import shutil
import sys

from engine.events import Emitter
from engine.model_folder import guarded
from engine.stage_file import StageFile
from engine.stage_process import run_stage


def main(stage: StageFile, _emitter: Emitter) -> None:
    source = guarded(stage.spec.model_path, stage.roots)
    target = stage.folder.output / "original"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in sorted(source.iterdir()):
        (target / entry.name).symlink_to(entry)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
