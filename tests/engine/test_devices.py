"""Devices on the CPU: names, choice, memory, mixed precision, and the modules that fused operators are put into."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy

from engine.device_names import NAMES, defaults, kind_of, shown
from engine.devices import attention, checking, precision
from engine.devices.choosing import chosen
from engine.devices.cpu import CpuDevice
from engine.devices.fusing import GatedMlp, RmsNorm, use_operators
from engine.devices.operators import Operators
from engine.devices.plain import OPERATORS, Plain, same_sequence
from engine.devices.precision import GROWTH_INTERVAL, Precision
from engine.failures import Failure
from tests.npu_stub import starting
from tests.source import ROOT

EQUAL = 1e-5
SHAPE = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}
FAMILIES: dict[str, tuple[Any, Any]] = {
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**SHAPE)),
    "qwen2": (transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**SHAPE)),
    "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig(**SHAPE, sliding_window=5)),
    "mixtral": (transformers.MixtralForCausalLM, transformers.MixtralConfig(**SHAPE, num_local_experts=4)),
    "glm4": (transformers.Glm4ForCausalLM, transformers.Glm4Config(**SHAPE, head_dim=16)),
    "gemma": (transformers.GemmaForCausalLM, transformers.GemmaConfig(**SHAPE, head_dim=16)),
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> None:
    """A tiny model gains nothing from a second thread, and waits for it on a busy machine."""
    torch.set_num_threads(1)


class Counted(Plain):
    """torch's operators in the place of fused ones: what is tested is where they are put."""

    fused = True


def model(family: str, operators: Operators = OPERATORS) -> tuple[Any, dict[str, int]]:
    kind, config = FAMILIES[family]
    torch.manual_seed(3)
    made = kind(copy.deepcopy(config)).eval()
    return made, use_operators(made, operators)


IDS = torch.randint(1, 128, (2, 18), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("hardware", "kind"), [("cpu", "cpu"), ("cuda", "cuda"), ("snt9b", "npu"), ("snt9b23", "npu")])
def test_a_row_of_the_hardware_table_is_a_kind_of_device(hardware: str, kind: str) -> None:
    assert kind_of(hardware) == kind


def test_trainings_beside_each_other_get_devices_and_ports_of_their_own() -> None:
    first, second = shown("npu", [0, 1]), shown("npu", [3, 2])
    assert first == {"ASCEND_RT_VISIBLE_DEVICES": "0,1", "HCCL_IF_BASE_PORT": "60000"}
    assert second == {"ASCEND_RT_VISIBLE_DEVICES": "2,3", "HCCL_IF_BASE_PORT": "60032"}
    assert shown("npu", [2], first_port=50000)["HCCL_IF_BASE_PORT"] == "50032"
    assert shown("cuda", [1]) == {"CUDA_VISIBLE_DEVICES": "1"}
    assert shown("cpu", [1]) == {}


