"""What the demo says on the terminal, in the language of LANG. Not gettext: it speaks before Django is there."""

from __future__ import annotations

import os
import sys

TEXTS: dict[str, tuple[str, str]] = {
    "plain": ("{text}", "{text}"),
    "already": (
        "Trainyard is already running here (process {pid}): {address}\nStop that one first, or open the page.",
        "Trainyard 已在此处运行（进程 {pid}）：{address}\n请先停止它，或直接打开页面。",
    ),
    "no_redis": (
        "No Redis server: {error}.\nInstall valkey or redis, or set REDIS_URL to a running one.",
        "没有可用的 Redis 服务器：{error}。\n请安装 valkey 或 redis，或将 REDIS_URL 指向正在运行的服务器。",
    ),
    "redis_silent": ("{url} does not answer as a Redis server.", "{url} 没有作为 Redis 服务器应答。"),
    "no_port": ("No free port from {first} to {last} on {host}.", "{host} 上 {first} 至 {last} 之间没有空闲端口。"),
    "database": ("Preparing the database …", "正在准备数据库 …"),
    "starting": ("Starting {name} …", "正在启动 {name} …"),
    "not_ready": (
        "{name} did not become ready within {seconds:.0f} seconds. The end of {log}:\n{lines}",
        "{name} 未能在 {seconds:.0f} 秒内就绪。{log} 的末尾：\n{lines}",
    ),
    "serving": ("Trainyard serves at  {address}", "Trainyard 已启动，访问地址  {address}"),
    "login": ("  {role:<8} {user:<8} {password}", "  {role:<8} {user:<8} {password}"),
    "changed_password": ("(changed by its owner)", "（已被本人修改）"),
    "member": ("member", "成员"),
    "administrator": ("admin", "管理员"),
    "installing": (
        "Installing the engine packages (torch, transformers); the site works meanwhile …",
        "正在安装引擎依赖（torch、transformers），期间网站可正常使用 …",
    ),
    "installing_file": ("  {line}", "  {line}"),
    "install_failed": (
        "The engine packages could not be installed; the site serves, but cannot train. Details: {log}\n{lines}",
        "引擎依赖安装失败：网站可以访问，但无法训练。详情见 {log}\n{lines}",
    ),
    "no_engine": (
        "This Python has no torch, and it is not the one of .venv, so nothing is installed into it: see README.",
        "当前 Python 没有 torch，且不是 .venv 中的 Python，因此不会自动安装：请参阅 README。",
    ),
    "weights": ("Preparing the sample model …", "正在准备示例模型 …"),
    "weights_failed": (
        "The sample model could not be made. Details: {log}\n{lines}",
        "示例模型准备失败。详情见 {log}\n{lines}",
    ),
    "random": (
        "The real sample model could not be had: a tiny one with random weights takes its place.",
        "未能获得真实的示例模型：改用一个随机权重的小模型。",
    ),
    "refused": ("The sample job was refused: {problems}", "示例作业被拒绝：{problems}"),
    "submitted": ("A real fine-tuning has been submitted: {address}", "已提交一个真实的微调作业：{address}"),
    "adopted": ("Run {run} ({name}) is there: {state}, {address}", "运行 {run}（{name}）已存在：{state}，{address}"),
    "still_running": ("Run {run} ({name}) is still running: {address}", "运行 {run}（{name}）仍在进行：{address}"),
    "keep_open": (
        "Ctrl-C stops the site. A training that runs then goes on by itself.",
        "按 Ctrl-C 停止网站；正在进行的训练会继续运行。",
    ),
    "died": ("{name} has stopped unexpectedly and is started again.", "{name} 意外停止，正在重新启动。"),
    "dying": (
        "{name} stops again and again ({times} times). The end of {log}:\n{lines}",
        "{name} 反复停止（{times} 次）。{log} 的末尾：\n{lines}",
    ),
    "stopping": ("Stopping (Ctrl-C again: at once) …", "正在停止（再按一次 Ctrl-C 立即停止）…"),
    "goes_on": (
        "Run {run} ({name}) goes on without the site, in {folder}\n  `make demo` shows it again, `make stop` ends it.",
        "运行 {run}（{name}）在网站停止后继续进行，目录 {folder}\n  `make demo` 可再次查看，`make stop` 可结束它。",
    ),
    "stopped": ("Stopped.", "已停止。"),
    "no_trainings": ("No training is running.", "没有正在进行的训练。"),
    "stop_asked": ("Run {run} ({name}): asked to stop …", "运行 {run}（{name}）：已请求停止 …"),
    "stop_done": ("Run {run} ({name}): {state}.", "运行 {run}（{name}）：{state}。"),
    "stop_slow": (
        "Run {run} ({name}) has not ended within {seconds:.0f} seconds.",
        "运行 {run}（{name}）未在 {seconds:.0f} 秒内结束。",
    ),
    "waiting": ("Waiting for run {run} to end …", "正在等待运行 {run} 结束 …"),
    "progress": ("  {stage}: {done}{total}  lm_loss {loss}", "  {stage}：{done}{total}  lm_loss {loss}"),
    "result": ("Run {run} ({name}): {state}", "运行 {run}（{name}）：{state}"),
    "result_loss": (
        "  lm_loss  {first} at iteration 1, {last} at iteration {iteration}",
        "  lm_loss  第 1 次迭代 {first}，第 {iteration} 次迭代 {last}",
    ),
    "result_answer": (
        "  {prompt}\n    before: {before}\n    after:  {after}",
        "  {prompt}\n    训练前：{before}\n    训练后：{after}",
    ),
    "result_problem": ("  problem: {text}", "  问题：{text}"),
    "result_folder": ("  run folder {folder}", "  运行目录 {folder}"),
}


def language() -> str:
    """zh-hans when the terminal's locale is Chinese, else en."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh-hans" if value.lower().startswith("zh") else "en"
    return "en"


def text(code: str, **parameters: object) -> str:
    english, chinese = TEXTS[code]
    return (chinese if language() == "zh-hans" else english).format(**parameters)


def say(code: str, **parameters: object) -> None:
    print(text(code, **parameters), flush=True)


def complain(code: str, **parameters: object) -> None:
    print(text(code, **parameters), file=sys.stderr, flush=True)
