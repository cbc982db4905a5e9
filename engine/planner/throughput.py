"""How fast a job runs: tokens per second and device, as a range with its basis.

FLOPs of a trained token: full 6N + 6·L·s·a·d, LoRA 4N + 6·L·s·a·d; N parameters in matrix products (no embedding
look-up, the output layer, the chosen experts only), attention causal. Full recompute adds 2N + 2·L·s·a·d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from engine.architecture import Architecture
from engine.catalog import CpuSpeed
from engine.planner.memory.parameters import count, feed_forward
from engine.planner.memory.setting import Setting

PEAK_FLOPS = {"snt9b": 313e12, "snt9b23": 376e12}
"""bf16 by hardware. Snt9B: grade B3 (public tables and two repositories; B2 376, B1 414, the 32 GB B4 280).
Snt9B23: one DIE, from CloudMatrix384's 289-300 PFLOP/s."""
MEASURED_AT = 313e12
"""The peak at which the shares below were derived from MindSpeed-LLM's published tokens per second."""
MFU_DENSE = 0.48
MFU_SMALL = 0.35
"""Below SMALL parameters a job is bound by its batch."""
MFU_MIXTURE = 0.23
"""From one published point."""
SMALL = 2.5e9
LORA_FACTOR = 0.85
LLAMA_FACTORY_FACTOR = 0.65
"""Both assumptions: there is no public figure."""
NARROW, WIDE = (0.7, 1.4), (0.5, 2.0)
"""Range around the usual figure: dense full training with MindSpeed-LLM, and everything else."""
OWN_RUNS = (0.85, 1.15)
"""Range around the team's own median."""
OTHER_LENGTH = NARROW
"""Range around it where the runs were of another length and their speed has been scaled."""
CPU_SHARE = (0.2, 2.0)
"""Speed of a native training as a share of a CPU's measured matrix products. Above 1, since products that are measured
on a busy machine come out too low: a Llama of 8 million parameters had 0.7 to 1.4 of them. The lower end is assumed."""
CPU_CORE_GFLOPS = (8.0, 100.0)
"""fp32 matrix products of one core where nothing has been measured: an old one, and one with wide vectors."""


@dataclass(frozen=True)
class Speed:
    """Tokens per second and device."""

    low: float
    high: float
    basis: str
    """`default_mfu`, `own_runs`, `own_runs_scaled`, `cpu_measured` or `cpu_cores`."""
    mfu: float | None
    """The share of the peak that was taken; null for own runs."""
    runs: int


def speed(setting: Setting, hardware: str, *, recompute: bool, own_runs: Sequence[float] = ()) -> Speed | None:
    """None where no figure is known: our own engine, and hardware without a published peak."""
    if own_runs:
        usual = median(own_runs)
        low, high = OWN_RUNS
        return Speed(min(usual * low, *own_runs), max(usual * high, *own_runs), "own_runs", None, len(own_runs))
    peak = PEAK_FLOPS.get(hardware)
    if peak is None or setting.framework == "native":
        return None
    mfu = usual_mfu(setting)
    work = flops(setting.shape, setting.seq_length, lora=setting.lora_rank is not None, recompute=recompute)
    usual = peak * mfu / work
    low, high = NARROW if is_well_known(setting) else WIDE
    return Speed(usual * low, usual * high, "default_mfu", mfu, 0)


def scaled(setting: Setting, runs: Sequence[tuple[int, float]]) -> Speed | None:
    """From finished runs of other lengths: (length, tokens per second and device). None where there are none.

    A token of a longer sample is more work, by the attention; what else differs is covered by a wider range.
    """
    if not runs:
        return None
    lora = setting.lora_rank is not None
    here = flops(setting.shape, setting.seq_length, lora=lora)
    rates = [rate * flops(setting.shape, length, lora=lora) / here for length, rate in runs]
    low, high = OTHER_LENGTH
    return Speed(
        min(median(rates) * low, *rates), max(median(rates) * high, *rates), "own_runs_scaled", None, len(rates)
    )


def on_cpu(setting: Setting, devices: int, machines: Sequence[CpuSpeed]) -> Speed | None:
    """A native job's processes share the cores of one of these machines; None where there is none."""
    if not machines or setting.framework != "native" or not setting.on_cpu:
        return None
    measured = [machine.gflops for machine in machines if machine.gflops]
    if measured:
        slow, fast = min(measured), max(measured)
    else:
        cores = [machine.cores for machine in machines]
        slow, fast = min(cores) * CPU_CORE_GFLOPS[0], max(cores) * CPU_CORE_GFLOPS[1]
    work = flops(setting.shape, setting.seq_length, lora=setting.lora_rank is not None)
    low, high = CPU_SHARE
    basis = "cpu_measured" if measured else "cpu_cores"
    return Speed(slow * 1e9 * low / work / devices, fast * 1e9 * high / work / devices, basis, None, 0)


def usual_mfu(setting: Setting) -> float:
    mfu = MFU_DENSE if count(setting.shape).text >= SMALL else MFU_SMALL
    if setting.shape.experts is not None:
        mfu = MFU_MIXTURE
    if setting.lora_rank is not None:
        mfu *= LORA_FACTOR
    return mfu * (LLAMA_FACTORY_FACTOR if setting.framework == "llama-factory" else 1.0)


def is_well_known(setting: Setting) -> bool:
    """Is it the kind of job whose speed has been published?"""
    large = count(setting.shape).text >= SMALL
    dense_full = setting.shape.experts is None and setting.lora_rank is None
    return setting.framework == "mindspeed-llm" and dense_full and large


def flops(shape: Architecture, seq_length: int, *, lora: bool = False, recompute: bool = False) -> float:
    """Of one trained token, with causal attention."""
    matrices, attention = matrix_parameters(shape), attention_flops(shape, seq_length)
    trained = (4 if lora else 6) * matrices + attention
    return trained + (2 * matrices + attention / 3 if recompute else 0)


def attention_flops(shape: Architecture, seq_length: int) -> float:
    """6·L·s·a·d: scores and their use, forward and backward, half of the square that a causal mask leaves."""
    return 6.0 * shape.num_hidden_layers * seq_length * shape.query_size


def matrix_parameters(shape: Architecture) -> int:
    """Parameters that one token is multiplied with. The look-up in the embedding is none; the output layer is."""
    counts = count(shape)
    routed = 0
    if shape.experts is not None:
        routed = shape.experts.top_k * feed_forward(shape.hidden_size, shape.experts.intermediate_size)
    layers = counts.dense_layers * counts.dense_layer + counts.moe_layers * (counts.moe_layer + routed)
    return layers + counts.embedding