def test_what_the_site_has_set_is_left_as_it_is() -> None:
    assert defaults("npu", {})["PYTORCH_NPU_ALLOC_CONF"] == "expandable_segments:True"
    assert "HCCL_CONNECT_TIMEOUT" not in defaults("npu", {"HCCL_CONNECT_TIMEOUT": "7200"})
    assert "PYTORCH_NPU_ALLOC_CONF" not in defaults("npu", {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"})
    assert defaults("cpu", {}) == {}
    assert defaults("npu", {}, interface="enp67s0f5")["HCCL_SOCKET_IFNAME"] == "enp67s0f5"
    assert set(NAMES) == {"cpu", "cuda", "npu"}


def test_the_cpu_is_a_device_like_the_others() -> None:
    device = chosen("cpu", local_rank=5)
    assert device.torch_device == torch.device("cpu")
    assert device.process_groups == "cpu:gloo"
    assert not device.operators.fused
    assert device.computes_in(torch.bfloat16)
    assert not device.computes_in(torch.float16)


def test_a_device_that_is_not_there_is_a_failure_with_a_reason() -> None:
    with pytest.raises(Failure) as absent:
        chosen("snt9b")
    assert absent.value.problem.code == "device.no_torch_npu"
    assert "torch_npu" in str(absent.value.problem.parameters["reason"])
    with pytest.raises(Failure) as unseen:
        chosen("cuda")
    assert unseen.value.problem.code == "device.not_visible"
    assert unseen.value.problem.parameters["visible"] == 0


def test_the_peak_of_a_cpu_process_is_counted_from_where_it_was_forgotten() -> None:
    device, size = CpuDevice(), 64 << 20
    device.forget_peak()
    before = device.memory()
    held = torch.ones(size // 4)
    grown = device.memory()
    assert grown.peak_allocated - before.allocated > 0.8 * size
    del held
    device.forget_peak()
    assert device.memory().peak_allocated < grown.peak_allocated - 0.5 * size
    assert 0 < grown.free < grown.total


def test_random_numbers_go_on_from_a_kept_state() -> None:
    device = CpuDevice()
    state = device.rng_state()
    first = torch.rand(4)
    device.set_rng_state(state)
    assert torch.equal(torch.rand(4), first)


def test_fp32_and_bf16_scale_no_loss() -> None:
    loss = torch.tensor(2.0)
    for name in ("fp32", "bf16"):
        way = Precision(name, CpuDevice())  # type: ignore[arg-type]
        assert way.scaled(loss) is loss
        assert way.scale == 1.0
        assert way.state() == {}
        assert way.update(1.0)
        assert not way.update(float("nan"))


def test_products_are_in_bf16_and_parameters_stay_in_fp32() -> None:
    layer, value = torch.nn.Linear(4, 4), torch.ones(1, 4)
    with Precision("bf16", CpuDevice()).autocast():
        assert layer(value).dtype == torch.bfloat16
    with Precision("fp32", CpuDevice()).autocast():
        assert layer(value).dtype == torch.float32
    assert layer.weight.dtype == torch.float32


def test_a_precision_that_the_device_lacks_is_refused() -> None:
    with pytest.raises(Failure) as refused:
        Precision("fp16", CpuDevice())
    assert refused.value.problem.code == "device.no_precision"


class HalfDevice(CpuDevice):
    """A CPU that is taken for a device with fp16."""

    def computes_in(self, dtype: torch.dtype) -> bool:
        return True


def test_the_scale_does_what_torchs_gradscaler_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "GROWTH_INTERVAL", 3)
    ours = Precision("fp16", HalfDevice())
    theirs = torch.amp.GradScaler("cpu", init_scale=precision.FIRST_SCALE, growth_interval=3)
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    for overflow in (False, True, False, False, False, True, True, False, False, False, False, False, False):
        theirs.scale(parameter.sum()).backward()
        parameter.grad = torch.full((1,), float("inf")) if overflow else parameter.grad
        theirs.step(optimizer)
        theirs.update()
        optimizer.zero_grad()
        assert ours.update(float("inf") if overflow else 1.0) is not overflow
        assert ours.scale == theirs.get_scale()


def test_scaled_gradients_are_the_true_ones_when_unscaled() -> None:
    way, parameter = Precision("fp16", HalfDevice()), torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    way.scaled(parameter.square().sum()).backward()
    assert parameter.grad is not None
    assert float(parameter.grad[0]) == 6.0 * precision.FIRST_SCALE
    way.unscale([parameter.grad])
    assert torch.equal(parameter.grad, torch.tensor([6.0, 8.0]))


def test_the_scale_goes_on_after_a_resume() -> None:
    way, again = Precision("fp16", HalfDevice()), Precision("fp16", HalfDevice())
    way.update(float("inf"))
    for _ in range(GROWTH_INTERVAL - 1):
        way.update(1.0)
    again.restore(way.state())
    assert again.update(1.0)
    assert again.scale == precision.FIRST_SCALE


@pytest.mark.parametrize("family", FAMILIES)
def test_another_operator_in_a_model_changes_no_number_and_no_name(family: str) -> None:
    plain, none = model(family)
    ours, used = model(family, Counted())
    assert none == {}
    assert used["attention"] == 2
    assert list(ours.state_dict()) == list(plain.state_dict())
    wanted, found = loss(plain), loss(ours)
    wanted.backward()
    found.backward()
    assert float(found.detach()) == pytest.approx(float(wanted.detach()), abs=EQUAL)
    for (name, one), (_, other) in zip(plain.named_parameters(), ours.named_parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=EQUAL), name


def loss(made: Any, **options: Any) -> torch.Tensor:
    logits = made(input_ids=IDS, use_cache=False, **options).logits
    return cross_entropy(logits[:, :-1].flatten(0, 1), IDS[:, 1:].flatten())


def test_what_a_family_does_in_another_way_it_keeps() -> None:
    """Gemma's norm multiplies by 1 + weight, its MLP is gated by GELU; GLM-4 turns neighbouring planes."""
    used = {family: model(family, Counted())[1] for family in FAMILIES}
    assert used["llama"] == {"attention": 2, "rotary": 2, "rms_norm": 5, "swiglu": 2}
    assert used["gemma"] == {"attention": 2, "rotary": 2}
    assert "rotary" not in used["glm4"]
    assert used["mixtral"]["rms_norm"] == 5


def test_the_library_is_left_as_it_is() -> None:
    from transformers.models.llama import modeling_llama

    rotary, forward = modeling_llama.apply_rotary_pos_emb, modeling_llama.LlamaAttention.forward
    changed, _ = model("llama", Counted())
    assert modeling_llama.apply_rotary_pos_emb is rotary
    assert modeling_llama.LlamaAttention.forward is forward
    assert isinstance(changed.model.layers[0].self_attn, modeling_llama.LlamaAttention)
    assert isinstance(changed.model.norm, RmsNorm)
    assert isinstance(changed.model.layers[0].mlp, GatedMlp)


def test_every_operator_is_called_where_it_was_put(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, used = model("llama", operators := Counted())
    calls: dict[str, int] = {}

    def counting(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            calls[name] = calls.get(name, 0) + 1
            return inner(*args, **options)

        return call

    for name in ("attention", "rms_norm", "rotary", "swiglu"):
        monkeypatch.setattr(operators, name, counting(name, getattr(operators, name)))
    loss(changed)
    assert calls == {**used, "rotary": 2 * used["rotary"]}  # query and key


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_packed_samples_are_kept_apart(family: str) -> None:
    positions = torch.stack((torch.cat((torch.arange(7), torch.arange(11))), torch.arange(18)))
    plain, changed = model(family)[0], model(family, Counted())[0]
    logits = changed(input_ids=IDS, position_ids=positions, use_cache=False).logits
    assert torch.allclose(logits, plain(input_ids=IDS, position_ids=positions, use_cache=False).logits, atol=EQUAL)
    assert torch.allclose(logits[:1, :7], plain(input_ids=IDS[:1, :7]).logits, atol=EQUAL)
    assert torch.allclose(logits[:1, 7:], plain(input_ids=IDS[:1, 7:]).logits, atol=EQUAL)


def test_ends_that_are_given_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = torch.cat((torch.arange(7), torch.arange(11)))[None].expand(2, -1)
    changed, _ = model("llama", Counted())
    wanted = changed(input_ids=IDS, position_ids=positions, use_cache=False).logits
    monkeypatch.setattr(attention, "_found", lambda positions, rows: pytest.fail("asked the device"))
    ends = torch.tensor([0, 7, 18, 25, 36])
    found = changed(input_ids=IDS, position_ids=positions, use_cache=False, cu_seq_lens_q=ends).logits
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_padding_on_the_left_changes_nothing_behind_it(family: str) -> None:
    mask = torch.ones_like(IDS)
    mask[0, :4] = 0
    changed, plain = model(family, Counted())[0], model(family)[0]
    found = changed(input_ids=IDS, attention_mask=mask, use_cache=False).logits
    wanted = plain(input_ids=IDS, attention_mask=mask, use_cache=False).logits
    assert torch.isfinite(found).all()
    assert torch.allclose(found[mask.bool()], wanted[mask.bool()], atol=EQUAL)


def test_it_answers_from_a_cache_as_before() -> None:
    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    changed, plain = model("mistral", Counted())[0], model("mistral")[0]
    assert torch.equal(changed.generate(IDS, **options), plain.generate(IDS, **options))


def test_the_device_is_asked_for_the_ends_once_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    inner = attention._found
    monkeypatch.setattr(attention, "_found", lambda positions, rows: asked.append(rows) or inner(positions, rows))
    changed, _ = model("llama", Counted())
    for _ in range(2):
        positions = torch.cat((torch.arange(7), torch.arange(11)))[None].repeat(2, 1)
        loss(changed, position_ids=positions)
    assert asked == [2, 2]


def test_positions_changed_in_place_are_looked_at_again() -> None:
    sequences, positions = attention.Sequences(), torch.arange(6)[None]
    assert sequences.ends(positions, 1) is None
    positions[:, 3:] -= 3
    assert sequences.ends(positions, 1) == (3, 6)


def test_a_sequence_sees_itself_and_nothing_later() -> None:
    allowed = same_sequence(1, 4, (1, 4), torch.device("cpu"))[0, 0].int().tolist()
    assert allowed == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]


class WrongDevice(CpuDevice):
    """A CPU whose own operators can be bent."""

    def __init__(self, bent: Operators) -> None:
        super().__init__()
        self._bent = bent

    @property
    def operators(self) -> Operators:
        return self._bent


class Swapped(Counted):
    def swiglu(self, value: torch.Tensor) -> torch.Tensor:
        rest, gate = value.chunk(2, -1)
        return super().swiglu(torch.cat((gate, rest), -1))


class Undefined(Counted):
    def rms_norm(self, value: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
        return super().rms_norm(value, weight, epsilon) * float("nan")


@pytest.mark.parametrize(("bent", "operator"), [(Swapped(), "swiglu"), (Undefined(), "rms_norm")])
def test_the_check_of_a_device_names_the_operator_that_is_wrong(bent: Operators, operator: str) -> None:
    found = {finding.what: finding.right for finding in checking.operators(WrongDevice(bent))}
    wrong = {what for what, right in found.items() if not right}
    assert wrong == {f"{operator} in fp32", f"{operator} in bf16"}


def test_the_check_of_a_device_notices_a_training_that_goes_elsewhere() -> None:
    found = {finding.what: finding.right for finding in checking.training(WrongDevice(Undefined()))}
    assert len(found) == 4
    assert [what for what, right in found.items() if not right] == [
        "10 iterations in fp32, its own operators",
        "10 iterations in bf16, its own operators",
    ]


def test_where_the_npu_tests_cannot_run_they_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(starting, "WHEEL", ROOT / "nowhere")
    assert "make test" in str(starting.reason_to_skip())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert starting.reason_to_skip() == "the stand-in for CANN is compiled, and there is no gcc and no nm"
