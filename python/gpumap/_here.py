# SPDX-License-Identifier: MIT
"""The answer for this process: its environment, and what CUDA and frameworks in it say.

A framework is never imported here, and CUDA never initialised. What is not certain is not said: whether a
list was changed in time shows only in the devices that the driver has given this process.
"""
import os
import sys

from ._gpumap import Inventory, Mapping, _cuda

LISTS = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


class TooLateWarning(RuntimeWarning):
    """CUDA of this process does not use the list that os.environ has."""


class Here(Mapping):
    """The answer for this process: a Mapping, with what is known of CUDA in it.

    cuda is True if CUDA has started in this process, False if not, None if the driver does not say.
    programs has the frameworks that are imported: their version, whether they have started
    (initialized), and their current device, where they say.
    """

    cuda = None
    programs = {}


def at_start():
    """The environment that this process was started with, or None if that cannot be seen."""
    # It writes its title over it.
    if "setproctitle" in sys.modules:
        return None
    try:
        with open("/proc/self/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return None
    return dict(os.fsdecode(word).split("=", 1) for word in words if b"=" in word)


def _torch(module):
    cuda = getattr(module, "cuda", None)
    started = bool(cuda and cuda.is_initialized())
    return {"version": str(module.__version__), "initialized": started,
            "device": int(cuda.current_device()) if started else None}


def _jax(module):
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", None)
    return {"version": str(module.__version__), "initialized": bool(asked()) if asked else None, "device": None}


def _cupy(module):
    """Its calls would start CUDA, and the driver knows whether it has started."""
    return {"version": str(module.__version__), "initialized": None, "device": None}


def programs():
    """What the imported frameworks say about themselves."""
    found = {}
    for name, ask in ("torch", _torch), ("jax", _jax), ("cupy", _cupy):
        module = sys.modules.get(name)
        try:
            if module is not None:
                found[name] = ask(module)
        except Exception:  # one that is half imported, or of an unknown version, says nothing
            found[name] = {"version": None, "initialized": None, "device": None}
    return found


def _agrees(mapping, uuids):
    """Whether these are the devices that the driver has given; None: not all are known."""
    ours = [device.uuid for device in mapping.visible]
    if None in ours or None in uuids:
        return None
    return [uuid.split("-", 1)[-1].lower() for uuid in ours] == list(uuids)


def _chosen(known, current):
    """The device that is current in this thread, as a statement with its origin."""
    device = known.get("torch", {}).get("device")
    if device is not None:
        return device, "torch.cuda.current_device()"
    return (current, "the current CUDA context") if current >= 0 else (None, None)


class _Question:
    """The keywords of Mapping for this process, with the lists of its start."""

    def __init__(self, statements, current, known):
        self.environ = dict(os.environ)
        self.keywords, self.origins = statements, {}
        self.changed = {}
        start = at_start()
        if start is not None and "in_code" not in statements and "visible" not in statements:
            self.changed = {name: self.environ.get(name) for name in LISTS
                            if self.environ.get(name) != start.get(name)}
        for name in self.changed:
            self.environ.pop(name, None)
            if name in start:
                self.environ[name] = start[name]
        device, origin = _chosen(known, current)
        if device is not None and not {"device", "set_device"} & set(statements):
            self.keywords = {**statements, "set_device": device}
            self.origins["set_device"] = origin

    def answer(self, key=None):
        """With the changes as statements of this key."""
        if not key or not self.changed:
            return Here(environ=self.environ, _origins=self.origins, **self.keywords)
        return Here(environ=self.environ, _origins={**self.origins, key: "os.environ"},
                    **{key: self.changed, **self.keywords})

    def of_driver(self, machine, uuids):
        """With the devices that the driver has given as the list; None: not all are known."""
        gpus = machine if isinstance(machine, Inventory) else Inventory(machine or "host")
        names = {device.uuid.split("-", 1)[-1].lower(): device.uuid
                 for gpu in gpus for device in (gpu, *gpu.instances) if device.uuid}
        if not names.keys() >= set(uuids):
            return None
        late = self.changed or {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES")}
        origins = {**self.origins, "in_code": "libcuda"}
        if "after_init" not in self.keywords:
            origins["after_init"] = "os.environ"
        return Here(environ=self.environ, _origins=origins,
                    **{"after_init": late, **self.keywords, "in_code": ",".join(names[uuid] for uuid in uuids)})


def _host():
    """This host; None: it has no GPU."""
    gpus = Inventory("host")
    return gpus if len(gpus) else None


def _warn(text):
    import warnings

    warnings.warn(text, TooLateWarning, stacklevel=3)


def here(*, inventory=None, **statements):
    """Which GPU this process will use, or uses, and why: a Mapping with cuda and programs.

    It is about this host, or about the machine of GPUMAP_INVENTORY or inventory. A host without a GPU, such as a
    login node, is left out: then the listed GPUs are taken as existing, as the command does.

    The environment is that of os.environ now. What was changed since the process started counts as set
    in the code. If CUDA has started and has other devices, the change came too late: a finding (GM030) and
    a TooLateWarning. Statements are those of resolve(), such as device=1; without one the current device of
    torch, or of CUDA, counts if it has started.

    >>> import gpumap
    >>> gpumap.here(inventory=4, visible="2,3", device=1).physical
    3
    """
    if "environ" in statements:
        raise TypeError("here() takes the environment of this process: leave environ out, or ask resolve()")
    cuda, uuids, current = _cuda()
    known = programs()
    machine = os.environ.get("GPUMAP_INVENTORY") or _host() if inventory is None else inventory
    question = _Question({"inventory": machine, **statements}, current, known)
    answer = question.answer("in_code")
    if cuda and _agrees(answer, uuids) is False:
        late = question.answer("after_init") if question.changed else None
        if not late or not _agrees(late, uuids):
            late = question.of_driver(machine, uuids)
        answer = late or answer
        _warn(next((f"{f.text} [{f.id}]" for f in answer.findings if f.id == "GM030"),
                   f"CUDA has started with other devices than os.environ gives: {', '.join(uuids)}"))
    answer.cuda, answer.programs = cuda, known
    return answer
