# SPDX-License-Identifier: MIT
# Built and run by tests/gpu/run-all with make and a C compiler alone, not from here.
EXTRA_DIST += tests/gpu
