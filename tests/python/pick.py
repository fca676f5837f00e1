# SPDX-License-Identifier: MIT
"""pick() on a machine that pretends to have four GPUs."""
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence

import gpumap
import tap

# In a shell's background it is ignored, and Python then installs no handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

LIST, ORDER, KEEPER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPUMAP_LEASE"
HOLDER = "import gpumap, sys; lease = gpumap.pick({}); print(lease.visible, flush=True); sys.stdin.read()"


class Holder:
    """Another process that holds GPUs until the end of the block."""

    def __init__(self, count, code=HOLDER):
        self.count, self.code = count, code

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.code.format(self.count)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.visible = self.process.stdout.readline().strip()
        return self

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def __exit__(self, *_):
        self.end()
        self.process.stdout.close()


def outside():
    """The environment of a process that is in no lease, without the sanitizer of python3."""
    return {k: v for k, v in os.environ.items() if k not in (LIST, KEEPER, "LD_PRELOAD")}


def sets_and_restores():
    """the list is set within the block, and put back after it"""
    os.environ[ORDER] = "FASTEST_FIRST"
    with gpumap.pick(2) as gpus:
        inside = dict(os.environ)
        found = ([gpu.physical for gpu in gpus], len(gpus), gpus.visible, gpus[1].physical, bool(gpus.descriptors))
    after = os.environ.pop(ORDER), LIST in os.environ, KEEPER in os.environ, gpus.released, gpus.descriptors
    assert found == ([0, 1], 2, "0,1", 1, True), found
    assert (inside[LIST], inside[ORDER], inside[KEEPER]) == ("0,1", "PCI_BUS_ID", str(os.getpid()))
    assert after == ("FASTEST_FIRST", False, False, True, []), after


def keeps_others_outside():
    """a process outside of the lease gets the rest, and Busy for more"""
    with Holder(3) as other, gpumap.pick(1) as gpus:
        assert (other.visible, gpus.visible) == ("0,1,2", "3")
        os.environ.pop(LIST), os.environ.pop(KEEPER)
    with Holder(3):
        try:
            gpumap.pick(2)
        except gpumap.Busy as busy:
            assert busy.id and busy.fix and busy.findings, repr(busy)
        else:
            return "no exception"
        assert LIST not in os.environ


def too_many():
    """more GPUs than there are are Unavailable, and not Busy"""
    try:
        gpumap.pick(9)
    except gpumap.Unavailable as error:
        assert not isinstance(error, gpumap.Busy) and error.id and issubclass(gpumap.Busy, gpumap.Unavailable)
    else:
        return "no exception"


