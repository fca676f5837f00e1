# SPDX-License-Identifier: MIT
"""Storages, through which torch.save, torch.load and deepcopy go; and who saves what."""
import os

import torch

from . import devices, hooks, memory, record, tags
from .devices import CPU
from .tags import Tag

_Storage = torch.UntypedStorage
_raw_new = _Storage.__new__
_raw_to = getattr(_Storage, "to", None)


def _ordinal(storage):
    tag = getattr(storage, "_gpumap_tag", None)
    return tag.ordinal if tag is not None and tag.ordinal >= 0 else CPU


def _device(self):
    ordinal = _ordinal(self)
    return torch.device("cuda", ordinal) if ordinal >= 0 else torch.device("cpu")


def _tag(storage, ordinal):
    storage._gpumap_tag = Tag(ordinal, memory.size_of(storage))
    return storage


def _new(cls, *args, device=None, **kwargs):
    ordinal = CPU if device is None else devices.ordinal_of(device)
    if ordinal is None:
        return _raw_new(cls, *args, device=device, **kwargs)
    storage = _raw_new(cls, *args, **kwargs)
    return _tag(storage, ordinal) if ordinal >= 0 else storage


def _to(self, *, device, non_blocking=False):
    ordinal = devices.ordinal_of(device)
    if ordinal is None:
        return _raw_to(self, device=device)
    if _ordinal(self) == ordinal:
        return self
    copy = _raw_new(_Storage, self.nbytes())
    copy.copy_(self)
    if ordinal >= 0:
        record.count("load", ordinal, self.nbytes())
        _tag(copy, ordinal)
    return copy


def _cuda(self, device=None, non_blocking=False):
    return _to(self, device=torch.device("cuda", device) if isinstance(device, int) else device or "cuda")


def _watch_saves():
    raw = torch.save

    def save(obj, f, *args, **kwargs):
        if isinstance(f, (str, os.PathLike)):
            record.say("saves", {"file": os.path.realpath(f), "place": record.place()})
        return raw(obj, f, *args, **kwargs)

    hooks.replace("torch.save", save)


def install():
    _Storage._gpumap_tag = None
    for name, new in {
        "__new__": staticmethod(_new),
        "device": property(_device),
        "is_cuda": property(lambda self: _ordinal(self) >= 0),
        "to": _to,
        "cuda": _cuda,
        "cpu": lambda self: _to(self, device="cpu"),
        "get_device": _ordinal,
        "pin_memory": lambda self, device=None: self,
        "clone": lambda self: _new(_Storage, self.nbytes(), device=_device(self)).copy_(self),
    }.items():
        if name != "to" or _raw_to is not None:  # since PyTorch 2.4
            hooks.replace("torch.UntypedStorage." + name, new)
    _watch_saves()
