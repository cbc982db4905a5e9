"""Every number of the memory model that is not a dimension of the model, with where it comes from."""

from __future__ import annotations

GIB = 2**30

CAPACITY_OF_64 = 60.97
"""GiB that a 64 GB part reports: the out-of-memory message of Huawei page 590626."""
CAPACITY_SHARE = CAPACITY_OF_64 / 64
"""Assumption for other sizes: the same share of the nominal memory. A 32 GB part then has 30.5 GiB."""
FRAGMENTATION = 0.03
"""Assumption. Between 0 and 8 % no full cell of the minimum-device table changes its answer."""
RUNTIME_GIB = 1.2
"""Assumption: driver, operators and workspace. Above 1.6 some published scripts would no longer fit."""
COMMUNICATOR_GIB = 2 * 200 * 2**20 / GIB
"""CANN documentation of HCCL_BUFFSIZE: 200 MB each for sending and receiving."""

WEIGHT = 2
"""Bytes of a bf16 parameter."""
MAIN_GRADIENT = 4
"""Megatron and plain data parallel keep gradients in fp32 beside bf16 weights."""
DEEPSPEED_GRADIENT = 2
"""DeepSpeed keeps bf16 gradients."""
OPTIMIZER = 12
"""Adam: fp32 copy of the weight, first and second moment."""
REUSED_FP32 = 2
"""Saved by --reuse-fp32-param: the bf16 weight lies inside its fp32 copy."""
ADAPTER = WEIGHT + MAIN_GRADIENT + OPTIMIZER
"""Bytes of a trained adapter parameter: its own states are not sharded."""

NORMS = 8
"""Bytes a token and hidden unit: inputs and outputs of two norms, bf16 (derived operator by operator)."""
ATTENTION_STATISTICS = 64
"""Bytes a token and head: fp32 maximum and sum, 8 lanes each, which the NPU attention operator keeps."""
FEED_FORWARD = 6
"""Bytes a token and intermediate unit: gate, up and their product (derived)."""
EXPERT_IMBALANCE = 1.2
"""Estimate: the fullest device gets this much more than its share of routed tokens."""
TRANSIENT_HIDDEN = 4
"""Bytes a token and hidden unit that live only while one layer works."""
MEGATRON_LOGITS = 10
"""Bytes a token and vocabulary entry: bf16 2, fp32 copy 4, softmax and gradient 4 (derived)."""

CHECKPOINT = 2
"""Bytes a token and hidden unit of a layer's kept input, bf16."""
HF_LAYER_HIDDEN = 40
HF_LAYER_FEED_FORWARD = 10
"""Bytes a token of one layer that is recomputed: estimate from the module code of transformers."""
HF_LOGITS = 16
"""Bytes a token and vocabulary entry, unsplit (derived; at 20 four printed cells would be refused)."""

FP32 = 4
MOMENTS = 8
"""Adam's two, in fp32."""
HEAD_BLOCK = 1 << 22
"""Logits that our own engine has in memory at once."""
HEAD_BLOCKS = 3
"""Tensors as large as that which it has at the same time."""
ADAPTED_OUTPUTS = 2
"""Tensors as wide as its output that an adapted linear layer holds more than a plain one; measured on a CPU."""
CPU_RUNTIME_GIB = 0.45
"""Python with torch and transformers in memory, measured on Linux."""
CPU_PEERS_GIB = 0.3
"""And with torch.distributed, its connections and buffers; measured with 2 processes (benchmarks/memory.py)."""
HELD_ACTIVATIONS, HELD_GRADIENTS = 0.5, 0.33
"""Shares of them that glibc's allocator holds beyond what is in use when all parameters are trained; measured on a
CPU (benchmarks/memory.py)."""

BUCKET_ELEMENTS = 500_000_000
"""DeepSpeed's reduce and all-gather bucket, as in the configurations that it ships with."""
LIVE_ELEMENTS = 1_000_000_000
"""DeepSpeed ZeRO-3: stage3_max_live_parameters as shipped."""

LLAMA_FACTORY_HEADROOM = 0.80
"""Policy for the recommended number, chosen after seeing the table (in-sample)."""
LITTLE_ROOM = 0.90
"""Above this share of the usable memory we say that there is little room: the model is good to about 10 %."""

NATIVE_BUCKET = 25 << 20
"""Elements of gradients that our own engine sums in one go."""
