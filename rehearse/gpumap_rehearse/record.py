# SPDX-License-Identifier: MIT
"""What this process tells gpumap: a file PID.json in the folder of the rehearsal, which gpumap judges.

It is written again every half second if anything is new, since a launcher may kill the process, and a rank that
waits for others runs no Python; and at the end.
"""
import _thread
import atexit
import json
import os
import sys
import threading
import time

from . import STARTED

PERIOD = 0.5  # seconds

_folder = os.environ.get("GPUMAP_REHEARSE", "")
_started = STARTED
_variables = {name: os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
              if name in os.environ}  # as the launcher gave them
_changed = True
_places = {}  # file name: how it is said, if it belongs to the program; else ""
_counts = {}  # (what, ordinal, place): [times, bytes]
_facts = {}  # name: value, or list of what was said
_quiet = False  # a child that has inherited a record, and did nothing yet
_sources = []  # functions that return more of the record, by name
_is_started = False


def add_source(name, function):
    """`function()` is asked for the member `name` each time that the record is written."""
    _sources.append((name, function))


def changed():
    global _changed
    _changed = True


def _is_program(file):
    """Whether the line is one that the user can change: not of Python, PyTorch, or another package, and not ours."""
    if file.startswith("<") or "/site-packages/" in file or "/dist-packages/" in file:
        return False
    return not file.startswith((os.path.dirname(__file__), os.path.dirname(os.__file__)))


def _said(file):
    if not _is_program(file):
        return ""
    near = os.path.relpath(file)
    return file if near.startswith("..") else near


def _place_in(frame):
    while frame is not None:
        file = frame.f_code.co_filename
        said = _places.get(file)
        if said is None:
            said = _places[file] = _said(file)
        if said:
            return "%s:%d" % (said, frame.f_lineno)
        frame = frame.f_back
    return None


def place():
    """FILE:LINE of the program that is being run; None: it is not the program's own.

    In a thread of a library (DataParallel has one for each replica) it is where the main thread waits.
    """
    found = _place_in(sys._getframe(1))
    main = threading.main_thread().ident
    if found is None and threading.get_ident() != main:
        found = _place_in(sys._current_frames().get(main))
    return found


def count(what, ordinal, size=0):
    """Counts that `what` happened at this line, with so many bytes on the GPU `ordinal`."""
    key = what, ordinal, place()
    entry = _counts.get(key)
    if entry is None:
        entry = _counts[key] = [0, 0]
    entry[0] += 1
    entry[1] += size
    changed()


def say(name, fact):
    """Adds a fact once to those of this name."""
    known = _facts.setdefault(name, [])
    if fact not in known:
        known.append(fact)
        changed()


def fail(kind, text, cause, fix=None):
    """Raises it; `cause` is the word by which gpumap judges it, and `fix` a remedy of its own."""
    fact = {"cause": cause, "type": kind.__name__, "text": text.split("\n")[0].rstrip("."), "place": place()}
    say("raised", fact if fix is None else dict(fact, fix=fix))
    raise kind(text) from None


def set_fact(name, value):
    _facts[name] = value
    changed()


def _collect():
    record = {
        "pid": os.getpid(),
        "started": _started,
        "variables": _variables,
        "events": [{"what": what, "device": ordinal, "place": where, "count": entry[0], "bytes": entry[1]}
                   for (what, ordinal, where), entry in list(_counts.items())],
    }
    record.update({name: list(value) if isinstance(value, list) else value for name, value in list(_facts.items())})
    for name, function in _sources:
        record[name] = function()
    return record


def write():
    """Writes the record; what was there stays until the new one is whole."""
    global _changed
    _changed = False
    if _quiet and not _counts and not _facts.get("raised"):
        return
    name = os.path.join(_folder, "%d.json" % os.getpid())
    try:
        with open(name + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(_collect(), file)
        os.replace(name + ".new", name)
    except OSError:
        pass  # the folder is gone: gpumap has ended


def _keep():
    while True:
        time.sleep(PERIOD)
        if _changed:
            try:
                write()
            except RuntimeError:  # a dict grew meanwhile
                changed()


def _after_fork():
    """A child begins a record of its own."""
    global _started, _quiet
    _started = time.time()
    _quiet = True
    _counts.clear()
    _facts.pop("raised", None)
    _thread.start_new_thread(_keep, ())
    # multiprocessing ends a child without atexit.
    from multiprocessing import util

    util.Finalize(None, write, exitpriority=100)


def _watch_end():
    """Which error ends the process: others were caught."""
    raw = sys.excepthook

    def end(kind, error, trace):
        words, each = "", error
        while each is not None:
            words += "%s\n" % each
            each = each.__cause__ or each.__context__
        # The last with these words: at other lines the same was caught.
        ended = {fact["text"]: fact for fact in _facts.get("raised", ()) if fact["text"] in words}
        set_fact("ended_by", list(ended.values()))
        raw(kind, error, trace)

    sys.excepthook = end


def start():
    global _is_started
    if _is_started:
        return
    _is_started = True
    # Not of threading: the modes of a rehearsal do not concern it.
    _thread.start_new_thread(_keep, ())
    atexit.register(write)
    os.register_at_fork(after_in_child=_after_fork)
    _watch_end()
