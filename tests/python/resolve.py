# SPDX-License-Identifier: MIT
"""The rows of a table: what resolve(KEYWORDS) gives, m, or raises, e. usage: resolve.py TABLE"""
import sys

import gpumap
import tap


def check(keywords, holds):
    m = e = None
    try:
        m = eval(f"gpumap.resolve({'**' * keywords.startswith('(')}{keywords})", {"gpumap": gpumap})
    except Exception as error:
        e = error
    if eval(holds, {"m": m, "e": e, "gpumap": gpumap}):
        return None
    return f"{m!r} {e!r}\n{m and m.findings}"


with open(sys.argv[1], encoding="utf-8") as file:
    for row in file.read().splitlines()[1:]:
        name, keywords, holds = row.split("\t")
        try:
            why = check(keywords, holds)
        except Exception as error:
            why = repr(error)
        tap.result(why is None, f"{name}: resolve({keywords})", why)
tap.done()
