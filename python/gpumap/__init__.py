# SPDX-License-Identifier: MIT
"""Which physical GPU will this code run on, and why?

>>> import gpumap
>>> answer = gpumap.resolve(visible="2,3,4,5", device=1)
>>> answer.physical
3
>>> print(answer)  # doctest: +ELLIPSIS
cuda:1 is physical GPU 3...

resolve() answers what-if questions, here() explains this process, pick() leases free GPUs, and
Inventory, Profile and Plan are the GPUs that there are, what to launch, and each rank of a job. A
question whose answer is "no" has a Mapping without a device; its findings have the reason. What is
malformed raises an Error with an id, a rule and a remedy.
"""
import os as _os

from ._gpumap import (GPU, Busy, Device, DriverError, Error, FileError, Finding, InputError, Inventory,
                      Mapping, Plan, Process, Profile, Rank, Step, TooLate, Unavailable, UnknownKey, resolve)
from ._gpumap import version as __version__

# The distribution that has this package. On the public index the name gpumap is another project's.
DISTRIBUTION = "libgpumap"

__all__ = ["Busy", "Device", "DriverError", "Error", "FileError", "Finding", "GPU", "Here", "InputError",
           "Inventory", "Lease", "Mapping", "Plan", "Process", "Profile", "Rank", "Step", "TooLate",
           "TooLateWarning", "Unavailable", "UnknownKey", "here", "pick", "resolve"]


def __getattr__(name):
    """What concerns processes is imported when it is used, so that import gpumap stays fast."""
    if name in ("Here", "TooLateWarning", "here"):
        from . import _here as part
    elif name in ("Lease", "pick"):
        from . import _pick as part
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {__name__}.here(device=1) answers for this "
                             f"environment, {__name__}.resolve() for stated values; help({__name__})")
    return getattr(part, name)


def __dir__():
    return sorted({*__all__, "DISTRIBUTION", "__version__"})


def _foreign_files():
    """The modules in the folder of this package that are not its own."""
    own = {"__init__.py", "__main__.py", "_here.py", "_paths.py", "_pick.py"}
    try:
        names = _os.listdir(_os.path.dirname(__file__))
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(".py") and name not in own)


def _tell_foreign(names):
    import warnings

    warnings.warn(f"the folder of this package also has {', '.join(names[:3])} of another project: on the package "
                  f"index the name gpumap is not this one. pip uninstall gpumap {DISTRIBUTION}, then install "
                  f"{DISTRIBUTION} again", RuntimeWarning, stacklevel=3)


if _foreign := _foreign_files():
    _tell_foreign(_foreign)
del _foreign
