"""Many browsers follow one run that writes fast: our feed beside a channel-layer group, in turn.

    python benchmarks/sockets.py [--followers 40] [--lines-per-second 1000] [--seconds 10]

Three ways, each with a fresh uvicorn process and a real Redis-protocol server:

    feed          the product: lines go to a file, the announcer tells Redis, sockets pull by byte offset
    group lines   Channels' usual way: `group_send` for each line
    group pieces  the same, with the lines of 50 ms in one message

Each line carries its number and the time of its writing, so that the followers, which are in this process, know what
is missing, doubled or out of order, and how late it is. CPU is what the server process has used. Loopback only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
TICK = 0.05
MOST_FOLLOWERS, MOST_SECONDS = 400, 60
LATE_SECONDS = 10.0
"""How long the followers may take after the last line has been written."""
LOG = "logs/train.0.log"
Write = Callable[[list[str]], Awaitable[None]]


@dataclass
class Follower:
    """What one browser has received."""

    lines: int = 0
    missing: int = 0
    repeated: int = 0
    delays: list[float] = field(default_factory=list)
    _next: int = 0

    def take(self, text: str) -> None:
        now = time.monotonic()
        for line in text.splitlines():
            number, written, _ = line.split(" ", 2)
            if int(number) < self._next:
                self.repeated += 1
                continue
            self.missing += int(number) - self._next
            self._next = int(number) + 1
            self.lines += 1
            if self.lines % 20 == 0:
                self.delays.append(now - float(written))


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="ty-sock-") as folder:
        environment(Path(folder))
        with redis(Path(folder)):
            ways = {"feed": feed, "group lines": group_lines, "group pieces": group_pieces}
            results = {name: way(options, Path(folder)) for name, way in ways.items()}
    print(
        f"{options.followers} followers, {options.lines_per_second} lines/s for {options.seconds} s: "
        f"{options.lines_per_second * options.seconds} lines each"
    )
    print(f"{'':13} {'delivered':>10} {'repeated':>9} {'median ms':>10} {'p99 ms':>8} {'server CPU s':>13}")
    for name, (followers, cpu) in results.items():
        print(row(name, followers, cpu, options))
    ours, theirs = results["feed"][1], results["group lines"][1]
    print(f"server CPU of group lines / feed: {theirs / ours:.1f}")
    print(f"server CPU of group pieces / feed: {results['group pieces'][1] / ours:.1f}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--followers", type=int, default=40)
    parser.add_argument("--lines-per-second", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    if not 0 < options.followers <= MOST_FOLLOWERS or not 0 < options.seconds <= MOST_SECONDS:
        parser.error(f"at most {MOST_FOLLOWERS} followers and {MOST_SECONDS} seconds")
    return options


def row(name: str, followers: list[Follower], cpu: float, options: argparse.Namespace) -> str:
    asked = options.lines_per_second * options.seconds * options.followers
    delays = [delay * 1000 for follower in followers for delay in follower.delays] or [float("nan")]
    p99 = statistics.quantiles(delays, n=100)[98] if len(delays) > 1 else float("nan")
    delivered = sum(follower.lines for follower in followers) / asked
    repeated = sum(follower.repeated for follower in followers)
    return f"{name:13} {delivered:>9.2%} {repeated:>10} {statistics.median(delays):>10.0f} {p99:>8.0f} {cpu:>13.1f}"


def environment(folder: Path) -> None:
    os.environ.update(
        {
            "TRAINYARD_SECRET_KEY": "benchmark-" + "0" * 40,
            "TRAINYARD_DATA_DIR": str(folder),
            "TRAINYARD_LOG_LEVEL": "ERROR",
            "REDIS_URL": f"unix://{folder}/redis.sock",
            "DATABASE_URL": f"sqlite:///{folder}/rows.sqlite3",
            "DJANGO_SETTINGS_MODULE": "webui.settings",
        }
    )
    (folder / "static").mkdir()
    import django

    django.setup()


@contextmanager
def redis(folder: Path) -> Iterator[None]:
    from webui.demo.redis_server import answers, server_command

    with process(server_command(folder / "redis.sock", folder)):
        wait_until(lambda: answers(os.environ["REDIS_URL"]))
        yield


@contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("a server did not come up in time")
        time.sleep(0.05)


def measured(
    options: argparse.Namespace, application: str, address: str, headers: dict[str, str], first: str, write: Write
) -> tuple[list[Follower], float]:
    """Run one way; the followers and the CPU seconds of the server."""
    import psutil

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["--ws", "websockets-sansio", "--lifespan", "off", "--no-access-log", "--log-level", "error"]
    command = [sys.executable, "-m", "uvicorn", application, "--host", "127.0.0.1", "--port", str(port), *flags]
    command += ["--app-dir", str(ROOT), "--timeout-graceful-shutdown", "2"]
    with process(command) as server:
        wait_until(lambda: listens(port))
        clock = psutil.Process(server.pid)
        url = f"ws://127.0.0.1:{port}{address}"
        return asyncio.run(watched(options, clock, url, headers, first, write))


async def watched(
    options: argparse.Namespace, clock: Any, url: str, headers: dict[str, str], first: str, write: Write
) -> tuple[list[Follower], float]:
    followers = [Follower() for _ in range(options.followers)]
    ready = asyncio.Semaphore(0)
    readers = [asyncio.create_task(follow(one, url, headers, first, ready)) for one in followers]
    for _ in followers:
        await asyncio.wait_for(ready.acquire(), 30)
    await asyncio.sleep(1)  # the last one has joined
    before = clock.cpu_times()
    await write_lines(options, write)
    total = options.lines_per_second * options.seconds
    deadline = time.monotonic() + LATE_SECONDS
    while any(one.lines < total for one in followers) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    after = clock.cpu_times()
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    return followers, after.user + after.system - before.user - before.system


async def follow(one: Follower, url: str, headers: dict[str, str], first: str, ready: asyncio.Semaphore) -> None:
    import orjson
    from websockets.asyncio.client import connect

    async with connect(url, additional_headers=headers, origin="http://127.0.0.1", max_queue=4096) as page:
        if first:
            await page.send(first)
        ready.release()
        async for message in page:
            one.take(orjson.loads(message)["text"] if first else str(message))


async def write_lines(options: argparse.Namespace, write: Write) -> None:
    """The lines of each tick at once, at an even pace."""
    each = round(options.lines_per_second * TICK)
    total = options.lines_per_second * options.seconds
    start = time.monotonic()
    for tick, number in enumerate(range(0, total, each), start=1):
        now = time.monotonic()
        lines = [f"{i} {now:.6f} {'x' * 60}\n" for i in range(number, min(number + each, total))]
        await write(lines)
        await asyncio.sleep(max(0.0, start + tick * TICK - time.monotonic()))


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def feed(options: argparse.Namespace, folder: Path) -> tuple[list[Follower], float]:
    from jobs.announcer import Announcer

    run, cookie = made_run()
    run.create()
    path = run.path / LOG
    announcer = Announcer(run, os.environ["REDIS_URL"])

    async def write(lines: list[str]) -> None:
        with path.open("a") as log:
            log.write("".join(lines))
        await asyncio.to_thread(announcer.on_change, path)

    address = f"/ws/runs/{run.path.name}/"
    return measured(
        options, "webui.asgi:application", address, {"Cookie": cookie}, f'{{"follow":{{"{LOG}":0}}}}', write
    )


def made_run() -> tuple[Any, str]:
    """A run's folder and the cookie of somebody who may see it."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    from jobs.models import Job, Membership, Run, Team

    call_command("migrate", verbosity=0, interactive=False)
    user = User.objects.create_user("bench")
    team = Team.objects.create(name="bench")
    Membership.objects.create(team=team, user=user)
    job = Job.objects.create(team=team, owner=user, name="bench", model="none", spec={}, plan={})
    run = Run.objects.create(job=job, number=1)
    client = Client()
    client.force_login(user)
    return run.folder, f"sessionid={client.cookies['sessionid'].value}"


def group_lines(options: argparse.Namespace, folder: Path) -> tuple[list[Follower], float]:
    async def write(lines: list[str]) -> None:
        for line in lines:
            await send(line)

    return measured(options, "benchmarks.sockets_peer:application", "/ws/", {}, "", write)


def group_pieces(options: argparse.Namespace, folder: Path) -> tuple[list[Follower], float]:
    async def write(lines: list[str]) -> None:
        await send("".join(lines))

    return measured(options, "benchmarks.sockets_peer:application", "/ws/", {}, "", write)


async def send(text: str) -> None:
    from channels.layers import get_channel_layer

    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send("bench", {"type": "log.text", "text": text})


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    sys.exit(main())
