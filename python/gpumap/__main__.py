# SPDX-License-Identifier: MIT
"""python -m gpumap is the command gpumap of the same installation."""
import os
import sys

from . import DISTRIBUTION
from ._paths import command


def main():
    path = command()
    if not path:
        print("gpumap: the command was not found: it belongs to this package, so install "
              f"{DISTRIBUTION} again, or put gpumap into a folder of PATH", file=sys.stderr)
        return 127
    sys.stdout.flush()
    os.execv(path, ["gpumap", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
