"""Operators on "npu" tensors, computed by the CPU's kernels on the same memory."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

CALLS: Counter[str] = Counter()
"""How often each operator ran on the device: a test can tell whether the fused one was taken."""
KEY = "PrivateUse1"
NATIVE = frozenset((
    "empty", "empty_strided", "empty_like", "new_empty_strided", "as_strided", "view", "_reshape_alias", "set_",
    "resize_", "_pin_memory", "is_pinned", "pin_memory", "record_stream", "_has_compatible_shallow_copy_type",
    "unfold", "alias", "view_as_real", "view_as_complex", "_copy_from_and_resize", "is_set_to", "data", "squeeze",
    "squeeze_", "unsqueeze", "contiguous", "_lazy_clone",
))  # fmt: skip
"""torch_npu's own need no kernel of CANN: they allocate, or look at the same memory in another way."""
MIXING = frozenset(["index", "index_put", "index_put_", "_index_put_impl_"])
"""torch itself takes indices from the CPU for a tensor elsewhere."""
_libraries: list[torch.library.Library] = []  # an operator is taken back when its library is collected


def host(value: Any) -> Any:
    """A view of an "npu" tensor's memory as a CPU tensor; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.device.type != "npu":
        return value
    if value.numel() == 0:
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype)
    storage = value.untyped_storage()
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    raw = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=value.dtype).set_(raw, value.storage_offset(), value.size(), value.stride())


def on_device(value: Any, device: torch.device) -> Any:
    """A copy of a CPU tensor on the device; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return value
    copy = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    if value.numel():
        host(copy).copy_(value)
    return copy


def current() -> torch.device:
    return torch.device("npu", torch.npu.current_device())


def require_one_device(name: str, values: Any) -> None:
    """As a real device does: no operator on tensors of two devices, scalars of the CPU apart."""
    kinds: set[str] = set()

    def see(value: Any) -> None:
        if isinstance(value, torch.Tensor) and (value.device.type != "cpu" or value.dim()):
            kinds.add(value.device.type)

    tree_map(see, values)
    if len(kinds) > 1 and name.split("::")[-1].split(".")[0] not in MIXING:
        raise RuntimeError(f"Expected all tensors to be on the same device, but {name} got {sorted(kinds)}")


def install() -> None:
    """Take over every aten operator that torch_npu has registered and that would call CANN."""
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    for full in torch._C._dispatch_get_registrations_for_dispatch_key(KEY):
        space, _, name = full.partition("::")
        base, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, base, None)
        if space == "aten" and base not in NATIVE and packet is not None:
            operator = getattr(packet, overload or "default", None)
            if operator is not None and _is_plain(operator):
                library.impl(name, _computed(operator), KEY, allow_override=True)
    for name, function in _OWN.items():
        library.impl(name, function, KEY, allow_override=True)
    # torch_npu would go straight to CANN's attention
    library.impl("scaled_dot_product_attention", _attention, "AutogradPrivateUse1", allow_override=True)


def implement(library: torch.library.Library, name: str, body: Callable[..., Any]) -> None:
    """Register `body`, which computes on CPU tensors, as an operator of the device."""

    def run(*args: Any, **kwargs: Any) -> Any:
        CALLS[name] += 1
        require_one_device(name, (args, kwargs))
        device = next(value.device for value in args if isinstance(value, torch.Tensor))
        result = body(*tree_map(host, args), **tree_map(host, kwargs))
        return tree_map(lambda value: on_device(value, device), result)

    library.impl(name, run, KEY, allow_override=True)
    if library not in _libraries:
        _libraries.append(library)


def _is_plain(operator: Any) -> bool:
    return not any(kind in str(one.type) for one in operator._schema.arguments for kind in ("Storage", "Stream"))


