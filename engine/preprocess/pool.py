"""A function over many items on all cores, the results in the items' order, and only a few of either in memory."""

from __future__ import annotations

import ctypes
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from engine.failures import Failure

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 2
"""Items for each worker that are read before their turn."""
PR_SET_PDEATHSIG = 1
_function: Callable[[Any], Any] | None = None


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """The results, one by one. A single item, or a single worker, needs no process of its own.

    The workers are forks: they have the tokenizer already. Raises Failure `preprocess.worker_killed`.
    """
    items = iter(items)
    first = list(islice(items, 2))
    if workers == 1 or len(first) < 2:
        yield from map(function, chain(first, items))
        return
    pool = ProcessPoolExecutor(workers, get_context("fork"), _begin, (function, os.getpid()))
    waiting: deque[Future[Result]] = deque()
    try:
        for item in chain(first, items):
            waiting.append(pool.submit(_call, item))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise Failure("preprocess.worker_killed", "", "site", workers=workers) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(function: Callable[[Any], Any], parent: int) -> None:
    """A worker ends with its parent, however that ends, and leaves an interrupt to it."""
    global _function
    _function = function
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended in between
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
