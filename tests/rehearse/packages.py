# SPDX-License-Identifier: MIT
"""Packages that compute on GPUs without PyTorch: as if they were not installed. packages.py [WHAT]"""
import importlib.util
import sys

what = sys.argv[1] if len(sys.argv) > 1 else ""
if what == "cupy":
    import cupy as arrays
else:
    try:
        import cupy as arrays
    except ImportError as error:
        print(type(error).__name__, error, sep=": ")
        import array as arrays
print(arrays.__name__, importlib.util.find_spec("cupy") is not None)
import numba

print(numba.njit(len)("abc"))
try:
    from numba import cuda
except ImportError as error:
    print(type(error).__name__, error, sep=": ")
import torch

print(torch.ones(2, device="cuda:1").device)
if what == "other":
    raise ValueError("of its own")
if what == "numba":
    import numba.cuda
