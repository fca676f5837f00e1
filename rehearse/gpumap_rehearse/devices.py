# SPDX-License-Identifier: MIT
"""The GPUs of this process, and which of them is the current one.

gpumap answers what CUDA_VISIBLE_DEVICES of this moment means on the machine of the rehearsal. As with CUDA, the answer
is that of the first use: a list that is changed later has no effect.
"""
import json
import os
import subprocess
import threading

import torch

from . import errors, memory, record

CPU = -1

_lock = threading.RLock()
_current = threading.local()
_main_current = 0
_devices = None
_started = False  # CUDA has started
_forked = False  # after it had started in the parent


class Device(memory.Memory):
    """A pretended GPU."""

    def __init__(self, ordinal, entry, facts):
        super().__init__(ordinal, facts.get("memory_bytes"))
        self.physical = entry["physical"] if entry["physical"] is not None else entry["candidates"][0]
        self.certainty = entry["certainty"]
        self.uuid = entry["uuid"]
        self.name = facts.get("name") or entry["name"] or "NVIDIA GPU"
        self.torch_device = torch.device("cuda", ordinal)


def _ask(*arguments):
    command = os.environ["GPUMAP_REHEARSE_COMMAND"]
    done = subprocess.run([command, *arguments, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return json.loads(done.stdout)


def _open():
    mapping = _ask("explain", "--inventory", "host")
    machine = {gpu["physical"]: gpu for gpu in _ask("inventory")["gpus"]}
    found = [Device(entry["logical"], entry, machine.get(entry["physical"], {})) for entry in mapping["visible"]]
    record.set_fact("list", os.environ.get("CUDA_VISIBLE_DEVICES"))
    record.set_fact("mapping", [finding for finding in mapping["findings"] if finding["severity"] != "remark"])
    return found


def visible():
    """The GPUs, in the order of their ordinals."""
    global _devices
    if _devices is None:
        with _lock:
            if _devices is None:
                _devices = _open()
    return _devices


def count():
    return len(visible())


def start():
    """What happens where CUDA starts."""
    global _started
    if _forked:
        errors.forked()
    if not visible():
        errors.no_gpu()
    if not _started:
        _started = True
        record.set_fact("cuda_started", record.place())
    torch.cuda._initialized = True


def has_started():
    return _started


def is_forked():
    return _forked


def current():
    if threading.current_thread() is threading.main_thread():
        return _main_current
    return getattr(_current, "ordinal", 0)


def set_current(ordinal):
    global _main_current
    if threading.current_thread() is threading.main_thread():
        _main_current = ordinal
    else:
        _current.ordinal = ordinal


def ordinal_of(what):
    """The ordinal of a device, a text or a number; CPU; None: it is neither CPU nor CUDA."""
    if isinstance(what, str):
        what = torch.device(what)
    if isinstance(what, torch.device):
        if what.type != "cuda":
            return CPU if what.type == "cpu" else None
        what = what.index
    start()
    ordinal = current() if what is None else int(what)
    if not 0 <= ordinal < count():
        errors.bad_ordinal()
    return ordinal


def _describe():
    return [{"logical": d.ordinal, "physical": d.physical, "uuid": d.uuid, "name": d.name, "certainty": d.certainty,
             **d.describe_memory()} for d in _devices or ()]


def _after_fork():
    global _forked, _lock
    _lock = threading.RLock()
    _forked = _started
    for device in _devices or ():
        device.forget_parent()


record.add_source("devices", _describe)
record.add_source("current", lambda: _main_current if _started else None)
os.register_at_fork(after_in_child=_after_fork)
