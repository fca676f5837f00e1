# SPDX-License-Identifier: MIT
"""Pretended GPUs for PyTorch: the part of `gpumap rehearse` that runs in the program.

Every tensor stays an ordinary CPU tensor. The ordinal of its pretended GPU is a tag on its storage, so views,
detach(), .data, Parameters and optimizers share it, and it dies with the storage. Which physical GPU an
ordinal is, gpumap says; nothing is decided here. README.md describes the files.
"""
import importlib.abc
import importlib.util
import sys
import time

STARTED = time.time()


# What the program imports, upon which something is done.
_AFTER = ("torch", "torch.utils.cpp_extension", "triton.runtime.driver", "triton.runtime.jit")
_ABSENT = ("cupy", "numba.cuda", "pycuda")


class _Loader(importlib.abc.Loader):
    """Loads a module, and then replaces what asks for GPUs."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        self._inner.exec_module(module)
        if module.__name__ == "torch":
            from . import install

            install.install(module)
        else:
            from . import refused

            refused.AFTER[module.__name__](module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a module as Python does, and has it loaded by _Loader, or not at all."""

    searching = False

    def find_spec(self, name, path=None, target=None):
        if self.searching or (name not in _AFTER and name not in _ABSENT):
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is not None and name in _ABSENT:
            from . import refused

            spec.loader = refused.Absent(name)
        elif spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def wait_for_torch():
    """Acts when the program imports one of them; one that does not is left alone."""
    sys.meta_path.insert(0, _Finder())
