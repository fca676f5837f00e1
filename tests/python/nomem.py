# SPDX-License-Identifier: MIT
"""Each allocation of a call fails once: the answer is the usual one, or MemoryError. Run it with tests/python/libfail.so
in LD_PRELOAD, and PYTHONMALLOC=malloc so that the objects of Python are tried too."""
import ctypes
import gc
import os
import sys
import tempfile

import gpumap
import tap

FULL = bool(os.environ.get("GPUMAP_TEST_FULL"))
FAIL = ctypes.CDLL(None)
MACHINE = gpumap.Inventory("2xH100")
MAPPING = gpumap.resolve(visible="1,0", device=1, inventory=MACHINE)
PLAN = gpumap.Plan(inventory=2, device="cuda:%l", ids="index", cpu_bind="none", command=["true"])
PROFILE = gpumap.Profile(ranks=2, command=["true"])
FOLDER = tempfile.mkdtemp()
SNAPSHOT = os.path.join(FOLDER, "machine.ini")
MACHINE.save(SNAPSHOT)


def refused(ask=gpumap.resolve):
    try:
        ask(visble="2")
    except gpumap.Error as error:
        return error.id, error.fix, error.findings


CALLS = {
    "resolve": lambda: gpumap.resolve(visible=[1, 0], device=1, inventory=MACHINE).physical,
    "resolve, an environment": lambda: gpumap.resolve(environ={"CUDA_VISIBLE_DEVICES": "1,0"}, inventory="2").physical,
    "resolve, variables": lambda: gpumap.resolve(in_code=[{"CUDA_VISIBLE_DEVICES": 1}], inventory=2).physical,
    "attributes": lambda: (MAPPING.device, MAPPING.visible, MAPPING.steps, MAPPING.findings, MAPPING.replicas),
    "text": lambda: str(MAPPING),
    "JSON": MAPPING.json,
    "SVG": MAPPING.svg,
    "refused": refused,
    "Here": lambda: gpumap.Here(inventory=MACHINE, visible="1", device=0).physical,
    "refused by Here": lambda: refused(gpumap.Here),
    "values": lambda: gpumap.Profile(timeout=1.5, hosts=("a", "b"), command=["a", 1]).get("hosts"),
    "slices": lambda: (MACHINE[1:], PLAN[:1], PROFILE.items()),
    "Inventory": lambda: list(gpumap.Inventory("2xH100")),
    "Inventory, a file": lambda: list(gpumap.Inventory.read(SNAPSHOT)),
    "Inventory, parsed": lambda: list(gpumap.Inventory.parse("GPU 0: A (UUID: GPU-9e8d35e3-1111-2222-3333-444455556666)")),
    "snapshot": MACHINE.ini,
    "Profile": lambda: gpumap.Profile(ranks=2, command=["a", "b c"]).command,
    "settings": lambda: [PROFILE[key] for key in PROFILE],
    "profile": lambda: (PROFILE.ini(), PROFILE.json(), PROFILE.check()),
    "Plan": lambda: list(gpumap.Plan(inventory=2, ids="index", cpu_bind="none", command=["true"])),
    "ranks": lambda: list(PLAN),
    "plan": lambda: (PLAN.json(), str(PLAN), PLAN.emit("shell")),
}


def outcome(call, number):
    """What it gives; None: MemoryError."""
    value = None
    try:
        FAIL.allocations_fail_at(number)
        value = call()
        FAIL.allocations_fail_at(0)
    except MemoryError:
        FAIL.allocations_fail_at(0)  # it fails once, so not here
    return value


def sweep(call):
    usual, number, step = call(), 1, 1
    if not FULL:
        FAIL.allocations_fail_at(1 << 30)
        call()
        step = max(FAIL.allocations_count() // 150, 1)
    failed = 0
    while True:
        value = outcome(call, number)
        if not FAIL.allocations_failed():
            return failed, None
        failed += 1
        if value is not None and value != usual:
            return failed, f"allocation {number}: {value!r}, not {usual!r}"
        number += step


if not FAIL.allocations_can_fail():
    print("1..0 # SKIP allocations cannot be made to fail here")
    sys.exit(0)
gc.disable()
for name, call in CALLS.items():
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    count, why = sweep(call)
    tap.result(count > 0 and why is None, f"{name}: {count} allocations fail", why)
os.remove(SNAPSHOT)
os.rmdir(FOLDER)
tap.done()
