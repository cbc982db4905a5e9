"""From a dataset to its token files: taken from the cache, or made and put there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import formats
from engine.dataset_files import file_names
from engine.disk import tells_of_full_disk
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Broken, DataFile, Sample, broken_rows
from engine.formats.files import regular
from engine.model_folder import guarded, read_json_object
from engine.preprocess import parquet
from engine.preprocess.building import Building, Encode
from engine.preprocess.cache import Entry, locked
from engine.preprocess.chat import Chat
from engine.preprocess.encoder import Differs, use_exact
from engine.preprocess.encoding import Conversations, Documents
from engine.preprocess.fingerprint import fingerprint, identities
from engine.preprocess.pool import cores
from engine.preprocess.progress import Progress
from engine.preprocess.report import Report
from engine.preprocess.store import samples_of
from engine.roots import Roots
from engine.spec import DatasetChoice, TrainStage
from engine.weights.load import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PATH = "train.dataset.path"
CACHE_VARIABLE = "TRAINYARD_CACHE_DIR"
WAITING = "another process prepares the same data; this one waits for it"
TAKEN = "the same data was prepared before; it is taken from there"
DAMAGED = "what was prepared before is damaged ({name}); it is made again"
GOES_ON = "an earlier attempt got as far as row {row}; this one goes on from there"
DISAGREES = "the fast tokenizer differs from the exact one; everything is encoded again by the exact one"


@dataclass(frozen=True)
class Request:
    """What to prepare, and where its files are wanted: `<prefix>_<key>_document.{bin,idx}`."""

    dataset: DatasetChoice
    tokenizer: str
    """A folder in Hugging Face's layout."""
    stage: TrainStage
    seq_length: int
    packing: bool
    prefix: Path
    cache: Path
    roots: Roots = None
    workers: int | None = None
    """Null: as many as there are cores."""
    log_interval: int = 0

    def settings(self) -> dict[str, Any]:
        """What the bytes of the result depend on; documents stay whole, whatever `seq_length`."""
        chosen = self.dataset.model_dump(mode="json", exclude={"path"})
        cut = {"seq_length": self.seq_length, "packing": self.packing} if self.stage == "sft" else {}
        return {"stage": self.stage, **chosen, **cut}


def cache_root(folder: Path) -> Path:
    """Where sets are shared: as the site says, else beside the runs, so that links to them are possible."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else folder.parent / ".cache"


def prepare(request: Request, emitter: Emitter) -> Report:
    """Make the files. Raises Failure, also when not a single sample is left; and OSError for what is written."""
    request.cache.mkdir(parents=True, exist_ok=True)
    request.prefix.parent.mkdir(parents=True, exist_ok=True)
    try:
        files = regular(formats.find(request.dataset.path, request.roots))
        folder = guarded(request.tokenizer, request.roots)
        before = identities(files, folder)
        key = fingerprint(files, folder, request.settings(), request.cache / "hashes")
    except OSError as error:
        if tells_of_full_disk(error):
            raise
        raise _unreadable(request, error) from error
    names = {name: request.prefix.with_name(f"{request.prefix.name}_{name}") for name in file_names(request.stage)}
    with locked(request.cache, key, lambda: _say(emitter, WAITING)) as entry:
        _refuse_changed(request, before, identities(files, folder))  # it may have waited for hours
        entry.finish_publishing()
        if (damaged := entry.discard_damaged()) is not None:
            _say(emitter, DAMAGED.format(name=damaged))
        facts = entry.facts()
        if facts is None:
            facts = _made(request, files, entry, emitter).state()
            _refuse_changed(request, before, identities(files, folder), entry)
            entry.publish(facts, file_names(request.stage))
        else:
            _say(emitter, TAKEN)
        entry.give(names)
    return Report.restored(facts)


def samples(request: Request, report: Report) -> int:
    """Samples that training finds in the files."""
    return report.sequences if request.stage == "sft" else samples_of(report.tokens, request.seq_length)


def _made(request: Request, files: Sequence[DataFile], entry: Entry, emitter: Emitter) -> Report:
    tokenizer = load_tokenizer(request.tokenizer, request.roots)
    if not tokenizer.is_fast:
        raise Failure("weights.slow_tokenizer", "model_path", path=request.tokenizer)
    try:
        report = _built(request, files, entry, tokenizer, emitter)
    except Differs:
        _say(emitter, DISAGREES)
        use_exact(tokenizer)
        entry.discard_building()
        report = _built(request, files, entry, tokenizer, emitter)
    if not samples(request, report):
        entry.discard_building()
        raise Failure("preprocess.no_samples", PATH, path=request.dataset.path, report=report.sentence())
    return report


def _refuse_changed(request: Request, before: list[list[int]], now: list[list[int]], made: Entry | None = None) -> None:
    """The fingerprint was taken of files as they were `before`; under it nothing else may be kept."""
    if now == before:
        return
    if made is not None:
        made.discard_building()
    raise Failure("preprocess.changed", PATH, path=request.dataset.path)


def _built(
    request: Request, files: Sequence[DataFile], entry: Entry, tokenizer: PreTrainedTokenizerBase, emitter: Emitter
) -> Report:
    pack_to = request.seq_length if request.packing and request.stage == "sft" else None
    building = Building(entry.building, request.stage, pack_to=pack_to, pad_token=_pad_token(tokenizer))
    building.report.packed_to, building.report.broken_rows = pack_to, request.dataset.broken_rows
    encode = _encode(request, tokenizer, building.report)
    if building.report.read:
        _say(emitter, GOES_ON.format(row=building.report.read))
    rows: Iterator[Sample | Broken] = broken_rows.rows(request.dataset, files, parquet.rows)
    progress = Progress(emitter, [file.path for file in files], request.log_interval)
    return building.run(rows, encode, request.workers or cores(), progress)


def _encode(request: Request, tokenizer: PreTrainedTokenizerBase, report: Report) -> Encode:
    if request.stage == "pretrain":
        return Documents(tokenizer)
    asked = request.dataset
    chosen = Chat(tokenizer, asked.template, asked.train_on, model_type(Path(request.tokenizer)))
    report.template = chosen.choice().model_dump(mode="json")
    return Conversations(chosen, request.seq_length)


def model_type(folder: Path) -> str:
    """Of config.json; empty if there is none."""
    return str((read_json_object(folder / "config.json") or {}).get("model_type") or "")


def _pad_token(tokenizer: PreTrainedTokenizerBase) -> int:
    for token in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if isinstance(token, int):
            return token
    return 0


def _unreadable(request: Request, error: OSError) -> Failure:
    reason = error.strerror or str(error)
    return Failure("preprocess.unreadable", PATH, path=request.dataset.path, reason=reason)


def _say(emitter: Emitter, text: str) -> None:
    print(f" {text}", flush=True)
    emitter.emit("log", text=text)
