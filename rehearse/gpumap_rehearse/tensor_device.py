# SPDX-License-Identifier: MIT
"""What a tensor and a generator say of their device."""
import functools

import torch
import torch.utils.dlpack

from . import devices, errors, hooks, moves, tags
from .tags import without_modes

_Base = hooks.get("torch._C.TensorBase")
_raw_device = _Base.device.__get__
_raw_numpy = _Base.numpy
_raw_type = _Base.type
_raw_array = torch.Tensor.__array__
_raw_interface = torch.Tensor.__cuda_array_interface__.__get__


def _device(self):
    with without_modes():
        ordinal = tags.ordinal_of(self)
        return devices.visible()[ordinal].torch_device if ordinal >= 0 else _raw_device(self)


def _get_device(self):
    device = _device(self)
    return device.index if device.type == "cuda" else -1


def _numpy(self, *args, **kwargs):
    with without_modes():
        ordinal = tags.ordinal_of(self)
        if ordinal >= 0 and not kwargs.get("force"):
            errors.no_numpy(ordinal)
        return _raw_numpy(self, *args, **kwargs)


def _array(self, dtype=None, *args, **kwargs):
    ordinal = _get_device(self)
    if ordinal >= 0:
        errors.no_numpy(ordinal)
    return _raw_array(self) if dtype is None else _raw_array(self, dtype)


def _type(self, dtype=None, non_blocking=False, **kwargs):
    with without_modes():
        ordinal = tags.ordinal_of(self)
        if dtype is None:
            name = _raw_type(self)
            return name.replace("torch.", "torch.cuda.", 1) if ordinal >= 0 else name
        name = dtype if isinstance(dtype, str) else "%s.%s" % (getattr(dtype, "__module__", ""),
                                                             getattr(dtype, "__name__", ""))
        if name.startswith("torch.cuda."):
            raw = _raw_type(self, name.replace("torch.cuda.", "torch."))
            return moves.move(raw, ordinal if ordinal >= 0 else devices.ordinal_of("cuda"))
        with tags.calling(ordinal):
            return _raw_type(self, dtype)


def _generator_class():
    raw = torch.Generator

    class Meta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, raw)

        def __call__(cls, device="cpu"):
            """Numbers are those of the CPU."""
            return raw(device) if devices.ordinal_of(device) is None else raw()

    return Meta("Generator", (), {"__module__": "torch"})


def _array_interface(self):
    if _get_device(self) >= 0:
        errors.not_rehearsed("__cuda_array_interface__")
    return _raw_interface(self)


def _refuse_dlpack(name):
    raw = hooks.get(name)
    if raw is None:
        return

    @functools.wraps(raw)
    def export(tensor, *args, **kwargs):
        if _get_device(tensor) >= 0:
            errors.not_rehearsed("dlpack of a GPU", "export tensor.cpu()")
        return raw(tensor, *args, **kwargs)

    hooks.replace(name, export)


def install():
    for name, new in {
        "device": property(_device),
        "is_cuda": property(lambda self: _device(self).type == "cuda"),
        "is_cpu": property(lambda self: _device(self).type == "cpu"),
        "to": moves.to,
        "cuda": moves.cuda,
        "cpu": moves.cpu,
        "numpy": _numpy,
        "type": _type,
        "__array__": _array,
        "get_device": _get_device,
        "pin_memory": lambda self, device=None: self,
        "is_pinned": lambda self, device=None: False,
        "record_stream": lambda self, stream: None,
        "__cuda_array_interface__": property(_array_interface),
    }.items():
        hooks.replace("torch.Tensor." + name, new)
    hooks.replace("torch.Generator", _generator_class())
    for name in ("torch.Tensor.__dlpack__", "torch.to_dlpack", "torch.utils.dlpack.to_dlpack", "torch._C._to_dlpack",
                 "torch._C._to_dlpack_versioned"):
        _refuse_dlpack(name)
    if hooks.get("torch.Tensor.__dlpack_c_exchange_api__") is not None:
        del torch.Tensor.__dlpack_c_exchange_api__  # others would read the memory without a call of Python
