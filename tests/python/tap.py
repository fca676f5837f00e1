# SPDX-License-Identifier: MIT
"""TAP for tests in Python: results are printed as they come, and done() at the end."""
import sys
import traceback

count = failures = 0


def result(good, name, why=""):
    global count, failures
    count += 1
    failures += not good
    print(("ok " if good else "not ok ") + f"{count} - {name}".replace("#", "\\#").replace("\n", " "))
    for line in str(why).splitlines() if not good else ():
        print("#   " + line)


def attempt(test):
    """Runs a function, whose first line is its name."""
    name = (test.__doc__ or test.__name__).strip().splitlines()[0]
    try:
        why = test()
        result(why is None, name, why)
    except BaseException:  # a failure of any kind is a result
        result(False, name, traceback.format_exc())


def done():
    sys.exit(failures > 0)
