"""What happens after the site answers: engine packages, sample model, and a real fine-tuning of it."""

from __future__ import annotations

import time
from collections.abc import Generator

from django.db import DatabaseError, connections

from engine.problem_texts import message
from jobs.models import Run
from jobs.submit import Refused
from webui.demo import bootstrap, installing, sample
from webui.demo.child import Child
from webui.demo.console import complain, language, say
from webui.demo.processes import log_file
from webui.demo.result import Watcher, report

Step = Generator[None, None, bool]
"""Yields while it waits; returns whether it went well."""


class Background:
    """Called every tick by the supervisor; never blocks for long."""

    def __init__(self, address: str, *, model: str, again: bool, once: bool) -> None:
        self._address = address
        self._model = model
        self._again = again
        self._once = once
        self._steps = self._all()
        self.current: Child | None = None
        """The process of the step that is under way."""
        self.succeeded = False

    def __call__(self) -> bool:
        """Go on; True when there is nothing left to do and the demo is to end."""
        try:
            next(self._steps)
        except StopIteration as end:
            self.succeeded = bool(end.value)
            self._steps = _nothing()
            return self._once
        return False

    def close(self) -> None:
        """Give up what is under way."""
        if self.current is not None:
            self.current.kill()
        installing.banner().unlink(missing_ok=True)

    def _all(self) -> Step:
        ready = (yield from self._install()) and (yield from self._make_weights())
        if not ready:
            return False
        run = self._submit()
        if run is None:
            return False
        if self._once:
            return (yield from self._wait_for(run))
        say("keep_open")
        return True

    def _install(self) -> Step:
        for left in (installing.banner(), installing.failure()):  # of an earlier start
            left.unlink(missing_ok=True)
        if installing.present():
            return True
        if not installing.running_in_venv():
            complain("no_engine")
            return False
        say("installing")
        for command, matters in installing.commands():
            pip = installing.child(command)
            if not (yield from self._run(pip, follow=True)) and matters:
                installing.failure().touch()
                installing.banner().unlink(missing_ok=True)
                complain("install_failed", log=pip.log, lines=pip.last_lines())
                return False
        bootstrap.mark("engine")
        installing.banner().unlink(missing_ok=True)
        return True

    def _make_weights(self) -> Step:
        if sample.weights_folder(self._model).exists():
            return True
        say("weights")
        maker = Child("weights", sample.weights_command(self._model), log_file("weights"))
        if not (yield from self._run(maker)):
            complain("weights_failed", log=maker.log, lines=maker.last_lines())
            return False
        return True

    def _run(self, child: Child, *, follow: bool = False) -> Step:
        """Run a command to its end; with `follow`, show what pip is at."""
        self.current = child
        child.start()
        shown = ""
        while child.alive:
            if follow and (line := installing.show_progress(child)) and line != shown:
                shown = line
                say("installing_file", line=line)
            yield
        self.current = None
        return child.process is not None and child.process.returncode == 0

    def _submit(self) -> Run | None:
        weights = sample.register_weights(self._model)
        if weights.random and self._model != sample.TINY:
            say("random")
        dataset = sample.register_dataset()
        sample.look_at(dataset)
        try:
            run, new = sample.job_to_follow(dataset, weights, again=self._again, unless_running=self._once)
        except Refused as refusal:
            texts = [
                message(problem, language()) for problem in refusal.verdict.problems if problem.severity == "error"
            ]
            complain("refused", problems="\n".join(texts))
            return None
        finally:
            connections.close_all()
        page = f"{self._address}/jobs/{run.job_id}/"
        if new:
            say("submitted", address=page)
        else:
            say("adopted", run=run.pk, name=run.job.name, state=run.get_state_display(), address=page)
        return run

    def _wait_for(self, run: Run) -> Step:
        say("waiting", run=run.pk)
        watcher = Watcher(run)
        next_look = 0.0
        while not run.ended:
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + 1
                _refresh(run)
                watcher.show()
            yield
        return report(run)


def _refresh(run: Run) -> None:
    try:
        run.refresh_from_db()
    except DatabaseError:
        pass  # busy: the next look will do
    finally:
        connections.close_all()


def _nothing() -> Step:
    while True:
        yield
