# SPDX-License-Identifier: MIT
"""Leases of free GPUs for this process."""
import atexit
import math
import os
import sys
import threading
from collections.abc import Sequence

from ._gpumap import TooLate, _cuda, _take
from ._here import LISTS, programs

LOOK_MS = 1000  # after which a watch sees that its lease was released
_NAMES = (*LISTS, "GPUMAP_LEASE")
_changes = []  # of os.environ by the leases of this process: (lease, {name: (before, set)}), the latest is last


def _set_environ(lease, values):
    _changes.append((lease, {name: (os.environ.get(name), value) for name, value in values.items()}))
    os.environ.update(values)


def _restore_environ(lease):
    """What the program has set itself meanwhile stays. A lease that was taken later puts back what was before this."""
    at = next(i for i, change in enumerate(_changes) if change[0] is lease)
    _, mine = _changes.pop(at)
    if at < len(_changes):
        later = _changes[at][1]
        for name, (before, value) in mine.items():
            if later[name][0] == value:
                later[name] = (before, later[name][1])
        return
    for name, (before, value) in mine.items():
        if os.environ.get(name) != value:
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _started():
    """What has started in this process, so that it would not see another list; None: nothing is known to."""
    if _cuda()[0]:
        return "CUDA"
    for name, known in programs().items():
        if known["initialized"]:
            return name
    return None


def _refuse_late():
    what = _started()
    if not what:
        return
    error = TooLate(f"{what} has started in this process, so a new list would have no effect; call pick() before "
                    "the first CUDA call, or start the program with gpumap pick [GM030]")
    error.id, error.rule = "GM030", "S4"
    error.fix = "call pick() before the first CUDA call, or start the program with gpumap pick"
    raise error


class Lease(Sequence):
    """GPUs that no other job gets, until release() or the end of the process: a sequence of GPU.

    visible is the value of CUDA_VISIBLE_DEVICES. As a context manager it releases them at the end, and puts
    the variables back that pick() has set.
    """

    __slots__ = ("gpus", "visible", "findings", "_lease", "_lock", "_pid", "__weakref__")

    def __init__(self, lease, visible, gpus, findings, on_end):
        self.gpus, self.visible, self.findings = gpus, visible, findings
        # A signal's handler may release it while its thread looks.
        self._lease, self._pid, self._lock = lease, os.getpid(), threading.RLock()
        _set_environ(self, dict(zip(_NAMES, (visible, "PCI_BUS_ID", str(self._pid)))))
        # It also keeps the lease alive: CUDA may use the GPUs while nobody refers to it.
        atexit.register(self.release)
        try:
            if lease.timer >= 0:
                self._watch(lease.timer, on_end or _print_end)
        except BaseException:
            self.release()
            raise

    def _watch(self, descriptor, on_end):
        """In a thread of its own, until the lease has ended."""
        import select

        timer = select.poll()
        timer.register(descriptor, select.POLLIN)

        def watch():
            while not self.released:
                timer.poll(LOOK_MS)
                with self._lock:
                    lease = self._lease
                    text = lease.look() if lease else None
                if text:
                    on_end(text)

        threading.Thread(target=watch, name="gpumap lease", daemon=True).start()

    def __len__(self):
        return len(self.gpus)

    def __getitem__(self, at):
        return self.gpus[at]

    def __iter__(self):
        return iter(self.gpus)

    def __repr__(self):
        return f"<gpumap.Lease {self.visible}{', released' if self.released else ''}>"

    @property
    def descriptors(self):
        """The files that hold the lease, for os.set_inheritable(): a child with them holds it too."""
        lease = self._lease
        return lease.descriptors if lease else []

    @property
    def released(self):
        """Whether the lease has ended: by release(), or by its time."""
        lease = self._lease
        return lease is None or lease.ended

    def release(self):
        """Ends the lease. A process that was forked meanwhile only lets go of its share."""
        if os.getpid() != self._pid:  # its copy of the lock may be held for ever
            lease, self._lease = self._lease, None
            if lease:
                lease.release()
            return
        with self._lock:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            atexit.unregister(self.release)
            lease.release()
            _restore_environ(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.release()


def _print_end(text):
    print(f"gpumap: {text}", file=sys.stderr, flush=True)


def _duration(name, value, least):
    """Texts as they are; a number or a timedelta is a time in seconds. False and None: none."""
    if value is None or value is False or isinstance(value, str):
        return None if value is False else value
    if value is True and name == "wait":
        return value
    seconds = value.total_seconds() if hasattr(value, "total_seconds") else value
    try:
        if isinstance(seconds, bool):
            raise TypeError
        seconds = float(seconds)
    except TypeError:
        raise TypeError(f"{name}: a number of seconds, a timedelta or a text such as '10m' is expected, not "
                        f"{type(value).__name__}") from None
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and least):
        raise ValueError(f"{name}: {value!r} is no time; write the seconds, or a text such as '10m'")
    return f"{max(round(seconds * 1000), least)}ms"


def _called(name, function):
    if function is not None and not callable(function):
        raise TypeError(f"{name}: a function is expected, not {type(function).__name__}")


def pick(count, *, from_=None, prefer=None, near=None, slots=None, mig=None, wait=None, ignore=None,
         max_used=None, min_free=None, max_load=None, for_=None, idle=None, uuid=False, on_wait=None, on_end=None):
    """Leases free GPUs for this process: a Lease, and CUDA_VISIBLE_DEVICES in os.environ.

    Call it before the first CUDA call; later it raises TooLate. If the machine has too few it raises Unavailable, of
    which Busy is one: too few are free. Or it waits: wait=True without limit, wait=600 for ten minutes. A second
    pick() before the first has ended chooses among the GPUs of the first: it is a job inside of it. on_wait(text) is
    told what it waits for. The other keywords are the options of gpumap pick. for_ and idle, or the administrator's
    longest, end the lease earlier; the process keeps its GPUs, others may then take them, and on_end(text) is told
    so, in another thread; by default it is printed.

        with gpumap.pick(2, wait=True) as gpus:
            print(gpus.visible)
            import torch

    The lease ends with the with statement, by release(), or with the process.
    """
    _refuse_late()
    _called("on_wait", on_wait)
    _called("on_end", on_end)
    settings = {"count": count, "from_": from_, "prefer": prefer, "near": near, "slots": slots, "mig": mig,
                "wait": _duration("wait", wait, 0), "max_used": max_used, "min_free": min_free, "max_load": max_load,
                "ignore": ignore if ignore is None or isinstance(ignore, str) else list(ignore),
                "for_": _duration("for_", for_, 1), "idle": _duration("idle", idle, 1)}
    lease, visible, gpus, findings = _take(settings, on_wait)
    try:
        _refuse_late()
        if uuid:
            visible = ",".join(_uuid(gpu) for gpu in gpus)
        _warn(findings)
        return Lease(lease, visible, gpus, findings, on_end)
    except BaseException:
        lease.release()
        raise


def _warn(findings):
    import warnings

    for finding in findings:
        if finding.severity == "warning":
            warnings.warn(f"{finding.origin or 'pick'}: {finding.text} [{finding.id}]", RuntimeWarning, stacklevel=3)


def _uuid(gpu):
    if gpu.uuid is None:
        raise ValueError(f"the UUID of GPU {gpu.physical} is not known: leave uuid out")
    return gpu.uuid
