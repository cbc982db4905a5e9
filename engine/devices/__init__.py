"""The devices that a stage's process computes on, behind torch's device-agnostic API (`torch.accelerator`).

`choosing.chosen` gives the process its `Device`; `precision.Precision` is mixed precision; `fusing.use_operators` puts
the device's fused operators into a model of transformers. No NPU and no GPU has run any of it yet: the NPU's part runs
in the tests with the real torch_npu over a stand-in (`tests/npu_stub`).
"""
