# SPDX-License-Identifier: MIT
"""Copies between devices, with gradients that come back."""
import torch

from . import devices, hooks, record, tags
from .devices import CPU
from .tags import without_modes

_raw_to = hooks.get("torch._C.TensorBase").to


class PretendedCopy(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor, ordinal):
        with without_modes():
            context.source = tags.ordinal_of(tensor)
            return tags.copy_to(tensor, ordinal)

    @staticmethod
    def backward(context, gradient):
        with without_modes():
            return tags.copy_to(gradient, context.source), None


def move(tensor, ordinal, dtype=None, memory_format=None, copy=False, what="to"):
    """Tensor.to: `ordinal` None keeps the device, `dtype` None the type."""
    with without_modes():
        source = tags.ordinal_of(tensor)
        result = tensor
        if (dtype is not None and dtype != tensor.dtype) or memory_format not in (None, torch.preserve_format):
            options = {} if memory_format is None else {"memory_format": memory_format}
            with tags.calling(source):
                result = _raw_to(tensor, dtype or tensor.dtype, **options)
        if ordinal is None or ordinal == source:
            if copy and result is tensor:
                with tags.calling(source):
                    result = tensor.clone()
            return result
        if ordinal >= 0:
            record.count(what, ordinal, tensor.numel() * tensor.element_size())
        if result.requires_grad and torch.is_grad_enabled():
            return PretendedCopy.apply(result, ordinal)
        return tags.copy_to(result, ordinal)


def to(self, *args, **kwargs):
    with without_modes():
        copy = kwargs.pop("copy", False)
        other = args[0] if args and isinstance(args[0], torch.Tensor) else kwargs.get("other")
        memory_format = None
        if isinstance(other, torch.Tensor):
            ordinal, dtype, memory_format = tags.ordinal_of(other), other.dtype, kwargs.get("memory_format")
        else:
            if len(args) == 4 or (len(args) == 3 and isinstance(args[0], torch.dtype)):
                copy, args = args[-1], args[:-1]
            device, dtype, _, memory_format = hooks.get("torch._C._nn._parse_to")(*args, **kwargs)
            ordinal = None if device is None else devices.ordinal_of(device)
            if device is not None and ordinal is None:
                return _raw_to(self, device, dtype or self.dtype, copy=copy)
        if self.is_meta:
            if ordinal is None or ordinal < 0:
                return _raw_to(self, *args, **kwargs)
            return tags.put(torch.empty_like(self, device="cpu"), ordinal)
        return move(self, ordinal, dtype, memory_format, copy)


def cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    with without_modes():
        ordinal = devices.ordinal_of(torch.device("cuda") if device is None else device)
        return move(self, ordinal, None, memory_format)


def cpu(self, memory_format=torch.preserve_format):
    with without_modes():
        return move(self, CPU, None, memory_format)
