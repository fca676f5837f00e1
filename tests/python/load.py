# SPDX-License-Identifier: MIT
"""Threads, memory, references and interpreters. GPUMAP_TEST_RESOLVES is how many answers are made."""
import gc
import os
import sys
import threading

import gpumap
import tap

RESOLVES = int(os.environ.get("GPUMAP_TEST_RESOLVES") or 30000)
MACHINE = gpumap.Inventory("8xH100")


def all_of(mapping):
    return (mapping.physical, mapping.uuid, mapping.device, mapping.visible, mapping.steps, mapping.findings,
            mapping.replicas, mapping.samples, mapping.mode, mapping.assumption, mapping.certainty)


def work():
    """Something of each kind, errors too."""
    mapping = gpumap.resolve(visible=[7, 6, 5, 4], device=1, inventory=MACHINE, environ={"A": "b"})
    found = [all_of(mapping), str(mapping), mapping.to_dict()["chosen"], len(mapping.svg()), repr(mapping)]
    try:
        gpumap.resolve(visble="2")
    except gpumap.Error as error:
        found.append((str(error), error.findings))
    profile = gpumap.Profile(ranks=2, command=["true"])
    plan = gpumap.Plan(inventory=4, device="cuda:%l", ids="index", cpu_bind="none", command=["true"])
    found += [profile["ranks"], list(plan), plan.setting("ids"), len(plan.json()), list(MACHINE), MACHINE.ini()]
    return found


def threads_at_once():
    """16 threads at once give the same answers"""
    usual, wrong = work(), []

    def many():
        for _ in range(20):
            if work() != usual:
                wrong.append(True)

    threads = [threading.Thread(target=many) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grows(what, times):
    """How many bytes more after so many calls."""
    for _ in range(max(times // 10, 100)):
        what()
    gc.collect()
    before = resident()
    for _ in range(times):
        what()
    gc.collect()
    return resident() - before


def resolves_do_not_grow():
    more = grows(lambda: all_of(gpumap.resolve(visible="7,6,5,4", device=1, inventory=MACHINE)), RESOLVES)
    print(f"# {RESOLVES} answers: {more} bytes more")
    assert more < 1 << 20, more


resolves_do_not_grow.__doc__ = f"{RESOLVES} answers take no more memory"


def all_kinds_do_not_grow():
    """everything else takes no more memory either"""
    more = grows(work, max(RESOLVES // 100, 200))
    assert more < 1 << 20, more


def refusals_do_not_grow():
    """arguments that are refused leave nothing behind"""

    def refused():
        for call in (lambda: gpumap.resolve(1), lambda: gpumap.resolve(environ={"A": 1}),
                     lambda: gpumap.resolve(visible="1\0"), lambda: gpumap.Inventory("/nonexistent"),
                     lambda: gpumap.Plan(gpumap.Profile(), ranks=1), lambda: gpumap.Plan(3),
                     lambda: gpumap.Profile(name="a"), lambda: gpumap.Profile("/nonexistent"),
                     lambda: gpumap.Inventory.parse("nothing"), lambda: MACHINE[99], lambda: MACHINE.save("/no/x"),
                     lambda: gpumap.Profile()["gups"], lambda: gpumap.Plan(hosts="slurm", command="true"),
                     lambda: gpumap.Plan.read("/nonexistent")):
            try:
                call()
            except Exception:
                continue
            raise AssertionError(call)

    more = grows(refused, max(RESOLVES // 100, 200))
    assert more < 1 << 20, more


def references():
    """objects of the module are counted"""
    for _ in range(3):
        work()
    gc.collect()
    shared = (None, MACHINE, *(getattr(gpumap, name) for name in gpumap.__all__))
    before = [sys.getrefcount(object) for object in shared]
    for _ in range(200):
        work()
    gc.collect()
    after = [sys.getrefcount(object) for object in shared]
    apart = [(s, b, a) for s, b, a in zip(shared[1:], before[1:], after[1:]) if abs(a - b) > 3]
    assert not apart, apart


def interpreters():
    """other interpreters have modules of their own"""
    try:
        import _interpreters as those
    except ImportError:
        try:
            import _xxsubinterpreters as those
        except ImportError:
            return None
    code = ("import sys; sys.path[:0] = {!r}; import gpumap; "
            "assert gpumap.resolve(visible='2,3', device=1).physical == 3; "
            "plan = gpumap.Plan(inventory=2, command=['true'])").format(sys.path)
    run = getattr(those, "run_string", None) or those.exec
    ids = [those.create() for _ in range(3)]
    for number in ids:
        excuse = run(number, code)
        assert excuse is None, excuse
    for number in ids:
        those.destroy(number)
    assert gpumap.resolve(visible="2,3", device=1).physical == 3


def imported_again():
    """the extension can be loaded twice, and the first lives on"""
    import importlib.util

    spec = gpumap._gpumap.__spec__
    for _ in range(5):
        other = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(other)
        mapping = other.resolve(visible="2,3", device=1)
        assert type(mapping) is other.Mapping is not gpumap.Mapping
        del other
        gc.collect()
        assert mapping.physical == 3 and mapping.device.logical == 1


def copies():
    """values can be pickled, compared and hashed"""
    import pickle

    mapping = gpumap.resolve(visible="2,3", device=7, inventory=MACHINE)
    for value in (*mapping.visible, *mapping.findings, *mapping.steps, *MACHINE):
        assert pickle.loads(pickle.dumps(value)) == value and hash(value) == hash(value)
    error = pickle.loads(pickle.dumps(_error()))
    assert error.id == "GM003" and error.findings[0].id == "GM003" and type(error) is gpumap.UnknownKey


def _error():
    try:
        gpumap.resolve(visble="2")
    except gpumap.Error as error:
        return error


for test in (threads_at_once, resolves_do_not_grow, all_kinds_do_not_grow, refusals_do_not_grow, references,
             interpreters, imported_again, copies):
    tap.attempt(test)
tap.done()
