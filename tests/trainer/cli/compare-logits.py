# SPDX-License-Identifier: MIT
"""compare-logits.py A B RELATIVE: two files of floats; RELATIVE is of A's greatest."""
import array
import sys


def floats(path):
    with open(path, "rb") as file:
        return array.array("f", file.read())


def main():
    a, b, most = floats(sys.argv[1]), floats(sys.argv[2]), float(sys.argv[3])
    if not a or len(a) != len(b):
        sys.exit(f"{len(a)} and {len(b)} numbers")
    greatest = max(map(abs, a))
    worst = max(abs(x - y) for x, y in zip(a, b)) / greatest
    print(f"{len(a)} numbers up to {greatest:.3g}, worst difference {worst:.3g}, allowed {most:g}")
    sys.exit(not worst <= most)


main()
