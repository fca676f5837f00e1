# SPDX-License-Identifier: MIT
"""Leases of free GPUs for this process."""
import atexit
import os
import sys

from ._gpumap import TooLate, _cuda, _take
from ._here import programs

LOOK_MS = 1000  # after which a watch sees that its lease was released
_NAMES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPUMAP_LEASE")


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


class Lease:
    """GPUs that no other job gets, until release() or the end of the process: a sequence of GPU.

    visible is the value of CUDA_VISIBLE_DEVICES. As a context manager it releases them at the end, and puts
    the variables back that pick() has set.
    """

    __slots__ = ("gpus", "visible", "findings", "_lease", "_lock", "_pid", "_set", "_before", "__weakref__")

    def __init__(self, lease, visible, gpus, findings, on_end):
        self.gpus, self.visible, self.findings = gpus, visible, findings
        self._lease, self._pid = lease, os.getpid()
        self._set = dict(zip(_NAMES, (visible, "PCI_BUS_ID", str(self._pid))))
        self._before = {name: os.environ.get(name) for name in _NAMES}
        os.environ.update(self._set)
        # It also keeps the lease alive: CUDA may use the GPUs while nobody refers to it.
        atexit.register(self.release)
        self._lock = None
        if lease.timer >= 0:
            self._watch(on_end or _print_end)

    def _watch(self, on_end):
        """In a thread of its own, until the lease has ended."""
        import select
        import threading

        self._lock, timer = threading.Lock(), select.poll()
        timer.register(self._lease.timer, select.POLLIN)

        def watch():
            while not self.released:
                timer.poll(LOOK_MS)
                with self._lock:
                    text = self._lease.look() if self._lease else None
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
        return self._lease.descriptors if self._lease else []

    @property
    def released(self):
        """Whether the lease has ended: by release(), or by its time."""
        return self._lease is None or (self._lock is not None and self._lease.timer < 0)

    def release(self):
        """Ends the lease. A process that was forked meanwhile only lets go of its share."""
        lease = self._lease
        if lease is None:
            return
        atexit.unregister(self.release)
        if self._lock and os.getpid() == self._pid:
            with self._lock:
                self._lease = lease.release()
        else:
            self._lease = lease.release()
        if os.getpid() != self._pid:
            return
        for name, value in self._set.items():
            if os.environ.get(name) != value:
                continue
            if self._before[name] is None:
                del os.environ[name]
            else:
                os.environ[name] = self._before[name]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.release()


def _print_end(text):
    print(f"gpumap: {text}", file=sys.stderr, flush=True)


def _duration(value):
    """True, False and texts as they are; a number or a timedelta is a time in seconds."""
    seconds = value.total_seconds() if hasattr(value, "total_seconds") else value
    if isinstance(seconds, (bool, str)) or seconds is None:
        return seconds
    return f"{max(round(seconds * 1000), 1)}ms"


def pick(count, *, from_=None, prefer=None, near=None, slots=None, mig=None, wait=None, ignore=None,
         max_used=None, min_free=None, max_load=None, for_=None, idle=None, uuid=False, on_wait=None, on_end=None):
    """Leases free GPUs for this process: a Lease, and CUDA_VISIBLE_DEVICES in os.environ.

    Call it before the first CUDA call; later it raises TooLate. If the machine has too few it raises Unavailable, of
    which Busy is one: too few are free. Or it waits: wait=True without limit, wait=600 for ten minutes. A second
    pick() before the first has ended chooses among the GPUs of the first: it is a job inside of it. on_wait(text) is told what it waits for. The other
    keywords are the options of gpumap pick. for_ and idle, or the administrator's longest, end the lease earlier;
    the process keeps its GPUs, others may then take them, and on_end(text) is told so, in another thread; by
    default it is printed.

        with gpumap.pick(2, wait=True) as gpus:
            print(gpus.visible)
            import torch

    The lease ends with the with statement, by release(), or with the process.
    """
    _refuse_late()
    settings = {"count": count, "from_": from_, "prefer": prefer, "near": near, "slots": slots, "mig": mig,
                "wait": _duration(wait), "ignore": ignore, "max_used": max_used, "min_free": min_free, "max_load": max_load,
                "for_": _duration(for_), "idle": _duration(idle)}
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
