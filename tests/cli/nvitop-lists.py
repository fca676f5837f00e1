# SPDX-License-Identifier: MIT
"""The dialect nvitop gives what nvitop's own parser gives, for lists that are drawn.
usage: nvitop-lists.py GPUMAP INVENTORY SEED COUNT"""
import json
import random
import subprocess
import sys

# A digit of another script counts apart from its ASCII digit, so 2 occurs as one of them only.
NUMBERS = ("0 1 3 4 00 01 +1 -1 -0 1gpu 1_0 0x1 1-2 x - all GPU- MIG- 4294967296 4294967297 4294967300 "
           "18446744073709551617 \u0662 \u00b2 1\u00b2").split() + ["", " 0", "\t3", "1 ", "\u20031"]


def draw(seed, count, uuids):
    """Lists of numbers, of UUIDs whole and cut, and of both."""
    rng = random.Random(seed)
    names = uuids * 3 + [f(u) for u in uuids
                         for f in (lambda u: u[:12], lambda u: " " + u, lambda u: u + " ", str.upper, lambda u: u + "x")]
    for _ in range(count):
        pool = rng.choice((NUMBERS, names, NUMBERS + names))
        yield ",".join(rng.choice(pool) for _ in range(rng.randint(1, 5)))


def read(seed, count):
    """Prints the lists and the UUIDs that nvitop takes from them; runs under gpumap pretend."""
    from nvitop.api import device  # pylint: disable=import-outside-toplevel

    def no_cuda(*_, **__):
        raise subprocess.SubprocessError("its own parser is wanted")

    device.subprocess.check_output = no_cuda
    gpus = device.PhysicalDevice.all()
    migs = [mig for gpu in gpus if gpu.is_mig_mode_enabled() for mig in gpu.mig_devices()]
    lists = draw(seed, count, [d.uuid() for d in gpus + migs])
    json.dump([(text, device.normalize_cuda_visible_devices(text)) for text in lists], sys.stdout)


def compare(gpumap, inventory, seed, count):
    """Asks gpumap about the same lists."""
    program = [sys.executable, __file__, "read", seed, count]
    said = subprocess.run([gpumap, "pretend", "--inventory", inventory, "--", *program],
                          stdout=subprocess.PIPE, check=True).stdout
    differ = filled = 0
    for text, want in json.loads(said):
        ours = subprocess.run([gpumap, "--dialect", "nvitop", "--inventory", inventory, "--format", "json",
                               "--visible=" + text], capture_output=True, check=False)
        got = ",".join(device["uuid"] for device in json.loads(ours.stdout)["visible"])
        filled += bool(want)
        if got != want:
            differ += 1
            print(f"{text!r}: nvitop {want!r}, gpumap {got!r}")
    print(f"{count} lists, {filled} with devices, {differ} differ")
    return differ > 0


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(compare(*sys.argv[1:5]))
