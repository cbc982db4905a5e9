"""Runs the real torch_npu on a machine without an Ascend device.

`libraries.py` compiles a stand-in for CANN whose device memory is host memory; `device.py` computes operators on
"npu" tensors with the CPU's; `operators.py` gives the fused ones reference bodies under torch_npu's own schemas and
autograd; `hccl.py` lets gloo take HCCL's place. `programs/` holds what the tests start, each in a process of its own:
no process of pytest imports torch_npu.

What this shows: that arguments, masks, layouts, devices and the wiring of autograd are right. What it cannot show:
Ascend's numerics, limits of types and shapes, HCCL, memory, speed.
"""
