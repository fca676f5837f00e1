# SPDX-License-Identifier: MIT
"""The four functions of C++ beneath torch.nn.DataParallel and torch.cuda.comm."""
import torch

from . import devices, errors, hooks, record, tags
from .devices import CPU
from .tags import without_modes


def _there(tensor, ordinal):
    return tensor if tags.ordinal_of(tensor) == ordinal else tags.copy_to(tensor, ordinal)


def _broadcast(tensor, device_ids):
    with without_modes():
        return tuple(_there(tensor, devices.ordinal_of(device)) for device in device_ids)


def _broadcast_coalesced(tensors, device_ids, buffer_size=0):
    with without_modes():
        source = devices.ordinal_of(device_ids[0])
        if any(tags.ordinal_of(tensor) != source for tensor in tensors):
            text = "All tensors must be on devices[0]: %d" % device_ids[0]
            errors.fail(RuntimeError, text, "mixed")
        others = [[tags.copy_to(tensor, devices.ordinal_of(device)) for tensor in tensors]
                  for device in device_ids[1:]]
        return [list(tensors), *others]


def _scatter(tensor, device_ids, chunk_sizes=None, dim=0, streams=None):
    with without_modes():
        parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(device_ids), dim)
        result = []
        for part, device in zip(parts, device_ids):
            ordinal = devices.ordinal_of(device)
            if ordinal >= 0:
                record.count("scatter", ordinal, part.numel() * part.element_size())
            result.append(_there(part, ordinal))
        return result


def _gather(tensors, dim, destination=None):
    with without_modes():
        if destination is None:
            ordinal = devices.current()
        else:
            ordinal = CPU if destination == -1 else devices.ordinal_of(destination)
        with tags.calling(ordinal):
            result = torch.cat([tensor.detach() for tensor in tensors], dim)
        tags.clear(result)
        if ordinal >= 0:
            record.count("gather", ordinal, result.numel() * result.element_size())
        return tags.put(result, ordinal)


def install():
    hooks.replace("torch._C._broadcast", _broadcast)
    hooks.replace("torch._C._broadcast_coalesced", _broadcast_coalesced)
    hooks.replace("torch._C._scatter", _scatter)
    hooks.replace("torch._C._gather", _gather)
