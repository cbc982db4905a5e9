"""Rules about batch arithmetic: global = micro × data parallel × accumulation steps."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask, round_up
from engine.problems import Problem, Value


def micro_in_global(ask: Ask) -> Iterator[Problem]:
    micro, total = ask.spec.train.micro_batch_size, ask.spec.train.global_batch_size
    if micro is not None and total is not None and micro > total:
        yield Problem(
            code="batch.micro_too_large",
            field="train.micro_batch_size",
            parameters={"micro_batch_size": micro, "global_batch_size": total},
            nearest={"train.micro_batch_size": total},
        )


def replicas(ask: Ask) -> Iterator[Problem]:
    micro, total, count = ask.spec.train.micro_batch_size, ask.spec.train.global_batch_size, ask.replicas
    if total is None or (micro or 1) > total:
        return
    unit = (micro or 1) * (count or 1)
    if total % unit == 0:
        return
    parameters: dict[str, Value] = {"global_batch_size": total, "micro_batch_size": micro or 1, "unit": unit}
    near = {"train.global_batch_size": round_up(total, unit)}
    if count is None:
        yield Problem(code="batch.not_of_micro", field="train.global_batch_size", parameters=parameters, nearest=near)
    else:
        parameters["data_parallel_size"] = count
        yield Problem(code="batch.not_divisible", field="train.global_batch_size", parameters=parameters, nearest=near)
