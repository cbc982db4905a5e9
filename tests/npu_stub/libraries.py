"""The stand-in's shared libraries, made by gcc for one torch_npu."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

TOOLS = ("gcc", "nm")
SOURCE = Path(__file__).with_name("cann.c")
LINKED = ("hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")
"""Libraries that torch_npu asks for by name; all that it needs of them is in libascendcl."""
CANN = re.compile(r"(acl|rt|Msprof|Hccl)[A-Za-z]\w*")


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def make(folder: Path, torch_npu: Path) -> Path:
    """Compile into `folder` what `torch_npu` (the package's folder) needs to be imported. Returns `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rest = folder / "rest.c"
    names = sorted(_wanted(torch_npu) - _written())
    rest.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in names), encoding="ascii")
    _compile(folder, "ascendcl", str(SOURCE), str(rest))
    for name in LINKED:
        _compile(folder, name, "-Wl,--no-as-needed", f"-L{folder}", "-lascendcl")
    return folder


def _compile(folder: Path, name: str, *arguments: str) -> None:
    library = folder / f"lib{name}.so"
    options = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{library.name}"]
    subprocess.run(["gcc", *options, "-o", str(library), *arguments], check=True, capture_output=True)


def _wanted(torch_npu: Path) -> set[str]:
    """CANN's functions that torch_npu's libraries link to: the loader wants every one of them."""
    libraries = [*torch_npu.glob("lib/libtorch_npu.so"), *torch_npu.glob("lib/libtensorpipe.so")]
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", *map(str, libraries), *map(str, torch_npu.glob("_C.*.so"))],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {word for word in listed.split() if CANN.fullmatch(word)}


def _written() -> set[str]:
    return set(re.findall(r"\b(acl\w+)\(", SOURCE.read_text(encoding="ascii")))
