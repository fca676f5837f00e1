# SPDX-License-Identifier: MIT
"""The memory that tensors have on a GPU, and when it is too little."""
import os

from . import errors, record

_BLOCK = 512  # bytes; PyTorch's allocator gives multiples of it


def size_of(storage):
    """The bytes that a storage has on a GPU."""
    return -(-storage.nbytes() // _BLOCK) * _BLOCK


class Memory:
    def __init__(self, ordinal, total):
        self.ordinal = ordinal
        self.total = int(os.environ.get("GPUMAP_REHEARSE_MEMORY", "0")) or total or 0  # 0: not known, and not limited
        self.used = self.peak = self.peak_since = self.tensors = 0
        self.live = {}  # place: bytes of the tensors that were made there
        self.peak_places = {}  # the same, at the peak
        self.at_peak = False

    def take(self, size, place):
        """A tensor of so many bytes is made at this line."""
        if self.total and self.used + size > self.total:
            errors.out_of_memory(self.ordinal, size, self.total, self.used)
        self.used += size
        self.tensors += 1
        self.live[place] = self.live.get(place, 0) + size
        if self.used > self.peak_since:
            self.peak_since = self.used
        if self.used > self.peak:
            self.peak = self.used
            self.at_peak = True
            record.changed()

    def give(self, size, place):
        if self.at_peak:
            self._keep_places()
        self.used -= size
        self.live[place] = self.live.get(place, 0) - size

    def _keep_places(self):
        self.at_peak = False
        self.peak_places = dict(self.live)

    def reserved(self):
        return -(-self.peak >> 21) << 21

    def reset_peak(self):
        self.peak_since = self.used

    def describe_memory(self):
        if self.at_peak:
            self._keep_places()
        return {"total_bytes": self.total or None, "peak_bytes": self.peak, "tensors": self.tensors,
                "peak_places": [{"place": where, "bytes": size} for where, size in
                                sorted(self.peak_places.items(), key=lambda item: -item[1])[:3] if size]}

    def forget_parent(self):
        """In a child of fork()."""
        self.peak = self.tensors = 0
        self.live = {}
