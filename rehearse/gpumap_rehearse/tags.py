# SPDX-License-Identifier: MIT
"""The tag of a storage: on which pretended GPU it is.

A tensor without a tag is on the CPU. One that was made below Python, outside of any call that says where, is wild: it
belongs to the first GPU that it meets.
"""
import threading

import torch

from . import devices, hooks, memory, record
from .devices import CPU

WILD = -2

without_modes = hooks.get("torch._C.DisableTorchFunction")
_Tensor = torch.Tensor
_plain = (torch.Tensor, torch.nn.Parameter)
_lists = (list, tuple)
_is_wrapper = hooks.get("torch._C._functorch.is_functorch_wrapped_tensor")
_unwrapped = hooks.get("torch._C._functorch.get_unwrapped")
_call = threading.local()  # .ordinal: where the current call of Python puts what is made below it; absent: not known


class Tag:
    __slots__ = ("ordinal", "size", "place", "__weakref__")

    def __init__(self, ordinal, size):
        self.ordinal = ordinal
        self.size = size
        self.place = None
        if ordinal >= 0:
            self.place = record.place()
            try:
                devices.visible()[ordinal].take(size, self.place)
            except BaseException:
                self.ordinal = CPU  # nothing was taken
                raise

    def __del__(self):
        if self.ordinal >= 0:
            devices.visible()[self.ordinal].give(self.size, self.place)


def storage_of(tensor):
    """None: it has none, as sparse tensors."""
    if type(tensor) not in _plain:
        tensor = getattr(tensor, "_local_tensor", tensor)  # DTensor: its part here
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return storage_of(_unwrapped(tensor)) if _is_wrapper(tensor) else None  # in torch.func


def tag_of(tensor):
    if type(tensor) in _plain:  # most are
        try:
            return getattr(tensor.untyped_storage(), "_gpumap_tag", None)
        except (NotImplementedError, RuntimeError):
            pass
    storage = storage_of(tensor)
    return getattr(tensor if storage is None else storage, "_gpumap_tag", None)


def ordinal_of(tensor):
    """Its ordinal, or CPU. Called without modes."""
    tag = tag_of(tensor)
    return tag.ordinal if tag is not None and tag.ordinal >= 0 else CPU


def is_wild(tensor):
    tag = tag_of(tensor)
    return tag is not None and tag.ordinal == WILD


def put(tensor, ordinal, force=False):
    """Tags it, unless it has a GPU already. Returns it."""
    storage = storage_of(tensor)
    owner = tensor if storage is None else storage
    tag = getattr(owner, "_gpumap_tag", None)
    if tag is not None and (tag.ordinal == ordinal or (tag.ordinal >= 0 and not force)):
        return tensor
    if tensor.is_meta:
        return tensor
    size = 0 if storage is None else memory.size_of(storage)
    owner._gpumap_tag = Tag(ordinal, size)
    return tensor


def clear(tensor):
    storage = storage_of(tensor)
    (tensor if storage is None else storage)._gpumap_tag = None


def put_all(result, ordinal):
    """The tensors in what a call returned."""
    if isinstance(result, torch.Tensor):
        put(result, ordinal)
    elif isinstance(result, (list, tuple)):
        for part in result:
            put_all(part, ordinal)


def tensors_in(args, kwargs):
    """The tensors of a call, also in lists of lists."""
    found = []
    parts = (args, kwargs.values()) if kwargs else (args,)
    for _ in range(4):
        below = []
        for part in parts:
            for value in part:
                if isinstance(value, _Tensor):
                    found.append(value)
                elif isinstance(value, _lists):
                    below.append(value)
        if not below:
            break
        parts = below
    return found


class calling:
    """What is made below Python meanwhile is on this GPU."""

    __slots__ = ("_ordinal", "_before")

    def __init__(self, ordinal):
        self._ordinal = ordinal

    def __enter__(self):
        self._before = getattr(_call, "ordinal", None)
        _call.ordinal = self._ordinal

    def __exit__(self, kind, error, trace):
        _call.ordinal = self._before


def called():
    return getattr(_call, "ordinal", None)


def copy_to(tensor, ordinal):
    """A copy there, without a graph."""
    with torch.no_grad():
        copy = tensor.detach().clone()
        if tag_of(copy) is not None:
            clear(copy)
        return put(copy, ordinal)