def warned():
    """what the command warns of is a warning, which can be an error, and then no lease is left"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gpumap.pick(1, from_="0,x").release()
    assert [w.filename for w in caught] == [__file__] and "[GM016]" in str(caught[0].message), caught
    try:
        gpumap.pick(1, from_="0,x")
    except RuntimeWarning:
        assert LIST not in os.environ
        gpumap.pick(4).release()
    else:
        return "no exception"


def bad_values():
    """malformed keywords are errors, and no lease is left"""
    for keywords in {"slots": "x"}, {"wait": "soon"}, {"from_": "a b"}, {"mig": "no-such"}, {"max_used": "big"}, \
            {"for_": "soon"}, {"idle": 0.001, "for_": "-1s"}:
        try:
            gpumap.pick(1, **keywords)
        except gpumap.Error as error:
            assert error.id, repr(error)
        else:
            return f"no exception: {keywords}"
    for count in 0, -1, "two", None:
        try:
            gpumap.pick(count)
        except gpumap.Error:
            continue
        return f"no exception: {count}"


def bad_times():
    """times that are none are refused by the name of the keyword, and False is none"""
    for name, value, kind in (("for_", 0, ValueError), ("for_", -1, ValueError), ("idle", 0.0, ValueError),
                              ("wait", -0.1, ValueError), ("for_", float("inf"), ValueError),
                              ("wait", float("nan"), ValueError), ("for_", [1], TypeError),
                              ("for_", True, TypeError), ("idle", object(), TypeError),
                              ("on_wait", "print", TypeError), ("on_end", 3, TypeError)):
        try:
            gpumap.pick(1, **{name: value})
        except kind as error:
            assert str(error).startswith(f"{name}: ") and not isinstance(error, gpumap.Error), repr(error)
        else:
            return f"no exception: {name}={value}"
    with gpumap.pick(4, for_=False, wait=0, idle=None) as gpus:
        assert not gpus.released


def sequence():
    """a lease is a sequence of GPUs, and ignore takes any iterable of names"""
    with gpumap.pick(2, ignore={"Xorg", "gnome-shell"}, near=True) as gpus:
        assert isinstance(gpus, Sequence) and gpus.index(gpus[1]) == 1 and gpus[0] in gpus
        assert [gpu.physical for gpu in reversed(gpus)] == [1, 0] and len(gpus[:1]) == 1


def options():
    """from_, prefer, near, slots and uuid are those of the command"""
    with gpumap.pick(2, from_=[2, 3]) as gpus:
        assert gpus.visible == "2,3", gpus.visible
    with gpumap.pick(1, prefer="3", near=True) as gpus:
        assert gpus.visible == "3", gpus.visible
    with gpumap.pick(1, uuid=True) as gpus:
        assert os.environ[LIST] == gpus[0].uuid == gpus.visible
    with Holder("1, slots=2, from_=0") as one, Holder("1, slots=2, from_=0") as two:
        assert one.visible == two.visible == "0"


def visible_list():
    """the list of the environment limits the choice"""
    os.environ[LIST] = "1,3"
    try:
        with gpumap.pick(2) as gpus:
            assert gpus.visible == "1,3", gpus.visible
        assert os.environ[LIST] == "1,3"
    finally:
        del os.environ[LIST]


def nested():
    """a lease within a lease has a part of it"""
    with gpumap.pick(3) as outer, gpumap.pick(2) as inner:
        assert (outer.visible, inner.visible) == ("0,1,2", "0,1")
        assert os.environ[LIST] == "0,1"
    assert LIST not in os.environ


def nested_out_of_order():
    """leases that end in another order than they began leave the environment as it was"""
    os.environ[ORDER] = "FASTEST_FIRST"
    a, b, c = gpumap.pick(4), gpumap.pick(3), gpumap.pick(1)
    b.release()
    assert (os.environ[LIST], os.environ[KEEPER]) == ("0", str(os.getpid()))
    a.release()
    assert (os.environ[LIST], os.environ[ORDER]) == ("0", "PCI_BUS_ID")
    c.release()
    assert (os.environ.pop(ORDER), LIST in os.environ, KEEPER in os.environ) == ("FASTEST_FIRST", False, False)
    outer = gpumap.pick(2)
    os.environ[LIST] = "1"
    inner = gpumap.pick(1)
    outer.release()
    inner.release()
    assert os.environ.pop(LIST) == "1" and KEEPER not in os.environ


def no_thread():
    """if no thread can watch its time, there is no lease"""
    start, threading.Thread.start = threading.Thread.start, lambda self: 1 // 0
    try:
        gpumap.pick(4, for_=60)
    except ZeroDivisionError:
        pass
    else:
        return "no exception"
    finally:
        threading.Thread.start = start
    assert LIST not in os.environ and KEEPER not in os.environ
    gpumap.pick(4).release()


def waits():
    """wait=True waits, tells for what, and lets other threads run"""
    told, ticked = [], threading.Event()
    with Holder(4) as other:

        def tick():
            # Only without the lock of the interpreter does it come to this while pick() waits.
            waiting.wait()
            ticked.set()
            other.end()

        waiting = threading.Event()
        ticker = threading.Thread(target=tick)
        ticker.start()
        with gpumap.pick(2, wait=True, on_wait=lambda text: (told.append(text), waiting.set())) as gpus:
            assert len(gpus) == 2 and ticked.is_set()
        ticker.join()
    assert told and "leased" in told[0], told


def waits_in_vain():
    """wait=0.2 ends with Busy"""
    with Holder(4):
        begin = time.monotonic()
        try:
            gpumap.pick(1, wait=0.2)
        except gpumap.Busy as busy:
            assert busy.id, repr(busy)
        else:
            return "no exception"
        assert time.monotonic() - begin >= 0.2


def interrupt_soon(_):
    """While it waits, which it does when it has told so."""
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()


def interrupt():
    """Control-C ends the wait, and leaves nothing"""
    with Holder(4):
        try:
            gpumap.pick(1, wait=True, on_wait=interrupt_soon)
        except KeyboardInterrupt:
            assert LIST not in os.environ
        else:
            return "no exception"
    with gpumap.pick(4, wait=True) as gpus:
        assert len(gpus) == 4


def interrupt_in_queue():
    """Control-C ends the wait of one that is not the first"""
    waiting = "import gpumap; gpumap.pick({}, wait=True, on_wait=lambda text: print(text, flush=True))"
    with Holder(4), Holder(1, waiting) as first:
        try:
            gpumap.pick(1, wait=True, on_wait=interrupt_soon)
        except KeyboardInterrupt:
            first.process.kill()
            return None
    return "no exception"


def on_wait_raises():
    """an exception of on_wait ends the wait"""

    def tell(text):
        raise LookupError(text)

    with Holder(4):
        try:
            gpumap.pick(1, wait=True, on_wait=tell)
        except LookupError:
            return None
    return "no exception"


def killed():
    """the lease ends with a process that is killed"""
    with Holder(4) as other:
        other.process.kill()
        other.process.wait()
        with gpumap.pick(4, wait=True) as gpus:
            assert len(gpus) == 4


def ends_at_exit():
    """a lease that nothing refers to lasts until the process ends"""
    code = "import gc, gpumap, sys; gpumap.pick({}); gc.collect(); print('held', flush=True); sys.stdin.read()"
    with Holder(4, code) as other:
        assert other.visible == "held"
        try:
            gpumap.pick(1)
        except gpumap.Busy:
            other.end()
            with gpumap.pick(4, wait=True):
                return None
    return "it was free"


def forked():
    """a child that was forked and releases its share leaves the lease to its parent"""
    with gpumap.pick(4) as gpus:
        child = os.fork()
        if child == 0:
            gpus.release()
            os._exit(LIST in os.environ and gpus.released)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert not gpus.released and os.environ[LIST] == "0,1,2,3"
        free = subprocess.run([os.environ["GPUMAP"], "pick", "1"], capture_output=True, text=True,
                              env=outside())
        assert free.returncode == 0 or "free" in free.stderr, free


def ends_by_time():
    """for_ ends the lease, tells so, and the list stays until release()"""
    told, ended = [], threading.Event()

    def tell(text):
        told.append(text)
        if "has ended" in text:
            ended.set()

    with gpumap.pick(4, for_=0.3, on_end=tell) as gpus:
        assert not gpus.released and os.environ[LIST] == "0,1,2,3"
        ended.wait()
        assert gpus.released and os.environ[LIST] == "0,1,2,3", told
        assert "its time is over, --for 300ms" in told[-1], told
        free = subprocess.run([os.environ["GPUMAP"], "pick", "4"], capture_output=True, text=True, env=outside())
        assert free.stdout == "0,1,2,3\n", free
    assert LIST not in os.environ


def ends_before_its_time():
    """release() ends a lease with for_, and its thread"""
    before = threading.active_count()
    for _ in range(3):
        with gpumap.pick(1, for_="8h"):
            pass
    with Holder(4) as other:
        assert other.visible == "0,1,2,3"
    while threading.active_count() > before:
        time.sleep(0.05)


def releases_twice():
    """release() may be called again"""
    lease = gpumap.pick(1)
    lease.release()
    lease.release()
    assert repr(lease) == "<gpumap.Lease 0, released>"


def changed_within():
    """what the program itself has set in the block stays"""
    with gpumap.pick(1):
        os.environ[LIST] = "9"
    assert os.environ.pop(LIST) == "9"


for test in (sets_and_restores, keeps_others_outside, too_many, bad_values, bad_times, sequence, options, visible_list,
             nested, nested_out_of_order, no_thread, waits,
             waits_in_vain, interrupt, interrupt_in_queue, on_wait_raises, killed, ends_at_exit, forked,
             ends_by_time, ends_before_its_time, releases_twice, changed_within):
    tap.attempt(test)
tap.done()
