# SPDX-License-Identifier: MIT
# Every test prints TAP: the programs of libcheck, and NAME.test, which is a POSIX shell script.
TEST_EXTENSIONS = .test
TEST_LOG_DRIVER = $(LOG_DRIVER)
TEST_LOG_COMPILER = /bin/sh

include tests/unit/local.mk
include tests/cli/local.mk
include tests/launch/local.mk
include tests/servers/local.mk
include tests/train/local.mk
include tests/sync/local.mk
include tests/fuzz/local.mk
include tests/gpu/local.mk

# ./dev check --full runs it, where there is a PyTorch.
EXTRA_DIST += tests/torch
