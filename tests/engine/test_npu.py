"""The NPU's part of the engine with the real torch_npu, over a stand-in for CANN (`tests/npu_stub`).

Every program runs in processes of its own: this one never imports torch_npu, which could not be undone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.npu_stub import starting
from tests.npu_stub.libraries import make
from tests.npu_stub.programs.tiny import ITERATIONS

EQUAL = 1e-5
ROUNDED = 2e-2
"""bf16 has eight bits."""
FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "glm4")
OPERATORS = ("npu_fusion_attention", "npu_rms_norm", "npu_rotary_mul", "npu_swiglu")

REASON = starting.reason_to_skip()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("cann"), starting.WHEEL / "torch_npu")


@pytest.fixture(scope="module")
def training(libraries: Path) -> Any:
    return starting.run("training", libraries)


@pytest.fixture(scope="module")
def numerics(libraries: Path) -> Any:
    return starting.run("numerics", libraries)


@pytest.fixture(scope="module")
def optimizers(libraries: Path) -> Any:
    return starting.run("optimizers", libraries)


def test_it_is_huaweis_own_wheel_for_our_torch(libraries: Path) -> None:
    import torch

    code = "import torch_npu; print(torch_npu.__version__, torch_npu.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=starting.environment(libraries), capture_output=True, text=True, check=True
    )
    version, file = done.stdout.split()[-2:]
    assert version == torch.__version__.split("+")[0]
    assert Path(file).is_relative_to(starting.WHEEL)


@pytest.mark.parametrize("way", ["plain", "fused"])
@pytest.mark.parametrize("packed", ["", " packed"], ids=["rows", "packed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_learns_on_the_npu_as_on_the_cpu(training: Any, family: str, packed: str, way: str) -> None:
    found = training[family + packed]
    assert found[way] == pytest.approx(found["cpu"], abs=EQUAL)
    assert len(set(found["cpu"])) == ITERATIONS


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_samples_are_another_exercise_than_whole_rows(training: Any, family: str) -> None:
    """Else the equality of packed curves would say nothing."""
    assert training[f"{family} packed"]["cpu"] != pytest.approx(training[family]["cpu"], abs=100 * EQUAL)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fused_operators_are_what_ran(training: Any, family: str) -> None:
    found = training[family]
    expected = set(OPERATORS) - ({"npu_rotary_mul"} if family == "glm4" else set())  # turns other planes: keeps its own
    backward = {name for name in found["calls"] if name.endswith(("_backward", "_grad"))}
    assert set(found["calls"]) - backward == expected
    assert len(backward) == len(expected)
    assert found["calls"]["npu_fusion_attention"] == found["used"]["attention"] * ITERATIONS
    assert found["calls"]["npu_rms_norm"] == found["used"]["rms_norm"] * ITERATIONS


def test_adapters_learn_on_the_npu_as_on_the_cpu(training: Any) -> None:
    found = training["lora"]
    assert found["fused"] == pytest.approx(found["cpu"], abs=EQUAL)
    assert found["plain"] == pytest.approx(found["cpu"], abs=EQUAL)
    assert found["cpu"] != pytest.approx(training["llama"]["cpu"], abs=EQUAL)


def test_mixed_precision_on_the_npu_is_that_of_the_cpu_up_to_rounding(training: Any) -> None:
    assert training["bf16"]["fused"] == pytest.approx(training["bf16"]["cpu"], abs=ROUNDED)
    assert training["bf16"]["cpu"] != training["llama"]["cpu"]


def test_the_device_is_the_process_its_own_and_counts_its_memory(training: Any) -> None:
    assert training["device"] == "npu:3"
    assert training["before"] == 0
    assert 100_000 < training["peak"] <= training["reserved"] < training["total"] == 64 << 30
    assert training["rng kept"]


def test_a_fused_operator_computes_what_torch_does(numerics: Any) -> None:
    found = numerics["differences"]
    exact = {name: value for name, value in found.items() if not name.endswith("bf16")}
    assert len(exact) >= 8
    assert {name: value for name, value in exact.items() if value > EQUAL} == {}
    assert found["attention in bf16"] < ROUNDED


def test_a_mistake_in_a_call_does_not_go_unnoticed(numerics: Any) -> None:
    found = numerics["mistakes"]
    assert found.pop("as it should be") == "same"
    assert len(found) == 9
    assert {name: said for name, said in found.items() if said == "same"} == {}
    assert "same device" in found["key left on the CPU"]
    assert "same device" in found["sum of npu and CPU"]


def test_npus_fused_adamw_goes_on_with_the_first_gradients(optimizers: Any) -> None:
    """Why the engine takes torch's AdamW there: this one is right only while gradients stay in the first tensors."""
    assert max(optimizers["fused, in place"]) < EQUAL
    first, second, *rest = optimizers["fused, new gradients"]
    assert first < EQUAL
    assert min(second, *rest) > 100 * EQUAL


@pytest.mark.parametrize("gradients", ["new gradients", "in place"])
def test_torchs_adamw_is_right_on_the_npu(optimizers: Any, gradients: str) -> None:
    assert max(optimizers[f"torch, {gradients}"]) < EQUAL


def test_two_npus_learn_what_one_process_does(libraries: Path) -> None:
    found = starting.run("collectives", libraries, processes=2)
    for way in ("data parallel", "sharded", "tensor parallel"):
        assert found[way] == pytest.approx(found["one process"], abs=EQUAL), way
    assert found["device"] == ["npu:0", "0"]
    assert found["collectives"] > 10


def test_without_cann_the_reason_names_the_library_that_is_missing() -> None:
    said = starting.run("absent", None)
    assert said["code"] == "device.no_torch_npu"
    assert "libhccl.so" in said["reason"]


def test_a_process_too_many_is_told_what_it_can_see(libraries: Path) -> None:
    said = starting.run("absent", libraries, STUB_NPU_COUNT="2", WANTED="2", ASCEND_RT_VISIBLE_DEVICES="4,5")
    assert said["code"] == "device.not_visible"
    assert (said["wanted"], said["visible"], said["shown"]) == (3, 2, "4,5")


def test_the_check_of_a_device_finds_the_stand_in_right(libraries: Path) -> None:
    """The program that a person with an Ascend server runs first, here as two processes."""
    said = starting.output("checking", libraries, processes=2)
    assert "npu:0" in said
    assert "groups cpu:gloo,npu:hccl" in said
    assert "WRONG" not in said
    for what in ("attention by sequence in bf16", "its own operators", "sum over 2 processes on npu"):
        assert f"ok    {what}" in said or f", {what}" in said
