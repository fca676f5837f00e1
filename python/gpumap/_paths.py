# SPDX-License-Identifier: MIT
"""Where the programs of the same installation are."""
import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_TREE = os.path.dirname(os.path.dirname(os.path.dirname(_PACKAGE)))


def _in_tree(name):
    """The path of what this build tree has; None: this is no build tree, or it is not there."""
    path = os.path.join(_TREE, name)
    return path if os.path.exists(os.path.join(_TREE, "config.status")) and os.access(path, os.X_OK) else None


def _in_distribution(name):
    """The path of a file of the distribution with that name, such as .../bin/gpumap."""
    from importlib import metadata

    from . import DISTRIBUTION

    try:
        files = metadata.files(DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        path = str(file.locate())
        if file.name == name and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def command():
    """The command gpumap; None: there is none."""
    import shutil

    return _in_tree("gpumap") or _in_distribution("gpumap") or shutil.which("gpumap")
