"""Places queued runs on free devices.

A run takes all its devices on one node or none. The oldest goes first: while it waits for busy
devices, the node that has most of them free is kept for it, so that small runs cannot starve a big one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone

from jobs import waiting
from jobs.messages import send_start
from jobs.models import DeviceLease, Node, Run
from jobs.nodes import alive, has, installs
from jobs.states import RunState


@dataclass(frozen=True)
class Need:
    """What a run asks of a node. Read from the stored spec as it is: one of another release must not stop the queue."""

    hardware: str
    framework: str
    devices: int

    @classmethod
    def of(cls, run: Run) -> Need:
        spec = run.job.spec
        return cls(spec["hardware"], spec["framework"], spec["devices"])


@dataclass
class Pool:
    """The living nodes and how many devices of each are leased, as of one look."""

    nodes: Sequence[Node]
    leased: Counter[int]
    kept: set[int] = field(default_factory=set)
    """Nodes that an older run waits for."""

    @classmethod
    def look(cls) -> Pool:
        nodes = list(alive())
        counted = DeviceLease.objects.values_list("node_id").annotate(Count("id"))
        return cls(nodes, Counter(dict(counted)))

    def free(self, node: Node) -> int:
        return node.devices - self.leased[node.pk]

    def choose(self, need: Need) -> Node | str:
        """The node for a run, the fullest one that fits; or the code of `jobs.waiting` why there is none."""
        fitting = [node for node in self.nodes if node.hardware == need.hardware]
        if not fitting:
            return waiting.NO_NODE
        able = [node for node in fitting if has(node, need.framework)]
        if not able:
            installing = any(installs(node, need.framework) for node in fitting)
            return waiting.INSTALLING if installing else waiting.NO_FRAMEWORK
        large = [node for node in able if node.devices >= need.devices]
        if not large:
            return waiting.TOO_FEW_DEVICES
        open_nodes = [node for node in large if node.pk not in self.kept and self.free(node) >= need.devices]
        if not open_nodes:
            self.kept.add(max(large, key=self.free).pk)
            return waiting.DEVICES_BUSY
        return min(open_nodes, key=self.free)


def dispatch() -> list[int]:
    """Assign every queued run that can run now; the ids of those. Safe to call from several processes at once."""
    pool = Pool.look()
    assigned = []
    for run in Run.objects.filter(state=RunState.QUEUED).select_related("job").order_by("id"):
        need = Need.of(run)
        choice = pool.choose(need)
        if isinstance(choice, str):
            _wait(run, choice)
        elif _assign(run, choice, need.devices):
            pool.leased[choice.pk] += need.devices
            assigned.append(run.pk)
    return assigned


def _wait(run: Run, code: str) -> None:
    changed = Run.objects.filter(pk=run.pk, state=RunState.QUEUED).exclude(waiting_for=code).update(waiting_for=code)
    if changed:
        run.announce()


def _assign(run: Run, node: Node, devices: int) -> bool:
    """Lease the devices and hand the run to the node, in one transaction; False when another was faster."""
    try:
        with transaction.atomic():
            return _lease(run, node, devices)
    except IntegrityError:  # another dispatcher has taken one of the devices in between
        return False


def _lease(run: Run, node: Node, devices: int) -> bool:
    if not Run.objects.select_for_update(skip_locked=True).filter(pk=run.pk, state=RunState.QUEUED).exists():
        return False
    Node.objects.select_for_update().get(pk=node.pk)
    taken = set(DeviceLease.objects.filter(node=node).values_list("device", flat=True))
    free = [device for device in range(node.devices) if device not in taken][:devices]
    if len(free) < devices:
        return False
    DeviceLease.objects.bulk_create(DeviceLease(node=node, device=device, run=run) for device in free)
    return _hand_over(run, node)


def _hand_over(run: Run, node: Node) -> bool:
    now, token = timezone.now(), uuid4()
    won = run.advance(
        RunState.QUEUED,
        RunState.ASSIGNED,
        node.name,
        node=node,
        token=token,
        waiting_for="",
        assigned_at=now,
        start_sent_at=now,
        start_attempts=1,
    )
    if won:
        transaction.on_commit(partial(send_start, run.pk, token, node.name))
    return won
