"""What a command leaves open until it is started on a node, and what is filled in for it.

{python}                 our own interpreter
{run_dir}                the run's folder
{llama_factory_python}   the interpreter that LLaMA-Factory is installed in
{mindspeed_llm_python}   the interpreter that MindSpeed-LLM is installed in
{mindspeed_llm_home}     its checkout
{node_rank}              number of this node among those of the run
{master_addr}            where the processes of the run meet
{master_port}            a port that is free there
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from engine.frameworks.installed import find
from engine.plan import Stage
from engine.problems import Problem

OF_FRAMEWORK = {
    "{llama_factory_python}": ("llama-factory", "python"),
    "{mindspeed_llm_python}": ("mindspeed-llm", "python"),
    "{mindspeed_llm_home}": ("mindspeed-llm", "home"),
}
"""Placeholder → whose installation fills it, and which of its fields."""
QUOTED = (".json", ".yaml", ".yml")
"""Endings of files whose placeholders stand inside double quotes."""


def fill(text: str, values: Mapping[str, str]) -> str:
    """Other braces stay as they are, as those of JSON."""
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def fill_file(path: str, text: str, values: Mapping[str, str]) -> str:
    """Like `fill`, and a value with a quote or a backslash cannot break the file."""
    if path.endswith(QUOTED):
        values = {name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in values.items()}
    return fill(text, values)


def of_installations(stages: tuple[Stage, ...], environ: Mapping[str, str]) -> dict[str, str]:
    """Values of the placeholders that the stages need of frameworks installed here; none for one that is not."""
    values = {}
    for name, (framework, field) in OF_FRAMEWORK.items():
        if name in _texts(stages) and (found := find(framework, environ)) is not None:
            values[name] = str(getattr(found, field))
    return values


def cannot_start(stages: tuple[Stage, ...], environ: Mapping[str, str]) -> Problem | None:
    """Why nothing of the plan can be started on this node; None where all is there."""
    nodes = max((command.nodes for stage in stages for command in stage.commands), default=1)
    if nodes > 1:
        return Problem(code="framework.one_node", field="devices", fault="software", parameters={"nodes": nodes})
    values = of_installations(stages, environ)
    for name, (framework, _) in OF_FRAMEWORK.items():
        if name in _texts(stages) and name not in values:
            return Problem(
                code="framework.not_installed", field="framework", fault="site", parameters={"framework": framework}
            )
    return None


def _texts(stages: tuple[Stage, ...]) -> str:
    return "\n".join(text for stage in stages for text in _of_stage(stage))


def _of_stage(stage: Stage) -> Iterator[str]:
    for command in stage.commands:
        yield from command.argv
        yield from command.env.values()
        yield command.cwd or ""
    yield from stage.files.values()
