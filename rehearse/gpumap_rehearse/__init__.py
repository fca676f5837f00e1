# SPDX-License-Identifier: MIT
"""Pretended GPUs for PyTorch: the part of `gpumap rehearse` that runs in the program.

Every tensor stays an ordinary CPU tensor. The ordinal of its pretended GPU is a tag on its storage, so views,
detach(), .data, Parameters and optimizers share it, and it dies with the storage. Which physical GPU an
ordinal is, gpumap says; nothing is decided here. README.md describes the files.
"""
import importlib.abc
import importlib.util
import sys


class _Loader(importlib.abc.Loader):
    """Loads PyTorch, and then replaces what asks for GPUs."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        self._inner.exec_module(module)
        from . import install

        install.install(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds PyTorch as Python does, and has it loaded by _Loader."""

    searching = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def wait_for_torch():
    """Acts when the program imports PyTorch; one that does not is left alone."""
    sys.meta_path.insert(0, _Finder())