def _computed(operator: Any) -> Callable[..., Any]:
    """The CPU's operator for tensors of the device; what it changes in place is changed in the same memory."""
    schema = operator._schema
    written = [one.alias_info is not None and one.alias_info.is_write for one in schema.arguments]
    names = [one.name for one in schema.arguments]
    in_place = any(written) and schema.returns and schema.returns[0].alias_info is not None

    def run(*args: Any, **kwargs: Any) -> Any:
        CALLS[schema.name] += 1
        require_one_device(schema.name, (args, kwargs))
        device = _device_of(args, kwargs)
        own = {**dict(zip(names, args, strict=False)), **kwargs}
        views = {name: tree_map(host, value) for name, value in own.items()}
        with torch.no_grad():
            result = operator(*(views[name] for name in names[: len(args)]), **_for_cpu(kwargs, views))
        if not in_place:
            return tree_map(lambda value: on_device(value, device), result)
        changed = [name for name, is_written in zip(names, written, strict=True) if is_written and name in own]
        for name in changed:
            _grow(own[name], views[name])
        return own[changed[0]] if len(changed) == 1 else tuple(own[name] for name in changed)

    return run


def _device_of(args: Any, kwargs: Any) -> torch.device:
    found: list[torch.device] = []

    def see(value: Any) -> None:
        if isinstance(value, torch.Tensor) and value.device.type == "npu":
            found.append(value.device)

    tree_map(see, (args, kwargs))
    return found[0] if found else current()


def _for_cpu(kwargs: dict[str, Any], views: dict[str, Any]) -> dict[str, Any]:
    """Keywords for the CPU's operator: the tensors' views, no device, no pinned memory."""
    given = {name: views[name] for name in kwargs}
    if given.get("device") is not None and torch.device(given["device"]).type == "npu":
        given["device"] = "cpu"
    if given.get("pin_memory"):
        given["pin_memory"] = False
    return given


def _grow(own: Any, view: Any) -> None:
    """An `out=` argument that the CPU's operator has given another shape."""
    if isinstance(own, torch.Tensor) and own.shape != view.shape:
        own.resize_(view.shape)
        host(own).copy_(view)


def vector_jacobian(function: Callable[..., torch.Tensor], inputs: Any, gradient: torch.Tensor) -> Any:
    """Gradients of `function` at CPU tensors. Runs below autograd's keys, which it therefore switches on again."""
    keys = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    included = torch._C._dispatch_tls_local_include_set()
    with torch._C._ForceDispatchKeyGuard(included, excluded), torch.enable_grad():
        leaves = [value.detach().clone().requires_grad_(True) for value in inputs]
        return torch.autograd.grad(function(*leaves), leaves, gradient)


def _copied(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    host(target).copy_(host(source))
    return target


def _copy_(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return _copied(source, target)


def _to_copy(value: torch.Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **_: Any) -> Any:
    copy = torch.ops.aten._to_copy(host(value), dtype=dtype, device="cpu", memory_format=memory_format)
    wanted = torch.device(device) if device is not None else value.device
    if wanted.type != "npu":
        return copy
    return on_device(copy, wanted if wanted.index is not None else current())


def _matmul_backward(gradient: torch.Tensor, left: torch.Tensor, right: torch.Tensor, mask: Any) -> Any:
    require_one_device("matmul_backward", (gradient, left, right))
    parts = vector_jacobian(torch.matmul, (host(left), host(right)), host(gradient))
    return tuple(on_device(part, gradient.device) for part in parts)


def _linear_backward(value: torch.Tensor, gradient: torch.Tensor, weight: torch.Tensor, mask: Any) -> Any:
    require_one_device("linear_backward", (value, gradient, weight))
    parts = vector_jacobian(torch.nn.functional.linear, (host(value), host(weight)), host(gradient))
    bias = host(gradient).flatten(0, -2).sum(0) if mask[2] else None
    return tuple(on_device(part, gradient.device) for part in (*parts, bias))


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
               is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    CALLS["aten::scaled_dot_product_attention"] += 1
    if attn_mask is not None and attn_mask.dtype == torch.bool:  # what torch does before it chooses a kernel
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(~attn_mask, float("-inf"))
    return torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


_OWN: dict[str, Callable[..., Any]] = {
    "_copy_from": _copied,
    "copy_": _copy_,
    "_to_copy": _to_copy,
    "_local_scalar_dense": lambda value: host(value).item(),
    "equal": lambda left, right: torch.equal(host(left), host(right)),
    "matmul_backward": _matmul_backward,
    "linear_backward": _linear_backward,
}
